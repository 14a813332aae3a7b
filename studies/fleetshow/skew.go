package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// skewVerb makes this program the agent of a host with another clock. Its processes with users are
// plimsoll's.
const skewVerb = "skewed-agent"

// skewedAgent serves runs until ctx ends.
func skewedAgent(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet(skewVerb, flag.ContinueOnError)
	program := fs.String("program", "", "`path` of plimsoll")
	url := fs.String("join", "", "`address` of the coordinator")
	file := fs.String("token-file", "", "`file` with the token")
	offset := fs.Duration("offset", 0, "by how much the clock is ahead")
	drift := fs.Float64("drift", 0, "seconds that the clock gains in each")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	token, err := join.ReadToken(*file)
	if err != nil {
		return err
	}
	build, err := join.BuildOf(*program)
	if err != nil {
		return err
	}
	limits, err := probe.ReadLimits()
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "agent "+token.Name+": "+format+"\n", args...)
	}
	return join.Attend(ctx, join.AgentConfig{
		Token: token,
		URL:   *url,
		Build: build,
		Say:   say,
		Introduce: func() join.Introduction {
			return join.Introduction{
				Host:  token.Name,
				Cores: 1,
				Files: limits.Files,
			}
		},
		Serve: func(ctx context.Context, st *join.Responder) error {
			h := fleet.HostAgent{
				Silent: st.Silent,
				Launch: func(ctx context.Context, n int) ([]io.ReadWriteCloser, func(), error) {
					return launch(ctx, *program, n)
				},
			}
			return fleet.ServeHost(ctx, st, st, h.Skewed(*offset, *drift))
		},
	})
}

// launch starts n processes with users.
func launch(
	ctx context.Context,
	program string,
	n int,
) (links []io.ReadWriteCloser, end func(), err error) {
	var children []*lab.Process
	end = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		for k, p := range children {
			_ = links[k].Close() // by this it knows that it is alone
			_ = p.Stop(ctx)      // one that does not end is killed with us
		}
	}
	for k := range n {
		p, l, err := study.StartLinked(ctx, lab.Start, lab.Spec{
			Name: fmt.Sprintf("users %d", k),
			Path: program,
			Args: []string{"agent", "-stdio"},
		})
		if err != nil {
			end()
			return nil, nil, err
		}
		children, links = append(children, p), append(links, l)
	}
	return links, end, nil
}

const (
	// slowHub makes deliveries slow enough that the clocks' errors are small against them: without
	// it they are not in the latency.
	slowHub = "-fault=hub:20ms"
	// clockOffset and clockDrift are those of host 0.
	clockOffset = 3 * time.Second
	clockDrift  = 50e-6
	// mostOff is how far the median of deliveries may be from that of one process, as a share of
	// it.
	mostOff = 0.05
)

// clock is the scene: the plan in one process, on agents, and on agents those of the first host of
// which have another clock.
func clock(ctx context.Context, st *stage) error {
	one, _, err := st.tally(ctx, "one", "", st.Host(agentHost(0)))
	if err != nil {
		return err
	}
	if err := st.join(ctx); err != nil {
		return err
	}
	right, _, err := st.tally(ctx, "right-clocks", st.placement(), st.Side)
	if err != nil {
		return err
	}
	for k := 0; k < st.hosts*st.show.agents; k += st.hosts { // the first host gets another clock
		if err := st.agents[k].Stop(ctx); err != nil {
			return err
		}
		if err := st.joinOne(ctx, k, st.self, skewVerb, "-program", st.program,
			"-offset", clockOffset.String(), "-drift", fmt.Sprint(clockDrift)); err != nil {
			return err
		}
	}
	of, _, err := st.tally(ctx, "of-fleet", st.placement(), st.Side)
	if err != nil {
		return err
	}
	events, err := of.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		if strings.HasPrefix(e.Text, "clock of ") {
			fmt.Println(e.Text)
		}
	}
	var medians [3]time.Duration
	var n [3]uint64
	for i, r := range []*record.Run{one, right, of} {
		if medians[i], n[i], err = median(r); err != nil {
			return err
		}
	}
	off := medians[2].Seconds()/medians[0].Seconds() - 1
	fmt.Printf("p50 of delivery: %v of %d in one process, %v of %d on agents with right clocks, "+
		"%v of %d with a host whose clock is %v ahead and gains %.0f ppm: %+.1f %%\n",
		medians[0], n[0], medians[1], n[1], medians[2], n[2], clockOffset, 1e6*clockDrift, 100*off)
	if why, _ := untimed(of); why != "" {
		return fmt.Errorf("deliveries between hosts are not in that: %s", why)
	}
	if math.Abs(off) > mostOff {
		return fmt.Errorf("the medians differ by more than %.0f %%", 100*mostOff)
	}
	return nil
}

// median returns the median of deliveries in the measured phase, and their number.
func median(r *record.Run) (time.Duration, uint64, error) {
	for _, p := range r.Manifest.Phases {
		if p.Name != "measure" {
			continue
		}
		ws, err := r.Merged(p.From, p.To)
		if err != nil {
			return 0, 0, err
		}
		if w := ws[workload.Delivery]; w != nil && w.Count() > 0 {
			return w.Response.Quantile(0.5), w.Count(), nil
		}
	}
	return 0, 0, fmt.Errorf("the run %s has measured no deliveries", r.Manifest.ID)
}
