package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/judge/drift"
	"plimsoll/judge/sizing"
	"plimsoll/plan"
	"plimsoll/record"
)

// SizingFormat is the version of the JSON form of a [SizingPart].
const SizingFormat = 1

// gradeMarks are the signs of the self-hosters' table.
var gradeMarks = map[sizing.Grade]string{
	sizing.Excellent: "✅", sizing.Good: "✅", sizing.Acceptable: "⚠️", sizing.Borderline: "⚠️",
	sizing.Poor: "❌",
}

// AllGraded reports whether every step has a grade; a step of a run that is not valid has none.
func (d *SizingPart) AllGraded() bool {
	return !slices.ContainsFunc(d.Steps, func(s sizing.Step) bool { return s.Grade == "" })
}

// title names the machine if it is known.
func (d *SizingPart) title() string {
	if d.Machine.Name == "" {
		return "Performance test results: " + d.Name
	}
	return "Performance test results: " + d.Machine.Name
}

// top begins the report; it is whole enough as Markdown to be sent as a pull request.
func (d *SizingPart) top() sheet {
	s := sheet{title: d.title(), about: d.Name, leads: []string{d.lead()},
		warnings: d.LostWarnings()}
	s.footer = fmt.Sprintf("Sizing %s, made from stored runs by %s.", orDash(d.ID), orDash(d.Tool))
	if !d.Complete {
		s.alerts = append(s.alerts, alert{"Not complete", ": " + d.Why})
	}
	return s
}

