package report

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// operations fills the tables of operations: all judged runs of an arm merged.
func (b *builder) operations() {
	for _, e := range b.d.Engines {
		merged := make([]map[string]*measure.Window, len(b.d.Arms))
		seconds, tails := make([]float64, len(b.d.Arms)), make([]record.Tail, len(b.d.Arms))
		var names []string
		for i, a := range b.d.Arms {
			merged[i] = map[string]*measure.Window{}
			for _, r := range b.of(e.Key, a.Name) {
				if ph, ok := r.Manifest.Phase("measure"); ok {
					seconds[i] += (ph.To - ph.From).Seconds()
					if ph.Tail != nil {
						for name, op := range ph.Tail.Ops {
							tails[i].Add(name, op)
						}
					}
				}
				for name, w := range r.Ops {
					// An operation of the generator's own.
					if name == workload.Schedule || w == nil || w.Count() == 0 && w.Response.Count() == 0 {
						continue
					}
					if merged[i][name] == nil {
						merged[i][name] = measure.NewWindow(name)
					}
					merged[i][name].Merge(w)
					if !workload.OfAnswers(name) && !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.SortFunc(names, byKind)
		t := OpTable{Engine: e.Key}
		for _, name := range names {
			row := OpRow{Name: name}
			for i := range b.d.Arms {
				answers := workload.AnswersOf(merged[i], func(op string) bool { return op == name })
				cell := opCell(merged[i][name], seconds[i], tails[i].Ops[name], answers)
				cell.Expected = workload.ExpectedOf(merged[i], func(op string) bool { return op == name })
				row.Arms = append(row.Arms, cell)
			}
			t.Rows = append(t.Rows, row)
			base, fresh, n := merged[0][name] != nil, false, uint64(0)
			for i, of := range merged {
				if of[name] != nil {
					fresh, n = fresh || i > 0, n+of[name].Count()
				}
			}
			switch {
			case n < verdict.FewestCalls: // as likely by chance
			case base && !fresh && len(merged) > 1:
				t.Gone = append(t.Gone, name)
			case !base && fresh:
				t.New = append(t.New, name)
			}
		}
		t.Schedule = b.schedules(e.Key)
		b.d.Ops = append(b.d.Ops, t)
	}
}

// byKind orders operations of the steady state first, then deliveries, logins and provisioning.
func byKind(x, y string) int {
	rank := func(s string) int {
		switch {
		case workload.Steady(s):
			return 0
		case s == workload.Delivery:
			return 1
		default:
			return 2
		}
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x, y))
}

func opCell(w *measure.Window, seconds float64, end record.TailOp, answers map[string]uint64) OpCell {
	c := OpCell{Rate: unknown, Errors: unknown, P50: unknown, P95: unknown, P99: unknown}
	if w == nil {
		return c
	}
	c.Count, c.Failed, c.Drained, c.Open = w.Count(), w.Errors(), end.Drained, end.Open
	if seconds > 0 {
		c.Rate = Number(float64(c.Count-min(end.Drained, c.Count)) / seconds)
	}
	if c.Count > 0 {
		c.Errors = Number(float64(c.Failed) / float64(c.Count))
	}
	c.Classes, c.Statuses = Counts(w.ByClass()), Counts(answers)
	c.P50, c.P95, c.P99 = quantileMS(w, 0.50), quantileMS(w, 0.95), quantileMS(w, 0.99)
	for _, of := range []struct {
		name string
		q    float64
	}{{"p50", 0.50}, {"p95", 0.95}, {"p99", 0.99}} {
		if end.Bound(w.Response.Quantile(of.q)) {
			c.AtLeast = append(c.AtLeast, of.name)
		}
	}
	return c
}

// quantileMS is a quantile of the response in milliseconds, NaN of too few operations.
func quantileMS(w *measure.Window, q float64) Number {
	if w.Response.Count() < stats.LeastOps(q) {
		return unknown
	}
	return Number(float64(w.Response.Quantile(q)) / float64(time.Millisecond))
}

// measuredPhase is the Phase of the events that judge the whole bounded test.
const measuredPhase = "measured"

// rules fills the tables of SLO rules.
func (b *builder) rules() {
	for _, e := range b.d.Engines {
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
			for _, a := range b.d.Arms {
				if row, ok := b.rule(rule, e.Key, a.Name); ok {
					row.Limit = Number(limits[rule])
					t.Rows = append(t.Rows, row)
				}
			}
		}
		if len(t.Rows) > 0 {
			b.d.Rules = append(b.d.Rules, t)
		}
	}
}

func (b *builder) rule(rule, engine, arm string) (RuleRow, bool) {
	row := RuleRow{Rule: rule, Arm: arm}
	if r, err := plan.ParseSLO(rule); err == nil {
		row.Unit = r.Unit
	}
	search := RuleSearch{FirstUsers: unknown}
	var first []float64
	for _, r := range b.of(engine, arm) {
		seen := false
		for _, ev := range r.Events {
			if ev.Kind != "slo" || ev.Rule != rule {
				continue
			}
			row.Warning = row.Warning || ev.Level == record.Amber
			if ev.Phase == measuredPhase {
				v := RuleValue{Block: r.Cell.Block, Value: Number(ev.Value), Violated: ev.Violated, NoData: ev.NoData, TooFew: tooFew(ev)}
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
		if len(first) > 0 {
			search.FirstUsers = Number(stats.Median(first))
		}
		row.Search = &search
	}
	return row, row.Search != nil || len(row.Measured) > 0
}

func inSearch(m record.Manifest, ev record.Event) bool {
	if ev.Phase != "" {
		return ev.Phase == "search"
	}
	ph, ok := m.Phase("search")
	return ok && ev.At >= ph.From && ev.At <= ph.To
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
