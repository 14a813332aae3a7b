package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/heaplimit"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/watch/probe"
)

// agentSettings are the inputs of an agent's engine, see [fleet.Start]. They hold tokens and
// passwords: they go through the agent's standard input and nowhere else.
type agentSettings struct {
	Env       workload.Env
	Behaviors []agentBehavior  `json:"behaviors"`
	Arrivals  *engine.Arrivals `json:"arrivals,omitempty"` // of the main behavior
	Sources   []netip.Addr     `json:"sources,omitempty"`
	// bytes of answers under way, of this agent
	Budget  int64 `json:"budget"`
	Ratings []int `json:"ratings,omitempty"` // see [engine.Config]
}

type agentBehavior struct {
	Name  string          `json:"name"`
	Share float64         `json:"share"`
	State json.RawMessage `json:"state"`
}

// settings returns a function that makes the settings of an agent by its number: each agent gets
// the secrets of its users alone.
func (c Config) settings() (func(agent int) (json.RawMessage, error), error) {
	set := agentSettings{Env: c.Env, Sources: c.Layout.Sources, Ratings: c.Layout.Ratings}
	var shares []float64
	for _, part := range c.Mix {
		if _, err := portable(part.Name, part.Behavior); err != nil {
			return nil, err
		}
		shares = append(shares, part.Share)
	}
	deal, err := workload.NewDeal(c.Layout.Processes, c.Layout.Ratings)
	if err != nil {
		return nil, err
	}
	parts := workload.Parts(c.Layout.Users, deal, shares...)
	return func(agent int) (json.RawMessage, error) {
		own, share := set, deal.Part(agent)
		own.Budget = budgetOfPart(c.Budget, share)
		if c.Arrivals != nil {
			a := *c.Arrivals
			a.InFlight = places(a.InFlight, share)
			a.Queue = places(a.Queue, share)
			own.Arrivals = &a
		}
		for class, part := range c.Mix {
			state, err := part.Behavior.(workload.Portable).State(parts[agent][class])
			if err != nil {
				return nil, err
			}
			own.Behaviors = append(own.Behaviors, agentBehavior{part.Name, part.Share, state})
		}
		return json.Marshal(own)
	}, nil
}

// portable returns a behavior whose users can live in several processes.
func portable(name string, b workload.Behavior) (workload.Portable, error) {
	p, ok := b.(workload.Portable)
	if !ok {
		return nil, fmt.Errorf("users of behavior %s cannot live in several processes yet", name)
	}
	return p, nil
}

// places returns an agent's share of all places, rounded up; less than a millionth of one is an
// error of the division.
func places(all int, share float64) int { return int(math.Ceil(float64(all)*share - 1e-6)) }

// A Builder makes the engine of an agent in this process.
type Builder struct {
	// Behavior makes the behavior of a name.
	Behavior func(name string) (workload.Behavior, error)
	// Secrets gets the tokens that the users are issued.
	Secrets *plain.Secrets
}

// Build makes an agent. It is a [fleet.Build]. It alone knows the tokens of its users: its errors,
// and those that it tells of users, go out without them. Its memory is kept until ctx ends.
func (b Builder) Build(ctx context.Context, st fleet.Start, epoch time.Time,
	tell func(int, error)) (*fleet.Agent, error) {
	onError := func(user int, err error) {
		if p, ok := errors.AsType[*boundary.Panic](err); ok {
			tell(user, &boundary.Panic{
				Where: p.Where,
				Value: b.Secrets.Text(p.Value),
				Stack: p.Stack,
			})
			return
		}
		tell(user, errors.New(b.Secrets.Text(err.Error())))
	}
	built, err := b.build(ctx, st, epoch, onError)
	if err != nil {
		return nil, errors.New(b.Secrets.Redact(err.Error()))
	}
	return built, nil
}

func (b Builder) build(ctx context.Context, st fleet.Start, epoch time.Time,
	onError func(int, error)) (*fleet.Agent, error) {
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
	agent := &fleet.Agent{
		Registry: measure.NewRegistry(runtime.GOMAXPROCS(0)), Tally: new(workload.Tally),
		Ledger: workload.NewLedger(0, set.Env.Seed), Samples: self.Sample,
	}
	agent.Ledger.Share()
	env := set.Env
	env.Secret, env.Secrets = func(string) string { return "" }, b.Secrets
	env.Dial = dialer(set.Sources)
	env.Registry = agent.Registry
	env.Tally = agent.Tally
	env.Ledger = agent.Ledger
	env.Log = func(format string, args ...any) { onError(-1, fmt.Errorf(format, args...)) }
	env.Panicked = func(p *boundary.Panic) { onError(-1, p) }
	mix, err := b.mix(env, set.Behaviors)
	if err != nil {
		return nil, err
	}
	conf := engine.Config{
		Env: env, Mix: mix, Clock: clock.New(epoch), OnError: onError,
		Agent: st.Agent, Agents: st.Agents, Ratings: set.Ratings,
	}
	if conf.Arrivals = set.Arrivals; conf.Arrivals != nil {
		if len(mix) == 0 {
			return nil, errors.New(
				"settings: there are arrivals, and no behavior that could serve them",
			)
		}
		conf.Arrivals.Behavior = server(mix)
	}
	agent.Engine, err = engine.New(ctx, conf)
	if err == nil {
		context.AfterFunc(ctx, heaplimit.Keep())
	}
	return agent, err
}

// mix restores the behaviors of an agent's users.
func (b Builder) mix(env workload.Env, behaviors []agentBehavior) (mix []engine.Part, err error) {
	for _, x := range behaviors {
		behavior, err := b.Behavior(x.Name)
		if err != nil {
			return nil, err
		}
		p, err := portable(x.Name, behavior)
		if err != nil {
			return nil, err
		}
		if err := p.Restore(env, x.State); err != nil {
			return nil, err
		}
		mix = append(mix, engine.Part{Name: x.Name, Behavior: behavior, Share: x.Share})
	}
	return mix, nil
}
