package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/probe"
)

// setup fills the Setup table: the rows that such reports have always had, in their order, then the
// further rows of the caller, the comparison and the plan, then what makes the run repeatable. A
// row that the caller gives takes the place of a derived one of the same name.
func (b *builder) setup() {
	given := slices.Concat(b.in.Setup, b.c.Setup)
	if b.in.Plan != nil {
		for _, r := range b.in.Plan.Setup {
			given = append(given, record.Row{Name: r.Name, Value: r.Value})
		}
	}
	var rows []record.Row
	add := func(r record.Row) {
		if r.Value != "" &&
			!slices.ContainsFunc(rows,
				func(x record.Row) bool { return strings.EqualFold(x.Name, r.Name) }) {
			rows = append(rows, r)
		}
	}
	for _, r := range b.planRows() {
		for _, g := range given {
			if strings.EqualFold(g.Name, r.Name) {
				r.Value = g.Value
				break
			}
		}
		add(r)
	}
	for _, r := range given {
		add(r)
	}
	for _, r := range b.repeatRows() {
		add(r)
	}
	b.Setup = append(b.Setup, rows...)
}

// planRows are the rows of the plan.
func (b *builder) planRows() []record.Row {
	rows := []record.Row{{Name: "Load-test version", Value: b.c.Tool}, {Name: "Dataset"}}
	add := func(name, format string, a ...any) {
		rows = append(rows, record.Row{Name: name, Value: fmt.Sprintf(format, a...)})
	}
	p := b.in.Plan
	if p == nil {
		return rows
	}
	if p.Bounded != nil {
		for _, e := range b.Engines {
			if n, ok := p.Bounded.UsersFor(e.Key); ok {
				add("Bounded - number of users"+inParens(e.Label), "%d%s", n, b.foundUsers(e.Key))
			}
		}
		add("Bounded - duration", "%s measured%s, after %s of ramp and %s to settle",
			plan.FormatDuration(p.Bounded.Measure), partText(p.Bounded), plan.FormatDuration(p.Bounded.Ramp),
			plan.FormatDuration(p.Bounded.Settle))
		if rules := p.Bounded.SLO; len(rules) > 0 {
			add("Bounded - rules", "%s", sources(rules))
		}
	}
	if u, ok := p.Search(); ok {
		add("Unbounded - MaxActiveUsers", "%d", u.MaxUsers)
		for _, e := range b.Engines {
			if n := b.c.Start[e.Key]; n > 0 {
				add("Unbounded - search from"+inParens(e.Label), "%d users", n)
			}
		}
		add("Unbounded - time for a search", "at most %s", plan.FormatDuration(u.Budget))
		if len(u.SLO) > 0 {
			add("Unbounded - rules", "%s", sources(u.SLO))
		}
	}
	rows = append(rows,
		record.Row{Name: "Unbounded - num of users per agent", Value: b.usersPerAgent()})
	// What ran is known to the runs alone.
	rows = append(rows, record.Row{Name: "App instances"}, record.Row{Name: "Agent instances"},
		record.Row{Name: "Proxy Instance"})
	var dbs []string
	for _, e := range b.Engines {
		if e.Full != "" {
			dbs = append(dbs, "1 x "+e.Full+b.replicasText(e.Key, ""))
		}
	}
	rows = append(rows,
		record.Row{
			Name:  "DB instances",
			Value: strings.Join(append(dbs, b.armDatabases()...), ", "),
		})
	if text := b.companionsText(); text != "" {
		add("Other stores", "%s", text)
	}
	if p.Target.HTTP == plan.HTTP2 {
		add("Protocol", "HTTP/2, WebSockets over HTTP/1.1")
	}
	w := p.Workload
	mix := []string{w.Behavior}
	if len(w.With) > 0 {
		mix[0] += fmt.Sprintf(" %.4g %%", 100*w.Share)
		for _, name := range slices.Sorted(maps.Keys(w.With)) {
			mix = append(mix, fmt.Sprintf("%s %.4g %%", name, 100*w.With[name]))
		}
	}
	text := strings.Join(mix, ", ")
	if w.Pace > 0 && w.Pace != 1 {
		text += ", pace " + strconv.FormatFloat(w.Pace, 'g', -1, 64)
	}
	rows = append(rows, record.Row{Name: "Workload", Value: text},
		record.Row{Name: "Accounts", Value: b.accountsText()})
	return append(rows, b.armRows()...)
}

// foundUsers names the pilot that found the number of users on an engine, in parentheses; empty
// where the plan has it.
func (b *builder) foundUsers(engine string) string {
	for _, l := range b.c.UserLevels {
		if l.Engine == engine {
			return fmt.Sprintf(" (%v; pilot %s)", l, l.Run)
		}
	}
	return ""
}

