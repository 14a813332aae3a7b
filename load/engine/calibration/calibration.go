package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// BusyLimit is the share of the generator's cores up to which it counts as able: the red limit of
// the gate on its CPU.
const BusyLimit = 0.85

// A Result rates the generator of one host. Numbers of users are for pace 1.
type Result struct {
	Digest string    `json:"fingerprint"`    // of the host, its settings and the generator's cores
	Tool   string    `json:"tool"`           // version of this program
	Date   time.Time `json:"date"`           //
	Cores  int       `json:"cores"`          // of the generator
	CPUs   []int     `json:"cpus,omitempty"` // which; empty means all

	// closed loop, with the generator's cores fully used
	OpsPerSecond float64 `json:"ops_per_second"`
	// closed loop, recording included, microseconds
	CPUPerOp      float64 `json:"cpu_us_per_op"`
	PacedCPUPerOp float64 `json:"paced_cpu_us_per_op"` // of a simulated user, microseconds
	// of simulated users, with BusyLimit of the cores used
	PacedOps         float64 `json:"paced_ops_per_second"`
	OpsPerUserSecond float64 `json:"ops_per_user_second"` // of a simulated user at pace 1
	KiBPerUser       float64 `json:"kib_per_user"`        // resident memory of a connected user
	LagP99           float64 `json:"lag_p99_seconds"`     // of the paced part

	Users     int    `json:"users"`      // that can be driven at pace 1
	LimitedBy string `json:"limited_by"` // the resource that sets Users: cpu, files or memory
	Sockets   int    `json:"sockets"`    // that may be open
}

// Headroom returns the share of the host's rating that a load needs, and its kind: "users" or
// "ops". It is 1 where the rating ends; ops is the rate of all operations, and 0 if it is not
// known. Files and memory are not part of it: how much of them is left shows at every moment of a
// run.
func (r *Result) Headroom(users int, pace, ops float64) (share float64, of string) {
	more := func(s float64, name string) {
		if s > share {
			share, of = s, name
		}
	}
	if r.PacedOps > 0 {
		more(float64(users)/pace*r.OpsPerUserSecond/r.PacedOps, "users")
		more(ops/r.PacedOps, "ops")
	}
	return share, of
}

// A Config configures a calibration. All fields but Progress are required.
type Config struct {
	// URL of the null server, Seed, Secret and Timeout; the rest is filled in
	Env      workload.Env
	Behavior workload.Behavior // of the paced users
	Cores    int               // that the generator may use, as it is bound now
	Sockets  int               // that may be open: files left, less a reserve
	Memory   uint64            // bytes that may be used
	Length   time.Duration     // of the whole, 20 s if 0; see split
	Progress func(what string)
}

const (
	connections = 64 // of the closed loop
	pacedUsers  = 1000
	pacedPace   = 0.004 // 250 times as fast as in a test: a few thousand operations per second
)

// Measure rates the generator. It fills in no Digest, Tool or CPUs. The server must already answer.
func Measure(ctx context.Context, cfg Config) (Result, error) {
	if cfg.Length <= 0 {
		cfg.Length = 20 * time.Second
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	if cfg.Cores < 1 || cfg.Sockets < 4 || cfg.Memory == 0 {
		return Result{}, fmt.Errorf(
			"calibration: %d cores, %d sockets, %d bytes: want some of each",
			cfg.Cores,
			cfg.Sockets,
			cfg.Memory,
		)
	}
	r := Result{
		Date:    time.Now().UTC().Truncate(time.Second),
		Cores:   cfg.Cores,
		Sockets: cfg.Sockets,
	}
	cfg.Progress("closed loop")
	ops, cpu, err := closedLoop(ctx, cfg.Env.URL, min(connections, cfg.Sockets/2), cfg.Length/4)
	if err != nil {
		return r, fmt.Errorf("calibration, closed loop: %w", err)
	}
	r.CPUPerOp = cpu.Seconds() / float64(ops) * 1e6
	r.OpsPerSecond = float64(cfg.Cores) / r.CPUPerOp * 1e6

	cfg.Progress("paced users")
	if err := paced(ctx, cfg, &r); err != nil {
		return r, fmt.Errorf("calibration, paced users: %w", err)
	}
	r.rate(cfg)
	return r, nil
}

// rate derives the number of users from the measurements.
func (r *Result) rate(cfg Config) {
	r.PacedOps = BusyLimit * float64(cfg.Cores) / r.PacedCPUPerOp * 1e6
	r.Users, r.LimitedBy = r.InProcesses(cfg.Memory)
	if byFiles := cfg.Sockets / 2; byFiles < r.Users {
		r.Users, r.LimitedBy = byFiles, "files"
	}
}

// InProcesses returns how many users at pace 1 the host can drive in as many processes as their
// connections need, with so many bytes of memory, and the limit: cpu or memory. [Result.Users] is
// for one process and its open files.
func (r *Result) InProcesses(memory uint64) (users int, limitedBy string) {
	most := r.PacedOps / r.OpsPerUserSecond
	limitedBy = "cpu"
	if byMemory := float64(memory) / 1024 / r.KiBPerUser; r.KiBPerUser > 0 && byMemory < most {
		most, limitedBy = byMemory, "memory"
	}
	return int(math.Round(most)), limitedBy
}

// closedLoop returns how many requests n connections made in d, and the CPU time of this process
// for them.
func closedLoop(
	ctx context.Context,
	url string,
	n int,
	d time.Duration,
) (ops uint64, cpu time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*d+10*time.Second)
	defer cancel()
	reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
	name := reg.Name("op")
	epoch := time.Now()
	stop := make(chan struct{})
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = loop(ctx, url, reg.Recorder(i), name, epoch, stop) })
	}
	// The cost of dialing and warming up does not count.
	time.Sleep(d / 10)
	reg.Cut()
	from := cpuTime()
	sleep(ctx, d-d/10)
	cpu = cpuTime() - from
	for _, w := range reg.Cut() {
		ops += w.Classes[measure.OK]
	}
	close(stop)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	if ops == 0 || cpu <= 0 {
		return 0, 0, fmt.Errorf("%d requests in %v", ops, d)
	}
	return ops, cpu, nil
}

