package rig

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/capacity"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// opTimeout ends an operation of a simulated user.
const opTimeout = deploy.OpTimeout

// giveUp is after how long a test is given up of which no operation succeeds: two operations that time out follow one
// another in it.
const giveUp = 2 * opTimeout

// agentsStart is how long before a run's epoch the processes that have its users begin.
const agentsStart = 2 * time.Second

// A Session is the state that the runs of one invocation share.
type Session struct {
	*Program
	Plan     *plan.Plan
	Store    *store.Store
	Progress *Reporter
	host     json.RawMessage
	// generator and targets are the cores of both sides when they share this host; empty when they are not placed.
	generator, targets []int
	// rating is the measured limit of this host's generator; nil when it was not measured.
	rating *calibration.Result
	starts int   // how many runs in a row found their target unable to start
	budget int64 // bytes that the answers and messages under way may hold, in all processes with users
	// accounts are those that the users have, of the file that usersFile describes; nil: behaviors make them.
	accounts  *workload.Accounts
	usersFile *record.AccountsFile
	fleet     *joined   // agents on other hosts; nil when the users are on this one
	watchers  *watchers // nil when no agent of another host has anything to do
	whole     *whole    // the comparison or sizing that is watched; nil for none
}

// Cores reads a set of this host's cores in the kernel's notation, such as "0,2-3". A core that the host lacks is an
// error.
func Cores(list string) ([]int, error) {
	cpus, err := lab.ParseCPUs(list)
	if err == nil {
		err = lab.CheckCPUs(cpus)
	}
	return cpus, err
}

// NewSession describes the host and pins this process to the generator's cores. A plan that names files has had its
// [Program.Preflight].
func NewSession(pr *Program, p *plan.Plan, st *store.Store) (*Session, error) {
	st.Hide(pr.Secrets)
	s := &Session{Program: pr, Plan: p, Store: st, Progress: NewReporter(pr.RawErr, pr.Secrets, pr.Terminal)}
	var err error
	if s.host, err = json.Marshal(probe.Fingerprint()); err != nil {
		return nil, err
	}
	s.hold(pr.clearance().accounts)
	if s.budget, err = setBudget(p); err != nil {
		return nil, err
	}
	s.generator, s.targets = splitCores(p, p.Target.OwnHost() || pr.besides(p))
	if len(s.generator) > 0 {
		if err := lab.PinSelf(s.generator); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Begin opens the store and a session whose runs are served and written elsewhere as the flags request, on a host
// that is rated, after the preflight. end closes what stays open; a session needs no other end. When another process of
// this program has carried everything out, the error is its status.
func Begin(ctx context.Context, pr *Program, p *plan.Plan, root string, rate bool) (s *Session, end func(), err error) {
	if done, err := pr.Isolate(ctx, p, root); err != nil {
		return nil, nil, err
	} else if done {
		return nil, nil, StatusError(ExitOK)
	}
	st, err := store.Open(root)
	if err != nil {
		return nil, nil, err
	}
	hide, err := pr.showConsole(ctx, root) // before this process is pinned to the generator's cores
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			hide()
		}
	}()
	if s, err = NewSession(pr, p, st); err != nil {
		return nil, nil, err
	}
	unserve, err := s.openExport()
	if err != nil {
		return nil, nil, err
	}
	leave, err := s.openFleet(root)
	if err != nil {
		unserve()
		return nil, nil, err
	}
	s.rate(ctx, rate && s.fleet == nil)
	return s, func() { s.Progress.End(); leave(); unserve(); hide() }, nil
}

// splitCores returns the cores of generator and target: the plan's, with those that are left for a side that it does
// not name; else the last core and the others, when the target is here and the host has two or more.
func splitCores(p *plan.Plan, here bool) (generator, target []int) {
	generator, target = p.Placement.Generator, p.Placement.Target
	if len(generator) > 0 && len(target) > 0 || !here {
		return generator, target
	}
	cpus, err := lab.AllowedCPUs(0)
	if err != nil {
		return generator, target
	}
	return sides(generator, target, cpus)
}

// sides completes the cores of generator and target out of those there are. A child without cores of its own would
// inherit the generator's.
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