// accountsText describes the file of accounts that the users had; empty if they were made.
func (b *builder) accountsText() string {
	var texts []string
	for _, r := range b.in.Runs {
		if f := r.Manifest.Accounts; f != nil {
			text := fmt.Sprintf("%s, %d rows, %s", f.Name, f.Rows, short(f.Digest, 20))
			if f.Unseen {
				text += " (after a reset one account with a password was tried, and the others were taken to be as before)"
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "; ")
}

// usersPerAgent is the largest number of users of one generator process in the unbounded test;
// empty without the test, or a run.
func (b *builder) usersPerAgent() string {
	u, ok := b.in.Plan.Search()
	if !ok || len(b.in.Runs) == 0 {
		return ""
	}
	agents := max(1, b.in.Runs[len(b.in.Runs)-1].Manifest.Processes)
	return strconv.Itoa((u.MaxUsers + agents - 1) / agents)
}

// sources are the texts of rules.
func sources(rules []plan.SLO) string {
	return strings.Join(textsOf(rules, func(r plan.SLO) string { return r.Source }), "; ")
}

// partText names the conditions that may end the measured phase early, and the part of it that
// counts.
func partText(b *plan.Bounded) string {
	text := ""
	if b.Auto() {
		text = fmt.Sprintf(
			" at most, at least %s, until its inside leaves less than deployments differ by",
			plan.FormatDuration(b.MeasureMin),
		)
	}
	if b.Until > 0 {
		text = fmt.Sprintf(" at most, until %v", b.Until)
	}
	if b.Window > 0 {
		text += fmt.Sprintf(", of which the %v count", b.Window)
	}
	return text
}

// armRows describe each arm by its differences from the target as planned. A secret is a reference
// here.
func (b *builder) armRows() []record.Row {
	var rows []record.Row
	for _, arm := range b.c.Arms {
		var parts []string
		add := func(name, value string) {
			if value != "" {
				parts = append(parts, name+" "+value)
			}
		}
		add("version", b.version(arm))
		var a plan.Arm
		if b.in.Plan.Compare != nil {
			a, _ = b.in.Plan.Compare.Arm(arm)
			a.Name = arm
			add("binary", a.Binary)
			add("arguments", strings.Join(a.Args, " "))
			for _, engine := range slices.Sorted(maps.Keys(a.Env)) {
				name := "environment"
				if engine != "" {
					name += " on " + engine
				}
				for _, key := range slices.Sorted(maps.Keys(a.Env[engine])) {
					add(name, key+"="+a.Env[engine][key])
				}
			}
			add("database", b.armDatabase(a))
			if len(b.c.Engines) == 0 || len(b.described(b.c.Engines[0], arm).Deployment) == 0 {
				add("deployment", a.Deployment.String())
			}
		}
		if e := b.c.Engines; len(e) > 0 {
			d := b.described(e[0], arm)
			if d.Driver == plan.External && d.Version != b.version(arm) {
				add("reports", d.Version)
			}
			if len(a.URL) > 0 {
				add("at", b.addressesOf(e[0], arm))
			}
			for _, key := range slices.Sorted(maps.Keys(d.Deployment)) {
				add(key, d.Deployment[key])
			}
			add("digest", short(d.Digest, 20))
		}
		if len(parts) == 0 {
			parts = []string{"the target as planned"}
		}
		rows = append(rows, record.Row{Name: "Arm " + arm, Value: strings.Join(parts, "; ")})
	}
	if text := b.sameText(); text != "" {
		rows = append(rows, record.Row{Name: "Same in all arms", Value: text})
	}
	return rows
}

// sameText names the settings that arms with different deployments have in common; empty where none
// does.
func (b *builder) sameText() string {
	deployed := false
	values := map[string]map[string]bool{"program": {}, "database": {}, "other stores": {}}
	for _, e := range b.c.Engines {
		for _, arm := range b.c.Arms {
			d := b.described(e, arm)
			deployed = deployed || len(d.Deployment) > 0
			values["program"][d.Digest] = true
			if raw, err := json.Marshal(d.Companions); err == nil {
				values["other stores"][string(raw)] = true
			}
			if raw, err := json.Marshal(d.Database); err == nil && e == b.c.Engines[0] {
				values["database"][string(raw)] = true
			}
		}
	}
	if !deployed {
		return ""
	}
	var same, other []string
	for _, what := range []string{"program", "database", "other stores"} {
		if len(values[what]) == 1 {
			same = append(same, what)
		} else {
			other = append(other, what)
		}
	}
	text := cmp.Or(strings.Join(same, ", "), "nothing")
	if len(other) > 0 {
		text += "; NOT the same: " + strings.Join(other, ", ")
	}
	return text
}

// repeatRows are the rows of the hosts and of the order of the runs.
func (b *builder) repeatRows() []record.Row {
	var rows []record.Row
	add := func(name, value string) { rows = append(rows, record.Row{Name: name, Value: value}) }
	for _, e := range b.Engines {
		if e.Full != "" {
			add("Database"+inParens(e.Label), b.databaseText(e))
		}
	}
	if m, ok := b.first(); ok {
		var h probe.Host
		given := slices.ContainsFunc(b.in.Setup,
			func(r record.Row) bool { return strings.EqualFold(r.Name, "Host") })
		if !given && len(m.Host) > 0 && json.Unmarshal(m.Host, &h) == nil {
			add("Host CPUs", cpuText(h))
			if h.MemoryBytes > 0 {
				add("Host memory", sig(float64(h.MemoryBytes)/(1<<30), 3)+" GiB")
			}
			add("Kernel", h.Kernel)
			add("Operating system", h.OS)
			add("Virtualization", h.Virtualization)
		}
		add("Placement", b.placementText(m))
		add("Clock", m.Clock)
		if c := m.Connections; c != nil && c.String() != "" {
			add("Kept connections", c.String())
		}
		add("Seed", strconv.FormatUint(m.Seed, 10))
	} else if b.in.Plan != nil {
		add("Seed", strconv.FormatUint(b.in.Plan.Seed, 10))
	}
	add("Plan digest", b.c.PlanDigest)
	add("Blocks", fmt.Sprintf("%d planned, %d judged", b.State.Planned, b.State.Judged))
	add("Order of runs", b.orderText())
	if !b.c.Started.IsZero() {
		text := b.c.Started.UTC().Format("2006-01-02 15:04:05 MST")
		if !b.c.Ended.IsZero() {
			text += fmt.Sprintf(
				", took %s",
				plan.FormatDuration(b.c.Ended.Sub(b.c.Started).Round(time.Second)),
			)
		}
		add("Started", text)
	}
	return rows
}

func cpuText(h probe.Host) string {
	if h.CPUs == 0 {
		return ""
	}
	if h.CPUModel == "" {
		return strconv.Itoa(h.CPUs)
	}
	return fmt.Sprintf("%d x %s", h.CPUs, h.CPUModel)
}

// placementText names the hosts of generator and target. A target that others run may be on any
// host, also on this one behind another address.
func (b *builder) placementText(m record.Manifest) string {
	if b.in.Plan != nil && !b.in.Plan.Target.OwnHost() && !m.SharedHost {
		text := "the target is where others run it, which was not seen"
		if len(m.Generator) > 0 {
			text += "; generator on cores " + Cores(m.Generator)
		}
		return text
	}
	where := "generator and target on different hosts"
	if m.SharedHost {
		where = "generator and target share one host"
	}
	if len(m.Generator) > 0 || len(m.TargetCPUs) > 0 {
		where += fmt.Sprintf("; generator on cores %s, target on cores %s", Cores(m.Generator),
			Cores(m.TargetCPUs))
	}
	return where
}

// Cores writes a list of cores: "0,2"; "any" for none.
func Cores(c []int) string {
	if len(c) == 0 {
		return "any"
	}
	return strings.Join(textsOf(c, strconv.Itoa), ",")
}

// orderText writes in which order each block ran: "1: base new · 2: new base". The runs of a duet
// have none.
func (b *builder) orderText() string {
	if b.c.InTurns() {
		return "all runs of a block at once, in turns"
	}
	perBlock := map[int][]record.ComparisonRun{}
	var blocks []int
	for _, r := range b.c.Runs {
		if r.Pilot || r.Dropped {
			continue
		}
		if perBlock[r.Block] == nil {
			blocks = append(blocks, r.Block)
		}
		perBlock[r.Block] = append(perBlock[r.Block], r)
	}
	slices.Sort(blocks)
	var parts prose
	for _, n := range blocks {
		runs := perBlock[n]
		slices.SortStableFunc(runs, func(x, y record.ComparisonRun) int {
			return x.Order - y.Order
		})
		var words []string
		engine := ""
		for _, r := range runs {
			if r.Engine != engine || len(words) == 0 {
				engine = r.Engine
				if n := len(words); n > 0 {
					words[n-1] += ","
				}
				if label := b.engineLabel(engine); label != "" {
					words = append(words, label+":")
				}
			}
			words = append(words, b.armLabel(r.Arm))
		}
		parts.add("%d) %s", n, strings.Join(words, " "))
	}
	return strings.Join(parts, "; ")
}

func inParens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (d Document) setupSections() []section {
	return []section{settingsSection("Setup", d.Setup)}
}

// settingsSection is a table of settings.
func settingsSection(title string, rows []record.Row) section {
	t := newTable("Setting", "Value")
	for _, r := range rows {
		t.add(r.Name, r.Value)
	}
	return section{Level: 2, Title: title, Table: t}
}
