package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
)

// levels are a gate's, from the best.
var levels = []string{
	record.NotApplicable,
	record.NotMeasured,
	record.Green,
	record.Amber,
	record.Red,
}

// gates sums up the gates of the judged runs.
func (b *builder) gates() {
	judged := slices.ContainsFunc(b.Runs, func(r RunRow) bool { return r.Part == "judged" })
	part := map[string]string{}
	for _, r := range b.Runs {
		part[r.ID] = r.Part
	}
	for _, r := range b.in.Runs {
		if judged && part[r.Cell.Run] != "judged" {
			continue
		}
		for _, g := range r.Validity.Gates {
			b.gate(g)
		}
	}
}

func (b *builder) gate(g record.GateOutcome) {
	x := oneOf(&b.Gates, func(x GateReading) bool { return x.Name == g.Name }, GateReading{
		Name:  g.Name,
		What:  g.What,
		Unit:  g.Unit,
		Amber: g.Amber,
		Red:   g.Red,
		Level: g.Level,
		Worst: unknown,
	})
	x.Runs++
	if slices.Index(levels, g.Level) > slices.Index(levels, x.Level) {
		x.Level = g.Level
	}
	if g.Value == nil {
		x.Why = g.Why
	} else {
		x.Measured++
	}
	if g.Worst != nil {
		if w := Number(*g.Worst); !x.Worst.Known() || g.Floor && w < x.Worst ||
			!g.Floor && w > x.Worst {
			x.Worst = w
		}
	}
	x.Seconds += g.Seconds
	x.AmberSeconds += g.AmberSeconds
	x.RedSeconds += g.RedSeconds
}

// gateSections is the table of the gates, if the runs have any.
func (d Document) gateSections() []section {
	t := newTable(
		"Gate",
		"What is read",
		"!State",
		">Worst second",
		">Amber from",
		">Red from",
		">Seconds",
		">amber",
		">red",
		"Runs",
	)
	var few []string
	for _, g := range d.Gates {
		if g.Level == record.Green && g.AmberSeconds+g.RedSeconds > 0 {
			few = append(few, g.Name)
		}
		unit := plan.Gate{Unit: g.Unit}
		worst := dash
		if g.Worst.Known() {
			worst = unit.Format(float64(g.Worst))
		}
		runs := strconv.Itoa(g.Runs)
		if g.Measured < g.Runs {
			runs = fmt.Sprintf("%d of %d; otherwise: %s", g.Measured, g.Runs, g.Why)
		}
		t.add(
			g.Name,
			g.What,
			g.Level,
			worst,
			unit.Format(g.Amber),
			unit.Format(g.Red),
			g.Seconds,
			g.AmberSeconds,
			g.RedSeconds,
			runs,
		)
	}
	var notes prose
	if len(few) > 0 {
		notes.add("Green with seconds beyond a limit: %s. Such a second counts where the run has more of them than one in ten, and than three.",
			strings.Join(few, ", "))
	}
	return t.section("Gates of the generator", notes...)
}
