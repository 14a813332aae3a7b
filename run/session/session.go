package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/heaplimit"
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
	"plimsoll/run/health"
	"plimsoll/run/health/sources"
	"plimsoll/run/live"
	"plimsoll/run/sharedhost"
	"plimsoll/run/trial"
	"plimsoll/run/users"
	"plimsoll/target"
	"plimsoll/target/external"
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
	// accounts are the accounts that the users have; nil: behaviors make them.
	accounts  *users.UsersFile
	crew      *users.Crew       // agents on other hosts that have the users; nil when this host has them
	watchers  *sources.Watchers // nil when no agent of another host has anything to do
	broadcast *live.Broadcast   // the comparison or sizing under way, for those who watch it; nil for none
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
	if s.accounts = pr.clearance().accounts; s.accounts != nil {
		s.Secrets.Add(s.accounts.Secrets()...)
	}
	if s.budget, err = users.SetBudget(p); err != nil {
		return nil, err
	}
	cores := sharedhost.CoresOf(p, p.Target.OwnHost() || pr.besides(p))
	s.generator, s.targets = cores.Generator, cores.Target
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
		return nil, nil, CarriedError{}
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
	unserve, err := s.Out.Open(s.SeriesAPI(), s.Env, s.Secrets)
	if err != nil {
		return nil, nil, err
	}
	leave, err := s.openFleet(root)
	if err != nil {
		unserve()
		return nil, nil, err
	}
	s.rate(ctx, rate && s.crew == nil)
	return s, func() { s.Progress.End(); leave(); unserve(); hide() }, nil
}

// besides reports whether servers of others are on this host: those of the plan's target and arms that are yet to be
// installed, or whose processes are seen.
func (pr *Program) besides(p *plan.Plan) bool {
	if p.Target.OwnHost() || p.Placement.Agents != nil {
		return false
	}
	urls := slices.Clone(p.Target.URL)
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			urls = append(urls, a.URL...)
		}
	}
	t, err := pr.Resolve(plan.Target{URL: urls}, plan.Workload{})
	return err == nil && sharedhost.Serves(t.URL, len(p.Target.Install) > 0)
}

// hereFact is the fact of a description that names the processes of the target on this host.
const hereFact = "processes here"

// locate finds the processes of a target of others on this host, and keeps them off the generator's cores unless the
// plan places the generator itself. It is called before each run, because a reset may have restarted the target.
func (s *Session) locate(ctx context.Context, sys *deploy.System, inTurns bool) error {
	site, ok := sys.Deployment.(*external.Site)
	if !ok {
		return nil
	}
	named, err := sys.Named(ctx)
	if err != nil {
		return err
	}
	local := cmp.Or(sys.Local, new(sharedhost.Resident))
	sys.InTurns = inTurns
	here, err := local.Find(ctx, sharedhost.Clues{URLs: site.URLs(), URL: site.URL(), Ready: sys.Ready, Named: named})
	if err != nil || !here {
		return err
	}
	sys.Local = local
	var cores sharedhost.Cores // of users elsewhere, none here
	if s.crew == nil {
		cores = sharedhost.Cores{Generator: s.generator, Target: s.targets}
	}
	if len(cores.Generator) > 0 {
		local.Confine(cores, len(s.Plan.Placement.Generator) == 0)
	}
	if text := local.Placement(cores); text != sys.Placement {
		sys.Placement = text
		s.Progress.Say("%s", text)
	}
	site.Note(hereFact, local.String())
	return nil
}

// onOneHost reports whether a system is on this host, with the generator.
func (s *Session) onOneHost(sys *deploy.System) bool {
	return s.Plan.Target.OwnHost() || sys.Local.Here() && s.crew == nil
}

// coresOf returns the cores of a system on this host that are not the generator's; nil where it may use all.
func (s *Session) coresOf(sys *deploy.System) []int {
	if s.Plan.Target.OwnHost() || sys.Local.Apart() {
		return s.targets
	}
	return nil
}

