package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/studies/study"
	"plimsoll/watch/series"
)

// agentVerb makes this program an agent, which its coordinator leads over the standard streams.
const agentVerb = "agent"

// settings go to an agent in [fleet.Start]. They hold its users' tokens.
type settings struct {
	URLs  []string        `json:"urls"`
	State json.RawMessage `json:"state"`
	// From is when the hold begins, after the epoch: lag is reported from then on.
	From time.Duration `json:"from"`
}

// The series of an agent's own, which the fleet labels with its number.
const (
	lagP99 = "fleet100k_lag_p99_seconds"
	lagMax = "fleet100k_lag_max_seconds"
)

func serveAgent(ctx context.Context) error {
	return fleet.Serve(ctx, os.Stdin, os.Stdout, build)
}

// operationTimeout is that of the users' operations.
const operationTimeout = 10 * time.Second

// build makes the engine of an agent; see [fleet.Build].
func build(
	ctx context.Context,
	st fleet.Start,
	epoch time.Time,
	onError func(int, error),
) (*fleet.Agent, error) {
	var set settings
	if err := json.Unmarshal(st.Settings, &set); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if len(set.URLs) == 0 {
		return nil, errors.New("settings: there is no server")
	}
	reg, c := measure.NewRegistry(1), clock.New(epoch)
	a := &fleet.Agent{
		Registry: reg,
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, seed),
	}
	a.Ledger.Share()
	env := environment(set.URLs, reg)
	env.Tally, env.Ledger, env.Dial = a.Tally, a.Ledger, wire.FromSources(sources(st.Agent))
	env.Log = func(format string, args ...any) { onError(-1, fmt.Errorf(format, args...)) }
	env.Panicked = func(p *boundary.Panic) { onError(-1, p) }
	person := new(mattermost.Person)
	if err := person.Restore(env, set.State); err != nil {
		return nil, err
	}
	lag := new(measure.Histogram)
	a.Samples = func(context.Context, time.Time) ([]series.Sample, error) {
		held := c.Now() > set.From+time.Second // a second of operations lies before it
		windows := reg.Cut()
		for _, w := range windows {
			if held && w.Name == workload.Schedule {
				lag.Merge(w.Lag)
			}
		}
		reg.Merge(windows)
		return []series.Sample{{
			Name:  lagP99,
			Value: lag.Quantile(0.99).Seconds(),
		}, {Name: lagMax, Value: lag.Max().Seconds()}}, nil
	}
	var err error
	a.Engine, err = engine.New(ctx, engine.Config{
		Env:     env,
		Mix:     []engine.Part{{Name: "mattermost", Behavior: person, Share: 1}},
		Clock:   c,
		OnError: onError,
		Agent:   st.Agent,
		Agents:  st.Agents,
	})
	return a, err
}

const seed = 7

// environment is that of users and of their preparation.
func environment(urls []string, reg *measure.Registry) workload.Env {
	return workload.Env{
		URL:      urls[0],
		URLs:     urls,
		Seed:     seed,
		Pace:     1,
		Registry: reg,
		Timeout:  operationTimeout,
		Secret:   study.NullSecret,
	}
}
