package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// A null is the null server in its own process.
type null struct {
	url string
	p   *lab.Process
}

func (s *setup) serve(ctx context.Context, args ...string) (*null, error) {
	p, url, err := study.Serving(ctx, lab.Spec{
		Name: "refnull",
		Path: s.program,
		CPUs: []int{s.server},
		Args: append([]string{"refnull", "-listen=127.0.0.1:0"}, args...),
		Env:  append(os.Environ(), "GOMAXPROCS=1"),
	})
	return &null{url, p}, err
}

func (n *null) stop() { halt(n.p) }

// counts are the server's counters.
type counts struct {
	Requests int64            `json:"requests"`
	Sockets  int              `json:"websockets"`
	Unknown  map[string]int64 `json:"unknown"`
}

func (n *null) stats(ctx context.Context) (c counts, err error) {
	b, err := study.Fetch(ctx, http.DefaultClient, n.url+"/refnull/stats")
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(b, &c)
}

// start starts a client on its core. Its environment keeps Go programs to one thread of execution.
func (s *setup) start(
	ctx context.Context,
	stdin string,
	path string,
	args ...string,
) (*lab.Process, error) {
	spec := lab.Spec{
		Name:        path,
		Path:        path,
		Args:        args,
		CPUs:        []int{s.core},
		Env:         append(os.Environ(), "GOMAXPROCS=1"),
		StopTimeout: 2 * time.Second,
	}
	if stdin != "" {
		spec.Stdin = strings.NewReader(stdin)
	}
	return lab.Start(ctx, spec)
}

func halt(p *lab.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = p.Stop(ctx) // a child that does not end dies with us
}

// A window holds the differences between two readings of a client.
type window struct {
	requests float64
	cpu      float64 // seconds
	wall     float64 // seconds
}

// watch measures a client that runs already.
func (n *null) watch(
	ctx context.Context,
	p *lab.Process,
	warm, length time.Duration,
) (w window, err error) {
	if err := study.Pause(ctx, warm); err != nil {
		return w, err
	}
	look := func() (counts, float64, time.Time, error) {
		c, err := n.stats(ctx)
		if err != nil {
			return c, 0, time.Time{}, err
		}
		cpu, err := cpuOf(p.PID())
		return c, cpu, time.Now(), err
	}
	a, cpuA, atA, err := look()
	if err != nil {
		return w, fmt.Errorf("%w\n%s", err, p.Tail())
	}
	if err := study.Pause(ctx, length); err != nil {
		return w, err
	}
	b, cpuB, atB, err := look()
	if err != nil {
		return w, fmt.Errorf("%w\n%s", err, p.Tail())
	}
	w = window{
		requests: float64(b.Requests - a.Requests - 1),
		cpu:      cpuB - cpuA,
		wall:     atB.Sub(atA).Seconds(),
	}
	if w.requests < 10 || w.cpu <= 0 {
		return w, fmt.Errorf(
			"%.0f requests and %.2f s of CPU in %.1f s: %s",
			w.requests,
			w.cpu,
			w.wall,
			p.Tail(),
		)
	}
	return w, nil
}