// A RunPart names a run: which arm on which database, and which part of a comparison it is.
type RunPart struct {
	Arm, Engine, Comparison string
	Block, Order            int
	Pilot                   bool
	Bounded, Unbounded      bool       // which tests it carries
	Keep                    bool       // the state that the part before has left; else the system is reset
	Start                   int        // of the search; 0 for the plan's or the bounded test's
	Place                   *DuetPlace // in a duet; nil: the run has its host for itself
	Step                    bool       // of a sizing
	Most                    int        // users of a pilot that finds their number; 0 for any other part
}

// Users returns how many users a part may need at most.
func (s *Session) Users(pt RunPart) int {
	if pt.Most > 0 {
		return pt.Most
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
	case pt.Keep:
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
			if (errors.Is(err, target.ErrStart) || errors.Is(err, target.ErrProvision)) && pt.Comparison != "" && !pt.Pilot && ctx.Err() == nil {
				return s.unstarted(ctx, sys, pt, err)
			}
			return nil, trial.Outcome{}, fmt.Errorf("resetting %s on %s: %w", pt.Arm, cmp.Or(pt.Engine, "-"), err)
		}
	}
	sys.HideSecrets()
	if err := s.locate(ctx, sys, pt.Place != nil); err != nil {
		return nil, trial.Outcome{}, err
	}
	most := s.Users(pt)
	if a := users.Arrivals(s.Plan, sys.Mix); a != nil {
		most += a.InFlight // connections
	}
	lay, err := users.LayOut(ctx, s.Plan, s.crew, sys.Deployment.URL(), sys.Mix, most)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	if err := lay.FreePorts(ctx, s.Plan.Gates.All(), users.Sockets(sys.Mix, lay.Users), s.Progress); err != nil {
		return nil, trial.Outcome{}, err
	}
	look(ctx, sys)
	var run *clock.Clock
	switch {
	case pt.Place != nil:
		if lay.Processes > 1 {
			return nil, trial.Outcome{}, plan.Usagef("compare.mode: the %d users of an arm need %d processes, and those of a duet share one; lower users, or write mode: sequence", s.Users(pt), lay.Processes)
		}
		var leave func()
		pt.Place.arrive()
		if ctx, run, leave, err = pt.Place.join(ctx, sys); err != nil {
			return nil, trial.Outcome{}, err
		}
		defer leave()
	case lay.Apart(): // the users' processes begin before the epoch
		run = clock.New(time.Now().Add(agentsStart))
	default:
		run = clock.New(time.Now().Add(100 * time.Millisecond))
	}
	m, err := s.manifest(sys, pt, run.Epoch(), lay.Processes)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	for _, a := range lay.Members {
		m.Agents = append(m.Agents, a.Name)
	}
	m.Ratings = lay.Ratings
	m.SharedHost = m.SharedHost && len(m.Agents) == 0
	w, err := s.Store.Create(m)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	s.starts = 0
	aud := s.watchable(w, pt, run, sys)
	var out trial.Outcome
	var seen users.Received
	if err = writeCommands(w.Dir(), commands); err == nil {
		out, seen, err = s.carryOut(ctx, sys, pt, lay, w, run, aud)
	}
	// A run is always sealed: its records stay readable.
	err = errors.Join(err, w.Update(func(m *record.Manifest) {
		m.Phases, m.Capacity, m.Exploratory = out.Phases, out.Capacity, aud.steered(&out)
		seen.OfAll = pt.Place.ofAll()
		seen.Describe(m)
		if pt.Place != nil {
			m.Duet = pt.Place.record()
		}
	}))
	why := out.Interrupted
	if err != nil {
		why = "the tool failed: " + err.Error()
	}
	seal, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if why == "" && out.Validity.Valid && pt.Comparison != "" && !pt.Pilot {
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
		Comparison: pt.Comparison, InDigests: pt.Comparison != "", Block: pt.Block, Order: pt.Order, Pilot: pt.Pilot,
		SharedHost: s.onOneHost(sys), Generator: s.generator, TargetCPUs: s.coresOf(sys), Host: s.host, Target: targetText,
		Clock: users.ClockText(wire.Clocks{}, false), Processes: processes, Accounts: s.accountsOf(sys),
	}, err
}

