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

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/studies/study"
)

// A result holds the measurements of plimsoll's generator: p50 and p99 in seconds, all three of the
// same requests. Those of Inside are of the requests that were not the first of their action: their
// truth, the response that was recorded, the response if they were due when the answer before
// arrived, and the lag.
type result struct {
	N                      int
	CPU, Share             float64
	Truth, Kernel, Process [2]float64

	InsideN                                   int
	InsideTruth, InsideResponse, Chained, Lag [2]float64
}

// A seen is one request. chained is 0 for the first of an action.
type seen struct{ truth, kernel, process, chained time.Duration }

// load drives users who do actions of so many requests, wait an exponential time between them, and
// need time of their own after each answer, which holds this process at goal of one core. It warms
// up for five seconds, then measures for d.
func load(
	ctx context.Context,
	url string,
	users, ops int,
	rate float64,
	d time.Duration,
) (res result, err error) {
	runtime.GOMAXPROCS(1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var spin atomic.Int64 // after each answer, nanoseconds
	spin.Store(int64(goal / rate * 0.8 * 1e9))
	var on atomic.Bool
	all := make([][]seen, users)
	stamped := make([]int, users)
	reg, epoch := measure.NewRegistry(1), time.Now()
	names := [2]measure.Name{reg.Name("first"), reg.Name("inside")}
	var wg sync.WaitGroup
	for u := range users {
		c, err := wire.NewClient(wire.Config{URL: url, Timeout: 10 * time.Second})
		if err != nil {
			return res, err
		}
		wg.Go(func() {
			defer c.Close()
			r := rand.New(rand.NewPCG(7, uint64(u)))
			user := workload.NewUser(u, u, 7, 1, reg.Recorder(0), clock.New(epoch))
			free := user.Now()
			var before time.Time // when the last answer of the action arrived
			for n := 0; ; n++ {
				if n%ops == 0 {
					think := time.Duration(
						r.ExpFloat64() * float64(users*ops) / rate * float64(time.Second),
					)
					if workload.SleepUntil(ctx, epoch.Add(free+think)) != nil {
						return
					}
					user.Schedule(free + think)
				}
				resp, err := c.Do(ctx, &wire.Request{
					Path:   "/",
					Header: []wire.Field{{Name: "X-Refnull-Delay", Value: delay(r).String()}},
				})
				if ctx.Err() != nil {
					return
				}
				took := int64(0)
				if err == nil {
					took, err = strconv.ParseInt(resp.Header.Get("X-Refnull-Took"), 10, 64)
				}
				if err != nil {
					cancel(err)
					return
				}
				if on.Load() && !resp.Dialed {
					s := seen{
						truth:   time.Duration(took),
						kernel:  resp.Done.Sub(resp.Sent),
						process: resp.Read.Sub(resp.Sent),
					}
					if n%ops > 0 {
						s.chained = resp.Done.Sub(before)
					}
					all[u] = append(all[u], s)
					if resp.Kernel {
						stamped[u]++
					}
					user.Done(
						names[min(n%ops, 1)],
						resp.Due,
						resp.Sent,
						resp.Done,
						measure.OK,
						resp.BodyBytes,
					)
				} else {
					user.Schedule(user.Since(resp.Done))
				}
				before, free = resp.Done, user.Since(resp.Done)
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
			_ = study.Pause(ctx, tick) // the loop ends with ctx
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
	requests := slices.Concat(all...)
	res.N = len(requests)
	for _, n := range stamped {
		res.Share += float64(n) / float64(max(res.N, 1))
	}
	res.Truth = quantiles(requests, func(s seen) time.Duration { return s.truth })
	res.Kernel = quantiles(requests, func(s seen) time.Duration { return s.kernel })
	res.Process = quantiles(requests, func(s seen) time.Duration { return s.process })
	inside := slices.DeleteFunc(requests, func(s seen) bool { return s.chained == 0 })
	res.InsideN = len(inside)
	res.InsideTruth = quantiles(inside, func(s seen) time.Duration { return s.truth })
	res.Chained = quantiles(inside, func(s seen) time.Duration { return s.chained })
	for _, w := range reg.Cut() {
		if w.Name != "inside" {
			continue
		}
		for i, q := range []float64{.5, .99} {
			res.InsideResponse[i] = w.Response.Quantile(q).Seconds()
			res.Lag[i] = w.Lag.Quantile(q).Seconds()
		}
	}
	return res, nil
}

// quantiles returns p50 and p99 in seconds, each the smallest value that at least so many do not
// exceed.
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

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
