package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// operations fills the tables of operations: all judged runs of an arm merged.
func (b *builder) operations() {
	for _, e := range b.Engines {
		merged := make([]map[string]*measure.Window, len(b.Arms))
		seconds, tails := make([]float64, len(b.Arms)), make([]record.Tail, len(b.Arms))
		var names []string
		for i, a := range b.Arms {
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
					if name == workload.Schedule || w == nil ||
						w.Count() == 0 && w.Response.Count() == 0 {
						continue
					}
					merge(merged[i], map[string]*measure.Window{name: w})
					if !workload.OfAnswers(name) && !workload.OfChecks(name) && !slices.Contains(names, name) {
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
			for i := range b.Arms {
				is := func(op string) bool { return op == name }
				cell := opCell(merged[i][name], seconds[i], tails[i].Ops[name],
					workload.AnswersOf(merged[i], is))
				cell.Expected = workload.ExpectedOf(merged[i], is)
				row.Arms = append(row.Arms, cell)
			}
			t.Rows = append(t.Rows, row)
			base := merged[0][name] != nil
			fresh := false
			n := uint64(0)
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
		for i, a := range b.Arms {
			if checks := ChecksOf(merged[i]); checks != nil {
				t.Checks = append(t.Checks, ArmChecks{a.Label, checks})
			}
		}
		b.Ops = append(b.Ops, t)
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

func opCell(w *measure.Window, seconds float64, end record.TailOp,
	answers map[string]uint64) OpCell {
	c := OpCell{Rate: unknown, Errors: unknown, P50: unknown, P95: unknown, P99: unknown}
	if w == nil {
		return c
	}
	c.Count = w.Count()
	c.Failed = w.Errors()
	c.Drained = end.Drained
	c.Open = end.Open

	if seconds > 0 {
		c.Rate = Number(float64(c.Count-min(end.Drained, c.Count)) / seconds)
	}
	if c.Count > 0 {
		c.Errors = Number(float64(c.Failed) / float64(c.Count))
	}
	c.Classes, c.Statuses = Counts(w.ByClass()), Counts(answers)
	c.P50, c.P95, c.P99 = quantilesMS(w.Response)
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

func (d Document) opSections() []section {
	var out []section
	for _, o := range d.Ops {
		t := newTable("Operation", "Arm", ">Count", ">per s", ">Errors", ">p50 ms", ">p95 ms",
			">p99 ms")
		for _, row := range o.Rows {
			for i, c := range row.Arms {
				name := row.Name
				if c.Count == 0 && c.Open == 0 {
					t.add(name, d.Arms[i].Label, "none measured", dash, dash, dash, dash, dash)
					continue
				}
				t.add(name, d.Arms[i].Label, opCells(c, o.mark(i)))
			}
		}
		s := section{Level: 3,
			Title: "Operations of the bounded test" + dashLabel(d.engineLabel(o.Engine)), Table: t}
		if len(o.Gone) > 0 {
			s.Notes.say("Only the base has: " + list(o.Gone) + ".")
		}
		if len(o.New) > 0 {
			s.Notes.say("The base does not have: " + list(o.New) + ".")
		}
		s.Notes.say("All judged runs merged; response times in the measured phase. A dash stands for a percentile of too few operations (p50: 7, p95: 90, p99: 459).")
		s.Notes.say(o.edgeNotes()...)
		out = append(out, s)
		out = append(out, d.checksSection(o)...)
		more := d.scheduleSection(o)
		if out = append(out, more...); len(more) == 0 {
			last := &out[len(out)-1]
			last.Notes.say("How many operations were intended, and how many were under way at the end of the phase, was not recorded.")
		}
	}
	return out
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
		var of prose
		for _, s := range c.Statuses {
			if strings.HasPrefix(s.Name, strings.TrimSuffix(k.Name, "xx")) &&
				strings.HasSuffix(k.Name, "xx") {
				of.add("%s %d", s.Name, s.N)
			}
		}
		if len(of) > 0 {
			parts[i] += ": " + strings.Join(of, " + ")
		}
	}
	return fmt.Sprintf("%s %% (%s)", sig(100*float64(c.Failed)/float64(c.Count), 2),
		strings.Join(parts, ", "))
}

// opCells are the cells of an operation behind its name, with a mark behind its latencies.
func opCells(c OpCell, mark string) []string {
	return cells(c.Count, c.Rate, errorText(c), c.latency("p50", c.P50, mark),
		c.latency("p95", c.P95, mark), c.latency("p99", c.P99, mark))
}