// A RunPart names a run: which arm on which database, and which part of a comparison it is.
type RunPart struct {
	Arm, Engine, Comparison string
	block, order            int
	pilot                   bool
	Bounded, Unbounded      bool   // which tests it carries
	keep                    bool   // the state that the part before has left; else the system is reset
	Start                   int    // of the search; 0 for the plan's or the bounded test's
	place                   *place // in a duet; nil: the run has its host for itself
	step                    bool   // of a sizing
	most                    int    // users of a pilot that finds their number; 0 for any other part
}

// Users returns how many users a part may need at most.
func (s *Session) Users(pt RunPart) int {
	if pt.most > 0 {
		return pt.most
	}
	n := 0
	if b := s.Plan.Bounded; b != nil && pt.Bounded {
		n, _ = b.UsersFor(pt.Engine)
	}
	if u := s.Plan.Unbounded; u != nil && pt.Unbounded {
		n = max(n, u.MaxUsers)
	}
	return n
}

// Trial resets the system, runs one trial on it, and leaves a sealed run. An error means that the tool failed.
func (s *Session) Trial(ctx context.Context, sys *deploy.System, pt RunPart) (*record.Run, trial.Outcome, error) {
	var commands []byte
	switch {
	case pt.keep:
	case sys.Installation != nil:
		var err error
		if commands, err = s.ready(ctx, sys, pt); err != nil {
			if _, usage := errors.AsType[plan.UsageError](err); usage || ctx.Err() != nil || pt.Comparison == "" {
				return nil, trial.Outcome{}, fmt.Errorf("preparing %s on %s: %w", pt.Arm, cmp.Or(pt.Engine, "-"), err)
			}
			r, err := s.undeployed(ctx, sys, pt, err, commands)
			return r, trial.Outcome{}, err
		}
		sys.Installation.Succeeded()
	default:
		s.Progress.Doing("resetting", s.length(pt))
		if err := sys.Reset(ctx); err != nil {
			if (errors.Is(err, target.ErrStart) || errors.Is(err, target.ErrProvision)) && pt.Comparison != "" && !pt.pilot && ctx.Err() == nil {
				return s.unstarted(ctx, sys, pt, err)
			}
			return nil, trial.Outcome{}, fmt.Errorf("resetting %s on %s: %w", pt.Arm, cmp.Or(pt.Engine, "-"), err)
		}
	}
	sys.HideSecrets()
	if err := s.locate(ctx, sys, pt.place != nil); err != nil {
		return nil, trial.Outcome{}, err
	}
	_, most := s.arrivals(sys.Mix)
	lay, err := s.layout(ctx, sys.Deployment.URL(), sys.Mix, s.Users(pt)+most)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	if err := s.freePorts(ctx, lay, sockets(sys.Mix, lay.users)); err != nil {
		return nil, trial.Outcome{}, err
	}
	look(ctx, sys)
	var run *clock.Clock
	switch {
	case pt.place != nil:
		if lay.processes > 1 {
			return nil, trial.Outcome{}, plan.Usagef("compare.mode: the %d users of an arm need %d processes, and those of a duet share one; lower users, or write mode: sequence", s.Users(pt), lay.processes)
		}
		var leave func()
		pt.place.arrive()
		if ctx, run, leave, err = pt.place.join(ctx, sys); err != nil {
			return nil, trial.Outcome{}, err
		}
		defer leave()
	case lay.processes > 1 || s.fleet != nil: // the users' processes begin before the epoch
		run = clock.New(time.Now().Add(agentsStart))
	default:
		run = clock.New(time.Now().Add(100 * time.Millisecond))
	}
	m, err := s.manifest(sys, pt, run.Epoch(), lay.processes)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	for _, a := range lay.members {
		m.Agents = append(m.Agents, a.Name)
	}
	m.Ratings = lay.ratings
	m.SharedHost = m.SharedHost && len(m.Agents) == 0
	w, err := s.Store.Create(m)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	s.starts = 0
	aud := s.watchable(w, pt, run, sys)
	var out trial.Outcome
	var seen received
	if err = writeCommands(w.Dir(), commands); err == nil {
		out, seen, err = s.carryOut(ctx, sys, pt, lay, w, run, aud)
	}
	// A run is always sealed: its records stay readable.
	err = errors.Join(err, w.Update(func(m *record.Manifest) {
		m.Phases, m.Capacity, m.Exploratory = out.Phases, out.Capacity, aud.steered(&out)
		m.Clock = clockText(seen.stamps, pt.place.ofAll())
		m.Connections, m.Answers = connections(seen.stamps, pt.place.ofAll()), seen.answers
		if pt.place != nil {
			m.Duet = pt.place.record()
		}
	}))
	why := out.Interrupted
	if err != nil {
		why = "the tool failed: " + err.Error()
	}
	seal, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if why == "" && out.Validity.Valid && pt.Comparison != "" && !pt.pilot {
		// Without them, the report draws them again, and reports a problem of the series if it cannot either.
		_ = s.AtSeal(seal, w.Dir(), w.Manifest(), s.Plan.Workload.Pace)
	}
	_, serr := w.Seal(seal, out.Validity, why)
	if serr != nil && why == "" {
		why = "the run could not be sealed: " + serr.Error()
	}
	aud.end(out.Validity, why)
	if err := errors.Join(err, serr); err != nil {
		return nil, out, fmt.Errorf("run %s: %w", w.Manifest().ID, err)
	}
	r, err := record.Open(w.Dir())
	return r, out, err
}

