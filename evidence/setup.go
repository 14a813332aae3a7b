package evidence

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
	"plimsoll/target"
	"plimsoll/watch/probe"
)

// Setup returns the rows of the Setup table that follow from runs, in the order of the release reports: a value that
// all have in common, and otherwise that of the last one. Values in which arms differ have rows of their own.
func Setup(runs ...record.Manifest) []record.Row {
	var rows []record.Row
	row := func(name, format string, args ...any) {
		rows = append(rows, record.Row{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	if len(runs) == 0 {
		return nil
	}
	m := runs[len(runs)-1]
	row("Load-test version", "plimsoll %s", m.Tool)
	d, known := TargetOf(m)
	if known {
		if d.Dataset != "" {
			row("Dataset", "%s", d.Dataset)
		}
		text := fmt.Sprintf("%d × %s", max(d.Instances, 1), d.Driver)
		same := func(r record.Manifest) bool { x, _ := TargetOf(r); return slices.Equal(x.Command, d.Command) }
		if cmd := slices.Clone(d.Command); len(cmd) > 0 && !slices.ContainsFunc(runs, func(r record.Manifest) bool { return !same(r) }) {
			cmd[0] = filepath.Base(cmd[0])
			text += " (" + strings.Join(cmd, " ") + ")"
		}
		row("App instances", "%s", text)
		if d.Driver == plan.External {
			for _, r := range commandRows(d) {
				row(r.Name, "%s", r.Value)
			}
		}
	}
	agents := "1 (this process"
	if m.Processes > 1 {
		agents = fmt.Sprintf("%d (processes of one host", m.Processes)
	}
	if len(m.Generator) > 0 {
		agents += ", on cores " + report.Cores(m.Generator)
	}
	row("Agent instances", "%s)", agents)
	if d.Driver != plan.External {
		row("Proxy instance", "none")
	}
	var h probe.Host
	if json.Unmarshal(m.Host, &h) == nil && h.CPUs > 0 {
		row("Host", "%d × %s, %.1f GiB, %s, kernel %s", h.CPUs, h.CPUModel, float64(h.MemoryBytes)/(1<<30), h.OS, strings.Fields(h.Kernel)[0])
		if h.Virtualization != "" {
			row("Virtualization", "%s", h.Virtualization)
		}
	}
	return rows
}

// commandRows are the rows on how a target that others run was installed and reset, and what was found then.
func commandRows(d target.Description) []record.Row {
	var rows []record.Row
	reset := "none: the target is not ours"
	if by := d.Settings["reset"]; by != "" && by != "none" {
		reset = "before every run by the plan's command " + by
		switch state := d.Settings["state"]; state {
		case "", "not checked":
			reset += "; what it restored was not checked"
		default:
			reset += "; checked each time: " + state
		}
	}
	if by := d.Settings["install"]; by != "" {
		rows = append(rows, record.Row{Name: "Installation of an arm", Value: "when its turn comes and another one is there, by the plan's command " + by})
	}
	rows = append(rows, record.Row{Name: "Reset between runs", Value: reset})
	if users := d.Settings["provisioned users"]; users != "" {
		rows = append(rows, record.Row{Name: "Provisioned users", Value: users})
	}
	return rows
}

// TargetOf returns the description of a run's target; false where the manifest has none that can be read.
func TargetOf(m record.Manifest) (target.Description, bool) {
	var d target.Description
	err := json.Unmarshal(m.Target, &d)
	return d, err == nil && len(m.Target) > 0
}

// ServerOf names the database server of a target with its version; empty without one.
func ServerOf(d target.Description) string {
	if d.Database == nil {
		return ""
	}
	return strings.TrimSpace(d.Database.Name + " " + d.Database.Version)
}