// openFleet opens the door when the plan's users or probes are on other hosts, and prints what an agent needs. The caller
// calls closed.
func (s *Session) openFleet(root string) (closed func(), err error) {
	if s.Plan.Placement.Agents == nil && !s.Plan.WatchedByAgents() {
		return func() {}, nil
	}
	door := s.Fleet
	door.Keys = s.keyFile(root)
	hall, err := door.Open(s.Version, s.Secrets, s.Progress.Say)
	if err != nil {
		return nil, err
	}
	s.watchers = sources.NewWatchers(hall, users.JoinCommand(hall))
	if s.Plan.Placement.Agents != nil {
		s.crew = users.NewCrew(hall, s.Plan, s.Progress)
	}
	return hall.Close, nil
}

// accountsOf returns the record of the accounts that the users of a system have; nil where they were made.
func (s *Session) accountsOf(sys *deploy.System) *record.AccountsFile {
	if s.accounts == nil {
		return nil
	}
	reset := s.Plan.Target.Driver != plan.External || sys.Installation != nil && sys.Installation.Resets()
	return s.accounts.Record(sys.Mix, sys.Env(), reset)
}

// ratedPace returns the pace at which a host's rating counts users of the plan. It is infinite for users of another kind
// than those of the rating: only operations compare.
func (s *Session) ratedPace() float64 {
	if s.Plan.Workload.Behavior != s.Rated {
		return math.Inf(1)
	}
	return s.Plan.Workload.Pace
}

