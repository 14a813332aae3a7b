package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// A Driver makes load. Methods are safe for concurrent use.
type Driver interface {
	// SetUsers makes n the number of wanted users; newcomers are spread over the time.
	SetUsers(n int, over time.Duration) error
	// Users returns how many users are wanted, active, and failed for good.
	Users() (desired, active, failed int)
	// Stop ends all users, at the latest after grace.
	Stop(grace time.Duration)
}

// ErrLost reports that a part of the generator is gone, so that the further load would not be the
// plan's.
var ErrLost = errors.New("an agent was lost")

// A Collector is a [Driver] whose users record elsewhere.
type Collector interface {
	// Collect adds the records so far to the registry, tally and ledger of the trial. One goroutine
	// calls it. An error that wraps ErrLost ends the trial, which then is invalid.
	Collect(ctx context.Context) error
}

// Signals supply a trial with values of hosts and servers besides its own operations.
type Signals interface {
	// Busy returns the CPU time that a role has used and could have used so far, in seconds. The
	// roles "generator" and "app" must be known where rules or gates name them.
	Busy(role string) (busy, total float64, err error)
	// Query evaluates a PromQL expression on the run's series at present. ok is false when it has
	// no value.
	Query(ctx context.Context, expr string) (v float64, ok bool, err error)
	// Health reads the gates of package plan that the trial cannot read from its own operations, at
	// present. users and ops are how many users are wanted and how many operations ended in the
	// last second, for a gate that rates the load.
	Health(users int, ops float64) map[string]Reading
	// Failing returns the signals that have no data at present and since when, with the reason; and
	// of the others those that had none for a while.
	Failing() map[string]Failure
}

// A Failure is a signal without data. Its dates are of the run's clock.
type Failure struct {
	Since time.Time
	Until time.Time // zero while it lasts
	Why   string
}

// A BoundedTest has a fixed number of users.
type BoundedTest struct {
	Users                 int
	Ramp, Settle, Measure time.Duration // rounded up to whole seconds
	// Rules judge the bounded test, with times as they are run; nil for those of the Config.
	Rules  []plan.SLO
	Storms []TimedStorm // of the measured phase, by time
	// Window is the length of the end of the measured phase that counts, in whole seconds; 0 for
	// all of it. The part before it is the phase "soak".
	Window time.Duration
	// Until ends the measured phase before its time. It is called once a second and returns at
	// once: why the phase ends, or "" to go on. An error voids the run, which goes on: it is then
	// unknown whether the phase should have ended. nil for none.
	Until func() (why string, err error)
	// Measured gets the operations of the measured phase as they come, with the time since its
	// beginning, before Until is called. It returns at once and keeps nothing of them. nil for
	// none; it has no effect without Until.
	Measured func(since time.Duration, ws []*measure.Window)
	// GiveUp ends the trial so long after the first operation, if none has succeeded by then; 0 for
	// never.
	GiveUp time.Duration
}

// A SearchTest configures the search for the capacity.
type SearchTest struct {
	capacity.Config
	// Rush is the time that it takes to bring the users to Config.Start.
	Rush time.Duration
}

// Config is a trial before it runs. Bounded, Search or both are set, or Level alone.
type Config struct {
	Bounded *BoundedTest
	Search  *SearchTest
	Level   *LevelTest
	Rules   []plan.SLO // of the search, with times as they are run
	Window  time.Duration
	// Timeout ends an operation. It is also how long the trial waits for operations under way when
	// the measured phase ends; 0 for not at all.
	Timeout time.Duration
	// Hold is the largest lateness of the ticks, because reports of agents are, until a search
	// holds its level; 0 for never.
	Hold time.Duration
	// Clock is the run's: phases, ticks and timeouts are in its time, and the trial begins with its
	// 0; if that is over by a second or more when the users are in other processes, with the next
	// whole one, so that the phases have their lengths all the same.
	Clock  *clock.Clock
	Driver Driver
	// Registry takes the records of the driver's users.
	Registry *measure.Registry
	Signals  Signals
	Writer   *record.Writer
	// Series takes operations, users, rules and gates as time series, once a second; nil for none.
	Series Store
	// Gates are the limits of the generator's own health; nil for plan.DefaultGates.
	Gates []plan.Gate
	Conduct
	// Phase is called with the name of each phase when it begins, and with "" when it has ended. It
	// returns at once. nil for none.
	Phase func(name string)
	// Progress is called about once a second, if it is set.
	Progress func(Progress)
	// CPU reads the CPU of generator, app and database since it was called last, as shares of the
	// cores of the role, for those who look at the trial; once a second. A role that is not seen is
	// not in it. nil for none.
	CPU func() map[string]float64
	// Live watches the trial and steers it; nil for nobody.
	Live Audience
}

