package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/judge/drift"
	"plimsoll/stats"
)

const (
	apartAlpha = 0.01
	apartFrom  = 0.02
)

// moved returns the state, "rises" or "falls", that the signal had in more than half of the runs,
// and their number; "" if there is none.
func (c StabilityCell) moved() (state string, runs int) {
	switch {
	case 2*c.Rises > c.Runs:
		return drift.Rises, c.Rises
	case 2*c.Falls > c.Runs:
		return drift.Falls, c.Falls
	}
	return "", 0
}

func (s Stability) worthARow() bool {
	return slices.ContainsFunc(s.Arms, func(c StabilityCell) bool {
		state, _ := c.moved()
		return state != "" || 2*c.LevelsOff > c.Runs || c.Against != nil && c.Against.Differs
	})
}

// stability sums up the drift inside the runs.
func (b *builder) stability() {
	for _, e := range b.Engines {
		var rows []Stability
		for _, a := range b.Arms {
			for _, r := range b.of(e.Key, a.Name) {
				for _, d := range r.Drift {
					oneOf(&rows, func(s Stability) bool { return s.Signal == d.Signal },
						Stability{Engine: e.Key, Signal: d.Signal, Unit: d.Unit})
				}
			}
		}
		for i := range rows {
			for k, a := range b.Arms {
				cell := stabilityCell(b.of(e.Key, a.Name), rows[i].Signal)
				if k > 0 {
					cell.Against = against(
						b.of(e.Key, b.Arms[0].Name),
						b.of(e.Key, a.Name),
						rows[i].Signal,
					)
				}
				rows[i].Arms = append(rows[i].Arms, cell)
			}
		}
		for k := 1; k < len(b.Arms); k++ {
			judgeApart(rows, k)
		}
		b.Stability = append(b.Stability, rows...)
	}
}

// driftOf returns the drift of a signal in a run.
func driftOf(r RunData, signal string) (drift.Drift, bool) {
	for _, d := range r.Drift {
		if d.Signal == signal {
			return d, true
		}
	}
	return drift.Drift{}, false
}

func stabilityCell(runs []RunData, signal string) StabilityCell {
	var c StabilityCell
	var first, last, hours, slopes []float64
	parts := map[string]int{}
	for _, r := range runs {
		d, ok := driftOf(r, signal)
		if !ok {
			continue
		}
		c.Runs++
		switch d.State {
		case drift.Rises:
			c.Rises++
		case drift.Falls:
			c.Falls++
		case drift.LevelsOff:
			c.LevelsOff++
		case drift.TooShort:
			c.TooShort++
		}
		if d.PerHour == nil {
			continue
		}
		first = append(first, d.First)
		last = append(last, d.Last)
		hours = append(hours, d.Hours)
		slopes = append(slopes, *d.PerHour)

		for _, p := range d.Parts {
			parts[p.Name]++
		}
	}
	c.Parts = Counts(parts)
	c.First = Number(stats.Median(first))
	c.Last = Number(stats.Median(last))
	c.Hours = Number(stats.Median(hours))
	c.PerHour, c.Lo, c.Hi = overRuns(slopes)
	return c
}

// overRuns returns the mean of one number per run and its 95 % interval, unknown below three.
func overRuns(values []float64) (mean, lo, hi Number) {
	s := stats.Sample{Values: values}
	ci := stats.TInterval(s, 0.95)
	return Number(s.Mean()), Number(ci.Lo), Number(ci.Hi)
}

// against compares how much a signal changed in the runs of both arms, block by block; nil when no
// block has both.
func against(base, fresh []RunData, signal string) *StabilityDelta {
	var diffs []float64
	for _, f := range fresh {
		i := slices.IndexFunc(base, func(r RunData) bool { return r.Cell.Block == f.Cell.Block })
		if i < 0 {
			continue
		}
		x, ok1 := driftOf(base[i], signal)
		y, ok2 := driftOf(f, signal)
		if ok1 && ok2 && x.Change != nil && y.Change != nil {
			diffs = append(diffs, *y.Change-*x.Change)
		}
	}
	if len(diffs) == 0 {
		return nil
	}
	d := &StabilityDelta{Blocks: len(diffs), P: unknown}
	d.Value, d.Lo, d.Hi = overRuns(diffs)
	if len(diffs) >= stats.MinPairs {
		d.P = Number(stats.TTest(stats.Sample{Values: diffs}))
	}
	return d
}

// judgeApart decides for arm k which signals changed otherwise than in the base.
func judgeApart(rows []Stability, k int) {
	var ps []float64
	var of []*StabilityDelta
	for _, s := range rows {
		if d := s.Arms[k].Against; d != nil && d.P.Known() {
			ps, of = append(ps, float64(d.P)), append(of, d)
		}
	}
	for i, p := range stats.Holm(ps) {
		of[i].P = Number(p)
		of[i].Differs = p <= apartAlpha && math.Abs(float64(of[i].Value)) >= apartFrom
	}
}

