package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/record"
)

// TestArmsSayHowTheyAreDeployed: the engine that ran an arm with its version, and whether the rest
// was the same.
func TestArmsSayHowTheyAreDeployed(t *testing.T) {
	const text = `{"digest":%q,"deployment":%s,"database":{"name":"PG","version":%q}}`
	run := func(arm, digest, deployment, version string) RunData {
		return RunData{
			Cell: record.ComparisonRun{Arm: arm, Engine: "postgresql"},
			Manifest: record.Manifest{
				Target: json.RawMessage(fmt.Sprintf(text, digest, deployment, version)),
			},
		}
	}
	const bridge = `{"network":"bridge","engine":"podman 4.3.1 with runc 1.1.5"}`
	none := run("base", "d1", `{"network":"none"}`, "15")
	for name, c := range map[string]struct {
		base, fresh RunData
		same        string
	}{
		"all the same": {none, run("new", "d1", bridge, "15"),
			"program, database, other stores"},
		"another program": {none, run("new", "d2", bridge, "15"),
			"database, other stores; NOT the same: program"},
		"another database": {none, run("new", "d1", bridge, "16"),
			"program, other stores; NOT the same: database"},
		"no deployment": {run("base", "d1", `{}`, "15"), run("new", "d2", `{}`, "15"), ""},
	} {
		b := &builder{
			c: &record.Comparison{
				Engines: []string{"postgresql"},
				Arms:    []string{"base", "new"},
			},
			Document: &Document{},
			judged:   []RunData{c.base, c.fresh},
		}
		b.in.Plan = &plan.Plan{Compare: &plan.Compare{Arms: []plan.Arm{{Name: "base"}, {
			Name:       "new",
			Deployment: &plan.Deployment{Network: plan.NetworkBridge},
		}}}}
		if got := b.sameText(); got != c.same {
			t.Errorf("%s: same %q, want %q", name, got, c.same)
		}
		row := ""
		for _, r := range b.armRows() {
			if r.Name == "Arm new" {
				row = r.Value
			}
		}
		if want := "engine podman 4.3.1 with runc 1.1.5; network bridge"; c.same != "" &&
			!strings.Contains(row, want) {
			t.Errorf("%s: %q, want %q in it", name, row, want)
		}
		if want := "deployment container, network bridge"; c.same == "" &&
			!strings.Contains(row, want) {
			t.Errorf("%s: %q, want what was planned", name, row)
		}
	}
}