// Progress is the state of a trial for a person.
type Progress struct {
	Phase        string
	Active       int
	OpsPerSecond float64 // over the last second
	P95          time.Duration
	Errors       uint64 // since the start
	Left         time.Duration
}

// An Outcome is the result of a trial. Its measurements are in the run.
type Outcome struct {
	Phases   []record.Phase
	Capacity *record.Capacity
	Level    *FoundLevel // nil without a LevelTest, or where no level was carried
	// Broken names the rules that did not hold over the measured phase of a bounded test, Warned
	// those that are only warnings.
	Broken   []string
	Warned   []string
	Validity record.Validity
	// Hopeless is the reason why the trial was given up; empty when it was not. See
	// BoundedTest.GiveUp.
	Hopeless string
	// Exploratory describes how the trial was steered by hand, so that it gets no verdict; empty
	// when it was not.
	Exploratory string
	// Interrupted is the reason why the trial ended early, by its context or because a part of the
	// generator was lost; empty when it did not.
	Interrupted string
}

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
	if b := r.Bounded; b != nil {
		if err := r.Driver.SetUsers(b.Users, b.Ramp); err != nil {
			return err
		}
		for _, ph := range b.phases() {
			r.beginPhase(ph.name)
			each := func() bool { r.evaluate(); return !r.hopeless() }
			if ph.name == "measure" {
				gather := r.gather()
				each = func() bool {
					r.sample()
					gather()
					r.evaluate()
					return r.goOn() && !r.hopeless()
				}
				r.beginConduct()
				r.beginUntil()
				r.ends(r.now() + wholeSeconds(ph.d))
			}
			if err := r.stay(ctx, wholeSeconds(ph.d), each); err != nil {
				return err
			}
			if ph.name == "measure" {
				r.noMore()
				if err := r.endUntil(); err != nil {
					return err
				}
				r.endConduct()
				r.judgeGaps()
				r.gateMeasure(r.measured)
				r.judgeSteady()
			}
			r.endPhase()
			if ph.name == "measure" {
				if err := r.drain(ctx); err != nil {
					return err
				}
				r.ends(0)
				r.judgeMeasure()
			}
			if r.out.Hopeless != "" {
				return nil
			}
		}
	}
	if r.Search != nil {
		r.judging = r.Rules
		if err := r.search(ctx); err != nil {
			return err
		}
	}
	return nil
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

// stay ticks for d, calling each after every tick until it returns false.
func (r *run) stay(ctx context.Context, d time.Duration, each func() bool) error {
	for end := r.now() + d; r.now() < end; {
		if err := r.advance(ctx); err != nil {
			return err
		}
		if each != nil && !each() {
			return nil
		}
	}
	return nil
}

