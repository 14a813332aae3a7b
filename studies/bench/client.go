package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"plimsoll/dialect/mattermost"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/script"
	"plimsoll/load/script/bundle"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/studies/study"
)

// client is one of our clients, or one that is a library, in its own process. It runs until it is
// stopped, or for the time of -length and then writes its measurements to stdout.
func client(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench client", flag.ContinueOnError)
	kind := fs.String(
		"engine",
		"",
		"plimsoll, fasthttp, nethttp: closed loop; paced: simulated users; users: of behavior mattermost; script: of a script; coordinator, agents: of a fleet",
	)
	url := fs.String("url", "", "of the null server")
	n := fs.Int("n", 64, "connections or users")
	interval := fs.Duration(
		"interval",
		100*time.Millisecond,
		"paced: between two requests of a user",
	)
	pace := fs.Float64("pace", 1, "users: pace")
	ramp := fs.Duration("ramp", time.Second, "paced, users: ramp")
	length := fs.Duration("length", 0, "users, coordinator: measure for so long after the ramp")
	keys := fs.String("keys", "", "coordinator, agents: `directory` of their keys")
	posts := fs.Int("posts", 0, "agents: messages a second, of all together")
	hear := fs.Int("hear", 1, "agents: how many know a channel")
	file := fs.String("script", "", "script: `file` of the script")
	second := fs.Bool("http2", false, "plimsoll, nethttp: speak HTTP/2")
	profile := fs.String("cpuprofile", "", "write a CPU profile to this `file`, for go tool pprof")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	switch *kind {
	case "coordinator":
		o, err := coordinate(ctx, *keys, *n, *length, warmUp{5 * time.Second, 3}, func(url string) {
			fmt.Println(url)
		})
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(o)
	case "agents":
		return stubs(ctx, *keys, *url, *n, fleetRow{*posts, *hear})
	}
	reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
	// As in a run, the windows are collected each second.
	go func() {
		for *length <= 0 && study.Pause(ctx, time.Second) == nil {
			reg.Cut()
		}
	}()
	switch *kind {
	case "plimsoll":
		return loop(ctx, *n, reg, func() (request, error) {
			return wireDo(ctx, *url, *second)
		})
	case "fasthttp":
		c := &fasthttp.HostClient{Addr: (*url)[len("http://"):], MaxConns: *n}
		return loop(ctx, *n, reg, func() (request, error) {
			return fastDo(c, *url), nil
		})
	case "nethttp":
		fresh := func() *http.Client {
			return &http.Client{Transport: &http.Transport{
				MaxIdleConnsPerHost: *n,
				MaxConnsPerHost:     *n,
				DisableCompression:  true,
				ForceAttemptHTTP2:   *second,
			}}
		}
		shared := fresh()
		return loop(ctx, *n, reg, func() (request, error) {
			if *second { // one would put all requests onto one connection
				return netDo(fresh(), *url), nil
			}
			return netDo(shared, *url), nil
		})
	case "paced":
		return simulate(ctx, *url, &getter{*interval}, nil, *n, 1, *ramp, *length, reg)
	case "users":
		return simulate(ctx, *url, &mattermost.Person{}, nil, *n, *pace, *ramp, *length, reg)
	case "script":
		b, err := bundle.Read(*file)
		if err != nil {
			return err
		}
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		return simulate(ctx, *url, script.New(), text, *n, *pace, *ramp, *length, reg)
	}
	return fmt.Errorf("-engine %q is unknown", *kind)
}

// A request makes one, and returns when it was sent and done.
type request func() (sent, done time.Time, err error)

