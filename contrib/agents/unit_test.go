package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const unitFile = "systemd/plimsoll-agent.service"

// mostExposure is the rating of systemd-analyze security up to which the unit is accepted, of 10.
// The rest is what an agent needs: the network, its sockets, the state of the clock, and the right
// to choose its cores.
const mostExposure = 1.7

// placed writes the unit, with a program that is on this host, into a new directory.
func placed(t *testing.T, edit func(string) string) string {
	t.Helper()
	b, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), "ExecStart=plimsoll ", "ExecStart="+self+" ", 1)
	path := filepath.Join(t.TempDir(), filepath.Base(unitFile))
	if err := os.WriteFile(path, []byte(edit(text)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// verify returns the complaints of systemd-analyze about a unit. It is silent about a good one.
func verify(t *testing.T, unit string) string {
	t.Helper()
	_, out, err := run(
		t,
		program(t, "systemd-analyze"),
		"verify",
		"--man=no",
		"--recursive-errors=no",
		unit,
	)
	if err != nil {
		return out + err.Error()
	}
	return out
}

// exposure returns the rating of a unit by systemd-analyze.
func exposure(t *testing.T, unit string) (float64, error) {
	t.Helper()
	_, out, err := run(t, program(t, "systemd-analyze"), "security", "--no-pager", "--offline=yes",
		fmt.Sprint("--threshold=", int(10*mostExposure)), unit)
	m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze security rates nothing: %v\n%s", err, out)
	}
	level, perr := strconv.ParseFloat(m[1], 64)
	if perr != nil {
		t.Fatal(perr)
	}
	return level, err
}

func TestUnit(t *testing.T) {
	unit := placed(t, func(s string) string { return s })
	if bad := verify(t, unit); bad != "" {
		t.Errorf("systemd-analyze verify: %s", bad)
	}
	if level, err := exposure(t, unit); err != nil || level > mostExposure {
		t.Errorf("exposure %.1f of at most %.1f: %v", level, mostExposure, err)
	}
}

// The check for each fault of a unit finds it.
func TestUnitFaults(t *testing.T) {
	for name, line := range map[string][2]string{
		"a directive that does not exist": {"NoNewPrivileges=yes", "NoNewPrivilegez=yes"},
		"a value that does not exist":     {"ProtectSystem=strict", "ProtectSystem=strictest"},
		"a program that is not there":     {"ExecStart=", "ExecStart=/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			if bad := verify(t, placed(t, func(s string) string {
				return strings.Replace(s, line[0], line[1], 1)
			})); bad == "" {
				t.Errorf("systemd-analyze verify accepts %s", line[1])
			}
		})
	}
	open := placed(t, func(s string) string {
		for _, line := range []string{"CapabilityBoundingSet=\n", "DynamicUser=yes\n", "ProtectSystem=strict\n", "NoNewPrivileges=yes\n"} {
			s = strings.Replace(s, line, "", 1)
		}
		return s
	})
	if level, err := exposure(t, open); err == nil || level <= mostExposure {
		t.Errorf("a unit of root with all capabilities is rated %.1f: %v", level, err)
	}
}

// The unit has the limits that doctor requires of an agent, and the command line of an agent that
// dials out.
func TestUnitLimits(t *testing.T) {
	b, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"LimitNOFILE=100000", "LimitNPROC=8192", "KillSignal=SIGTERM", "CapabilityBoundingSet=", "DynamicUser=yes",
		"NoNewPrivileges=yes", "ProtectSystem=strict", "LoadCredential=agent.nk:/etc/plimsoll/agent.nk",
		"ExecStart=plimsoll agent -join ${PLIMSOLL_JOIN} -token-file ${CREDENTIALS_DIRECTORY}/agent.nk"} {
		if !strings.Contains("\n"+string(b), "\n"+line+"\n") {
			t.Errorf("the unit lacks the line %s", line)
		}
	}
	if strings.Contains(string(b), "ListenStream") ||
		regexp.MustCompile(`(?m)^(CPUQuota|MemoryMax)=`).Match(b) {
		t.Error("the unit listens, or has a quota")
	}
}
