package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/record"
	"plimsoll/stats"
)

// rules fills the tables of SLO rules.
func (b *builder) rules() {
	for _, e := range b.Engines {
		var order []string
		limits := map[string]float64{}
		for _, r := range b.judged {
			for _, ev := range r.Events {
				if ev.Kind == "slo" && r.Cell.Engine == e.Key && !slices.Contains(order, ev.Rule) {
					order = append(order, ev.Rule)
					limits[ev.Rule] = ev.Limit
				}
			}
		}
		t := RuleTable{Engine: e.Key}
		for _, rule := range order {
			for _, a := range b.Arms {
				if row, ok := b.rule(rule, e.Key, a.Name); ok {
					row.Limit = Number(limits[rule])
					t.Rows = append(t.Rows, row)
				}
			}
		}
		if len(t.Rows) > 0 {
			b.Rules = append(b.Rules, t)
		}
	}
}

func (b *builder) rule(rule, engine, arm string) (RuleRow, bool) {
	row := RuleRow{Rule: rule, Arm: arm, Unit: ruleOf(rule).Unit}
	var search RuleSearch
	var first []float64
	for _, r := range b.of(engine, arm) {
		seen := false
		for _, ev := range r.Events {
			if ev.Kind != "slo" || ev.Rule != rule {
				continue
			}
			row.Warning = row.Warning || ev.Level == record.Amber
			if ev.Phase == measuredPhase {
				v := RuleValue{Block: r.Cell.Block, Value: Number(ev.Value), Violated: ev.Violated,
					NoData: ev.NoData, TooFew: tooFew(ev)}
				if ev.NoData {
					v.Value = unknown
				}
				if ev.Violated {
					v.Where = ev.Text
				}
				row.Measured = append(row.Measured, v)
				continue
			}
			if !inSearch(r.Manifest, ev) {
				continue
			}
			search.Evaluations++
			switch {
			case ev.NoData:
				search.NoData++
			case ev.Violated:
				search.Violated++
				if !seen {
					seen = true
					search.FirstRuns++
					if n := usersAt(r.Events, ev.At); n > 0 {
						first = append(first, float64(n))
					}
				}
			case tooFew(ev):
				search.TooFew++
			}
		}
	}
	if search.Evaluations > 0 {
		search.FirstUsers = Number(stats.Median(first))
		row.Search = &search
	}
	return row, row.Search != nil || len(row.Measured) > 0
}

// usersAt returns the number of users in the last event until at; 0 if none has one.
func usersAt(events []record.Event, at time.Duration) int {
	n := 0
	for _, ev := range events {
		if ev.At > at {
			break
		}
		if ev.Kind == "users" {
			n = ev.Users
		}
	}
	return n
}

// tally counts the runs of the bounded test in which the rule did not hold, had no data, or too few
// operations.
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
		t := newTable("Rule",
			"Arm",
			">Limit",
			">Evaluations",
			">Violated",
			">No data",
			">Too few",
			">First violated at",
		)
		for _, r := range rt.Rows {
			if r.Search == nil {
				continue
			}
			first := dash
			if r.Search.FirstRuns > 0 && r.Search.FirstUsers.Known() {
				first = fmt.Sprintf("%.0f users (%s)", r.Search.FirstUsers,
					count(r.Search.FirstRuns, "run", "runs"))
			}
			t.add(r.Rule, d.armLabel(r.Arm), limitValue(r.Unit, r.Limit), r.Search.Evaluations,
				r.Search.Violated, r.Search.NoData, r.Search.TooFew, first)
		}
		if len(t.Rows) > 0 {
			s := section{Level: 3, Title: "Rules in the unbounded test" + label, Table: t,
				Graphs: d.graphIndexes(rt.Engine, Unbounded, true)}
			s.Notes = []string{
				"First violated at: the median over the runs in which the rule was violated at all. Too few: evaluations with fewer operations than the rule asks for, which decide nothing.",
			}
			unbounded = append(unbounded, s)
		}
	}
	return append(bounded, unbounded...)
}

// measuredRules shows each rule's value in each run of the bounded test.
func (d Document) measuredRules(rt RuleTable) (section, bool) {
	var blocks []int
	for _, r := range rt.Rows {
		for _, v := range r.Measured {
			if !slices.Contains(blocks, v.Block) {
				blocks = append(blocks, v.Block)
			}
		}
	}
	if len(blocks) == 0 {
		return section{}, false
	}
	head := []string{"Rule", "Arm", ">Limit", "!Held"}
	each := len(blocks) <= mostBlocks
	if each {
		for _, b := range blocks {
			head = append(head, fmt.Sprintf(">Block %d", b))
		}
	} else {
		head = append(head, ">Lowest", ">Highest")
	}
	t := newTable(head...)
	var notes prose
	for _, r := range rt.Rows {
		if len(r.Measured) == 0 {
			continue
		}
		broken, missing, few := r.tally()
		lo, hi := Number(math.Inf(1)), Number(math.Inf(-1)) // not known
		byBlock := map[int]string{}
		for _, v := range r.Measured {
			text := ruleValue(r.Unit, v.Value)
			switch {
			case v.NoData:
				text = "no data"
			case v.Violated:
				text += " !"
				if v.Where != "" && len(notes) < mostBlocks {
					notes.add("%s, block %d, %s: %s.", d.armLabel(r.Arm), v.Block, r.Rule, v.Where)
				}
			}
			byBlock[v.Block] = text
			if v.Value.Known() {
				lo, hi = min(lo, v.Value), max(hi, v.Value)
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
		row := []string{r.Rule, d.armLabel(r.Arm), limitValue(r.Unit, r.Limit), held}
		if each {
			for _, b := range blocks {
				row = append(row, orDash(byBlock[b]))
			}
		} else {
			row = append(row, ruleValue(r.Unit, lo), ruleValue(r.Unit, hi))
		}
		t.add(row)
	}
	return section{Level: 3, Table: t, Notes: notes}, true
}

// brokenRules lists the rules that the bounded tests broke, or could not evaluate: the rules that
// only warn, or all others.
func (b *builder) brokenRules(warning bool) []string {
	var out prose
	broke := "broke %s"
	if warning {
		broke = "went beyond %s, which only warns,"
	}
	for _, t := range b.Rules {
		for _, r := range t.Rows {
			if r.Warning != warning {
				continue
			}
			broken, missing, _ := r.tally()
			where := ""
			if i := slices.IndexFunc(r.Measured,
				func(v RuleValue) bool {
					return v.Violated && !v.NoData && v.Where != ""
				}); i >= 0 {
				where = fmt.Sprintf(" (block %d: %s)", r.Measured[i].Block, r.Measured[i].Where)
			}
			name := b.on(t.Engine) + "in the bounded test " + b.armLabel(r.Arm)
			if broken > 0 {
				out.add(
					"%s "+broke+" in %d of %d runs%s.",
					name,
					r.Rule,
					broken,
					len(r.Measured),
					where,
				)
			}
			if missing > 0 {
				out.add(
					"%s gave no data for %s in %d of %d runs.",
					name,
					r.Rule,
					missing,
					len(r.Measured),
				)
			}
		}
	}
	return out
}
