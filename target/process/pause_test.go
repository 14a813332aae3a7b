package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/process"
)

// means are the ways to pause.
var means = []string{"signals", "freezer"}

// pausable returns a Config that pauses by the given means, and what is to be done after the last
// Stop.
func pausable(means string) (conf process.Config, done func() error, err error) {
	if means == "signals" {
		return conf, func() error { return nil }, nil
	}
	g, err := cgroup.Create(fmt.Sprintf("pause-%d", rand.Uint32()))
	if err != nil {
		return conf, nil, err
	}
	if err := g.Freezable(); err != nil {
		return conf, nil, errors.Join(err, g.Remove())
	}
	conf.Freezer = g
	conf.Started = func(role string, pid int) error {
		return g.Part(role).Add(pid)
	}
	return conf, g.Remove, nil
}

func needRoot(t *testing.T, means string) {
	t.Helper()
	if means == "freezer" && os.Geteuid() != 0 {
		failure.Lacks(t, "control groups need root")
	}
}

// pauser deploys a target in dir that is paused by the given means.
func pauser(
	t *testing.T,
	means, engine, dir string,
) (context.Context, target.Deployment, target.Pauser) {
	t.Helper()
	needRoot(t, means)
	conf, done, err := pausable(means)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, done()) })
	ctx, dep := deploy(t, conf, spec(dir, engine))
	p, ok := dep.(target.Pauser)
	if !ok {
		t.Fatalf("%T cannot be paused", dep)
	}
	if got := p.PausedBy(); got != means {
		t.Errorf("PausedBy() = %s, want %s", got, means)
	}
	return ctx, dep, p
}

// TestPause pauses a server with its database: a request gets no answer, and gets it after
// Continue.
func TestPause(t *testing.T) {
	for _, m := range means {
		for _, engine := range []string{"", "postgresql", "mysql"} {
			t.Run(m+" "+engine, func(t *testing.T) {
				ctx, dep, p := pauser(t, m, engine, t.TempDir())
				path := "/info"
				if engine != "" {
					path = "/visit"
				}
				get(t, ctx, dep.URL()+path)
				before := identities(t, dep.PIDs())
				for range 5 {
					failure.None(t, p.Pause(ctx))
					failure.None(t, p.Pause(ctx))
					answered := make(chan error, 1)
					go func() {
						resp, err := http.Get(dep.URL() + path)
						if err == nil {
							err = resp.Body.Close()
						}
						answered <- err
					}()
					select {
					case err := <-answered:
						t.Fatalf("a paused target answered: %v", err)
					case <-time.After(50 * time.Millisecond):
					}
					failure.None(t, p.Continue())
					failure.None(t, p.Continue())
					select {
					case err := <-answered:
						failure.None(t, err)
					case <-time.After(deadline):
						t.Fatal("no answer after Continue")
					}
				}
				for _, id := range before {
					if !id.Alive() {
						t.Errorf("process %d has ended", id.PID)
					}
				}
			})
		}
	}
}

// TestEndOfPaused halts, resets and stops a paused target: each continues it first, so that
// programs end by their stop signal and not by the kill after it.
func TestEndOfPaused(t *testing.T) {
	for _, m := range means {
		t.Run(m, func(t *testing.T) {
			dir := t.TempDir()
			ctx, dep, p := pauser(t, m, "postgresql", dir)
			get(t, ctx, dep.URL()+"/visit")
			pause := func() {
				t.Helper()
				failure.None(t, p.Pause(ctx))
			}
			pause()
			failure.None(t, dep.Reset(ctx))
			visits(t, ctx, dep, 1)
			ids := identities(t, dep.PIDs())
			pause()
			failure.None(t, halt(ctx, dep))
			gone(t, ids)
			failure.None(t, dep.Reset(ctx))
			ids = identities(t, dep.PIDs())
			log := filepath.Join(dir, "app-0.log")
			before, _ := os.ReadFile(log)
			pause()
			failure.None(t, dep.Stop(ctx))
			gone(t, ids)
			if after, err := os.ReadFile(log); err != nil ||
				bytes.Count(after, []byte("asked to stop")) !=
					bytes.Count(before, []byte("asked to stop"))+1 {
				t.Errorf("the server was not asked to stop: %v\n%s", err, after)
			}
			if err := p.Pause(ctx); err == nil {
				t.Error("a stopped target was paused")
			}
			failure.None(t, p.Continue())
		})
	}
}