// manifest is that of a run before it begins.
func (s *Session) manifest(sys *deploy.System, pt RunPart, epoch time.Time, processes int) (record.Manifest, error) {
	targetText, err := json.Marshal(sys.Deployment.Describe())
	return record.Manifest{
		ID: store.NewID(epoch, s.Plan.Name), Name: s.Plan.Name, Tool: s.Version, Epoch: epoch,
		Plan: s.Plan.String(), PlanDigest: s.Plan.Digest(), Seed: s.Plan.Seed, Arm: pt.Arm, Engine: pt.Engine,
		Comparison: pt.Comparison, InDigests: pt.Comparison != "", Block: pt.block, Order: pt.order, Pilot: pt.pilot,
		SharedHost: s.onOneHost(sys), Generator: s.generator, TargetCPUs: s.coresOf(sys), Host: s.host, Target: targetText,
		Clock: clockText(wire.Clocks{}, false), Processes: processes, Accounts: s.accountsOf(sys),
	}, err
}

// carryOut is the trial between reset and seal.
func (s *Session) carryOut(ctx context.Context, sys *deploy.System, pt RunPart, lay layout, w *record.Writer, run *clock.Clock, aud *audience) (out trial.Outcome, seen received, err error) {
	db, err := series.Create(w.Dir() + "/" + record.SeriesDir)
	if err != nil {
		return out, seen, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.Redact(s.Secrets.Label)
	stuck := watchStuck(db, w, run)
	unpublish, err := s.publish(db, w, run)
	if err != nil {
		return out, seen, err
	}
	defer func() { unpublish(&out) }()
	var turns *probe.Turns // all time is the run's
	reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
	if pt.place != nil {
		turns, reg = pt.place.turns, pt.place.reg
	}
	load := newShares(sys, s.Dialects.OfPlan(s.Plan), run)
	runner, closeProbes, err := s.probes(sys, db, run, turns, load)
	if err != nil {
		return out, seen, err
	}
	defer closeProbes()
	if pt.place != nil && pt.place.owed != nil {
		runner.Add(pt.place.owed)
	}
	cores := map[string][]int{}
	if len(s.generator) > 0 {
		cores["generator"] = s.generator
	}
	targets := s.coresOf(sys)
	if len(targets) > 0 {
		cores["app"], cores["target"] = targets, targets
	}
	arrivals, _ := s.arrivals(sys.Mix)
	h := s.health(sys, runner.Last, run)
	h.shares = load
	h.remote = func() []string { return agentSteal(runner) }
	if lay.processes > 1 || s.fleet != nil {
		h.agents = lay.processes
	}
	h.ports *= float64(max(1, len(lay.from)))
	for _, a := range lay.members {
		h.hosts = append(h.hosts, a.Cores)
	}
	h.driven, h.unrated = s.driven(lay)
	sig, err := newSignals(cores, h, turns, db, runner)
	if err != nil {
		return out, seen, err
	}
	defer sig.close()
	panics := &runPanics{all: s.Panics, w: w, clock: run}
	env := sys.Env()
	env.Clock, env.Panicked = run, panics.env
	runner.OnPanic(panics.env)
	env.Registry, env.Log = reg, func(format string, args ...any) {
		_ = w.Event(record.Event{At: run.Now(), Kind: "error", Text: fmt.Sprintf(format, args...)})
	}
	driver, err := s.drive(ctx, sys, driving{env: env, layout: lay, arrivals: arrivals, clock: run, w: w, panics: panics, runner: runner, health: h, budget: s.budget, tick: trial.Tick(s.Spec(pt, nil, nil, nil, nil, nil).Window)})
	if err != nil {
		return out, seen, err
	}
	defer driver.end()
	if pt.place != nil {
		driver.stamps, driver.refused = pt.place.stamps, pt.place.refused
	}
	probing, cancelProbing := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- runner.Run(probing) }()
	stopProbing := sync.OnceValue(func() error { cancelProbing(); return <-done })
	defer func() { err = errors.Join(err, stopProbing()) }()
	spec := s.Spec(pt, driver.Driver, reg, sig, w, run)
	spec.Conduct, spec.Series, spec.Live = conduct(sys, env), db, aud
	spec.CPU, aud.own = busyness(sig, runner.Last, len(targets)), runner.Last
	if d, ok := driver.Driver.(*fleet.RemoteDriver); ok {
		aud.fleet = d
	}
	if spec.Level != nil {
		spec.Level.Used, spec.Audit = s.cpuUsed(sys, pt.Arm, sig), nil
	}
	if f := s.Plan.Fleet; f != nil {
		spec.Hold = f.Hold
	}
	if pt.place != nil {
		spec.Progress, spec.Gates = pt.place.progress(spec.Progress), pt.place.gates(spec.Gates)
		pt.place.extent.watch(ctx, spec.Bounded, run, db)
	}
	if b := s.Plan.Bounded; b != nil && b.Until > 0 && spec.Bounded != nil {
		disk := deploy.WatchDisk(ctx, sys.Dir, b.Until)
		defer disk.End()
		spec.Bounded.Until = disk.Full
	}
	before := driver.stamps()
	cut, _ := driver.refused()
	crashes := watchCrashes(sys, w, run)
	out, err = trial.Run(ctx, spec)
	told, terr := s.told(ctx, sys, env, w, db, run.Epoch())
	crashed, cerr := crashes.end(out.Phases)
	restarted := restarts(context.WithoutCancel(ctx), db, run.Epoch(), run.Now())
	told = slices.Concat(told, crashed, restarted, panics.findings(), load.finding(out.Validity.Gates), stuck.finding(), stalls(driver.fleet, out.Phases), clocksApart(driver.fleet))
	err = errors.Join(err, terr, cerr)
	seen.stamps = driver.stamps().Sub(before)
	if f, bad := connections(seen.stamps, pt.place.ofAll()).Finding(); bad {
		told = append(told, f)
	}
	if pt.place != nil { // before the work that is left: it would disturb the others
		err = errors.Join(err, stopProbing(), pt.place.leave(ctx))
	}
	refused, held := driver.refused()
	seen.answers = answers(s.budget, held, refused.Sub(cut))
	seen.answers.OfAll = pt.place.ofAll()
	told = append(told, seen.answers.Findings()...)
	for _, f := range append(clockFindings(runner), told...) {
		out.Validity.Add(f)
		e := f.Event()
		e.At = run.Now()
		err = errors.Join(err, w.Event(e))
	}
	return out, seen, err
}

