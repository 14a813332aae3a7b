package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// agentSettings are the inputs of an agent's engine, see [fleet.Start]. They hold tokens and passwords: they go
// through the agent's standard input and nowhere else.
type agentSettings struct {
	Env       workload.Env
	Behaviors []agentBehavior `json:"behaviors"`
	Arrivals  *agentArrivals  `json:"arrivals,omitempty"`
	Sources   []netip.Addr    `json:"sources,omitempty"`
	Budget    int64           `json:"budget"`            // bytes of answers under way, of this agent
	Ratings   []int           `json:"ratings,omitempty"` // see [engine.Config]
}

type agentBehavior struct {
	Name  string          `json:"name"`
	Share float64         `json:"share"`
	State json.RawMessage `json:"state"`
}

type agentArrivals struct {
	Rate     float64 `json:"rate"`
	Poisson  bool    `json:"poisson"`
	InFlight int     `json:"in_flight"`
	Queue    int     `json:"queue"`
}

// driving holds the needs of the users of one run.
type driving struct {
	env      workload.Env
	layout   layout
	arrivals *engine.Arrivals
	clock    *clock.Clock
	w        *record.Writer
	panics   *runPanics
	runner   *probe.Runner
	health   *health
	budget   int64 // bytes of answers under way, of all processes
	tick     time.Duration
}

// driven are the users of one run.
type driven struct {
	trial.Driver
	stamps func() wire.Clocks // of the bytes that the users received, since their process began
	end    func()             // ends the processes that have them
	// refused returns the counts of refusals since those processes began, and the bytes of their budgets that were
	// held at once, at most.
	refused func() (wire.Refusals, int64)
	// fleet is set when the users are on other hosts.
	fleet *fleet.RemoteDriver
}

// drive makes the users, in this process or in several.
func (s *Session) drive(ctx context.Context, sys *deploy.System, d driving) (*driven, error) {
	onError := func(user int, err error) {
		if !d.panics.of(fmt.Sprintf("user %d", user), err) {
			_ = d.w.Event(record.Event{At: d.clock.Now(), Kind: "error", Text: fmt.Sprintf("user %d: %v", user, err)})
		}
	}
	if d.layout.processes > 1 || s.fleet != nil {
		return s.agents(ctx, sys, d)
	}
	d.env.Dial = dialer(d.layout.from)
	local, err := engine.New(ctx, engine.Config{Env: d.env, Mix: sys.Mix, Arrivals: d.arrivals, Clock: d.clock, OnError: onError})
	if err != nil {
		return nil, err
	}
	return &driven{Driver: local, stamps: wire.Stamps, refused: refusedHere, end: func() {}}, nil
}

// settings collects the settings of the agents, by their numbers: each gets the secrets of its own users.
func (d driving) settings(mix []engine.Part) (func(agent int) (json.RawMessage, error), error) {
	set := agentSettings{Env: d.env, Sources: d.layout.from, Ratings: d.layout.ratings}
	var shares []float64
	for _, part := range mix {
		if _, ok := part.Behavior.(workload.Portable); !ok {
			return nil, fmt.Errorf("users of behavior %s cannot live in several processes yet", part.Name)
		}
		shares = append(shares, part.Share)
	}
	deal, err := workload.NewDeal(d.layout.processes, d.layout.ratings)
	if err != nil {
		return nil, err
	}
	parts := workload.Parts(d.layout.users, deal, shares...)
	return func(agent int) (json.RawMessage, error) {
		own, share := set, deal.Part(agent)
		own.Budget = budgetOfPart(d.budget, share)
		if a := d.arrivals; a != nil {
			own.Arrivals = &agentArrivals{a.Rate, a.Poisson, places(a.InFlight, share), places(a.Queue, share)}
		}
		for class, part := range mix {
			state, err := part.Behavior.(workload.Portable).State(parts[agent][class])
			if err != nil {
				return nil, err
			}
			own.Behaviors = append(own.Behaviors, agentBehavior{part.Name, part.Share, state})
		}
		return json.Marshal(own)
	}, nil
}

