package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/plan"
)

func modePlan(t *testing.T, target, arms, mode string) *plan.Plan {
	t.Helper()
	engines := "[postgresql, mysql]"
	if strings.Contains(arms, "database") {
		engines = "postgresql"
	}
	p := parsed(
		t,
		"name: n\ntarget: {driver: refchat"+target+"}\ndatabase: {engine: "+engines+"}\n"+
			"workload: {behavior: poster}\nbounded: {users: 5}\ncompare: {arms: "+arms+mode+"}\n",
	)
	return p
}

// TestDuetNeedsMemory counts the memory of all systems that are up at once.
func TestDuetNeedsMemory(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name, target, arms string
		dataset            int64
		want               int64
	}{
		{"two arms on two databases", "", "{base: {}, new: {}}", 0, 1600 * mib},
		{"data that is not used", "", "{base: {}, new: {}}", 300 * mib, 1600 * mib},
		{"filled", ", dataset: tiny", "{base: {}, new: {}}", 300 * mib, 2800 * mib},
		{"databases of their own", "", "{base: {database: mysql}, new: {}}", 0, 800 * mib},
		{"a limit of one arm", ", dataset: tiny", "{base: {}, new: {deployment: {memory: 100MiB}}}", 300 * mib, 1600 * mib},
		{"stores of a profile", ", profile: full", "{base: {}, new: {}}", 0, 4 * 3072 * mib},
		{"three servers", ", instances: 3", "{base: {}, new: {}}", 0, 4 * 900 * mib},
		{"replicas", ", dataset: tiny, topology: {apps: 2, replicas: 1}", "{base: {}, new: {}}", 300 * mib, 4 * 1400 * mib},
		{"a limit of three servers", ", instances: 3", "{base: {}, new: {deployment: {memory: 100MiB, of: app}}}", 0, 2 * (900 + 250) * mib},
		{"a limit of the server", "", "{base: {}, new: {deployment: {memory: 100MiB, of: app}}}", 0, 1300 * mib},
	} {
		p := modePlan(t, tt.target, tt.arms, ", mode: duet")
		if got := duetMemory(p, tt.dataset); got != tt.want {
			t.Errorf("%s: %d MiB, want %d", tt.name, got/mib, tt.want/mib)
		}
	}
}

// TestModeOfAHost falls back to a sequence where memory lacks, unless the plan asks for a duet.
func TestModeOfAHost(t *testing.T) {
	const gib = 1 << 30
	asked := modePlan(t, "", "{base: {}, new: {}}", ", mode: duet")
	if m := modeWith(asked, 0, 2*gib, false); !m.Duet || m.Why != "compare.mode is duet" ||
		m.Lacks != "" {
		t.Errorf("with memory: %+v", m)
	}
	m := modeWith(asked, 0, gib, false)
	if want := "the 4 systems of a duet, up at once, need about 1600MB of memory, and this host has 1GB to spare"; !m.Duet ||
		m.Lacks != want {
		t.Errorf("without: %+v, want %s", m, want)
	}
	if m := modeWith(modePlan(t, "", "{base: {}, new: {}}", ", mode: sequence"), 0, 0, false); m.Duet ||
		m.Lacks != "" ||
		m.Why != "compare.mode is sequence" {
		t.Errorf("a sequence: %+v", m)
	}
	free := modePlan(t, "", "{base: {}, new: {}}", "")
	if m := modeWith(free, 0, 2*gib, false); !m.Duet || m.Lacks != "" ||
		!strings.HasPrefix(m.Why, "all arms are started") {
		t.Errorf("a plan without a mode: %+v", m)
	}
	if m := modeWith(free, 0, gib, false); m.Duet || m.Lacks != "" ||
		!strings.HasPrefix(m.Why, "the 4 systems") {
		t.Errorf("a plan without a mode on a small host: %+v", m)
	}
	if m := ModeOf(free, true); m.Lacks != "" || m.Why == "" {
		t.Errorf("of this host: %+v", m)
	}
}

func TestDatasetBytes(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"manifest.json": 10, "data/a": 1000} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{
		"":                         0,
		"none":                     0,
		dir:                        1010,
		filepath.Join(dir, "gone"): 0,
	} {
		if got := datasetBytes(name, true); got != want {
			t.Errorf("%q: %d bytes, want %d", name, got, want)
		}
		if got := datasetBytes(name, false); got != 0 {
			t.Errorf("%q was read: %d bytes", name, got)
		}
	}
	if tiny, million := datasetBytes("tiny", true), datasetBytes("million", false); tiny < 200<<20 ||
		million < tiny+1e9 {
		t.Errorf("presets have %d and %d bytes", tiny, million)
	}
}

// Arms of a duet elsewhere that are on one host are warned of; no memory of this one is reckoned
// with.
func TestDuetElsewhereOnOneHost(t *testing.T) {
	for _, tt := range []struct{ blue, green, want string }{
		{"http://10.9.8.7:8065", "http://10.9.8.6:8065", ""},
		{"http://blue.example", "http://green.example", ""},
		{"http://blue.example:1", "http://BLUE.example:2", "base and new are both on blue.example"},
		{"http://10.9.8.7:1", "http://[::ffff:10.9.8.7]:2", "base and new are both on 10.9.8.7"},
		{"http://127.0.0.1:1", "http://localhost:2", "base and new are both on this host"},
		{"http://127.0.0.1:1", "http://127.0.0.2:1", "base and new are both on this host"},
		{"http://127.0.0.1:1", "http://10.9.8.7:1", ""},
		{"${ENV:BLUE}", "http://127.0.0.2:1", ""},
	} {
		p, err := plan.Known{Drivers: []string{plan.External}}.Parse(fmt.Appendf(nil, `name: n
target: {driver: external}
workload: {behavior: poster}
bounded: {users: 5}
compare: {arms: {base: {url: %q}, new: {url: %q}}, mode: duet}
`, tt.blue, tt.green))
		if err != nil {
			t.Fatal(err)
		}
		m := modeWith(p, 0, 0, false)
		if !m.Duet || m.Lacks != "" || (m.Caution == "") != (tt.want == "") ||
			!strings.Contains(m.Caution, tt.want) {
			t.Errorf("%s and %s: %+v, want %q", tt.blue, tt.green, m, tt.want)
		}
		p.Compare.Mode = ""
		if m := modeWith(p, 0, 0, false); m.Duet || m.Caution != "" ||
			!strings.Contains(m.Why, "servers elsewhere are not paused") {
			t.Errorf("without a mode: %+v", m)
		}
	}
}
