package report

import (
	"slices"
	"strconv"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// schedules counts for each arm the operations that were intended and begun; nil where no run
// recorded them.
func (b *builder) schedules(engine string) []OpSchedule {
	var out []OpSchedule
	told := 0
	for _, a := range b.Arms {
		s := scheduleOf(b.of(engine, a.Name))
		told += s.Told + s.Unpaused
		out = append(out, s)
	}
	if told == 0 {
		return nil
	}
	return out
}

// scheduleOf adds up the schedules of the runs of an arm.
func scheduleOf(runs []RunData) OpSchedule {
	s := OpSchedule{
		Intended: unknown,
		Share:    unknown,
		Least:    unknown,
	}
	all, by := measure.NewWindow("op"), measure.NewWindow("op")
	intended := 0.0
	for _, r := range runs {
		ph, ok := r.Manifest.Phase("measure")
		if !ok {
			continue
		}
		s.Runs++
		c := ph.Schedule
		if c == nil {
			continue
		}
		if c.Unpaused {
			s.Unpaused++
			continue
		}
		s.Told++
		s.Achieved += c.Achieved
		intended += c.Intended
		s.Marked = s.Marked || c.Marked()
		if share := Number(c.Share()); !(s.Least <= share) {
			s.Least = share
		}
		mergeSteady(r, all, by)
	}
	if s.Told > 0 {
		s.Intended = Number(intended)
		s.Share = Number((&record.Schedule{Achieved: s.Achieved, Intended: intended}).Share())
	}
	s.P50, s.P95, s.P99 = quantilesMS(all.Response)
	s.By50, s.By95, s.By99 = quantilesMS(by.Response)
	return s
}

// mergeSteady adds the steady operations of a run to all, and with those that were omitted to by.
func mergeSteady(r RunData, all, by *measure.Window) {
	for name, w := range r.Ops {
		if w == nil || !workload.Steady(name) {
			continue
		}
		all.Merge(w)
		by.Merge(w)
		if never := r.Omitted[name]; never != nil {
			by.Merge(never)
		}
	}
}

// mark stands behind latencies of an arm whose users waited instead of asking.
const mark = " †"

// mark is the mark of the latencies of an arm; empty for one without.
func (t OpTable) mark(arm int) string {
	if arm < len(t.Schedule) && t.Schedule[arm].Marked {
		return mark
	}
	return ""
}

// latency writes a percentile of a cell, which may be a lower bound, with a mark behind it.
func (c OpCell) latency(name string, v Number, mark string) string {
	s := ms(v)
	if s == dash {
		return s
	}
	if slices.Contains(c.AtLeast, name) {
		s = "≥ " + s
	}
	return s + mark
}

// edgeNotes counts the table's operations that were under way at the end of a phase.
func (t OpTable) edgeNotes() []string {
	var drained, open uint64
	for _, r := range t.Rows {
		for _, c := range r.Arms {
			drained, open = drained+c.Drained, open+c.Open
		}
	}
	var notes prose
	if open > 0 {
		notes.add(
			"%d operations were still under way when the wait at the end of the measured phase was over: they count with their age, and ≥ marks a percentile that is a lower bound.",
			open,
		)
	}
	if drained > 0 {
		notes.add(
			"%d operations were under way at the end of a measured phase and have ended since: they are in the latencies, and not in the rates.",
			drained,
		)
	}
	return notes
}

// scheduleSection is the table of intended and begun operations.
func (d Document) scheduleSection(o OpTable) []section {
	t := newTable("Arm",
		">Achieved",
		">Intended",
		">Share",
		">Lowest run",
		">p50 ms",
		">p95 ms",
		">p99 ms",
		">p50 by schedule",
		">p95 by schedule",
		">p99 by schedule",
	)
	percent := func(n Number) string {
		return strconv.FormatFloat(100*float64(n), 'f', 2, 64) + " %"
	}
	var notes prose
	for i, c := range o.Schedule {
		label := d.Arms[i].Label
		if c.Told == 0 {
			why := "not recorded"
			if c.Unpaused > 0 {
				why = "not applicable: users without pauses"
			}
			t.add(label, why, dash, dash, dash, dash, dash, dash, dash, dash, dash)
			continue
		}
		end := o.mark(i)
		t.add(
			label,
			c.Achieved,
			strconv.FormatFloat(float64(c.Intended), 'f', 0, 64),
			percent(c.Share),
			percent(c.Least),
			ms(c.P50)+end,
			ms(c.P95)+end,
			ms(c.P99)+end,
			c.By50,
			c.By95,
			c.By99,
		)
		if c.Told+c.Unpaused < c.Runs {
			notes.add(
				"%s: %d of %d runs did not record it.",
				label,
				c.Runs-c.Told-c.Unpaused,
				c.Runs,
			)
		}
	}
	notes = append(
		notes,
		"Intended is what users would have begun had each operation taken the median of its name; by schedule is the response as if users had not waited. "+
			"It is calculated, stands beside what was measured, and enters no verdict (docs/method/time.md).",
	)
	if slices.ContainsFunc(o.Schedule, func(c OpSchedule) bool { return c.Marked }) {
		notes.add(
			"† In a run of this arm fewer than %.0f %% of the intended operations were begun: users waited, and the measured latencies hold few of their waits.",
			100*record.LeastAchieved,
		)
	}
	return t.section("Achieved and intended operations"+dashLabel(d.engineLabel(o.Engine)), notes...)
}

// omissionNotes names the arms whose latencies a finding uses although their users waited instead
// of sending requests.
func (d Document) omissionNotes(f NamedVerdict) []string {
	var out prose
	for _, t := range d.Ops {
		if t.Engine != f.Engine {
			continue
		}
		for i, a := range d.Arms {
			if t.mark(i) != "" {
				out.add(
					"† The users of %s began %s %% of the operations that they intended, in one run %s %%: its latencies hold few of the waits of the others, see Achieved and intended operations.",
					a.Label,
					sig(100*t.Schedule[i].Share, 3),
					sig(100*t.Schedule[i].Least, 3),
				)
			}
		}
	}
	return out
}