// places is an agent's share of all places, rounded up; less than a millionth of one is an error of the division.
func places(all int, share float64) int { return int(math.Ceil(float64(all)*share - 1e-6)) }

// agents starts the processes that have the users, and the driver that leads them.
func (s *Session) agents(ctx context.Context, sys *deploy.System, d driving) (_ *driven, err error) {
	settings, err := d.settings(sys.Mix)
	if err != nil {
		return nil, err
	}
	links, hosts, here, end, err := s.links(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	patience := time.Duration(0)
	if hosts != nil {
		patience = s.Plan.Fleet.Resend
	}
	driver, err := fleet.New(ctx, fleet.Config{Links: links, Hosts: hosts, Patience: patience, Epoch: d.clock.Epoch(), Settings: settings, Registry: d.env.Registry,
		Tally: d.env.Tally, Ledger: d.env.Ledger, OnError: func(agent, user int, err error) {
			who := fmt.Sprintf("agent %d: user %d", agent, user)
			if user < 0 {
				who = fmt.Sprintf("agent %d", agent)
			}
			if !d.panics.of(who, err) {
				_ = d.w.Event(record.Event{At: d.clock.Now(), Kind: "error", Text: who + ": " + err.Error()})
			}
		}})
	if err != nil {
		return nil, here.tails(err)
	}
	d.runner.Add(driver)
	d.health.clocks = driver.Clocks
	if d.layout.processes > fleet.MostLabeled {
		d.health.ofAgent = driver.Sampled
	}
	for k, pid := range driver.PIDs() {
		if err := d.w.Event(record.Event{At: d.clock.Now(), Kind: "agent", Text: fmt.Sprintf("agent %d of %d joined: process %d%s", k+1, d.layout.processes, pid, hosts.On(k))}); err != nil {
			return nil, err
		}
	}
	out := &driven{Driver: driver, stamps: driver.Stamps, refused: driver.Refused, end: end}
	if hosts != nil {
		out.fleet, out.end = driver, func() { s.endFleet(driver, d); end() }
	}
	return out, nil
}

// links leads to the processes that have the users: those that it starts here, or the agents that have joined. end is
// never nil.
func (s *Session) links(ctx context.Context, d driving) (links []io.ReadWriteCloser, hosts *fleet.Hosts, here *launched, end func(), err error) {
	end = func() {}
	if s.fleet == nil {
		exe, err := ownProgram()
		if err != nil {
			return nil, nil, nil, end, err
		}
		if here, err = launch(ctx, exe, d.layout.processes, s.generator, s.Progress.Say); err != nil {
			return nil, nil, nil, end, err
		}
		return here.links, nil, here, func() { here.end(ctx) }, nil
	}
	f := s.Plan.Fleet
	hosts = &fleet.Hosts{Processes: d.layout.processes / len(d.layout.members), Tick: d.tick, Hold: f.Hold, Leave: f.Leave, Over: f.Over}
	if links, hosts.Names, err = s.fleet.lead(ctx, d.layout.members, f.Resend); err != nil {
		return nil, nil, nil, end, err
	}
	return links, hosts, nil, func() { closeLinks(links) }, nil
}

func closeLinks(links []io.ReadWriteCloser) {
	for _, l := range links {
		_ = l.Close() // by this an agent knows that it is alone
	}
}

// A pipe is both standard streams of a child.
type pipe struct {
	in  *os.File // from us
	out *os.File // to us
}

func (p pipe) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p pipe) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p pipe) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// runningProgram leads to the file of this program, also when another has taken its place.
const runningProgram = "/proc/self/exe"

// ownProgram is the file to start this program by. A new build that has taken the file's place meanwhile is another
// program: a run, or a comparison, would be of two.
func ownProgram() (string, error) {
	exe, err := executable()
	if err != nil {
		return "", err
	}
	return unlessReplaced(exe), nil
}

func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return exe, nil
}

