package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/stats"
)

// A table has the same content in Markdown and HTML. Right marks the columns that hold numbers. A cell of column
// Kind (-1 for none) is a conclusion, a level or a yes or no, which a form may color.
type table struct {
	Head  []string
	Right []bool
	Kind  int
	Rows  [][]string
}

func newTable(kind int, head ...string) *table {
	t := &table{Kind: kind, Right: make([]bool, len(head))}
	for i, h := range head {
		t.Right[i] = strings.HasPrefix(h, ">")
		t.Head = append(t.Head, strings.TrimPrefix(h, ">"))
	}
	return t
}

func (t *table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// A section is a heading with its content, in the order of the fields.
type section struct {
	Level  int // 2 or 3
	Title  string
	Items  []string // a list
	Table  *table
	Notes  []string // paragraphs
	Graphs []int    // indexes into Document.Graphs, two beside each other
	// Links lists pages in a table of its own, with LinkHead above it.
	LinkHead []string
	Links    []linkRow
	// Raw means that Items are a person's own words, which may hold markup.
	Raw bool
	// Drawing is a picture that is not a Graph, or nil.
	Drawing *TrendGraph
}

// deltaLabel names the rows that compare an engine with the first.
func (d Document) deltaLabel(engine string) string {
	if len(d.Engines) == 2 {
		return fmt.Sprintf("Delta (%s against %s)", d.Engines[1].Label, d.Engines[0].Label)
	}
	return fmt.Sprintf("Delta (%s against %s)", d.engineLabel(engine), d.Engines[0].Label)
}

// capacityHead is the head of both tables of supported users, after its first columns.
func (d Document) capacityHead(first ...string) *table {
	head := first
	for _, a := range d.Arms {
		head = append(head, ">"+a.Label)
		if !a.Base {
			head = append(head, ">"+d.deltaHead(a))
		}
	}
	return newTable(-1, head...)
}

func (d Document) deltaHead(a ArmLabel) string {
	if len(d.Arms) > 2 {
		return "Delta " + a.Label
	}
	return "Delta"
}

// capacityLevel names the level of the intervals of supported users.
func (d Document) capacityLevel() string {
	for _, f := range d.Verdicts {
		if r, ok := f.capacity(); ok {
			return verdict.LevelText(1 - r.Alpha)
		}
	}
	return verdict.LevelText(1 - stats.FixedAlpha)
}

// test names a row of an engine; a target whose database is not ours has no name for it.
func test(label string) string {
	if label == "" {
		return "target"
	}
	return label
}

func (d Document) capacitySections() []section {
	if len(d.Capacity) == 0 {
		return nil
	}
	pooled := d.capacityHead("Test")
	for _, c := range d.Capacity {
		row := []string{test(d.engineLabel(c.Engine))}
		for i, cell := range c.Cells {
			row = append(row, cell.users())
			if !d.Arms[i].Base {
				row = append(row, cell.Delta.text())
			}
		}
		pooled.add(row...)
	}
	for _, c := range d.Capacity[1:] {
		row := []string{d.deltaLabel(c.Engine)}
		for i, cell := range c.Cells {
			row = append(row, cell.ByDatabase.text())
			if !d.Arms[i].Base {
				row = append(row, "")
			}
		}
		pooled.add(row...)
	}
	out := []section{{Level: 3, Title: "Supported users in unbounded tests", Table: pooled, Notes: []string{
		"Geometric means over the judged runs. In brackets the " + d.capacityLevel() + " interval; a difference is judged from the pairs of runs within blocks, not from the intervals of the arms."}}}
	if d.Protocol != nil && d.Protocol.Duet != nil {
		out[0].Notes = append(out[0].Notes, "Each number was "+record.InTurns+".")
	}
	if len(d.Blocks) == 0 {
		return out
	}
	per := d.capacityHead("Block", "Test")
	for _, b := range d.Blocks {
		for i, cells := range b.Users {
			per.add(d.blockRow(b.Block, test(d.Engines[i].Label), cells)...)
		}
		for i := range b.Users[min(1, len(b.Users)):] {
			row := []string{strconv.Itoa(b.Block), d.deltaLabel(d.Engines[i+1].Key)}
			for k := range d.Arms {
				row = append(row, ratio(b.Users[0][k], b.Users[i+1][k]).text())
				if !d.Arms[k].Base {
					row = append(row, "")
				}
			}
			per.add(row...)
		}
	}
	return append(out, section{Level: 3, Title: "Supported users by block", Table: per})
}

func (d Document) blockRow(block int, name string, cells []RunCell) []string {
	row := []string{strconv.Itoa(block), name}
	for k, c := range cells {
		row = append(row, c.users())
		if !d.Arms[k].Base {
			row = append(row, ratio(cells[0], c).text())
		}
	}
	return row
}

func (d Document) limiterSections() []section {
	if len(d.Limiters) == 0 {
		return nil
	}
	t := newTable(-1, "Test", "Arm", "Limited by", "Stopped by the rule", "How the searches ended", "Use of the other rules' limits at the capacity")
	for _, l := range d.Limiters {
		var ended, others []string
		for _, c := range l.Stopped {
			ended = append(ended, fmt.Sprintf("%s (%d)", c.Name, c.N))
		}
		for _, m := range l.Margins {
			stopper := false
			for _, c := range l.Rules {
				stopper = stopper || c.Name == m.Rule
			}
			if !stopper {
				others = append(others, fmt.Sprintf("%s: %s %%", m.Rule, sig(100*float64(m.Used), 2)))
			}
		}
		t.add(test(d.engineLabel(l.Engine)), d.armLabel(l.Arm), orDash(namedText(l)), stopText(l), orDash(strings.Join(ended, ", ")), orDash(strings.Join(others, "; ")))
	}
	notes := []string{"What limited the runs is named from evidence: saturation at the capacity that grew with the load, and was not the symptom of another. " +
		"The rule that was violated says which limit came first, not why the target reached it. Uses are medians over the runs."}
	for _, l := range d.Limiters {
		if l.Evidence != "" {
			notes = append(notes, prefix(d.engineLabel(l.Engine))+d.armLabel(l.Arm)+": "+l.Evidence)
		}
	}
	return []section{{Level: 3, Title: "What stopped the searches", Table: t, Notes: notes}}
}

func orDash(s string) string {
	if s == "" {
		return dash
	}
	return s
}

func (d Document) endpointSections() []section {
	var out []section
	for i, f := range d.Verdicts {
		base, fresh := d.armLabel(baseName(d)), d.armLabel(f.Arm)
		notes := append(endpointNotes(f, base, fresh), d.omissionNotes(f)...)
		if i == 0 {
			notes = append(notes, "Could find: the change that this many pairs with this spread find in four of five cases. "+
				"Needed: how long a comparison takes whose numbers are like these until it has a verdict. One verdict per database holds its level over all endpoints (Holm).")
		}
		out = append(out, section{Level: 3, Title: d.titleOf("Primary endpoints", f), Table: d.State.endpointTable(f, base, fresh), Notes: notes})
	}
	if len(d.BlocksForSame) > 0 {
		out = append(out, blocksSection(d.BlocksForSame))
	}
	for _, f := range d.Databases {
		base, fresh := d.Engines[0].Label, d.engineLabel(f.Engine)
		out = append(out, section{
			Level: 3, Title: d.titleBetween("Databases", f),
			Table: d.State.endpointTable(f, base, fresh), Notes: endpointNotes(f, base, fresh),
		})
	}
	return out
}

// endpointNotes are the notes below every table of endpoints.
func endpointNotes(f NamedVerdict, base, fresh string) []string {
	return slices.Concat(kindNotes(f), impliedNotes(f), clockNotes(f, base, fresh), skippedNotes(f))
}

func (s State) endpointTable(f NamedVerdict, base, fresh string) *table {
	t := newTable(1, "Endpoint", "Verdict", ">"+base, ">"+fresh, ">Effect", ">Margin", ">Could find", ">Pairs", ">Needed", "Why")
	for _, r := range f.Verdict.Results {
		needed := dash
		if r.PairsNeeded > 0 {
			needed = s.lasting(r.PairsNeeded)
		}
		t.add(r.Name, kindText(r.Kind, r.Indicative), summary(r.Endpoint, r.Base), summary(r.Endpoint, r.New), effect(r),
			size(r.Endpoint, r.Margin), size(r.Endpoint, r.MDE), strconv.Itoa(r.N), needed, r.Reason)
	}
	return t
}

// kindText is a conclusion as tables show it.
func kindText(k verdict.Kind, indicative bool) string {
	if indicative && k == verdict.Inconclusive {
		return "indicative"
	}
	return string(k)
}

func skippedNotes(f NamedVerdict) []string {
	var out []string
	for _, s := range f.Skipped {
		out = append(out, fmt.Sprintf("Not judged: %s (%s).", s.Name, s.Value))
	}
	return out
}

func (d Document) opSections() []section {
	var out []section
	for _, o := range d.Ops {
		t := opTable([]string{"Operation", "Arm"}, false, false)
		for _, row := range o.Rows {
			for i, c := range row.Arms {
				name := row.Name
				if c.Count == 0 && c.Open == 0 {
					t.add(name, d.Arms[i].Label, "none measured", dash, dash, dash, dash, dash)
					continue
				}
				latency := func(name string, v Number) string { return o.latency(i, c, name, v) }
				t.add(append([]string{name, d.Arms[i].Label}, opCells(c, latency)...)...)
			}
		}
		s := section{Level: 3, Title: "Operations of the bounded test" + dashLabel(d.engineLabel(o.Engine)), Table: t}
		if len(o.Gone) > 0 {
			s.Notes = append(s.Notes, "Only the base has: "+list(o.Gone)+".")
		}
		if len(o.New) > 0 {
			s.Notes = append(s.Notes, "The base does not have: "+list(o.New)+".")
		}
		s.Notes = append(s.Notes, "All judged runs merged; response times in the measured phase. A dash stands for a percentile of too few operations (p50: 7, p95: 90, p99: 459).")
		s.Notes = append(s.Notes, o.edgeNotes()...)
		out = append(out, s)
		if more, ok := d.scheduleSection(o); ok {
			out = append(out, more)
		} else {
			last := &out[len(out)-1]
			last.Notes = append(last.Notes, "How many operations were intended, and how many were under way at the end of the phase, was not recorded.")
		}
	}
	return out
}

func dashLabel(label string) string {
	if label == "" {
		return ""
	}
	return " - " + label
}

func errorText(c OpCell) string {
	parts := []string{failureText(c)}
	for _, e := range c.Expected {
		parts = append(parts, e.String())
	}
	return strings.Join(parts, "; ")
}

func failureText(c OpCell) string {
	if c.Failed == 0 {
		return "0"
	}
	parts := make([]string, len(c.Classes))
	for i, k := range c.Classes {
		parts[i] = fmt.Sprintf("%s %d", k.Name, k.N)
		var of []string
		for _, s := range c.Statuses {
			if strings.HasPrefix(s.Name, strings.TrimSuffix(k.Name, "xx")) && strings.HasSuffix(k.Name, "xx") {
				of = append(of, fmt.Sprintf("%s %d", s.Name, s.N))
			}
		}
		if len(of) > 0 {
			parts[i] += ": " + strings.Join(of, " + ")
		}
	}
	return fmt.Sprintf("%s %% (%s)", sig(100*float64(c.Failed)/float64(c.Count), 2), strings.Join(parts, ", "))
}

// limitValue writes the limit of a rule as it was meant: "2 s", not "2.00 s".
func limitValue(r RuleRow) string {
	number, unit, ok := strings.Cut(ruleValue(r.Unit, r.Limit), " ")
	if !ok {
		return trim(number)
	}
	return trim(number) + " " + unit
}

// mostBlocks is up to how many blocks a table has a column for each.
const mostBlocks = 12

func (d Document) ruleSections() []section {
	var bounded, unbounded []section
	for _, rt := range d.Rules {
		label := dashLabel(d.engineLabel(rt.Engine))
		if s, ok := d.measuredRules(rt); ok {
			s.Title = "Rules in the bounded test" + label
			bounded = append(bounded, s)
		}
		t := newTable(-1, "Rule", "Arm", ">Limit", ">Evaluations", ">Violated", ">No data", ">Too few", ">First violated at")
		for _, r := range rt.Rows {
			if r.Search == nil {
				continue
			}
			first := dash
			if r.Search.FirstRuns > 0 && r.Search.FirstUsers.Known() {
				first = fmt.Sprintf("%.0f users (%s)", r.Search.FirstUsers, count(r.Search.FirstRuns, "run", "runs"))
			}
			t.add(r.Rule, d.armLabel(r.Arm), limitValue(r), strconv.Itoa(r.Search.Evaluations), strconv.Itoa(r.Search.Violated), strconv.Itoa(r.Search.NoData), strconv.Itoa(r.Search.TooFew), first)
		}
		if len(t.Rows) > 0 {
			s := section{Level: 3, Title: "Rules in the unbounded test" + label, Table: t, Graphs: d.graphIndexes(rt.Engine, Unbounded, true)}
			s.Notes = []string{"First violated at: the median over the runs in which the rule was violated at all. Too few: evaluations with fewer operations than the rule asks for, which decide nothing."}
			unbounded = append(unbounded, s)
		}
	}
	return append(bounded, unbounded...)
}

// tally counts the runs of the bounded test in which the rule did not hold, had no data, or too few operations.
func (r RuleRow) tally() (broken, missing, few int) {
	for _, v := range r.Measured {
		switch {
		case v.NoData:
			missing++
		case v.Violated:
			broken++
		case v.TooFew:
			few++
		}
	}
	return broken, missing, few
}

// measuredRules shows each rule's value in each run of the bounded test.
func (d Document) measuredRules(rt RuleTable) (section, bool) {
	var blocks []int
	seen := map[int]bool{}
	for _, r := range rt.Rows {
		for _, v := range r.Measured {
			if !seen[v.Block] {
				seen[v.Block] = true
				blocks = append(blocks, v.Block)
			}
		}
	}
	if len(blocks) == 0 {
		return section{}, false
	}
	head := []string{"Rule", "Arm", ">Limit", "Held"}
	each := len(blocks) <= mostBlocks
	if each {
		for _, b := range blocks {
			head = append(head, fmt.Sprintf(">Block %d", b))
		}
	} else {
		head = append(head, ">Lowest", ">Highest")
	}
	t := newTable(3, head...)
	var notes []string
	for _, r := range rt.Rows {
		if len(r.Measured) == 0 {
			continue
		}
		broken, missing, few := r.tally()
		lo, hi := unknown, unknown
		byBlock := map[int]string{}
		for _, v := range r.Measured {
			text := ruleValue(r.Unit, v.Value)
			switch {
			case v.NoData:
				text = "no data"
			case v.Violated:
				text += " !"
				if v.Where != "" && len(notes) < mostBlocks {
					notes = append(notes, fmt.Sprintf("%s, block %d, %s: %s.", d.armLabel(r.Arm), v.Block, r.Rule, v.Where))
				}
			}
			byBlock[v.Block] = text
			if v.Value.Known() {
				if !lo.Known() || v.Value < lo {
					lo = v.Value
				}
				if !hi.Known() || v.Value > hi {
					hi = v.Value
				}
			}
		}
		held, n := "yes", len(r.Measured)
		switch {
		case broken > 0:
			held = fmt.Sprintf("no (%d of %d)", broken, n)
		case missing > 0:
			held = fmt.Sprintf("no data (%d of %d)", missing, n)
		case few > 0:
			held = fmt.Sprintf("not judged: too few operations (%d of %d)", few, n)
		}
		if r.Warning && broken+missing > 0 {
			held += "; only warns"
		}
		row := []string{r.Rule, d.armLabel(r.Arm), limitValue(r), held}
		if each {
			for _, b := range blocks {
				row = append(row, orDash(byBlock[b]))
			}
		} else {
			row = append(row, ruleValue(r.Unit, lo), ruleValue(r.Unit, hi))
		}
		t.add(row...)
	}
	return section{Level: 3, Table: t, Notes: notes}, true
}

func (d Document) validitySection() section {
	t := newTable(6, "Run", ">Block", ">Order", "Test", "Arm", "Part", "Valid", "Findings")
	for _, r := range d.Runs {
		valid := "yes"
		if !r.Valid {
			valid = "no"
		}
		var texts []string
		for _, f := range r.Finding {
			texts = append(texts, findingText(f))
		}
		if r.Why != "" && !strings.Contains(strings.Join(texts, "; "), strings.TrimSpace(r.Why)) {
			texts = append(texts, r.Why)
		}
		block := strconv.Itoa(r.Block)
		if r.Part == "pilot" {
			block = dash
		}
		t.add(r.ID, block, strconv.Itoa(r.Order), test(d.engineLabel(r.Engine)), d.armLabel(r.Arm), r.Part, valid, orDash(strings.Join(texts, "; ")))
	}
	s := section{Level: 3, Title: "Validity", Table: t}
	judged, invalid := 0, 0
	for _, r := range d.Runs {
		if r.Part == "judged" {
			judged++
		}
		if !r.Valid {
			invalid++
		}
	}
	s.Items = append(s.Items, fmt.Sprintf("%s: %d judged, %d not valid.", count(len(d.Runs), "run", "runs"), judged, invalid))
	for _, v := range d.Voided {
		s.Items = append(s.Items, fmt.Sprintf("Block %d was voided: %s. %s.", v.Block, v.Why, sentence(v.again())))
	}
	if len(d.Runs) == 0 {
		s.Table = nil
	}
	return s
}

func findingText(f record.Finding) string {
	t := f.Level + " " + f.Gate
	if f.Text != "" {
		t += ": " + f.Text
	}
	if f.Limit != 0 {
		unit := ""
		if f.Unit != "" {
			unit = " " + f.Unit
		}
		t += fmt.Sprintf(" (limit %s%s)", trim(sig(f.Limit, 3)), unit)
	}
	return t
}

func (d Document) graphIndexes(engine, testName string, rules bool) []int {
	var out []int
	for i, g := range d.Graphs {
		if g.Engine == engine && g.Test == testName && (g.Rule != "") == rules {
			out = append(out, i)
		}
	}
	return out
}

func (d Document) graphSections() []section {
	var out []section
	for _, name := range []string{Bounded, Unbounded} {
		for _, e := range d.Engines {
			s := section{Level: 3, Title: "Graphs - " + sentence(name), Graphs: d.graphIndexes(e.Key, name, false)}
			if e.Label != "" {
				s.Title += " " + e.Label
			}
			for _, a := range d.Absent {
				if a.Engine == e.Key && a.Test == name {
					s.Notes = append(s.Notes, a.notes()...)
				}
			}
			if len(s.Graphs)+len(s.Notes) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}