func loop(
	ctx context.Context,
	url string,
	rec *measure.Recorder,
	name measure.Name,
	epoch time.Time,
	stop <-chan struct{},
) error {
	c, err := wire.NewClient(wire.Config{URL: url, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	req := &wire.Request{Path: "/", SkipBody: true}
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		resp, err := c.Do(ctx, req)
		if err != nil {
			return err
		}
		if resp.Status != 200 {
			return fmt.Errorf("status %d", resp.Status)
		}
		at := resp.Sent.Sub(epoch)
		rec.Record(name, &measure.Op{
			Intended: at,
			Due:      at,
			Sent:     at,
			Done:     max(at, resp.Done.Sub(epoch)),
		})
	}
}

// paced measures simulated users into r.
func paced(ctx context.Context, cfg Config, r *Result) error {
	ctx, cancel := context.WithTimeout(ctx, 2*cfg.Length+30*time.Second)
	defer cancel()
	users := min(pacedUsers, cfg.Sockets/2)
	env := cfg.Env
	env.Pace, env.Cold = pacedPace, false
	env.Registry = measure.NewRegistry(runtime.GOMAXPROCS(0))
	env.Ledger = workload.NewLedger(0, env.Seed)
	if err := cfg.Behavior.Provision(ctx, env, users); err != nil {
		return err
	}
	runtime.GC()
	before := resident()
	var failures firstFailure
	local, err := engine.New(ctx, engine.Config{
		Env:     env,
		Mix:     []engine.Part{{Behavior: cfg.Behavior, Share: 1}},
		Clock:   clock.New(time.Now()),
		OnError: failures.note,
	})
	if err != nil {
		return err
	}
	defer local.Stop(time.Second)
	ramp := cfg.Length / 8
	if err := local.SetUsers(users, ramp); err != nil {
		return err
	}
	length := cfg.Length/2 - ramp
	if !sleep(ctx, ramp) || !present(ctx, local, users, cfg.Length+latecomers) ||
		!sleep(ctx, length/5) {
		return context.Cause(ctx)
	}
	after := resident()
	env.Registry.Cut()
	from, began := cpuTime(), time.Now()
	if !sleep(ctx, length) {
		return context.Cause(ctx)
	}
	cpu, took := cpuTime()-from, time.Since(began)
	ops, wrong, lag := countOps(env.Registry.Cut())
	_, active, failed := local.Users()
	first := failures.first()
	if first != nil || failed > 0 || active < users || wrong > 0 || ops == 0 {
		err := fmt.Errorf(
			"%d of %d users active, %d failed, %d of %d operations wrong",
			active,
			users,
			failed,
			wrong,
			ops+wrong,
		)
		if first != nil {
			err = fmt.Errorf("%w; the first failure: %w", err, first)
		}
		return err
	}
	r.PacedCPUPerOp = cpu.Seconds() / float64(ops) * 1e6
	r.OpsPerUserSecond = float64(ops) / took.Seconds() / float64(users) * pacedPace
	r.KiBPerUser = float64(max(after-before, 0)) / 1024 / float64(users)
	r.LagP99 = lag.Quantile(0.99).Seconds()
	return nil
}

// firstFailure keeps the first failure of a user. Users may note theirs concurrently.
type firstFailure struct {
	mu  sync.Mutex
	err error
}

func (f *firstFailure) note(user int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = fmt.Errorf("user %d: %w", user, err)
	}
}

func (f *firstFailure) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// countOps returns the number of operations that ended well, the number of the others, and the
// delays with which actions began.
func countOps(windows []*measure.Window) (ops, wrong uint64, lag *measure.Histogram) {
	lag = new(measure.Histogram)
	for _, w := range windows {
		switch w.Name {
		case workload.Schedule:
			lag.Merge(w.Lag)
			continue
		case workload.Delivery:
			continue
		}
		ops += w.Classes[measure.OK]
		wrong += w.Count() - w.Classes[measure.OK]
	}
	return ops, wrong, lag
}

// latecomers is the time, beyond the length of the whole, that the logins of the paced users may
// take: in a short calibration on a busy host all of them come at once, and end at once.
const latecomers = 20 * time.Second

// present waits until so many users are active, one has failed, or limit is over; false when ctx
// ends.
func present(ctx context.Context, local *engine.Local, users int, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if _, active, failed := local.Users(); active >= users || failed > 0 {
			return true
		}
		if !sleep(ctx, 10*time.Millisecond) {
			return false
		}
	}
	return true
}

// sleep reports whether ctx lasted for as long.
func sleep(ctx context.Context, d time.Duration) bool { return clock.Sleep(ctx, d) == nil }

// cpuTime is the user and system time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is this process's memory in bytes, 0 if it is unknown.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
