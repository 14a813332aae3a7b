package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/wire"
)

// A result is what plimsoll's generator saw: p50 and p99 in seconds, all three of the same requests.
type result struct {
	N                      int
	CPU, Share             float64
	Truth, Kernel, Process [2]float64
}

// A seen is one request.
type seen struct{ truth, kernel, process time.Duration }

// load drives users who wait an exponential time between answers, and holds this process at goal of one core. It warms up for five
// seconds, then measures for d.
func load(ctx context.Context, url string, users int, rate float64, d time.Duration) (res result, err error) {
	runtime.GOMAXPROCS(1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var spin atomic.Int64 // after each answer, nanoseconds
	spin.Store(int64(goal / rate * 0.8 * 1e9))
	var on atomic.Bool
	all := make([][]seen, users)
	stamped := make([]int, users)
	var wg sync.WaitGroup
	for u := range users {
		c, err := wire.NewClient(wire.Config{URL: url, Timeout: 10 * time.Second})
		if err != nil {
			return res, err
		}
		wg.Go(func() {
			defer c.Close()
			r := rand.New(rand.NewPCG(7, uint64(u)))
			for {
				think := time.Duration(r.ExpFloat64() * float64(users) / rate * float64(time.Second))
				select {
				case <-ctx.Done():
					return
				case <-time.After(think):
				}
				resp, err := c.Do(ctx, &wire.Request{Path: "/", Header: []wire.Field{{Name: "X-Refnull-Delay", Value: delay(r).String()}}})
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					cancel(err)
					return
				}
				took, err := strconv.ParseInt(resp.Header.Get("X-Refnull-Took"), 10, 64)
				if err != nil {
					cancel(err)
					return
				}
				if on.Load() && !resp.Dialed {
					all[u] = append(all[u], seen{time.Duration(took), resp.Done.Sub(resp.Sent), resp.Read.Sub(resp.Sent)})
					if resp.Kernel {
						stamped[u]++
					}
				}
				for end := cpuTime() + time.Duration(spin.Load()); cpuTime() < end; {
					for range 1000 {
						r.Uint64()
					}
				}
			}
		})
	}
	// The controller aims at the goal over the last half second.
	const tick = 500 * time.Millisecond
	hold := func(d time.Duration) float64 {
		c0, t0 := cpuTime(), time.Now()
		for time.Since(t0) < d && ctx.Err() == nil {
			c1, t1 := cpuTime(), time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(tick):
			}
			share := float64(cpuTime()-c1) / float64(time.Since(t1))
			spin.Store(int64(float64(spin.Load()) * (1 + 0.3*(goal-share))))
		}
		return float64(cpuTime()-c0) / float64(time.Since(t0))
	}
	hold(5 * time.Second)
	on.Store(true)
	res.CPU = hold(d)
	on.Store(false)
	cause := context.Cause(ctx)
	cancel(nil)
	wg.Wait()
	if cause != nil {
		return res, cause
	}
	ops := slices.Concat(all...)
	res.N = len(ops)
	for _, n := range stamped {
		res.Share += float64(n) / float64(max(res.N, 1))
	}
	res.Truth = quantiles(ops, func(s seen) time.Duration { return s.truth })
	res.Kernel = quantiles(ops, func(s seen) time.Duration { return s.kernel })
	res.Process = quantiles(ops, func(s seen) time.Duration { return s.process })
	return res, nil
}

// quantiles returns p50 and p99 in seconds, each the smallest value that at least so many do not exceed.
func quantiles(ops []seen, of func(seen) time.Duration) (q [2]float64) {
	if len(ops) == 0 {
		return q
	}
	v := make([]time.Duration, len(ops))
	for i, s := range ops {
		v[i] = of(s)
	}
	slices.Sort(v)
	for i, p := range []float64{.5, .99} {
		q[i] = v[min(int(p*float64(len(v))), len(v)-1)].Seconds()
	}
	return q
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
