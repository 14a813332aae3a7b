package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// A Reading is the value that a gate read. With a Why there is no Value: the gate is not measured, which is never
// green; or it is Inapplicable, because its signal does not exist in this run.
type Reading struct {
	Value        float64
	Why          string
	Inapplicable bool
	// Note names in a finding's text what the value is of, such as one of several servers; often empty.
	Note string
}

// A Counter is a [Driver] that accounts for the time of its users. One goroutine calls it.
type Counter interface{ Activity() workload.Activity }

const (
	lateBy   = 10 * time.Millisecond // when an action counts as late
	realWait = time.Millisecond      // a shorter wait is the cost of a connection on a near network
	grace    = 5 * time.Second       // how long a signal may be without data
	fewest   = 100                   // actions of which a p99 can be taken
)

// readers take a reading over a stretch from the trial's own records; all other gates are read by [Signals].
var readers = map[string]func(stretch) Reading{
	"lag":    readLag,
	"late":   readLate,
	"users":  readUsers,
	"wait":   readWait,
	"inbox":  readInbox,
	"rate":   readRate,
	"bursts": readBursts,
	"little": readLittle,
}

// long are the gates whose readings need a stretch of some length: they are read over the measured phase so far, and
// never watch a search.
var long = []string{"rate", "bursts", "little"}

// spiky are the gates whose reading of one bad second outweighs all others in a mean: only the number of seconds
// counts.
var spiky = []string{"sched", "pause"}

// peaks are the gates of something that is used up: the worst moment counts, not the mean.
var peaks = []string{"fds", "fds_free", "ports", "memory", "clock", "headroom"}

// readLag and readLate judge how late actions began and how late operations were apart, and the worse of the two
// counts: in actions of many operations those would hide late beginnings, and in a mix of few such actions the
// beginnings would hide late operations.
func readLag(st stretch) Reading {
	return st.worstLag("a p99", func(h *measure.Histogram) float64 { return h.Quantile(0.99).Seconds() * 1e3 })
}

func readLate(st stretch) Reading {
	return st.worstLag("a share of 1 %", func(h *measure.Histogram) float64 { return 100 * float64(h.CountOver(lateBy)) / float64(h.Count()) })
}

// worstLag takes a reading of how late actions began and of how late operations were, as far as there are enough, and
// returns the worse.
func (s stretch) worstLag(what string, of func(*measure.Histogram) float64) Reading {
	out, most := Reading{}, uint64(0)
	for _, keep := range []func(string) bool{isSchedule, workload.Operation} {
		lag := s.merged(keep).Lag
		if most = max(most, lag.Count()); lag.Count() >= fewest {
			out.Value = max(out.Value, of(lag))
		}
	}
	if most < fewest {
		out.Why = fmt.Sprintf("%d actions and operations are too few for %s, want %d", most, what, fewest)
	}
	return out
}

func isSchedule(series string) bool { return series == workload.Schedule }

func readUsers(st stretch) Reading {
	worst, any := 100.0, false
	for _, sl := range st.in {
		if sl.desired > 0 {
			worst, any = min(worst, 100*float64(sl.active)/float64(sl.desired)), true
		}
	}
	if !any {
		return Reading{Why: "no users are wanted, only arrivals", Inapplicable: true}
	}
	return Reading{Value: worst}
}

func readWait(st stretch) Reading {
	if st.counts().Wanted > 0 {
		return Reading{Why: "beside arrivals, waits are for a place among those in flight", Inapplicable: true}
	}
	w := st.steady()
	if w.Response.Count() < fewest {
		return Reading{Why: fmt.Sprintf("%d operations are too few, want %d", w.Response.Count(), fewest)}
	}
	if w.Response.Sum() < leastResponse {
		return Reading{Why: fmt.Sprintf("%v of response time is too little to be compared with, want %v", w.Response.Sum().Round(time.Millisecond), leastResponse)}
	}
	// Against a target that answers in a fraction of a millisecond, any wait is a large share of nothing.
	of := max(w.Response.Sum(), time.Duration(w.Response.Count())*realWait)
	return Reading{Value: 100 * w.Wait.SumOver(realWait).Seconds() / of.Seconds()}
}

// leastResponse is the response time below which one slow dial would be a large part of a second's.
const leastResponse = time.Second

func readInbox(st stretch) Reading {
	h := st.merged(func(s string) bool { return s == workload.Inbox }).Lag
	if h.Count() == 0 {
		return Reading{Why: "no WebSocket event came with the kernel's stamp"}
	}
	return Reading{Value: h.Quantile(0.99).Seconds() * 1e3}
}

func readRate(st stretch) Reading {
	c := st.counts()
	if c.Wanted == 0 {
		return Reading{Why: "the plan has no arrivals; the rate of users follows from their number, see users and little", Inapplicable: true}
	}
	return Reading{Value: 100 * float64(c.Served) / float64(c.Wanted)}
}