// carryOut is the trial between reset and seal.
func (s *Session) carryOut(ctx context.Context, sys *deploy.System, pt RunPart, lay users.Layout, w *record.Writer, run *clock.Clock, aud *audience) (out trial.Outcome, seen users.Received, err error) {
	db, err := series.Create(w.Dir() + "/" + record.SeriesDir)
	if err != nil {
		return out, seen, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.Redact(s.Secrets.Label)
	stuck := health.WatchSeries(db, w, run)
	unpublish, err := s.Out.Publish(db, w, run, s.Progress.Say)
	if err != nil {
		return out, seen, err
	}
	defer func() {
		for _, f := range unpublish() {
			out.Validity.Add(f)
		}
	}()
	var turns *probe.Turns // all time is the run's
	reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
	if pt.Place != nil {
		turns, reg = pt.Place.turns, pt.Place.reg
	}
	load := s.sharesOf(sys, run)
	cores := s.coresByRole(sys)
	runner, closeProbes, err := s.opener().Run(s.subject(sys), sources.Scope{
		DB: db, Clock: run, Turns: turns, Cores: cores, Watch: load.Watch,
	})
	if err != nil {
		return out, seen, err
	}
	defer closeProbes()
	defer heaplimit.Keep()()
	if pt.Place != nil && pt.Place.owed != nil {
		runner.Add(pt.Place.owed)
	}
	h := health.New(s.healthOf(sys, lay, load, runner, run))
	sig, err := health.NewSignals(cores, h, turns, db, runner)
	if err != nil {
		return out, seen, err
	}
	defer sig.Close()
	panics := &runPanics{all: s.Panics, w: w, clock: run}
	env := sys.Env()
	env.Clock, env.Panicked = run, panics.env
	runner.OnPanic(panics.env)
	event := func(kind, text string) error { return w.Event(record.Event{At: run.Now(), Kind: kind, Text: text}) }
	env.Registry = reg
	env.Log = func(format string, args ...any) { _ = event("error", fmt.Sprintf(format, args...)) }
	population, err := users.Start(ctx, users.Config{
		Layout: lay, Mix: sys.Mix, Arrivals: users.Arrivals(s.Plan, sys.Mix), Env: env, Clock: run, Crew: s.crew,
		Budget: s.budget, Cores: s.generator, Tick: trial.Tick(s.Spec(pt, nil, nil, nil, nil, nil).Window),
		Say:  s.Progress.Say,
		Note: func(text string) error { return event("agent", text) },
		Failed: func(who string, err error) {
			if !panics.of(who, err) {
				_ = event("error", who+": "+err.Error())
			}
		},
	})
	if err != nil {
		return out, seen, err
	}
	defer population.End()
	stamps, refused := population.Stamps, population.Refused
	if pt.Place != nil {
		stamps, refused = pt.Place.stamps, pt.Place.refused
	}
	if remote := population.Remote(); remote != nil {
		runner.Add(remote)
		aud.fleet = remote
		if lay.Processes > fleet.MostLabeled {
			h.Lead(remote.Clocks, remote.Sampled)
		} else {
			h.Lead(remote.Clocks, nil)
		}
	}
	probing, cancelProbing := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- runner.Run(probing) }()
	stopProbing := sync.OnceValue(func() error { cancelProbing(); return <-done })
	defer func() { err = errors.Join(err, stopProbing()) }()
	spec := s.Spec(pt, population.Driver, reg, sig, w, run)
	spec.Conduct, spec.Series, spec.Live = conduct(sys, env), db, aud
	spec.CPU, aud.own = sig.Busyness(len(cores["target"])), runner.Last
	if spec.Level != nil {
		spec.Level.Used, spec.Audit = s.cpuUsed(sys, pt.Arm, sig), nil
	}
	if f := s.Plan.Fleet; f != nil {
		spec.Hold = f.Hold
	}
	if pt.Place != nil {
		spec.Progress, spec.Gates = pt.Place.progress(spec.Progress), plan.InDuet(spec.Gates)
		if watch := pt.Place.watch; watch != nil && spec.Bounded != nil {
			watch(ctx, spec.Bounded, run, db)
		}
	}
	if b := s.Plan.Bounded; b != nil && b.Until > 0 && spec.Bounded != nil {
		disk := deploy.WatchDisk(ctx, sys.Dir, b.Until)
		defer disk.End()
		spec.Bounded.Until = disk.Full
	}
	before := stamps()
	cut, _ := refused()
	crashes := watchCrashes(sys, w, run)
	out, err = trial.Run(ctx, spec)
	told, terr := s.told(ctx, sys, env, w, db, run.Epoch())
	crashed, cerr := crashes.end(out.Phases)
	restarted := restarts(context.WithoutCancel(ctx), db, run.Epoch(), run.Now())
	told = slices.Concat(told, crashed, restarted, panics.findings(), load.Finding(out.Validity.Gates), stuck.Finding(), population.Findings(out.Phases))
	err = errors.Join(err, terr, cerr)
	seen = users.Received{Stamps: stamps().Sub(before), Budget: s.budget, OfAll: pt.Place.ofAll()}
	if pt.Place != nil { // before the work that is left: it would disturb the others
		err = errors.Join(err, stopProbing(), pt.Place.leave(ctx))
	}
	cutNow, held := refused()
	seen.Refused, seen.Held = cutNow.Sub(cut), held
	told = append(told, seen.Findings()...)
	for _, f := range append(sources.ClockFindings(runner), told...) {
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
	if pt.Most > 0 {
		spec.Level, spec.Rules = s.levelTest(pt), s.Plan.BoundedRules()
		return spec
	}
	if b := s.Plan.Bounded; b != nil && pt.Bounded {
		n, _ := b.UsersFor(pt.Engine)
		spec.Bounded = &trial.BoundedTest{Users: n, Ramp: b.Ramp, Settle: b.Settle, Measure: b.Measure, Storms: storms(b.Stages), Window: time.Duration(b.Window), Rules: s.Plan.BoundedRules()}
		if pt.Comparison == "" || pt.Step { // the runs of an arm have one length
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
