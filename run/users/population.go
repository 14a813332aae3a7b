package users

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"plimsoll/internal/heaplimit"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
)

// Config describes the users of one run. Arrivals, Crew and Cores may be nil.
type Config struct {
	Layout Layout
	Mix    []engine.Part
	// Arrivals is the open model of [Arrivals]; nil for users who act at their own pace.
	Arrivals *engine.Arrivals
	// Env is the environment of the users, with the recorders of the run. Start sets its Dial, and
	// its Registry where it has none.
	Env   workload.Env
	Clock *clock.Clock
	// Crew has the users, where the layout has members; nil for users on this host.
	Crew *Crew
	// Tick is the trial's; a crew needs it.
	Tick time.Duration
	// Budget is the number of bytes that answers under way may hold, in all processes together.
	Budget int64
	// Cores are the cores of this host for processes with users; nil for all.
	Cores []int
	// Failed is called from any goroutine with an error of "user 7", "agent 2" or "agent 2: user
	// 7".
	Failed func(who string, err error)
	// Note adds a line about an agent to the events of the run.
	Note func(text string) error
	// Say reports to people what went wrong at the end.
	Say func(format string, args ...any)
}

// A Population is the users of one run. It drives them as the [trial.Driver] in it does. Its
// methods are safe for concurrent use, but End, which comes last.
type Population struct {
	trial.Driver
	conf   Config
	remote *fleet.RemoteDriver // nil: the users are in this process
	links  []io.ReadWriteCloser
	here   *processes // nil: no process was started here
	free   func()     // releases the memory of this process
}

// Start makes the users of a run. None acts before the driver is told how many there are.
// The processes that have them are ready when it returns. They live until [Population.End], or
// until ctx ends.
func Start(ctx context.Context, c Config) (*Population, error) {
	if c.Env.Registry == nil {
		c.Env.Registry = measure.NewRegistry(runtime.GOMAXPROCS(0))
	}
	p := &Population{conf: c, free: heaplimit.Keep()}
	if c.Layout.Apart() {
		if err := p.startApart(ctx); err != nil {
			p.free()
			return nil, err
		}
		return p, nil
	}
	c.Env.Dial = dialer(c.Layout.Sources)
	onError := func(user int, err error) { c.Failed(fmt.Sprintf("user %d", user), err) }
	local, err := engine.New(ctx, engine.Config{
		Env: c.Env, Mix: c.Mix, Arrivals: c.Arrivals, Clock: c.Clock, OnError: onError,
	})
	if err != nil {
		p.free()
		return nil, err
	}
	p.Driver = local
	return p, nil
}

// startApart starts the processes that have the users, and the driver that leads them.
func (p *Population) startApart(ctx context.Context) (err error) {
	c := p.conf
	conf := fleet.Config{
		Epoch: c.Clock.Epoch(), Registry: c.Env.Registry, Tally: c.Env.Tally, Ledger: c.Env.Ledger,
		OnError: func(agent, user int, err error) {
			who := fmt.Sprintf("agent %d", agent)
			if user >= 0 {
				who += fmt.Sprintf(": user %d", user)
			}
			c.Failed(who, err)
		},
	}
	if conf.Settings, err = c.settings(); err != nil {
		return err
	}
	if c.Crew != nil {
		conf.Patience = c.Crew.times.Resend
		conf.Hosts, err = p.joinCrew(ctx)
	} else {
		err = p.launch(ctx)
	}
	if err != nil {
		return err
	}
	conf.Links = p.links
	remote, err := fleet.New(ctx, conf)
	if err != nil {
		err = p.here.tails(err)
		p.leave()
		return err
	}
	for k, pid := range remote.PIDs() {
		err := c.Note(fmt.Sprintf("agent %d of %d joined: process %d%s",
			k+1, c.Layout.Processes, pid, conf.Hosts.On(k)))
		if err != nil {
			p.leave()
			return err
		}
	}
	p.remote = remote
	p.Driver = remote
	return nil
}

