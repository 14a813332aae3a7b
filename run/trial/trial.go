package trial

import (
	"context"
	"errors"
	"time"

	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
)

// Run carries out the trial. When ctx ends, it stops the users within about two seconds and returns
// the outcome so far, with Interrupted set. An error means that the tool failed: nothing about the
// target follows from it.
func Run(ctx context.Context, s Config) (Outcome, error) {
	r := &run{Config: s, tick: Tick(s.Window), judging: s.Rules}
	if s.Bounded != nil && s.Bounded.Rules != nil {
		r.judging = s.Bounded.Rules
	}
	r.out.Validity.Valid = true
	r.Ledger.UseClock(r.Clock)
	r.gates = newWatched(s.Gates)
	r.sec = measureSecond{}
	r.watching.begin(len(r.gates))
	if s.Series != nil {
		r.series = newExporter(s.Series, r.everyRule())
	}
	err := r.all(ctx)
	r.noMore()
	if err != nil {
		r.cutOff()
	}
	err = r.lost(ctx, err, "the load was not the plan's any more")
	r.endConduct()
	r.Ledger.Settle(time.Now())
	r.Driver.Stop(2 * time.Second)
	if c, ok := r.Driver.(Collector); ok && err == nil && ctx.Err() == nil &&
		r.out.Interrupted == "" {
		err = r.lost(ctx, c.Collect(ctx), "its last records are missing")
	}
	if err == nil && ctx.Err() == nil && r.out.Interrupted == "" {
		err = r.audit(ctx)
	}
	if err == nil || ctx.Err() != nil {
		r.flush(true)
	}
	if c := context.Cause(ctx); c != nil {
		r.out.Interrupted = c.Error()
		r.red("complete", "the run was "+record.Interruption(c.Error()))
		r.endPhase()
		err = nil
	}
	r.keepConduct()
	r.overall()
	if err != nil {
		return r.out, err
	}
	return r.out, r.werr
}

// lost ends a run that lost a process with users, and records the consequence, means. It
// returns other errors.
func (r *run) lost(ctx context.Context, err error, means string) error {
	if !errors.Is(err, ErrLost) || ctx.Err() != nil {
		return err
	}
	r.out.Interrupted = err.Error()
	r.red("agents", err.Error()+": "+means)
	r.event(record.Event{Kind: "agent", Text: err.Error(), Phase: r.phase})
	r.publishLost()
	r.endPhase()
	return nil
}

// Tick returns the tick for a window: a divisor of a second, about a sixth of the window.
func Tick(window time.Duration) time.Duration {
	for _, t := range []time.Duration{time.Second, 500 * time.Millisecond, 250 * time.Millisecond, 200 * time.Millisecond} {
		if t <= window/6 || window == 0 {
			return t
		}
	}
	return 100 * time.Millisecond
}

type run struct {
	Config
	tick    time.Duration
	n       int64 // ticks so far
	trail   trail
	sec     measureSecond
	out     Outcome
	phase   string
	from    time.Duration
	werr    error // of the writer; kept, so that a full disk ends in one clear error
	errs    uint64
	total   time.Duration // planned
	judging []plan.SLO    // the rules of the test under way
	rules   map[string]*ruleState
	sampled map[string]*ruleState // promql rules, in the measured phase
	seen    map[string]bool       // noted already
	conduct conductState
	gates   []watched
	series  *exporter // nil for none
	merged  map[stretchKey]*measure.Window
	// measured gathers the measured phase: one slice per second.
	measured stretch
	course   course
	level    level
	stood    held          // of the search
	trailing time.Duration // how far the trail must reach
	until    untilState
	tails    *tails // while a phase is drained
	// operations under way have entered with their age, and are not counted again when they end
	censored bool
	held     []frame // of the drain
	watching watching
	hopes    hopes
}

func (r *run) all(ctx context.Context) error {
	r.plan()
	_, far := r.Driver.(Collector)
	// those processes took longer to start than the epoch allows for
	if late := r.Clock.Now(); far && late >= time.Second {
		r.n = int64(wholeSeconds(late) / r.tick)
		r.total += r.now()
	}
	if err := r.Clock.SleepUntil(ctx, r.now()); err != nil {
		return err
	}
	if r.Level != nil {
		return r.findLevel(ctx)
	}
	if r.Bounded != nil {
		if err := r.bounded(ctx, r.Bounded); err != nil || r.out.Hopeless != "" {
			return err
		}
	}
	if r.Search != nil {
		r.judging = r.Rules
		return r.search(ctx)
	}
	return nil
}