// loop makes requests on n connections as fast as they go, and records each.
func loop(
	ctx context.Context,
	n int,
	reg *measure.Registry,
	connect func() (request, error),
) error {
	name, epoch := reg.Name("op"), time.Now()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			do, err := connect()
			rec := reg.Recorder(i).Batch() // as a busy simulated user
			defer rec.Close()
			for err == nil && ctx.Err() == nil {
				var sent, done time.Time
				if sent, done, err = do(); err == nil {
					at := sent.Sub(epoch)
					rec.Record(name, &measure.Op{
						Intended: at,
						Due:      at,
						Sent:     at,
						Done:     max(at, done.Sub(epoch)),
					})
				}
			}
			if ctx.Err() == nil {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func wireDo(
	ctx context.Context,
	url string,
	second bool,
) (request, error) {
	c, err := wire.NewClient(wire.Config{URL: url, HTTP2: second, UserAgent: "bench"})
	req := &wire.Request{Path: "/", SkipBody: true}
	return func() (time.Time, time.Time, error) {
		resp, err := c.Do(ctx, req)
		if err == nil && resp.Status != 200 {
			err = fmt.Errorf("status %d", resp.Status)
		}
		return resp.Sent, resp.Done, err
	}, err
}

func fastDo(c *fasthttp.HostClient, url string) request {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	req.SetRequestURI(url + "/")
	req.Header.SetUserAgent("bench")
	return func() (time.Time, time.Time, error) {
		sent := time.Now()
		err := c.Do(req, resp)
		if err == nil && resp.StatusCode() != 200 {
			err = fmt.Errorf("status %d", resp.StatusCode())
		}
		return sent, time.Now(), err
	}
}

func netDo(c *http.Client, url string) request {
	return func() (time.Time, time.Time, error) {
		sent := time.Now()
		resp, err := c.Get(url + "/")
		if err != nil {
			return sent, sent, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err == nil && resp.StatusCode != 200 {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		return sent, time.Now(), err
	}
}

// getter is a behavior of one request per interval.
type getter struct{ interval time.Duration }

type getting struct {
	g *getter
	u *workload.User
	c *wire.Client
	n measure.Name
	r wire.Request
}

func (g *getter) Provision(context.Context, workload.Env, int) error { return nil }

func (g *getter) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	c, err := wire.NewClient(wire.Config{URL: env.URL, UserAgent: "bench", Timeout: env.Timeout})
	return &getting{g, u, c, env.Registry.Name("get"), wire.Request{Path: "/", SkipBody: true}}, err
}

func (a *getting) Login(context.Context) error { return nil }
func (a *getting) Think() time.Duration        { return a.g.interval }
func (a *getting) Close()                      { a.c.Close() }

func (a *getting) Act(ctx context.Context) error {
	a.u.Begin(a.n)
	// as the clients of the dialects do: buffers are for those who have an answer
	defer a.c.Release()
	resp, err := a.c.Do(ctx, &a.r)
	class := measure.OK
	if err != nil || resp.Status != 200 {
		class = measure.Header
	}
	a.u.Done(a.n, resp.Due, resp.Sent, resp.Done, class, resp.BodyBytes)
	return nil
}

// outcome holds the measurements of simulated users.
type outcome struct {
	Users, Active, Failed int
	KiBPerUser            float64 // resident after a collection
	Running               float64 // the same before it, garbage between two cycles included
	Stacks, Heap          float64 // KiB per user of goroutine stacks and live objects
	Ops, Errors           uint64
	OpsPerSecond          float64
	LagP99, LagMax        float64 // ms
	P50, P99              float64 // response, ms
	LagN                  uint64
	FirstError            string `json:",omitempty"`
}

// loopback returns addresses enough for the connections of a run and for those that rest for a
// minute after the logins: with one, the kernel would spend more on looking for a port than on all
// else together.
func loopback() []netip.Addr {
	var a []netip.Addr
	for i := range byte(8) {
		a = append(a, netip.AddrFrom4([4]byte{127, 0, 0, 2 + i}))
	}
	return a
}

// simulate runs simulated users of a behavior until ctx ends, or for the length, and then writes
// their outcome.
func simulate(
	ctx context.Context,
	url string,
	b workload.Behavior,
	script []byte, // a bundle, of behavior script
	n int,
	pace float64,
	ramp, length time.Duration,
	reg *measure.Registry,
) error {
	env := workload.Env{
		URL:      url,
		Seed:     7,
		Pace:     pace,
		Registry: reg,
		Timeout:  10 * time.Second,
		Ledger:   workload.NewLedger(0, 7),
		Script:   script,
		Dial:     wire.FromSources(loopback()),
		Secret:   study.NullSecret,
	}
	if err := b.Provision(ctx, env, n); err != nil {
		return err
	}
	debug.FreeOSMemory()
	before, err := study.Resident(os.Getpid())
	if err != nil {
		return err
	}
	var was, is runtime.MemStats
	runtime.ReadMemStats(&was)
	var mu sync.Mutex
	var first error
	local, err := engine.New(ctx, engine.Config{
		Env:   env,
		Mix:   []engine.Part{{Behavior: b, Share: 1}},
		Clock: clock.New(time.Now()),
		OnError: func(user int, err error) {
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = fmt.Errorf("user %d: %w", user, err)
			}
		},
	})
	if err != nil {
		return err
	}
	if err := local.SetUsers(n, ramp); err != nil {
		return err
	}
	if length <= 0 {
		<-ctx.Done()
		local.Stop(time.Second)
		return nil
	}
	if err := study.Pause(ctx, ramp+ramp/4+time.Second); err != nil {
		return err
	}
	reg.Cut()
	began := time.Now()
	if err := study.Pause(ctx, length); err != nil {
		return err
	}
	took := time.Since(began)
	o := outcome{Users: n}
	lag, response := new(measure.Histogram), new(measure.Histogram)
	for _, w := range reg.Cut() {
		switch w.Name {
		case workload.Schedule:
			lag.Merge(w.Lag)
			continue
		case workload.Delivery:
			continue
		}
		if workload.OfIterations(w.Name) {
			o.Errors += w.Errors() // exceptions
		}
		if workload.Beyond(w.Name) { // counted with its operation
			continue
		}
		response.Merge(w.Response)
		o.Ops += w.Count()
		o.Errors += w.Errors()
	}
	running, err := study.Resident(os.Getpid())
	if err != nil {
		return err
	}
	_, o.Active, o.Failed = local.Users()
	for range 4 { // stacks shrink by half at a time, and pools are emptied by two
		debug.FreeOSMemory()
	}
	after, err := study.Resident(os.Getpid())
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&is)
	perUser := func(from, to uint64) float64 {
		return (float64(to) - float64(from)) / 1024 / float64(n)
	}
	o.KiBPerUser, o.Running = (after-before)/float64(n), (running-before)/float64(n)
	o.Stacks, o.Heap = perUser(was.StackInuse, is.StackInuse), perUser(was.HeapAlloc, is.HeapAlloc)
	o.OpsPerSecond = float64(o.Ops) / took.Seconds()
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	o.LagP99, o.LagMax, o.LagN = ms(lag.Quantile(0.99)), ms(lag.Max()), lag.Count()
	o.P50, o.P99 = ms(response.Quantile(0.5)), ms(response.Quantile(0.99))
	mu.Lock()
	if first != nil {
		o.FirstError = first.Error()
	}
	mu.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		return err
	}
	local.Stop(time.Second)
	return nil
}
