package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"plimsoll/control"
	"plimsoll/engine/calibration"
	"plimsoll/lab"
	"plimsoll/measure"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/record"
	"plimsoll/series"
	"plimsoll/store"
	"plimsoll/target"
	"plimsoll/trial"
	"plimsoll/wire"
)

// opTimeout ends an operation of a simulated user: the web application's own patience with an API call.
const opTimeout = 5 * time.Second

// agentsStart is how long before a run's epoch the processes that have its users begin.
const agentsStart = 2 * time.Second

// A session is what the runs of one invocation share.
type session struct {
	*app
	plan  *plan.Plan
	store *store.Store
	prog  *progress
	host  json.RawMessage
	// generator and targets are the cores of both sides when they share this host; empty when they are not placed.
	generator, targets []int
	// rating is what this host's generator can do; nil when nobody measured it.
	rating *calibration.Result
	starts int   // how many runs in a row found their target unable to start
	budget int64 // bytes that the answers and messages under way may hold, in all processes with users
}

// newSession reads what the host is and pins this process to the generator's cores.
func (a *app) newSession(p *plan.Plan, st *store.Store) (*session, error) {
	st.Hide(a.secrets)
	s := &session{app: a, plan: p, store: st, prog: a.newProgress()}
	var err error
	if s.host, err = json.Marshal(probe.Fingerprint()); err != nil {
		return nil, err
	}
	if s.budget, err = setBudget(p); err != nil {
		return nil, err
	}
	s.generator, s.targets = placement(p)
	if len(s.generator) > 0 {
		if err := lab.CheckCPUs(append(append([]int{}, s.generator...), s.targets...)); err != nil {
			return nil, usagef("placement: %w", err)
		}
		if err := lab.PinSelf(s.generator); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// begin opens the store and a session whose runs are served and written elsewhere as the flags say, on a host that is rated.
// end closes what stays open; a session needs no other end. When another process of this program has carried everything out, the error is its
// status.
func (a *app) begin(ctx context.Context, p *plan.Plan, root string, rate bool) (s *session, end func(), err error) {
	if done, err := a.isolate(ctx, p); err != nil {
		return nil, nil, err
	} else if done {
		return nil, nil, statusError(exitOK)
	}
	st, err := store.Open(root)
	if err != nil {
		return nil, nil, err
	}
	if s, err = a.newSession(p, st); err != nil {
		return nil, nil, err
	}
	unserve, err := s.openOutward()
	if err != nil {
		return nil, nil, err
	}
	s.rate(ctx, rate)
	return s, func() { s.prog.end(); unserve() }, nil
}

// ownsHost reports whether the driver runs the target on this host.
func ownsHost(p *plan.Plan) bool { return p.Target.Driver != "external" }

// placement returns the cores of generator and target: the plan's, with those that are left for a side that it does not name; else the last core
// and the others, when the target runs here and the host has two or more.
func placement(p *plan.Plan) (generator, target []int) {
	generator, target = p.Placement.Generator, p.Placement.Target
	if len(generator) > 0 && len(target) > 0 || !ownsHost(p) {
		return generator, target
	}
	cpus, err := lab.AllowedCPUs(0)
	if err != nil {
		return generator, target
	}
	return sides(generator, target, cpus)
}

// sides completes the cores of generator and target out of those there are. A child without cores of its own would inherit the generator's.
func sides(generator, target, cpus []int) (_, _ []int) {
	rest := func(taken []int) []int {
		return slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return slices.Contains(taken, c) })
	}
	switch {
	case len(generator) > 0:
		return generator, rest(generator)
	case len(target) > 0:
		return rest(target), target
	case len(cpus) < 2:
		return nil, nil
	}
	return cpus[len(cpus)-1:], cpus[:len(cpus)-1]
}

// A part names a run: which arm on which database, and what of a comparison it is.
type part struct {
	arm, engine, comparison string
	block, order            int
	pilot                   bool
	bounded, unbounded      bool // which tests it carries
	keep                    bool // the state that the part before has left; else the system is reset
	start                   int  // of the search; 0 for the plan's or the bounded test's
}