// readBursts compares the fullest 100 ms with the mean. Activity of independent actions vary by their root; four times
// that is more than any of some thousand bins shows by chance (Poisson), and is taken off the peak.
func readBursts(st stretch) Reading {
	b := st.counts().Begun
	sum, peak := 0.0, 0.0
	for _, n := range b {
		sum += float64(n)
		peak = max(peak, float64(n))
	}
	mean := sum / max(float64(len(b)), 1)
	if len(b) < 20 || mean < 1 {
		return Reading{Why: "fewer than 10 actions began per second, or for less than 2 s"}
	}
	return Reading{Value: max(peak-4*math.Sqrt(mean), mean) / mean}
}

// readLittle adds up where the users' time went: users × time = Σ (pause + action), with the parts that lie in the
// stretch of those that it cuts at its ends. The rest was spent late or lost.
func readLittle(st stretch) Reading {
	c, have := st.counts(), st.userSeconds()
	if have == 0 {
		return Reading{Why: "there are no users, only arrivals", Inapplicable: true}
	}
	return Reading{Value: 100 * math.Abs(have-(c.Think+c.Busy+c.Open).Seconds()) / have}
}

// read takes one gate's reading over a stretch.
func (r *run) read(g plan.Gate, st stretch) Reading {
	if f := readers[g.Name]; f != nil {
		if _, ok := r.Driver.(Counter); !ok && slices.Contains(long, g.Name) {
			return Reading{Why: "this driver does not count actions"}
		}
		return f(st)
	}
	return st.health(g)
}

// watch takes all readings over the last second, writes them as an event, and counts the seconds beyond a limit in the
// phases that count.
func (r *run) watch() {
	second := r.trail.last(time.Second)
	ev := record.Event{Kind: "gates", Phase: r.phase, Readings: map[string]float64{}}
	for i := range r.gates {
		g := &r.gates[i]
		st := second
		if slices.Contains(long, g.Name) {
			if r.phase != "measure" || len(r.measured.in) == 0 {
				r.watching.gates[i] = gateNow{why: "it is read over the measured phase"}
				continue
			}
			st = r.measured
		}
		rd := r.read(g.Gate, st)
		r.watching.gates[i] = gateNow{rd.Value, rd.Why}
		if rd.Why != "" {
			g.why, g.na = rd.Why, rd.Inapplicable
			continue
		}
		ev.Readings[g.Name] = rd.Value
		if r.phase != "measure" && (r.phase != "search" || !g.Search && !slices.Contains(counted, g.Name)) {
			continue
		}
		if g.seconds == 0 || g.worse(rd.Value, g.worst) {
			g.worst, g.note = rd.Value, rd.Note
		}
		r.until.note(i, g, rd.Value)
		g.seconds++
		g.sum += rd.Value
		switch g.Gate.Level(rd.Value) {
		case record.Red:
			g.red++
		case record.Amber:
			g.amber++
		}
	}
	r.event(ev)
	r.exportGates(ev)
}

// watched is a gate and its readings.
type watched struct {
	plan.Gate
	seconds, amber, red int
	sum, worst          float64
	why                 string   // the last reason why there was no reading
	na                  bool     // there is nothing to read in this run
	note                string   // of the worst reading
	value               *float64 // over the measured phase
	level               string
}

// worse reports whether a reading lies farther on the bad side than another.
func (g *watched) worse(v, than float64) bool {
	if g.Floor {
		return v < than
	}
	return v > than
}

func newWatched(gates []plan.Gate) []watched {
	if gates == nil {
		gates = plan.DefaultGates()
	}
	out := make([]watched, len(gates))
	for i, g := range gates {
		out[i] = watched{Gate: g, why: "nothing was measured"}
	}
	return out
}

// judge decides a gate over the measured phase: by its reading of the whole phase, and by the seconds beyond a limit
// when those are more than one in ten (and three).
func (g *watched) judge(rd Reading) (record.Finding, bool) {
	if rd.Why != "" {
		g.why, g.na = rd.Why, rd.Inapplicable
		return record.Finding{}, false
	}
	g.value = &rd.Value
	if !slices.Contains(spiky, g.Name) {
		g.level = g.Gate.Level(rd.Value)
	}
	text := fmt.Sprintf("%s: %s in the measured phase%s", g.What, g.Format(rd.Value), noted(rd.Note))
	value := rd.Value
	many := record.Tolerated(g.seconds)
	switch {
	case slices.Contains(long, g.Name): // its seconds are all of the phase so far
	case g.red > many && g.level != record.Red:
		g.level = record.Red
		text, value = fmt.Sprintf("%s: beyond the limit in %d of %d seconds, worst %s%s", g.What, g.red, g.seconds, g.Format(g.worst), noted(g.note)), g.worst
	case g.red+g.amber > many && g.level == "":
		g.level = record.Amber
		text, value = fmt.Sprintf("%s: beyond the limit in %d of %d seconds, worst %s%s", g.What, g.red+g.amber, g.seconds, g.Format(g.worst), noted(g.note)), g.worst
	}
	if g.level == "" {
		return record.Finding{}, false
	}
	return g.finding(g.level, value, text), true
}

