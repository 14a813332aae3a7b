package execute

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
)

// All mistakes of a plan are named at once, by the verb that would carry it out, before a store is
// made.
func TestAllMistakesAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	closed := l.Addr().String()
	l.Close() // nothing listens there
	dir := t.TempDir()
	src := `name: t
target:
  driver: external
  url: http://` + closed + `
  metrics_url: http://` + closed + `/metrics
workload:
  behavior: mattermost
  users_file: absent.csv
placement: {generator: [4000]}
probes: [{kind: pid, role: db, pid: 4194999}]
bounded: {users: 5}
unbounded: {max_users: 9}
sizing: {steps: [2]}
compare: {blocks: 1, combine: true, arms: {base: {}, new: {}}}
`
	file := filepath.Join(dir, "plan.yaml")
	failure.None(t, os.WriteFile(file, []byte(src), 0o600))
	env := map[string]string{"PLIMSOLL_ADMIN_PASSWORD": "Aa1!of-the-preflight"}
	for name, verb := range map[string]verbtest.Verb{
		"run": Run, "capacity": Capacity, "sizing": Sizing, "compare": Compare,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(dir, name)
			status, out, errs := verbtest.Surroundings{Env: env}.Run(t, verb, "-store", store, file)
			if status != exit.Usage || out != "" || strings.Contains(errs, "calibrating") {
				t.Errorf("status %d, stdout %q, stderr\n%s", status, out, errs)
			}
			var at []string
			for line := range strings.Lines(errs) {
				if place, key, ok := strings.Cut(strings.TrimSpace(line), ": "); ok &&
					strings.Count(place, ":") == 1 {
					key, _, _ = strings.Cut(key, ": ")
					at = append(at, place+" "+key)
				}
			}
			want := []string{
				"4:8 target.url",
				"5:16 target.metrics_url",
				"8:15 workload.users_file",
				"9:24 placement.generator",
				"10:37 probes[0].pid",
			}
			if !slices.Equal(at, want) {
				t.Errorf("places %q, want %q in\n%s", at, want, errs)
			}
			failure.Gone(t, store)
		})
	}
}
