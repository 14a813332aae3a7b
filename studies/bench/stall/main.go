// Command stall shows the response times and the service times of a server that stops for a moment.
//
// It starts the null server in a process of its own, sends it arrivals at an even rate, stops that
// process (SIGSTOP) for a while in the middle, and compares the record with the arithmetic of the
// schedule: an arrival is sent when it comes or when a place among those in flight is free, and
// done a service time later, or a service time after the stop.
//
//	go run -C studies ./bench/stall [-rate 200] [-for 60s] [-stop 2s]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// slow is when an operation counts as one that met the stop.
const slow = 50 * time.Millisecond

func main() { study.Main(run) }

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("stall", flag.ContinueOnError)
	rate := fs.Float64("rate", 200, "arrivals per second")
	length := fs.Duration("for", time.Minute, "length of each run")
	stop := fs.Duration(
		"stop",
		2*time.Second,
		"how long the server stands still, a third into the run",
	)
	server := fs.Bool("server", false, "be the server")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if *server {
		return serve(ctx)
	}
	return measureAll(ctx, *rate, *length, *stop)
}

func serve(ctx context.Context) error {
	s, err := refnull.New(refnull.Config{})
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	return s.Run(ctx)
}

func measureAll(ctx context.Context, rate float64, length, stop time.Duration) error {
	fmt.Printf(
		"%.0f arrivals/s for %v; the server stands still for %v at %v. Times in ms; \"slow\" is more than %v.\n\n",
		rate,
		length,
		stop,
		length/3,
		slow,
	)
	fmt.Println(
		"| in flight at most | done | slow by response | by the schedule | p99 response | by the schedule | slow by service | p99 service | lag p99 |",
	)
	fmt.Println("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, places := range []int{500, 10, 1} {
		op, lag, err := one(ctx, rate, length, stop, places)
		if err != nil {
			return err
		}
		n, p99 := schedule(rate, length, stop, places, op.Service.Quantile(0.5))
		ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
		fmt.Printf(
			"| %d | %d | %d | %d | %.1f | %.1f | %d | %.1f | %.1f |\n",
			places,
			op.Count(),
			op.Response.CountOver(slow),
			n,
			ms(op.Response.Quantile(0.99)),
			ms(p99),
			op.Service.CountOver(slow),
			ms(op.Service.Quantile(0.99)),
			ms(lag.Quantile(0.99)),
		)
	}
	return nil
}

// schedule is the arithmetic.
func schedule(
	rate float64,
	length, stop time.Duration,
	places int,
	service time.Duration,
) (affected int, p99 time.Duration) {
	free := make([]time.Duration, places)
	var all []time.Duration
	for k := 0; ; k++ {
		at := time.Duration(float64(k) / rate * float64(time.Second))
		if at >= length {
			break
		}
		i := slices.Index(free, slices.Min(free))
		sent := max(at, free[i])
		done := sent + service
		if done > length/3 && sent < length/3+stop {
			done = length/3 + stop + service
		}
		free[i] = done
		all = append(all, done-at)
		if done-at > slow {
			affected++
		}
	}
	slices.Sort(all)
	return affected, all[len(all)*99/100-1]
}

func one(
	ctx context.Context,
	rate float64,
	length, stop time.Duration,
	places int,
) (op *measure.Window, lag *measure.Histogram, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	server, err := lab.Start(ctx, lab.Spec{Name: "server", Path: exe, Args: []string{"-server"}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = server.Kill() }() // nothing in it is kept
	if err := server.Says(ctx, "\n", 20*time.Second); err != nil {
		return nil, nil, err
	}
	reg := measure.NewRegistry(2)
	env := workload.Env{
		URL:      strings.TrimSpace(server.Tail()),
		Seed:     1,
		Pace:     1,
		Registry: reg,
		Timeout:  stop + 5*time.Second,
		Secret:   study.NullSecret,
	}
	poster := &mattermost.Poster{}
	if err := poster.Provision(ctx, env, 1); err != nil {
		return nil, nil, err
	}
	reg.Cut()
	epoch := time.Now()
	l, err := engine.New(ctx, engine.Config{
		Env:   env,
		Mix:   []engine.Part{{Behavior: poster, Share: 1}},
		Clock: clock.New(epoch),
		Arrivals: &engine.Arrivals{
			Behavior: poster,
			Rate:     rate,
			InFlight: places,
			Queue:    1_000_000,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	for _, step := range []struct {
		at     time.Duration
		signal syscall.Signal
	}{{length / 3, syscall.SIGSTOP}, {length/3 + stop, syscall.SIGCONT}, {length, 0}} {
		if err := workload.SleepUntil(ctx, epoch.Add(step.at)); err != nil {
			return nil, nil, err
		}
		if step.signal != 0 {
			if err := server.Signal(step.signal); err != nil {
				return nil, nil, err
			}
		}
	}
	l.Stop(5 * time.Second)
	op, lag = measure.NewWindow("op"), new(measure.Histogram)
	for _, w := range reg.Cut() {
		if workload.Steady(w.Name) {
			op.Merge(w)
		}
		if w.Name == workload.Schedule {
			lag.Merge(w.Lag)
		}
	}
	return op, lag, nil
}