// advance waits for the next tick and takes in the recorded data.
func (r *run) advance(ctx context.Context) error {
	if err := errors.Join(r.storm(ctx), r.steer()); err != nil {
		return err
	}
	if err := r.Clock.SleepUntil(ctx, r.now()+r.tick); err != nil {
		return err
	}
	r.n++
	if r.tails == nil {
		r.Registry.Mark(r.now())
		if d, ok := r.Driver.(Drainer); ok {
			d.Mark(r.now())
		}
	}
	if t, ok := r.Driver.(Ticker); ok {
		t.Tick(r.now())
	}
	if c, ok := r.Driver.(Collector); ok {
		if err := c.Collect(ctx); err != nil {
			return err
		}
	}
	desired, active, _ := r.Driver.Users()
	sl := slice{at: r.now(), desired: desired, active: active, windows: r.cut()}
	sl.userSeconds = float64(active) * r.tick.Seconds()
	if n := len(r.trail.slices); n > 0 {
		sl.userSeconds = float64(active+r.trail.slices[n-1].active) / 2 * r.tick.Seconds()
	}
	if c, ok := r.Driver.(Counter); ok {
		sl.counts = c.Activity()
	}
	sl.health = healthOf(r.Signals.Health(desired, r.opsPerSecond(sl)))
	sl.busy = r.busy()
	for _, w := range sl.windows {
		if w.Name != workload.Delivery && !workload.Beyond(w.Name) {
			r.errs += w.Errors()
		}
	}
	r.hopes.add(r.now(), sl.windows)
	r.answers(sl.windows)
	if r.now()%time.Second == 0 {
		r.Ledger.Settle(time.Now())
	}
	sl.messages = r.Ledger.Count()
	r.back()
	r.trail.push(sl, r.trailing)
	r.sec.add(sl.windows)
	if r.now()%time.Second == 0 {
		if r.CPU != nil {
			r.watching.cpu = r.CPU()
		}
		r.count(r.sec)
		r.export(ctx, sl)
		r.flush(false)
		r.progress(sl)
		r.event(record.Event{Kind: "users", Users: active, Phase: r.phase})
		r.watch()
		r.publish(sl)
	}
	return r.werr
}

// opsPerSecond is the rate of all operations that ended in about the last second.
func (r *run) opsPerSecond(sl slice) float64 {
	n, from := uint64(0), sl.at-r.tick
	count := func(sl slice) {
		for _, w := range sl.windows {
			if w.Name != workload.Delivery && !workload.Beyond(w.Name) {
				n += w.Count()
			}
		}
	}
	count(sl)
	for i := len(r.trail.slices) - 1; i > 0 && sl.at-from < time.Second; i-- {
		from = r.trail.slices[i].at - r.tick
		count(r.trail.slices[i])
	}
	return float64(n) / (sl.at - from).Seconds()
}

// flush writes the second that has just ended, or with last the begun part of the current one.
func (r *run) flush(last bool) {
	if last {
		if r.censored {
			p := measure.Split(r.Registry.Cut())
			r.sec.add(p.InTime)
			r.sec.add(slices.DeleteFunc(p.Late, func(w *measure.Window) bool {
				return w.Name != workload.Delivery
			}))
		} else {
			r.sec.add(r.cut())
		}
		if len(r.sec) == 0 {
			return
		}
	}
	second := int(r.now()/time.Second) - 1
	if last {
		second = int(r.now() / time.Second)
	}
	if r.tails != nil {
		r.held = append(r.held, frame{second, r.sec.sorted()})
	} else {
		r.keep(r.Writer.Windows(second, r.sec.sorted()))
	}
	r.sec = measureSecond{}
}

// event writes an event of this moment.
func (r *run) event(e record.Event) {
	e.At = r.now()
	r.keep(r.Writer.Event(e))
}

// red adds a finding that makes the run invalid, amber one that it is to be read with.
func (r *run) red(gate, text string) {
	r.out.Validity.Add(record.Finding{Gate: gate, Level: record.Red, Text: text})
}

func (r *run) amber(gate, text string) {
	r.out.Validity.Add(record.Finding{Gate: gate, Level: record.Amber, Text: text})
}

func (r *run) keep(err error) {
	if err != nil && r.werr == nil {
		r.werr = fmt.Errorf("writing the run: %w", err)
	}
}

// note writes an error as an event, once a second at most for each kind.
func (r *run) note(what string, err error) {
	if key := what + err.Error(); !r.seen[key] {
		r.seen[key] = true
		r.event(record.Event{Kind: "error", Text: what + ": " + err.Error()})
	}
}

func (r *run) progress(sl slice) {
	if r.Progress == nil {
		return
	}
	second := r.trail.last(time.Second)
	w := second.steady()
	r.Progress(Progress{
		Phase: r.phase, Active: sl.active,
		OpsPerSecond: float64(w.Count()) / second.span().Seconds(), P95: w.Response.Quantile(0.95),
		Errors: r.errs, Left: max(r.total-r.now(), 0),
	})
}