// TestPauseFails has a freezer that does not freeze, and one that does not thaw.
func TestPauseFails(t *testing.T) {
	f := &fakeFreezer{freeze: errors.New("does not freeze")}
	ctx, dep := deploy(t, process.Config{Placed: process.Placed{Freezer: f}}, spec(t.TempDir(), ""))
	p := dep.(target.Pauser)
	failure.Is(t, p.Pause(ctx), f.freeze)
	if err := p.Continue(); err != nil || f.thawed != 0 {
		t.Errorf("Continue of a target that runs: %v, thawed %d times", err, f.thawed)
	}
	f.freeze, f.thaw = nil, errors.New("does not thaw")
	failure.None(t, p.Pause(ctx))
	failure.Is(t, p.Continue(), f.thaw)
	f.thaw = nil
	if err := p.Continue(); err != nil || f.thawed != 2 {
		t.Errorf("second Continue: %v, thawed %d times, want 2", err, f.thawed)
	}
}

type fakeFreezer struct {
	freeze, thaw error
	thawed       int
}

func (f *fakeFreezer) Freeze(context.Context) error { return f.freeze }

func (f *fakeFreezer) Thaw() error {
	f.thawed++
	return f.thaw
}

// deployAndPause deploys, and then pauses and continues the target until it is killed.
func deployAndPause() {
	fatal := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	conf, _, err := pausable(os.Getenv("PAUSE_MEANS"))
	fatal(err)
	dir := os.Getenv("DEPLOY_DIR")
	dep, err := driver(conf).Deploy(context.Background(), spec(dir, os.Getenv("DEPLOY_ENGINE")))
	fatal(err)
	fatal(target.Save(dir, dep, "/ready", time.Now()))
	go func() { // sessions of the database come and go meanwhile
		for {
			if resp, err := http.Get(dep.URL() + "/visit"); err == nil {
				_ = resp.Body.Close()
			}
		}
	}()
	fmt.Println("up")
	p := dep.(target.Pauser)
	for i := 0; ; i++ {
		fatal(p.Pause(context.Background()))
		time.Sleep(time.Duration(i%5) * time.Millisecond)
		fatal(p.Continue())
		time.Sleep(time.Duration(i%3) * time.Millisecond)
	}
}

// TestKilledWhilePausing kills a program with SIGKILL at random moments while it pauses and
// continues its target again and again: no process is left, stopped or frozen ones included, and no
// control group.
func TestKilledWhilePausing(t *testing.T) {
	for _, m := range means {
		t.Run(m, func(t *testing.T) {
			needRoot(t, m)
			random := rand.New(rand.NewPCG(1, 2))
			for try := range 10 {
				dir := t.TempDir()
				p, s := deployer(
					t,
					dir,
					"postgresql",
					"PROCESS_TEST_ROLE=pausing",
					"PAUSE_MEANS="+m,
				)
				time.Sleep(time.Duration(random.IntN(40000)) * time.Microsecond)
				owner := p.Identity()
				killed(t, p)
				gone(t, slices.Concat(s.Processes["app"], s.Processes["db"]))
				mark := fmt.Sprintf("plimsoll-%d-%d-", owner.PID, owner.Start)
				failure.Unless(t, func() bool {
					groups, _ := filepath.Glob("/sys/fs/cgroup/" + mark + "*")
					more, _ := filepath.Glob("/sys/fs/cgroup/*/" + mark + "*")
					return len(running(t, dir)) == 0 && len(groups) == 0 && len(more) == 0
				}, "try ", try, ": processes or groups are left")
			}
		})
	}
}