// stabilitySections returns a table of drift per engine; none where drift was not determined.
func (d Document) stabilitySections() []section {
	var out []section
	for _, e := range d.Engines {
		var rest []string
		short, all := 0, 0
		t := newTable("Signal",
			"Arm",
			"Runs in which it moved",
			">At first",
			">At last",
			">Per hour",
			">More than the base",
		)
		for _, s := range d.Stability {
			if s.Engine != e.Key {
				continue
			}
			all++
			if slices.ContainsFunc(s.Arms,
				func(c StabilityCell) bool { return c.Runs > 0 && c.TooShort == c.Runs }) {
				short++
				continue
			}
			if !s.worthARow() {
				rest = append(rest, s.Signal)
				continue
			}
			for i, c := range s.Arms {
				if c.Runs > 0 {
					t.add(
						s.Signal,
						d.Arms[i].Label,
						c.movedText(),
						s.value(c.First),
						s.value(c.Last),
						s.slope(c),
						c.againstText(),
					)
				}
			}
		}
		if all == 0 {
			continue
		}
		s := section{Level: 3, Title: "Stability of the bounded test" + dashLabel(e.Label)}
		if len(t.Rows) > 0 {
			s.Table = t
			s.Notes.say("What moved inside the measured phases. A run's signal rises or falls when its trend is significant at 1 %, autocorrelation counted, and its change matters; " +
				"first and last are medians over the runs of their first and last tenth, the slope is the mean of the runs' with its 95 % interval over them. " +
				"Both arms are measured over the same stretch of time since their reset, so they can be compared; what drifts has no level of its own, and its numbers are those of this stretch.",
			)
		}
		if len(rest) > 0 {
			s.Notes.say("No drift that matters in most runs: " + list(rest) + ".")
		}
		if short > 0 {
			s.Notes.add("%s in measured phases too short to see a drift: nothing is said about %s.",
				count(short, "signal lies", "signals lie"), verb(short, "it", "them"))
		}
		out = append(out, s)
	}
	return out
}

// value writes a value of the signal.
func (s Stability) value(v Number) string {
	switch {
	case !v.Known():
		return dash
	case s.Unit == "bytes":
		return sig(v/(1<<20), 3) + " MiB"
	}
	return strings.TrimSpace(sig(v, 3) + " " + s.Unit)
}

func (s Stability) slope(c StabilityCell) string {
	scale, unit := Number(1), s.Unit
	if s.Unit == "bytes" {
		scale, unit = 1.0/(1<<20), "MiB"
	}
	if !c.PerHour.Known() {
		return dash
	}
	text := strings.TrimSpace(plus(c.PerHour*scale) + " " + unit)
	if c.Lo.Known() && c.Hi.Known() {
		text += fmt.Sprintf(" [%s, %s]", plus(c.Lo*scale), plus(c.Hi*scale))
	}
	return text
}

func (c StabilityCell) movedText() string {
	var parts prose
	for _, x := range []struct {
		n    int
		word string
	}{{c.Rises, "rose"}, {c.Falls, "fell"}, {c.LevelsOff, "leveled off"}, {c.TooShort, "too short"}} {
		if x.n > 0 {
			parts.add("%s in %d", x.word, x.n)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "0")
	}
	return fmt.Sprintf("%s of %d", strings.Join(parts, ", "), c.Runs)
}

func (c StabilityCell) againstText() string {
	switch {
	case c.Against == nil:
		return dash
	case c.Against.Differs:
		return c.Against.text() + ", differs"
	}
	return c.Against.text()
}

// text writes the difference with its interval: "+1.2 points [+0.3, +2.1]".
func (d *StabilityDelta) text() string {
	text := signed(100*d.Value, 1) + " points"
	if d.Lo.Known() && d.Hi.Known() {
		text += fmt.Sprintf(" [%s, %s]", signed(100*d.Lo, 1), signed(100*d.Hi, 1))
	}
	return text
}

// told are the signals whose drift has a separate comment.
var told = []string{"mean response", "throughput"}

// stabilityComments name the arms whose response times or throughput drift, and the signals in
// which the arms drift differently.
func (d Document) stabilityComments() []string {
	var out prose
	for _, s := range d.Stability {
		for i, c := range s.Arms {
			name := d.on(s.Engine) + d.Arms[i].Label
			if state, n := c.moved(); state != "" && slices.Contains(told, s.Signal) {
				word := "climbed"
				if state == drift.Falls {
					word = "fell"
				}
				text := fmt.Sprintf(
					"%s: %s %s from %s to %s in %s (%d of %s; slope %s per hour, 95 %% interval over the runs)",
					name,
					s.Signal,
					word,
					s.value(c.First),
					s.value(c.Last),
					hoursText(c.Hours),
					n,
					count(c.Runs, "run", "runs"),
					s.slope(c),
				)
				if names := c.mostParts(); len(names) > 0 {
					text += ": " + list(names)
				}
				out = append(out, text+".")
			}
			if a := c.Against; a != nil && a.Differs {
				out.add(
					"%s: %s does not drift as with the base: %s over a run, in %s.",
					name,
					s.Signal,
					a.text()+" of its value at first",
					count(a.Blocks, "block", "blocks"),
				)
			}
		}
	}
	return out
}

// mostParts names the parts that drifted in more than half of the runs that moved, at most five.
func (c StabilityCell) mostParts() []string {
	var out []string
	for _, p := range c.Parts {
		if _, n := c.moved(); 2*p.N > n && len(out) < 5 {
			out = append(out, p.Name)
		}
	}
	return out
}

// hoursText writes a length of time in words: "the hour", "90.0 minutes".
func hoursText(h Number) string {
	minutes := 60 * float64(h)
	switch {
	case math.Abs(minutes-60) <= 1:
		return "the hour"
	case minutes >= 120:
		return fixed(h, 1) + " hours"
	case minutes >= 2:
		return fixed(minutes, 1) + " minutes"
	}
	return fixed(60*minutes, 0) + " seconds"
}