// users returns how many users a part may need at most.
func (s *session) users(pt part) int {
	n := 0
	if b := s.plan.Bounded; b != nil && pt.bounded {
		n, _ = b.UsersFor(pt.engine)
	}
	if u := s.plan.Unbounded; u != nil && pt.unbounded {
		n = max(n, u.MaxUsers)
	}
	return n
}

// trial resets the system, runs one trial on it, and leaves a sealed run. An error means that the tool failed.
func (s *session) trial(ctx context.Context, sys *system, pt part) (*record.Run, trial.Outcome, error) {
	if !pt.keep {
		s.prog.doing("resetting", s.length(pt))
		if err := sys.reset(ctx); err != nil {
			if errors.Is(err, target.ErrStart) && pt.comparison != "" && !pt.pilot && ctx.Err() == nil {
				return s.unstarted(ctx, sys, pt, err)
			}
			return nil, trial.Outcome{}, fmt.Errorf("resetting %s on %s: %w", pt.arm, dash(pt.engine), err)
		}
	}
	s.learn(sys)
	_, most := s.arrivals(sys.mix)
	lay, err := s.layout(ctx, sys.dep.URL(), sys.mix, s.users(pt)+most)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	sys.look(ctx, sys.env(s.plan, sys.dep.URL()))
	// The users' processes begin before the epoch.
	epoch := time.Now().Add(100 * time.Millisecond)
	if lay.processes > 1 {
		epoch = time.Now().Add(agentsStart)
	}
	m, err := s.manifest(sys, pt, epoch, lay.processes)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	w, err := s.store.Create(m)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	s.starts = 0
	out, seen, err := s.carryOut(ctx, sys, pt, lay, w, epoch)
	// A run is sealed whatever happened: what was recorded stays readable.
	err = errors.Join(err, w.Update(func(m *record.Manifest) {
		m.Phases, m.Capacity = out.Phases, out.Capacity
		m.Clock = clock(seen.stamps)
		m.Connections, m.Answers = connections(seen.stamps), seen.answers
	}))
	why := out.Interrupted
	if err != nil {
		why = "the tool failed: " + err.Error()
	}
	seal, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if why == "" && out.Validity.Valid && pt.comparison != "" && !pt.pilot {
		// Without them, the report draws them anew, and says what is wrong with the series if it cannot either.
		_ = keepGraphs(seal, w.Dir(), w.Manifest(), s.plan.Workload.Pace)
	}
	_, serr := w.Seal(seal, out.Validity, why)
	if err := errors.Join(err, serr); err != nil {
		return nil, out, fmt.Errorf("run %s: %w", w.Manifest().ID, err)
	}
	r, err := record.Open(w.Dir())
	return r, out, err
}

// manifest is that of a run before it begins.
func (s *session) manifest(sys *system, pt part, epoch time.Time, processes int) (record.Manifest, error) {
	targetText, err := json.Marshal(sys.describe())
	return record.Manifest{
		ID: store.NewID(epoch, s.plan.Name), Name: s.plan.Name, Tool: version(), Epoch: epoch,
		Plan: s.plan.String(), PlanDigest: s.plan.Digest(), Seed: s.plan.Seed, Arm: pt.arm, Engine: pt.engine,
		Comparison: pt.comparison, InDigests: pt.comparison != "", Block: pt.block, Order: pt.order, Pilot: pt.pilot,
		SharedHost: ownsHost(s.plan), Generator: s.generator, TargetCPUs: s.targets, Host: s.host, Target: targetText,
		Clock: clock(wire.Clocks{}), Processes: processes,
	}, err
}

// clock says in the manifest which clocks stamped the instants of a run, and how often each did (docs/time.md).
func clock(n wire.Clocks) string {
	s := fmt.Sprintf("CLOCK_MONOTONIC of each process that has users (%s); arrivals by the kernel's receive stamps where it gives them", runtime.Version())
	if total := n.Kernel + n.Process; total > 0 {
		s += fmt.Sprintf(": %d of %d responses and messages", n.Kernel, total)
	}
	if n.Steps > 0 {
		s += fmt.Sprintf("; the wall clock was set %d times, and for a second after each the read counted as the arrival", n.Steps)
	}
	return s
}

