package probe

import (
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// The kernel settings that contrib/agents installs are those that the doctor wants of an agent, and
// each has a reason.
func TestAgentSysctls(t *testing.T) {
	b, err := os.ReadFile("../../contrib/agents/systemd/90-plimsoll-agent.conf")
	failure.None(t, err)
	have := map[string]string{}
	reason, ours := false, true
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		name, value, set := strings.Cut(line, " = ")
		switch {
		case line == "# Not judged by doctor for an agent.":
			ours = false
			fallthrough
		case line == "":
			reason = false
		case strings.HasPrefix(line, "#"):
			reason = true
		case !set || have[name] != "":
			t.Errorf("%q sets nothing, or again", line)
		default:
			have[name] = value
			// tcp_rmem, before it, has the reason of both
			if !reason && name != "net.ipv4.tcp_wmem" {
				t.Errorf("%s has no reason before it", name)
			}
			if judged := slices.ContainsFunc(sysctls, func(s sysctl) bool {
				return s.name == name && slices.Contains(s.roles, "agent")
			}); judged != ours {
				t.Errorf(
					"%s: judged by doctor for an agent is %v, and the file has it as %v",
					name,
					judged,
					ours,
				)
			}
			reason = false
		}
	}
	wanted := 0
	for _, s := range sysctls {
		if !slices.Contains(s.roles, "agent") {
			continue
		}
		wanted++
		if have[s.name] != s.want {
			t.Errorf("%s is %q, and the doctor wants %q", s.name, have[s.name], s.want)
		}
	}
	if wanted != 6 {
		t.Errorf("the doctor has %d settings for an agent, want 6", wanted)
	}
}
