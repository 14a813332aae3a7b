package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/load/workload"
	"plimsoll/record"
)

// marksPerWindow is the number of parts in which the window of a phase without a known end is kept:
// it begins at one of them, so that it is longer than requested by at most one part, and by less
// than a second when that is less.
const marksPerWindow = 600

// A phase of a bounded test, with its longest time.
type boundedPhase struct {
	name string
	d    time.Duration
}

// phases returns the phases of the test. A window whose beginning is known beforehand makes a phase
// of the part before it.
func (b *BoundedTest) phases() []boundedPhase {
	out := []boundedPhase{{"ramp", b.Ramp}, {"settle", b.Settle}}
	if w := wholeSeconds(b.Window); w > 0 && b.Until == nil && w < wholeSeconds(b.Measure) {
		return append(
			out,
			boundedPhase{"soak", wholeSeconds(b.Measure) - w},
			boundedPhase{"measure", w},
		)
	}
	return append(out, boundedPhase{"measure", b.Measure})
}

// untilState is the state of a measured phase with a stop rule.
type untilState struct {
	ended  string // why the phase ended, or that it did not end by the rule
	why    string // the rule's reason
	failed bool   // it failed once, which was recorded
	step   time.Duration
	marks  []mark // of the last window, oldest first; nil without one
}

// A mark is a moment of a phase at which its window may begin, and the counts from there to the
// next mark.
type mark struct {
	at     time.Duration
	before slice // the state at that moment
	sum    slice
	worst  slice // with the smallest share of the users
	tally  workload.Snapshot
	ledger workload.LedgerCount
	gates  []watched
	// extreme is the worst reading of each gate from there to the next mark; NaN without one.
	extreme []float64
}

// note takes in the reading of a gate in the last second.
func (u *untilState) note(gate int, g *watched, v float64) {
	n := len(u.marks)
	if n == 0 {
		return
	}
	if e := &u.marks[n-1].extreme[gate]; math.IsNaN(*e) || g.worse(v, *e) {
		*e = v
	}
}

// beginUntil begins to keep the data for a window whose beginning is not known yet.
func (r *run) beginUntil() {
	r.until = untilState{}
	b := r.Bounded
	if b.Until == nil || b.Window <= 0 {
		return
	}
	r.until.step = max(time.Second, wholeSeconds(b.Window/marksPerWindow))
	r.addMark()
}

// addMark adds a mark at this moment, and drops those at which no window can begin any more.
func (r *run) addMark() {
	m := mark{
		at:      r.now(),
		worst:   slice{desired: -1},
		tally:   r.Tally.Snapshot(),
		ledger:  r.Ledger.Count(),
		gates:   slices.Clone(r.gates),
		extreme: slices.Repeat([]float64{math.NaN()}, len(r.gates)),
	}
	if n := len(r.trail.slices); n > 0 {
		m.before = r.trail.slices[n-1]
		m.before.windows, m.before.health = nil, nil
	}
	u := &r.until
	u.marks = append(u.marks, m)
	for len(u.marks) > 1 && u.marks[1].at <= r.now()-r.Bounded.Window {
		u.marks = slices.Delete(u.marks, 0, 1)
	}
}

// goOn is called after each tick of the measured phase and reports whether it goes on.
func (r *run) goOn() bool {
	b, u := r.Bounded, &r.until
	if b.Until == nil {
		return true
	}
	if b.Measured != nil {
		b.Measured(r.now()-r.from, r.trail.slices[len(r.trail.slices)-1].windows)
	}
	if n := len(u.marks); n > 0 {
		m, sl := &u.marks[n-1], r.trail.slices[len(r.trail.slices)-1]
		m.sum.fold(sl)
		m.worst.keepWorst(sl)
		if r.now()-m.at >= u.step {
			r.addMark()
		}
	}
	if r.now()%time.Second != 0 {
		return true
	}
	why, err := b.Until()
	if err != nil && !u.failed {
		u.failed = true
		r.red("until", "the stop rule of the measured phase could not be watched: "+err.Error())
	}
	u.why = why
	return why == ""
}

// endUntil records why the measured phase ended, and makes its last part the one that counts.
func (r *run) endUntil() error {
	b, u := r.Bounded, &r.until
	if b.Until == nil {
		return nil
	}
	length := r.now() - r.from
	u.ended = "its time was over before the stop rule held"
	if u.why != "" {
		u.ended = fmt.Sprintf("%s, after %v", u.why, length)
		if short := max(b.Window, 2*time.Second); length < short {
			r.out.Validity.Add(record.Finding{
				Gate:  "until",
				Level: record.Red,
				Value: length.Seconds(),
				Limit: short.Seconds(),
				Unit:  "s",
				Text: fmt.Sprintf(
					"the measured phase ended after %v, before the %v that count were over: %s",
					length,
					short,
					u.why,
				),
			})
		}
	}
	r.event(record.Event{
		Kind:  "note",
		Phase: r.phase,
		Text:  "the measured phase ended: " + u.ended,
	})
	if len(u.marks) == 0 || length <= b.Window {
		return r.werr
	}
	i := 0 // the last mark that a whole window lies behind
	for i+1 < len(u.marks) && u.marks[i+1].at <= r.now()-b.Window {
		i++
	}
	return r.narrow(u.marks[i:])
}

// narrow makes the phase begin at the first of the marks: operations are read back from the run,
// all else was kept.
func (r *run) narrow(marks []mark) error {
	first := marks[0]
	stored, err := record.Open(r.Writer.Dir())
	if err != nil {
		return fmt.Errorf("reading the measured phase back: %w", err)
	}
	merged, err := stored.Merged(first.at, r.now())
	if err != nil {
		return fmt.Errorf("reading the measured phase back: %w", err)
	}
	var sum slice
	worst := slice{desired: -1}
	for _, m := range marks {
		sum.fold(m.sum)
		if m.worst.desired >= 0 {
			worst.keepWorst(m.worst)
		}
	}
	sl := r.trail.slices[len(r.trail.slices)-1].over(worst, sum, merged)
	r.measured = stretch{before: &first.before, first: first.at, in: []slice{sl}}
	r.conduct.tally, r.conduct.ledger = first.tally, first.ledger
	for i := range r.gates {
		g, was := &r.gates[i], first.gates[i]
		g.seconds = g.seconds - was.seconds
		g.amber = g.amber - was.amber
		g.red = g.red - was.red
		g.sum = g.sum - was.sum
		g.worst = first.extreme[i]
		for _, m := range marks {
			if v := m.extreme[i]; math.IsNaN(g.worst) || g.worse(v, g.worst) {
				g.worst = v
			}
		}
	}
	r.out.Phases = append(r.out.Phases, record.Phase{
		Name:  "soak",
		From:  r.from,
		To:    first.at,
		Users: first.before.active,
	})
	r.from = first.at
	r.event(record.Event{
		Kind:  "note",
		Phase: r.phase,
		Text: fmt.Sprintf(
			"what counts of the measured phase is its last %v, from %v on",
			r.now()-first.at,
			first.at,
		),
	})
	return r.werr
}