func connections(n wire.Clocks) *record.Connections {
	return &record.Connections{Requests: n.Requests, Repeated: n.Repeats, Reopened: n.Reopened}
}

// received is what the users' connections went through in a trial.
type received struct {
	stamps  wire.Clocks
	answers *record.Answers // nil if there was no load
}

// carryOut is the trial between reset and seal.
func (s *session) carryOut(ctx context.Context, sys *system, pt part, lay layout, w *record.Writer, epoch time.Time) (out trial.Outcome, seen received, err error) {
	db, err := series.Create(w.Dir() + "/" + record.SeriesDir)
	if err != nil {
		return out, seen, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	unpublish, err := s.publish(db, w, epoch)
	if err != nil {
		return out, seen, err
	}
	defer func() { unpublish(&out) }()
	runner, closeProbes, err := s.probes(sys, db)
	if err != nil {
		return out, seen, err
	}
	defer closeProbes()
	cores := map[string][]int{}
	if len(s.generator) > 0 {
		cores["generator"] = s.generator
	}
	if len(s.targets) > 0 {
		cores["app"], cores["target"] = s.targets, s.targets
	}
	arrivals, _ := s.arrivals(sys.mix)
	h := newHealth(runner.Last, s.generator, ownsHost(s.plan))
	if len(s.targets) > 0 {
		h.targets = len(s.targets)
		if sys.house != nil && sys.house.net != nil {
			h.wired = s.targets
		}
		for _, r := range sys.roles() {
			h.roles = append(h.roles, r.Name)
		}
	}
	h.remote = func() []string { return agentSteal(runner) }
	if lay.processes > 1 {
		h.agents = lay.processes
	}
	h.ports *= float64(max(1, len(lay.from)))
	if s.rating != nil {
		h.headroom = func(users int, ops float64) float64 {
			pace := s.plan.Workload.Pace
			if s.plan.Workload.Behavior != calibrated {
				pace = math.Inf(1) // the rating's users are of another kind: only sockets and operations compare
			}
			share, _ := s.rating.Headroom(users, pace, ops)
			return share
		}
	}
	sig, err := newSignals(cores, h, db, runner)
	if err != nil {
		return out, seen, err
	}
	defer sig.close()
	reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
	panics := &runPanics{all: s.caught, w: w, epoch: epoch}
	env := sys.env(s.plan, sys.dep.URL())
	env.Panicked = panics.env
	runner.OnPanic(panics.env)
	env.Registry, env.Log = reg, func(format string, args ...any) {
		_ = w.Event(record.Event{At: time.Since(epoch), Kind: "error", Text: fmt.Sprintf(format, args...)})
	}
	driver, err := s.drive(ctx, sys, driving{env: env, layout: lay, arrivals: arrivals, epoch: epoch, w: w, panics: panics, runner: runner, health: h, budget: s.budget})
	if err != nil {
		return out, seen, err
	}
	defer driver.end()
	probing, stopProbing := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- runner.Run(probing) }()
	defer func() { stopProbing(); err = errors.Join(err, <-done) }()
	spec := s.spec(pt, driver.Driver, reg, sig, w, epoch)
	spec.Conduct, spec.Series = conduct(sys, env), db
	if b := s.plan.Bounded; b != nil && b.Until > 0 && spec.Bounded != nil {
		disk, stopDisk := watchDisk(ctx, sys.dir, b.Until)
		defer stopDisk()
		spec.Bounded.Until = disk.until
	}
	before := driver.stamps()
	cut, _ := driver.refused()
	crashes := watchCrashes(sys, w, epoch)
	out, err = trial.Run(ctx, spec)
	told, terr := s.telemetry(ctx, sys, env, w, db, epoch)
	crashed, cerr := crashes.end(out.Phases)
	restarted := restarts(context.WithoutCancel(ctx), db, epoch, time.Since(epoch))
	told = slices.Concat(told, crashed, restarted, panics.findings())
	err = errors.Join(err, terr, cerr)
	seen.stamps = driver.stamps().Sub(before)
	if f, bad := connections(seen.stamps).Finding(); bad {
		told = append(told, f)
	}
	refused, held := driver.refused()
	seen.answers = answers(s.budget, held, refused.Sub(cut))
	told = append(told, seen.answers.Findings()...)
	for _, f := range append(clockFindings(runner), told...) {
		out.Validity.Add(f)
		err = errors.Join(err, w.Event(record.Event{At: time.Since(epoch), Kind: "finding", Level: f.Level, Rule: f.Gate, Value: f.Value, Limit: f.Limit, Text: f.Text}))
	}
	return out, seen, err
}

