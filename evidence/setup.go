package evidence

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/target"
	"plimsoll/watch/probe"
)

// Setup returns the rows of the Setup table that follow from runs, in the order of the release
// reports: the common value of all runs, or else the value of the last one. Values in which arms
// differ have separate rows.
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
		if text := inAll(runs, appsText); text != "" {
			text = strings.TrimSpace(text + " " + inAll(runs,
				func(x target.Description) string { return x.Version }))
			if cmd := slices.Clone(d.Command); len(cmd) > 0 &&
				inAll(runs,
					func(x target.Description) string {
						return strings.Join(x.Command, "\x00")
					}) != "" {
				cmd[0] = filepath.Base(cmd[0])
				text += " (" + strings.Join(cmd, " ") + ")"
			}
			if at := inAll(runs,
				func(x target.Description) string {
					return strings.Join(x.URLs, ", ")
				}); at != "" && (d.Driver == plan.External || len(d.URLs) > 1) {
				text += " at " + at
			}
			row("App instances", "%s", text)
		}
		if d.Driver == plan.External {
			rows = append(rows, commandRows(d)...)
		}
	}
	agents := "1 (this process"
	if m.Processes > 1 {
		agents = fmt.Sprintf("%d (processes of one host", m.Processes)
	}
	if len(m.Agents) > 0 {
		agents = fmt.Sprintf("%d (%d processes on the hosts %s; %s", len(m.Agents), m.Processes,
			strings.Join(m.Agents, ", "), divisionText(m, runs))
	} else if len(m.Generator) > 0 {
		agents += ", on cores " + report.Cores(m.Generator)
	}
	row("Agent instances", "%s)", agents)
	if text := inAll(runs, proxyText); known && text != "" {
		row("Proxy instance", "%s", text)
	}
	if text := hostsText(runs); text != "" {
		row("Hosts of the roles", "%s", text)
	}
	var h probe.Host
	if json.Unmarshal(m.Host, &h) == nil && h.CPUs > 0 {
		row("Host", "%d × %s, %.1f GiB, %s, kernel %s", h.CPUs, h.CPUModel,
			float64(h.MemoryBytes)/(1<<30), h.OS, strings.Fields(h.Kernel)[0])
		if h.Virtualization != "" {
			row("Virtualization", "%s", h.Virtualization)
		}
	}
	return rows
}

// divisionText states the division of users among other hosts in one of several runs. A host that
// was lost, or rated again, changes it.
func divisionText(m record.Manifest, runs []record.Manifest) string {
	if len(m.Ratings) == 0 {
		return "users divided equally"
	}
	var ratings []string
	for _, r := range m.Ratings {
		ratings = append(ratings, fmt.Sprint(r))
	}
	text := "users divided by the hosts' ratings, " + strings.Join(ratings, " : ")
	if slices.ContainsFunc(runs,
		func(r record.Manifest) bool { return !slices.Equal(r.Ratings, m.Ratings) }) {
		text += " in the last run"
	}
	return text
}

// commandRows returns the rows on the installation and reset of a target that others run, and on
// the checks after them.
func commandRows(d target.Description) []record.Row {
	var rows []record.Row
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, record.Row{Name: name, Value: value})
		}
	}
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
		add("Installation of an arm",
			"when its turn comes and another one is there, by the plan's command "+by)
	}
	add("Reset between runs", reset)
	add("Provisioned users", d.Settings["provisioned users"])
	add("Seen by probes", d.Settings["seen"])
	add("Processes on this host", d.Settings["processes here"])
	return rows
}

// inAll returns a text about the targets of runs if it is the same for all; otherwise "".
func inAll(runs []record.Manifest, of func(target.Description) string) string {
	text := ""
	for i, r := range runs {
		d, known := TargetOf(r)
		if !known || i > 0 && of(d) != text {
			return ""
		}
		text = of(d)
	}
	return text
}

// appsText names the servers of a target that ran. How many there are behind the one address of a
// target elsewhere is not seen.
func appsText(d target.Description) string {
	text := d.Driver
	if d.Driver != plan.External || d.Instances > 1 {
		text = fmt.Sprintf("%d × %s", max(d.Instances, 1), text)
	}
	return text
}

// proxyText names the proxy before the servers. It is "none" where the servers that users reached
// were started directly, and "" where that is not known: the address of a target elsewhere and a
// command of the plan may belong to a proxy.
func proxyText(d target.Description) string {
	if p, ok := d.Companions["proxy"]; ok {
		return "1 × " + p.Full()
	}
	if d.Driver == plan.External || d.Driver == plan.Process {
		return ""
	}
	return "none"
}

// hostsText names the hosts that the roles of a target had as network namespaces, with their
// addresses as they were, and the limits of their links; "" where they had none. Arms are up at
// once, each with its own addresses.
func hostsText(runs []record.Manifest) string {
	addrs := map[string][]string{} // of each name
	var names []string
	links := ""
	for _, r := range runs {
		d, _ := TargetOf(r)
		for _, h := range d.Hosts {
			if addrs[h.Name] == nil {
				names = append(names, h.Name)
			}
			if !slices.Contains(addrs[h.Name], h.Addr) {
				addrs[h.Name] = append(addrs[h.Name], h.Addr)
			}
			links = d.Links
		}
	}
	if len(names) == 0 {
		return ""
	}
	for i, name := range names {
		names[i] = name + " " + strings.Join(addrs[name], " or ")
	}
	text := "network namespaces of one host: " + strings.Join(names, ", ")
	if links == "" {
		return text + "; links without limits"
	}
	return text + "; links of " + links
}

// TargetOf returns the description of a run's target; false where the manifest has none that can be
// read.
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
	return d.Database.Full()
}