func unlessReplaced(exe string) string {
	is, err := os.Stat(runningProgram)
	if err != nil {
		return exe
	}
	if at, err := os.Stat(exe); err != nil || !os.SameFile(is, at) {
		return runningProgram
	}
	return exe
}

// startAgent starts this program as agent k on the generator's cores.
func startAgent(ctx context.Context, exe string, k int, cpus []int) (*lab.Process, pipe, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, pipe{}, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, pipe{}, errors.Join(err, childIn.Close(), in.Close())
	}
	p, err := lab.Start(ctx, lab.Spec{Name: fmt.Sprintf("agent %d", k), Path: exe, Args: []string{"agent", "-stdio"}, Stdin: childIn, Stdout: childOut, CPUs: cpus})
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if err != nil {
		return nil, pipe{}, errors.Join(err, in.Close(), out.Close())
	}
	return p, pipe{in, out}, nil
}

// BuildAgent makes an agent's engine, see [fleet.Build]. It alone knows the tokens that its users are issued: its
// errors go out without them.
func (pr *Program) BuildAgent(ctx context.Context, st fleet.Start, epoch time.Time, tell func(int, error)) (*fleet.Agent, error) {
	onError := func(user int, err error) {
		if p, ok := errors.AsType[*boundary.Panic](err); ok {
			tell(user, &boundary.Panic{Where: p.Where, Value: pr.Secrets.Text(p.Value), Stack: p.Stack})
			return
		}
		tell(user, errors.New(pr.Secrets.Text(err.Error())))
	}
	built, err := pr.newAgent(ctx, st, epoch, onError)
	if err != nil {
		return nil, errors.New(pr.Secrets.Redact(err.Error()))
	}
	return built, nil
}

func (pr *Program) newAgent(ctx context.Context, st fleet.Start, epoch time.Time, onError func(int, error)) (*fleet.Agent, error) {
	var set agentSettings
	if err := json.Unmarshal(st.Settings, &set); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if set.Budget > 0 {
		wire.Process().SetLimit(set.Budget)
	}
	self, err := probe.NewSelf()
	if err != nil {
		return nil, err
	}
	agent := &fleet.Agent{Registry: measure.NewRegistry(runtime.GOMAXPROCS(0)), Tally: new(workload.Tally), Samples: self.Sample}
	env := set.Env
	env.Secret, env.Secrets = func(string) string { return "" }, pr.Secrets
	env.Dial, env.Ledger = dialer(set.Sources), workload.NewLedger(0, env.Seed)
	env.Registry, env.Tally = agent.Registry, agent.Tally
	env.Log = func(format string, args ...any) { onError(-1, fmt.Errorf(format, args...)) }
	env.Panicked = func(p *boundary.Panic) { onError(-1, p) }
	env.Ledger.Share()
	agent.Ledger = env.Ledger
	var mix []engine.Part
	for _, b := range set.Behaviors {
		behavior, err := pr.Dialects.Behaviors().New(b.Name)
		if err != nil {
			return nil, err
		}
		portable, ok := behavior.(workload.Portable)
		if !ok {
			return nil, fmt.Errorf("users of behavior %s cannot live in several processes yet", b.Name)
		}
		if err := portable.Restore(env, b.State); err != nil {
			return nil, err
		}
		mix = append(mix, engine.Part{Name: b.Name, Behavior: behavior, Share: b.Share})
	}
	conf := engine.Config{Env: env, Mix: mix, Clock: clock.New(epoch), OnError: onError, Agent: st.Agent, Agents: st.Agents, Ratings: set.Ratings}
	if r := set.Arrivals; r != nil {
		if len(mix) == 0 {
			return nil, errors.New("settings: there are arrivals, and no behavior that could serve them")
		}
		b, _ := mix[0].Behavior.(workload.ArrivalBehavior) // the plan was checked; the engine refuses a nil
		conf.Arrivals = &engine.Arrivals{Behavior: b, Rate: r.Rate, Poisson: r.Poisson, InFlight: r.InFlight, Queue: r.Queue}
	}
	if agent.Engine, err = engine.New(ctx, conf); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, memory.keep())
	return agent, nil
}