// spec translates the plan for one part.
func (s *session) spec(pt part, d trial.Driver, reg *measure.Registry, sig trial.Signals, w *record.Writer, epoch time.Time) trial.Spec {
	spec := trial.Spec{Epoch: epoch, Driver: d, Registry: reg, Signals: sig, Writer: w, Progress: s.prog.trial, Gates: s.plan.Gates.All()}
	spec.Window, spec.Timeout = plan.DefaultWindow, opTimeout
	if b := s.plan.Bounded; b != nil && pt.bounded {
		n, _ := b.UsersFor(pt.engine)
		spec.Bounded = &trial.Bounded{Users: n, Ramp: b.Ramp, Settle: b.Settle, Measure: b.Measure, Storms: storms(b.Stages), Window: time.Duration(b.Window), Rules: s.plan.BoundedRules()}
	}
	if u, ok := s.plan.Search(); ok {
		spec.Rules, spec.Window = u.SLO, u.Window
		if pt.unbounded {
			start := pt.start
			if start == 0 {
				start = s.plan.SearchStart(pt.engine)
			}
			pace := s.plan.Workload.Pace
			spec.Search = &trial.Search{
				Config: control.Config{Start: max(start, 1), Max: u.MaxUsers, RampRate: u.RampRate, RampFloor: 4 / pace,
					Window: u.Window, Step: u.Step, Precision: u.Precision, Budget: u.Budget, Staircase: u.Mode == plan.Staircase},
				Rush: u.Window,
			}
		}
	}
	return spec
}

// length returns how long a part may take, resets left out.
func (s *session) length(pt part) time.Duration {
	return s.plan.RunLength(pt.bounded, pt.unbounded)
}

// probes returns a runner that samples host, processes, this program, the target's metrics and further sources once a second.
func (s *session) probes(sys *system, db *series.DB) (*probe.Runner, func(), error) {
	runner := probe.NewRunner(db, time.Second)
	var closers []func() error
	closeAll := func() {
		for _, c := range closers {
			_ = c()
		}
	}
	roles := map[string][]int{}
	if len(s.generator) > 0 {
		roles["generator"] = s.generator
	}
	if len(s.targets) > 0 { // a target elsewhere has none here
		roles["target"] = s.targets
	}
	host, err := probe.NewHost(probe.HostOptions{Roles: roles})
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, host.Close)
	runner.Add(host)
	if procs := sys.roles(); len(procs) > 0 {
		p := probe.NewProcesses(procs)
		closers = append(closers, p.Close)
		runner.Add(p)
	}
	self, err := probe.NewSelf()
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	runner.Add(self)
	for i, url := range sys.metricsURLs() {
		sc, err := probe.NewScrape(url, map[string]string{"role": "app", "instance": fmt.Sprint("app-", i)})
		if err != nil {
			closeAll()
			return nil, nil, usagef("metrics_url: %w", err)
		}
		closers = append(closers, sc.Close)
		runner.AddScraper(sc)
	}
	sources, err := s.sources(sys)
	for _, x := range sources {
		closers = append(closers, x.close)
	}
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	for _, x := range sources {
		x.addTo(runner)
	}
	return runner, closeAll, nil
}