// told reads the target's own telemetry of the requests of the run that has just ended. Most servers have none.
func (s *Session) told(ctx context.Context, sys *deploy.System, env workload.Env, w *record.Writer, db *series.DB, epoch time.Time) ([]record.Finding, error) {
	telemetry := s.Telemetry[s.Plan.Target.Driver]
	if telemetry == nil || ctx.Err() != nil {
		return nil, nil
	}
	return telemetry(ctx, EndedRun{Deployment: sys.Deployment, Target: s.Plan.Target, Tally: env.Tally, Writer: w, Series: db, Epoch: epoch,
		Reading: func() { s.Progress.Doing("reading the telemetry", 0) }})
}

// Spec translates the plan for one part.
func (s *Session) Spec(pt RunPart, d trial.Driver, reg *measure.Registry, sig trial.Signals, w *record.Writer, run *clock.Clock) trial.Config {
	spec := trial.Config{Clock: run, Driver: d, Registry: reg, Signals: sig, Writer: w, Progress: s.Progress.trial, Gates: s.Plan.Gates.All()}
	spec.Window, spec.Timeout = plan.DefaultWindow, opTimeout
	if pt.most > 0 {
		spec.Level, spec.Rules = s.levelTest(pt), s.Plan.BoundedRules()
		return spec
	}
	if b := s.Plan.Bounded; b != nil && pt.Bounded {
		n, _ := b.UsersFor(pt.Engine)
		spec.Bounded = &trial.BoundedTest{Users: n, Ramp: b.Ramp, Settle: b.Settle, Measure: b.Measure, Storms: storms(b.Stages), Window: time.Duration(b.Window), Rules: s.Plan.BoundedRules()}
		if pt.Comparison == "" || pt.step { // the runs of an arm have one length
			spec.Bounded.GiveUp = giveUp
		}
	}
	if u, ok := s.Plan.Search(); ok {
		spec.Rules, spec.Window = u.SLO, u.Window
		if pt.Unbounded {
			start := pt.Start
			if start == 0 {
				start = s.Plan.SearchStart(pt.Engine)
			}
			pace := s.Plan.Workload.Pace
			saturation := 1.0 // of the app's cores, unless a rule allows less
			for _, r := range u.SLO {
				if r.Stat == "cpu" && r.Arg == "app" && r.Less && !r.Warning && r.Threshold > 0 {
					saturation = min(saturation, r.Threshold)
				}
			}
			spec.Search = &trial.SearchTest{
				Config: capacity.Config{Start: max(start, 1), Max: u.MaxUsers, RampRate: u.RampRate, RampFloor: 4 / pace,
					Window: u.Window, Step: u.Step, Precision: u.Precision, Budget: u.Budget, Staircase: u.Mode == plan.Staircase, Saturation: saturation},
				Rush: u.Window,
			}
		}
	}
	return spec
}