// bounded carries out the phases of the bounded test.
func (r *run) bounded(ctx context.Context, b *BoundedTest) error {
	if err := r.Driver.SetUsers(b.Users, b.Ramp); err != nil {
		return err
	}
	for _, ph := range b.phases() {
		r.beginPhase(ph.name)
		if ph.name == "measure" {
			if err := r.stayMeasured(ctx, wholeSeconds(ph.d)); err != nil {
				return err
			}
		} else {
			if err := r.stay(ctx, wholeSeconds(ph.d), r.worthwhile); err != nil {
				return err
			}
			r.endPhase()
		}
		if r.out.Hopeless != "" {
			return nil
		}
	}
	return nil
}

// stayMeasured carries out the measured phase with its drain, and judges it.
func (r *run) stayMeasured(ctx context.Context, d time.Duration) error {
	gather := r.gather()
	r.beginConduct()
	r.beginUntil()
	r.ends(r.now() + d)
	err := r.stay(ctx, d, func() bool {
		r.sample()
		gather()
		r.evaluate()
		return r.goOn() && !r.hopeless()
	})
	if err != nil {
		return err
	}
	r.noMore()
	if err := r.endUntil(); err != nil {
		return err
	}
	r.endConduct()
	r.judgeGaps()
	r.gateMeasure(r.measured)
	r.judgeSteady()
	r.endPhase()
	if err := r.drain(ctx); err != nil {
		return err
	}
	r.ends(0)
	r.judgeMeasure()
	return nil
}

// worthwhile evaluates the rules, and reports whether the phase goes on.
func (r *run) worthwhile() bool {
	r.evaluate()
	return !r.hopeless()
}

// gather returns the function to call after each tick of the measured phase: its slices are folded
// into one, so that a long phase takes no more memory than a short one.
func (r *run) gather() func() {
	var before slice
	if n := len(r.trail.slices); n > 0 {
		before = r.trail.slices[n-1]
	} else { // neither ramp nor settle: the phase is the beginning
		before = slice{at: r.now(), busy: r.busy(), messages: r.Ledger.Count()}
	}
	r.measured = stretch{before: &before, first: before.at}
	all := map[string]*measure.Window{}
	worst := slice{desired: -1}
	var sum slice
	return func() {
		sl := r.trail.slices[len(r.trail.slices)-1]
		sec := measureSecond(all)
		sec.add(sl.windows)
		if r.course.add(sl.windows); r.now()%time.Second == 0 {
			r.course.next()
		}
		worst.keepWorst(sl)
		sum.fold(sl)
		r.measured.in = []slice{sl.over(worst, sum, sec)}
	}
}

// busy reads the CPU time of all roles so far: busy and total seconds. Roles that are not seen are
// missing.
func (r *run) busy() map[string][2]float64 {
	out := map[string][2]float64{}
	for _, role := range r.roles() {
		busy, total, err := r.Signals.Busy(role)
		if err != nil {
			r.note("signal cpu("+role+")", err)
			continue
		}
		out[role] = [2]float64{busy, total}
	}
	if _, ok := out[targets]; !ok && r.phase == "search" { // it does without: no error is noted
		if busy, total, err := r.Signals.Busy(targets); err == nil {
			out[targets] = [2]float64{busy, total}
		}
	}
	return out
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// plan adds up how long the trial may take.
func (r *run) plan() {
	r.rules, r.sampled = map[string]*ruleState{}, map[string]*ruleState{}
	r.trailing = r.Window
	for _, rule := range r.everyRule() {
		if rule.Stat != "rate" {
			r.trailing = max(r.trailing, rule.Over)
		}
	}
	if l := r.Level; l != nil {
		r.trailing, r.total = max(r.trailing, l.Window), l.Budget
	}
	r.seen = map[string]bool{}
	if b := r.Bounded; b != nil {
		r.total += wholeSeconds(b.Ramp) + wholeSeconds(b.Settle) + wholeSeconds(b.Measure)
	}
	if r.Search != nil {
		r.total += r.Search.Rush + r.Window + r.Search.Budget
	}
}

func (r *run) now() time.Duration { return time.Duration(r.n) * r.tick }

func (r *run) beginPhase(name string) {
	r.phase, r.from = name, r.now()
	desired, _, _ := r.Driver.Users()
	r.event(record.Event{Kind: "phase", Phase: name, Users: desired})
	r.phased(name)
}

// phased reports that a phase has begun, or with "" ended.
func (r *run) phased(name string) {
	if r.Phase != nil {
		r.Phase(name)
	}
}

func (r *run) endPhase() {
	if r.phase == "" {
		return
	}
	r.phased("")
	_, active, _ := r.Driver.Users()
	r.out.Phases = append(r.out.Phases, record.Phase{
		Name:  r.phase,
		From:  r.from,
		To:    r.now(),
		Users: active,
		Ended: r.until.ended,
	})
	r.phase, r.until.ended = "", ""
}