// launch starts the processes of this host that have the users.
func (p *Population) launch(ctx context.Context) (err error) {
	if p.here, err = launch(ctx, p.conf.Layout.Processes, p.conf.Cores, p.conf.Say); err == nil {
		p.links = p.here.links
	}
	return err
}

// joinCrew opens the links to the agents of other hosts that have the users.
func (p *Population) joinCrew(ctx context.Context) (*fleet.Hosts, error) {
	c := p.conf
	links, names, err := c.Crew.lead(ctx, c.Layout.Members)
	if err != nil {
		return nil, err
	}
	p.links = links
	times := c.Crew.times
	return &fleet.Hosts{
		Names: names, Processes: c.Layout.Processes / len(c.Layout.Members), Tick: c.Tick,
		Leave: times.Leave, Over: times.Over,
	}, nil
}

// leave ends the processes of this host, and leaves the processes of other hosts running.
func (p *Population) leave() {
	closeLinks(p.links)
	if p.here != nil {
		p.here.stop()
	}
}

// End ends the processes that have the users, after the driver was stopped. It notes the lost
// agents of other hosts, and the readings of their clocks.
func (p *Population) End() {
	if crew := p.conf.Crew; crew != nil && p.remote != nil {
		crew.dismiss(p.remote)
		for _, r := range p.remote.Readings() {
			_ = p.conf.Note(fmt.Sprintf(
				"clock of %s: %v ahead, give or take %v, drift %.1f ppm; its "+
					"instants are mapped by that",
				r.Agent,
				r.Ahead.Round(time.Microsecond),
				r.Within.Round(time.Microsecond),
				1e6*r.Drift,
			))
		}
	}
	p.leave()
	p.free()
}

// Remote returns the driver of users in other processes; nil for users in this one.
func (p *Population) Remote() *fleet.RemoteDriver { return p.remote }

// Registry returns where the users record.
func (p *Population) Registry() *measure.Registry { return p.conf.Env.Registry }

// Labeled reports whether there are so few processes that each has series of its own.
func (p *Population) Labeled() bool { return p.conf.Layout.Processes <= fleet.MostLabeled }

// Stamps returns how the bytes were dated that the users received, since their processes began.
func (p *Population) Stamps() wire.Clocks {
	if p.remote == nil {
		return wire.Stamps()
	}
	return p.remote.Stamps()
}

// Refused counts the answers and messages that were cut off at a limit since the processes of the
// users began, and returns the largest number of bytes of their budgets that were held at once.
func (p *Population) Refused() (wire.Refusals, int64) {
	if p.remote == nil {
		return wire.Refused(), wire.Process().Peak()
	}
	return p.remote.Refused()
}

// Findings returns the faults of a run whose users are on other hosts, by its phases: hosts that
// stood still, and clocks that were off. Other runs have none.
func (p *Population) Findings(phases []record.Phase) []record.Finding {
	if p.conf.Crew == nil || p.remote == nil {
		return nil
	}
	out := stalls(p.remote.Stalls(), phases)
	out = append(out, untimely(p.remote.Untimely())...)
	if a, left := p.remote.Apart(); left {
		out = append(out, measuredPart(a))
	}
	return out
}

// Arrivals translates the plan's open model for a mix, whose first behavior is the main one; nil
// without one.
func Arrivals(p *plan.Plan, mix []engine.Part) *engine.Arrivals {
	a := p.Workload.Arrival
	if a == nil {
		return nil
	}
	return &engine.Arrivals{
		Behavior: server(mix), Rate: float64(a.Rate), Poisson: a.Process == plan.Poisson,
		InFlight: a.InFlight, Queue: a.Queue,
	}
}

// server returns the main behavior of a mix, which serves its arrivals. The plan was checked, and
// the engine refuses a nil.
func server(mix []engine.Part) workload.ArrivalBehavior {
	b, _ := mix[0].Behavior.(workload.ArrivalBehavior)
	return b
}