// length returns how long a part may take, resets left out.
func (s *Session) length(pt RunPart) time.Duration {
	return s.Plan.RunLength(pt.Bounded, pt.Unbounded)
}

// probes returns a runner that samples host, processes, this program, the target's metrics and further sources once a
// second of a run's clock. Host and this program are sampled over its turns; nil: all time is the run's. load is shown
// the servers' counts of requests; it may be nil.
func (s *Session) probes(sys *deploy.System, db *series.DB, run *clock.Clock, turns *probe.Turns,
	load *shares) (runner *probe.Runner, end func(), err error) {
	runner = probe.NewRunner(db, time.Second)
	runner.UseClock(run)
	var all []source
	defer func() {
		if err != nil {
			closeSources(all)
		}
	}()
	roles := map[string][]int{}
	if len(s.generator) > 0 {
		roles["generator"] = s.generator
	}
	if targets := s.coresOf(sys); len(targets) > 0 { // a target elsewhere has none here
		roles["target"] = targets
	}
	host, err := probe.NewHost(probe.HostOptions{Roles: roles, Turns: turns})
	if err != nil {
		return nil, nil, err
	}
	all = append(all, source{probe: host, close: host.Close})
	procs := sys.Roles()
	if len(procs) > 0 {
		p := probe.NewProcesses(procs)
		all = append(all, source{probe: p, close: p.Close})
	}
	self, err := probe.NewSelf()
	if err != nil {
		return nil, nil, err
	}
	self.UseTurns(turns)
	enough := memory.keep()
	all = append(all, source{probe: probe.NewNeighbors(func() (pids []int) {
		for _, r := range procs {
			pids = append(pids, r.PIDs()...)
		}
		return pids
	}), close: nothing}, source{probe: self, close: func() error { enough(); return nil }})
	for i, url := range sys.Deployment.MetricsURLs() {
		sc, err := probe.NewScrape(url, map[string]string{"role": "app", "instance": fmt.Sprint("app-", i)})
		if err != nil {
			return nil, nil, plan.Usagef("metrics_url: %w", err)
		}
		all = append(all, source{scraper: sc, close: sc.Close})
	}
	sources, err := s.sources(sys)
	if all = append(all, sources...); err != nil {
		return nil, nil, err
	}
	for _, x := range all {
		if x.scraper != nil {
			x.scraper = load.watch(x.scraper)
		}
		x.addTo(runner)
	}
	return runner, func() { closeSources(all) }, nil
}