// noted is a reading's note as the end of a sentence.
func noted(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

func (g *watched) finding(level string, value float64, text string) record.Finding {
	limit := g.Amber
	if level == record.Red {
		limit = g.Red
	}
	return record.Finding{Gate: g.Name, Level: level, Value: value, Limit: limit, Unit: g.Unit, Text: text}
}

// summary is the gate's line in validity.json.
func (g *watched) summary() record.GateOutcome {
	out := record.GateOutcome{Name: g.Name, What: g.What, Unit: g.Unit, Amber: g.Amber, Red: g.Red, Floor: g.Floor, Source: g.Source,
		Seconds: g.seconds, AmberSeconds: g.amber, RedSeconds: g.red, Value: g.value, Level: g.level}
	if g.seconds > 0 {
		worst := g.worst
		out.Worst = &worst
		if g.value == nil && (g.Search || slices.Contains(counted, g.Name)) {
			mean := g.sum / float64(g.seconds)
			out.Value = &mean
		}
	}
	switch {
	case out.Value == nil && g.na:
		out.Level, out.Why = record.NotApplicable, g.why
	case out.Value == nil:
		out.Level, out.Why = record.NotMeasured, g.why
	case out.Level == "" && g.value == nil && g.red+g.amber > record.Tolerated(g.seconds):
		out.Level = record.Amber // of a search, which went on
	case out.Level == "":
		out.Level = record.Green
		if beyond := g.red + g.amber; beyond > 0 && !slices.Contains(long, g.Name) {
			out.Why = fmt.Sprintf("beyond a limit in %d of %d seconds; more than %d would count", beyond, g.seconds, record.Tolerated(g.seconds))
		}
	}
	return out
}

// generatorFault returns the first red gate of those that watch a search.
func (r *run) generatorFault(st stretch) (record.Finding, bool) {
	for i := range r.gates {
		g := &r.gates[i]
		if !g.Search {
			continue
		}
		if rd := r.read(g.Gate, st); rd.Why == "" && g.Gate.Level(rd.Value) == record.Red {
			return g.finding(record.Red, rd.Value, fmt.Sprintf("%s: %s%s", g.What, g.Format(rd.Value), noted(rd.Note))), true
		}
	}
	return record.Finding{}, false
}

// ofCPU reports whether the gate measures how busy the generator is; one of the two must be read.
func (g *watched) ofCPU() bool { return g.Name == "core" || g.Name == "cpu" }

// busySeconds returns the number of readings of the CPU use of the generator so far.
func (r *run) busySeconds() int {
	n := 0
	for i := range r.gates {
		if g := &r.gates[i]; g.ofCPU() {
			n += g.seconds
		}
	}
	return n
}

// mark notes in the gates' table that one ended the search.
func (r *run) mark(f record.Finding) {
	for i := range r.gates {
		if g := &r.gates[i]; g.Name == f.Gate && g.level == "" {
			g.level = f.Level
		}
	}
}

// gateMeasure judges the measured phase.
func (r *run) gateMeasure(st stretch) {
	v := &r.out.Validity
	busy := false
	for i := range r.gates {
		g := &r.gates[i]
		f, bad := g.judge(r.read(g.Gate, st))
		if bad {
			v.Add(f)
		}
		busy = busy || g.value != nil && g.ofCPU()
	}
	if !busy {
		v.Add(record.Finding{Gate: "core", Level: record.Red, Text: "the CPU use of the generator was not measured"})
	}
	if st.steady().Count() == 0 {
		v.Add(record.Finding{Gate: "operations", Level: record.Red, Text: "not one operation ended in the measured phase"})
	}
}

// overall adds the findings that are of the whole run, and the table of the gates.
func (r *run) overall() {
	for i := range r.gates {
		r.out.Validity.Gates = append(r.out.Validity.Gates, r.gates[i].summary())
	}
	if r.Signals == nil {
		return
	}
	_, _, failed := r.Driver.Users()
	if failed > 0 {
		r.out.Validity.Add(record.Finding{Gate: "failed users", Level: record.Red, Value: float64(failed),
			Text: fmt.Sprintf("%d simulated users could not go on; see the events", failed)})
	}
	fails := r.Signals.Failing()
	for _, name := range slices.Sorted(maps.Keys(fails)) {
		switch f := fails[name]; {
		case !f.Until.IsZero() && f.Until.Sub(f.Since) > grace:
			r.out.Validity.Add(record.Finding{Gate: "signals", Level: record.Amber,
				Text: fmt.Sprintf("%s had no data from %s to %s: %s", name, f.Since.UTC().Format(time.TimeOnly), f.Until.UTC().Format(time.TimeOnly), f.Why)})
		case f.Until.IsZero() && r.Clock.Date(r.Clock.Now()).Sub(f.Since) > grace:
			r.out.Validity.Add(record.Finding{Gate: "signals", Level: record.Red,
				Text: fmt.Sprintf("%s has had no data since %s: %s", name, f.Since.UTC().Format(time.TimeOnly), f.Why)})
		}
	}
	for _, f := range r.out.Validity.Findings {
		r.event(f.Event())
	}
}
