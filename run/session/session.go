package session

import (
	"context"
	"slices"
	"time"

	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/run/health"
	"plimsoll/run/health/sources"
	"plimsoll/run/rating"
	"plimsoll/run/users"
	"plimsoll/watch/probe"
)

// A Session is the state that the runs of one invocation share.
type Session struct {
	*Program
	Plan     *plan.Plan
	Store    *store.Store
	Progress *audience.Reporter
	// Host describes this host, and Cores the places of generator and target on it.
	Host  probe.Host
	Cores deploy.HostCores
	// Accounts are the users' accounts; nil: behaviors make them.
	Accounts *users.UsersFile
	// Crew are the agents on other hosts that have the users; nil when this host has them.
	Crew *users.Crew

	rating   *rating.Result    // of this host's generator; nil when it was not measured
	starts   int               // runs in a row that found their target unable to start
	budget   int64             // bytes of answers under way, in all processes with users
	watchers *sources.Watchers // nil when no agent of another host has anything to do
}

// NewSession describes the host and pins this process to the generator's cores. A plan that names
// files has had its [Program.Preflight].
func NewSession(pr *Program, p *plan.Plan, st *store.Store) (*Session, error) {
	st.Hide(pr.Secrets)
	s := &Session{
		Program:  pr,
		Plan:     p,
		Store:    st,
		Progress: audience.NewReporter(pr.RawErr, pr.Secrets, pr.Terminal),
		Host:     probe.Fingerprint(),
		Accounts: pr.clearance().accounts,
	}
	if s.Accounts != nil {
		s.Secrets.Add(s.Accounts.Secrets()...)
	}
	var err error
	if s.budget, err = users.SetBudget(p); err != nil {
		return nil, err
	}
	s.Cores = deploy.CoresFor(&pr.Resolver, p)
	if err := s.Cores.Pin(); err != nil {
		return nil, err
	}
	return s, nil
}

// Begin opens the store and a session whose runs are served and written elsewhere as the flags
// request, on a host that is rated, after the preflight. end closes what stays open; a session
// needs no other end. When another process of this program has carried everything out, the error is
// its status.
func Begin(ctx context.Context, pr *Program, p *plan.Plan, root string, rate bool) (
	s *Session, end func(), err error,
) {
	if done, err := pr.Isolate(ctx, p, root); err != nil {
		return nil, nil, err
	} else if done {
		return nil, nil, CarriedError{}
	}
	st, err := store.Open(root)
	if err != nil {
		return nil, nil, err
	}
	hide := func() {}
	if pr.Console != "" { // before this process is pinned to the generator's cores
		if hide, err = audience.ShowConsole(ctx, root, pr.Console, pr.Warn); err != nil {
			return nil, nil, err
		}
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
	leave, err := s.openFleet()
	if err != nil {
		unserve()
		return nil, nil, err
	}
	s.rating = s.Rater().Rate(ctx, rate && s.Crew == nil, s.Progress.Say)
	return s, func() { s.Progress.End(); leave(); unserve(); hide() }, nil
}

// openFleet opens the door when the plan's users or probes are on other hosts, and prints what an
// agent needs. The caller calls closed.
func (s *Session) openFleet() (closed func(), err error) {
	if s.Plan.Placement.Agents == nil && !s.Plan.WatchedByAgents() {
		return func() {}, nil
	}
	door := s.Fleet
	door.Keys = s.keyFile(s.Store.Root())
	hall, err := door.Open(s.Version, s.Secrets, s.Progress.Say)
	if err != nil {
		return nil, err
	}
	s.watchers = sources.NewWatchers(hall, users.JoinCommand(hall))
	if s.Plan.Placement.Agents != nil {
		s.Crew = users.NewCrew(hall, s.Plan, s.Progress)
		s.Cores.Elsewhere = true
	}
	return hall.Close, nil
}

// Null returns the null server, on the target's cores.
func (s *Session) Null() rating.Null {
	return rating.Null{Verb: s.Program.Null, CPUs: s.Cores.Target}
}

// Rater returns the rater of this host with the session's cores.
func (s *Session) Rater() rating.Rater {
	return s.rater(s.Store.Root(), s.Null(), s.Cores.Generator, s.Progress)
}

// NewDeployments returns the deployments of a session, with none yet. The caller calls Close.
func (s *Session) NewDeployments() *deploy.Deployments {
	admission := users.Admission{Plan: s.Plan, Crew: s.Crew, Accounts: s.Accounts}
	return deploy.New(deploy.Config{
		Resolver:  s.Resolver,
		Plan:      s.Plan,
		Root:      s.Store.Root(),
		Tool:      s.Version,
		Generator: s.Cores.Generator,
		Targets:   s.Cores.Target,
		Progress:  s.Progress,
		Admit:     admission.Admit,
		Provision: admission.Provision,
		Survey: func(ctx context.Context, sys *deploy.System) error {
			return s.opener().SurveySystem(ctx, sys)
		},
	})
}

// opener opens the sources of the session's runs.
func (s *Session) opener() *sources.Opener {
	return &sources.Opener{Resolver: &s.Resolver, Plan: s.Plan, Watchers: s.watchers}
}

// Beside returns a session for one run of a block whose runs are made at the same time: a session
// carries out one run at a time. It has a name in the progress. The caller calls Together when all
// of them have ended.
func (s *Session) Beside(name string) *Session {
	one := *s
	one.Progress = s.Progress.Part(name)
	return &one
}

// Together takes back the sessions of a block.
func (s *Session) Together(beside []*Session) {
	s.Progress.Joined()
	s.starts = inARow(s.starts, beside)
}

// inARow returns how many blocks of a duet in a row had no run that started, from the number before
// this one and the sessions of its runs.
func inARow(before int, sessions []*Session) int {
	for i := range sessions {
		if sessions[i].starts <= before {
			return 0
		}
	}
	return before + 1
}

// Quiet waits until no other process uses the cores of generator and target, for most at the
// longest.
func (s *Session) Quiet(ctx context.Context, most time.Duration) error {
	cores := slices.Concat(s.Cores.Generator, s.Cores.Target)
	if len(cores) == 0 { // the target is elsewhere, and its host is not seen from here
		return nil
	}
	s.Progress.Doing("waiting for a quiet host", most)
	return health.WaitQuiet(ctx, most, cores)
}