// lead is the answer in one or two sentences.
func (d *SizingPart) lead() string {
	if !d.Graded() {
		return "No step carries a grade, so nothing can be said about how many users there may be. " + d.Bottleneck.Sentence
	}
	return fmt.Sprintf("Comfortable: %s. Maximum: %s. Bottleneck: %s", levelText(d.Comfortable),
		levelText(d.Maximum), lowerFirst(d.Bottleneck.Sentence))
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// levelText names the users of a level: the measured number, and the end of the search.
func levelText(l sizing.Level) string {
	switch {
	case l.Users == 0 && l.Next == 0:
		return "unknown (no step carries a grade)"
	case l.Users == 0:
		return fmt.Sprintf(
			"fewer than %d concurrent users (the lowest step that was graded)",
			l.Next,
		)
	case l.Next == 0:
		return fmt.Sprintf("%d concurrent users or more (no step with more was graded)", l.Users)
	}
	return fmt.Sprintf("%d concurrent users (no longer at %d)", l.Users, l.Next)
}

func (d *SizingPart) methodSection() section {
	return section{Level: 2, Title: "Methodology", Items: d.methodology()}
}

func (d *SizingPart) setupSection() section {
	if len(d.Setup) == 0 {
		return section{}
	}
	return settingsSection("Server configuration", d.Setup)
}

func (d *SizingPart) runSection() section {
	t := newTable(">Users", "Run", "!Valid", "Why not")
	for _, s := range d.Steps {
		t.add(s.Users, s.Run, yes(s.Valid), s.Why)
	}
	return section{Level: 2, Title: "Runs", Table: t}
}

// methodology describes the measurement, in the form that readers of the table expect.
func (d *SizingPart) methodology() []string {
	items := []string{
		"Tool: plimsoll " + d.Tool + "; simulated users, not people. Real use differs in what people do, how many are there, and what they upload.",
	}
	if d.Plan == nil || d.Plan.Sizing == nil {
		return items
	}
	w := d.Plan.Workload
	users := []string{w.Behavior}
	for _, name := range slices.Sorted(maps.Keys(w.With)) {
		users = append(users, fmt.Sprintf("%.4g %% %s", 100*w.With[name], name))
	}
	pace := ""
	if w.Pace != 1 {
		pace = fmt.Sprintf("; pace %g: every wait of the users times that", w.Pace)
	}
	s := d.Plan.Sizing
	items = append(
		items,
		"Workload: "+strings.Join(users, ", ")+pace+".",
		fmt.Sprintf(
			"Each step is a run of its own, one after another on the same deployment, without a reset between them: users come at %s, settle for %s and are measured for %s.",
			s.Ramp,
			plan.FormatDuration(s.Settle),
			plan.FormatDuration(s.Hold),
		),
		"Response times run from the moment a user wanted to send a request to its answer; the maximum is the longest of them.",
		"A step whose generator was not healthy is marked as not valid and carries no grade.",
	)
	if c := d.Search; c != nil {
		found := fmt.Sprintf("found %.0f users: 10, 40, 80, 100 and 150 %% of that", c.Users)
		if c.Kind == record.Unstable {
			found = fmt.Sprintf(
				"was unstable (%s): 10, 40, 80 and 100 %% of what held after an overload, or else of what was reached, and nothing beyond",
				c.Why,
			)
		} else if c.Kind == record.AtLeast {
			found = fmt.Sprintf("found at least %.0f users (%s): 10, 40, 80 and 100 %% of that, and nothing beyond",
				c.Users, c.Why)
		} else if u := d.Plan.Unbounded; u != nil && 1.5*c.Users > float64(u.MaxUsers) {
			found += fmt.Sprintf(", but none beyond max_users (%d)", u.MaxUsers)
		}
		items = append(
			items,
			"The steps were chosen by a first search of the capacity, which "+found+".",
		)
	}
	return items
}

func milli(ms float64) string { return sig(ms, 3) + " ms" }

// stepCells returns the columns of a step as people read them, from the users to the memory.
func stepCells(s sizing.Step) []string {
	cells := []string{strconv.Itoa(s.Users), sig(s.Throughput, 3), dash, dash, dash, dash, dash}
	if s.Succeeded() {
		cells = append(cells[:2], milli(s.P50), milli(s.P95), milli(s.P99), milli(s.Max), dash)
	}
	if s.Count > 0 {
		cells[6] = sig(100*s.Failures, 2) + " %"
	}
	cpu, mem := dash, dash
	if v, ok := s.TotalCPU(); ok {
		cpu = fixed(v, 0) + " %"
	}
	if v, ok := s.TotalMemory(); ok {
		mem = fixed(v/(1<<20), 0) + " MiB"
	}
	return append(cells, cpu, mem)
}

func (d *SizingPart) stepSection() section {
	t := newTable(">Concurrent users", ">Throughput (req/s)", ">Median", ">95th percentile",
		">99th percentile", ">Max", ">Failure rate",
		">CPU usage", ">Memory", "!Grade", "Because")
	for _, s := range d.Steps {
		grade, because := "none", s.Rule
		switch {
		case s.Grade != "":
			grade = gradeMarks[s.Grade] + " " + string(s.Grade)
		case !s.Valid:
			because = "the run is not valid, see Runs"
		}
		t.add(stepCells(s), grade, because)
	}
	notes := []string{
		"Grades: Excellent p99 <= 100 ms; Good <= 200 ms; Acceptable <= 500 ms; Borderline <= 2 s with a median <= 100 ms; else Poor. Failures over 1 % cost one grade, over half of all make it Poor.",
	}
	roles := map[string]bool{}
	for _, s := range d.Steps {
		for role := range s.CPU {
			roles[role] = true
		}
	}
	if names := slices.Sorted(maps.Keys(roles)); len(names) > 0 {
		notes = append(notes, fmt.Sprintf(
			"CPU and memory are those of %s: CPU in percent of one core, so that 200 %% is two cores; memory at its highest.",
			strings.Join(names, " and "),
		))
	} else {
		notes = append(notes,
			"CPU and memory of the target are not seen from here: give its metrics_url, or run the test where its processes are.")
	}
	return section{Level: 2, Title: "Results", Table: t, Notes: notes}
}

func (d *SizingPart) adviceSection() section {
	items := []string{
		"Comfortable (graded Good or better): " + levelText(d.Comfortable) + ".",
		"Maximum (graded better than Poor): " + levelText(d.Maximum) + ".",
	}
	if l := d.Comfortable; l.Users > 0 {
		items = append(items, fmt.Sprintf(
			"Registered users: %d concurrent users are %d to %d registered ones, when 20 to 5 %% of them are there at a time.",
			l.Users,
			l.RegisteredFrom,
			l.RegisteredTo,
		))
	}
	items = append(items, "Bottleneck: "+d.Bottleneck.Sentence)
	if a := advice[d.Bottleneck.Name]; a != "" {
		items = append(items, a)
	}
	if l := d.Limiter; l != nil && l.Advice != "" {
		items = append(items, fmt.Sprintf("Limiter %s: %s", l.Name, l.Advice))
	}
	return section{Level: 2, Title: "Recommended capacity", Items: items,
		Notes: []string{"Between two steps nothing was measured, and nothing is interpolated."}}
}

// advice is the remedy for a bottleneck.
var advice = map[string]string{
	sizing.CPUBound:    "When to upgrade: CPU above 80 % most of the time asks for more vCPUs.",
	sizing.MemoryBound: "When to upgrade: memory near its end asks for a machine with more of it.",
	sizing.ProxyBound:  "What to do: allow this host's address at the proxy, or test past it; then repeat the steps.",
}

func (d *SizingPart) offerSection() section {
	if len(d.Offers) == 0 {
		return section{}
	}
	t := newTable("Offer", ">vCPU", ">Memory", ">Price/month", ">Comfortable users",
		">Per 1,000 concurrent", ">Per 1,000 registered", ">Against measured", "Basis")
	money := func(v float64, currency string) string { return fixed(v, 2) + " " + currency }
	for _, o := range d.Offers {
		users := dash
		per := dash
		reg := dash
		ratio := dash
		basis := "extrapolated, " + o.Assumption

		if o.Measured {
			basis = "measured"
		} else if o.Users == nil {
			basis = "unknown: " + o.Assumption
		}
		if o.Users != nil {
			users = fixed(*o.Users, 0)
			if o.AtLeast {
				users = "≥ " + users
			}
			per = money(*o.Per1000, o.Currency)
			reg = fixed(*o.RegisteredFrom, 2) + " to " + money(*o.RegisteredTo, o.Currency)
			if o.AtLeast {
				per, reg = "≤ "+per, "≤ "+reg
			}
		}
		if o.Ratio != nil {
			ratio = sig(*o.Ratio, 2) + " x"
		}
		t.add(
			o.Name,
			o.VCPU,
			sig(o.MemoryByte/(1<<30), 3)+" GB",
			money(o.Price, o.Currency),
			users,
			per,
			reg,
			ratio,
			basis,
		)
	}
	return section{
		Level: 2,
		Title: "Cost",
		Table: t,
		Notes: []string{
			"Prices are those of the plan. Costs count the comfortable users; registered ones with 5 to 20 % of them there at a time. Currencies are not converted."},
	}
}

func (d *SizingPart) failureSection() section {
	var items prose
	for _, s := range d.Steps {
		if len(s.Classes) > 0 {
			var parts prose
			for _, c := range slices.Sorted(maps.Keys(s.Classes)) {
				parts.add("%d %s", s.Classes[c], c)
			}
			items.add("%d users: %s.", s.Users, strings.Join(parts, ", "))
		}
		for _, p := range s.Proxy {
			items.add("%d users: between users and server: %s", s.Users, p)
		}
	}
	return section{Level: 2, Title: "Failures", Items: items}
}

func (d *SizingPart) driftSection() section {
	var items prose
	for _, s := range d.Drift {
		steady := 0
		for _, sig := range s.Signals {
			if sig.State == drift.Steady {
				steady++
				continue
			}
			items.add("%d users: %s.", s.Users, sig.Sentence)
		}
		if steady > 0 {
			items.add(
				"%d users: %d of %d signals show no drift that matters (how slow a one this step could not see is in the JSON).",
				s.Users,
				steady,
				len(s.Signals),
			)
		}
	}
	if len(items) == 0 {
		return section{}
	}
	return section{Level: 2, Title: "Stability", Items: items,
		Notes: []string{"What moved while a step was held (docs/sizing.md)."}}
}

// csvRows is the table of the steps for other programs: milliseconds, fractions, percent of one
// core, bytes. Unknown values are empty, and so is the number of acknowledged messages that were
// lost where none is known to be.
func (d *SizingPart) csvRows() [][]string {
	rows := [][]string{{"users", "requests_per_second", "median_ms", "p95_ms", "p99_ms", "max_ms",
		"failure_rate", "cpu_percent",
		"memory_bytes", "grade", "rule", "valid", "run", "acknowledged_lost"}}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, s := range d.Steps {
		row := []string{strconv.Itoa(s.Users), num(s.Throughput), "", "", "", "", "", "", ""}
		if s.Succeeded() {
			row = append(row[:2], num(s.P50), num(s.P95), num(s.P99), num(s.Max), "", "", "")
		}
		if s.Count > 0 {
			row[6] = num(s.Failures)
		}
		if v, ok := s.TotalCPU(); ok {
			row[7] = num(v)
		}
		if v, ok := s.TotalMemory(); ok {
			row[8] = strconv.FormatFloat(v, 'f', 0, 64)
		}
		rows = append(rows, append(
			row,
			string(s.Grade),
			s.Rule,
			strconv.FormatBool(s.Valid),
			s.Run,
			d.lostText(s.Run),
		))
	}
	return rows
}

// sizingSections are the sections of a sizing; empty ones are left out.
func (d Document) sizingSections() []section {
	z := d.Sizing
	return slices.DeleteFunc([]section{z.methodSection(), z.setupSection(), z.stepSection(),
		z.adviceSection(), z.offerSection(), z.failureSection(), z.driftSection(), z.runSection()},
		section.empty)
}
