package process_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/process"
)

// deployAndWait deploys with both engines' supervisors around and waits to be killed or signaled.
func deployAndWait() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	dir := os.Getenv("DEPLOY_DIR")
	dep, err := driver(process.Config{}).Deploy(ctx, spec(dir, os.Getenv("DEPLOY_ENGINE")))
	if err == nil {
		err = target.Save(dir, dep, "/ready", time.Now())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("up")
	<-ctx.Done()
	if err := dep.Stop(context.Background()); err != nil {
		fmt.Println(err)
	}
}

// deployer starts this test binary as a program that deploys a target, with more variables in its
// environment.
func deployer(t *testing.T, dir, engine string, env ...string) (*lab.Process, target.StateFile) {
	t.Helper()
	p, err := lab.Start(t.Context(), lab.Spec{
		Name: "deployer",
		Path: os.Args[0],
		Env: slices.Concat(
			os.Environ(),
			[]string{"PROCESS_TEST_ROLE=deployer", "DEPLOY_DIR=" + dir, "DEPLOY_ENGINE=" + engine},
			env,
		),
	})
	failure.None(t, err)
	t.Cleanup(func() { _ = p.Kill() })
	failure.Unless(t, func() bool {
		select {
		case <-p.Done():
			t.Fatalf("the deployer ended: %v\n%s", p.Err(), p.Tail())
		default:
		}
		return strings.Contains(p.Tail(), "up\n")
	}, "the deployer does not get ready")
	s, err := target.Load(dir)
	failure.None(t, err)
	return p, s
}

// killed ends one process, and not its group as Kill would. The children may be gone before the
// last thread of their parent.
func killed(t *testing.T, p *lab.Process) {
	t.Helper()
	failure.None(t, p.Signal(syscall.SIGKILL))
	select {
	case <-p.Done():
	case <-time.After(deadline):
		t.Fatal("the deployer survived SIGKILL")
	}
}

// TestKilledDeployer kills a deploying program with SIGKILL and expects no process of the target to
// survive, database workers included; then the same directory must work again.
func TestKilledDeployer(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			p, s := deployer(t, dir, engine)
			if len(s.Processes["app"]) != 1 || len(s.Processes["db"]) != 1 {
				t.Fatalf("processes %v, want one app and one db", s.Processes)
			}
			if len(running(t, dir)) < 2 {
				t.Fatalf("only %v seem to run", running(t, dir))
			}
			var segments []string // of PostgreSQL's shared memory
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.Processes["db"][0].PID))
			failure.None(t, err)
			for line := range strings.Lines(string(maps)) {
				if f := strings.Fields(line); len(f) == 6 && strings.HasPrefix(f[5], "/dev/shm/") {
					segments = append(segments, f[5])
				}
			}
			if engine == "postgresql" && len(segments) == 0 {
				t.Fatal("the server has no shared memory")
			}
			killed(t, p)
			gone(t, append(s.Processes["app"], s.Processes["db"]...))
			failure.Unless(t, func() bool {
				return len(running(t, dir)) == 0
			}, "a process survived")
			for _, name := range segments {
				failure.Gone(t, name)
			}
			st := s.Status(t.Context(), nil)
			if st.Owned || st.Ready || len(st.PIDs) != 0 {
				t.Errorf("status after the kill: %+v", st)
			}
			failure.None(t, target.Down(t.Context(), dir))
			ctx, dep := deploy(t, process.Config{}, spec(dir, engine))
			visits(t, ctx, dep, 1)
		})
	}
}

// TestDown finds and stops a target that another program deployed.
func TestDown(t *testing.T) {
	dir := t.TempDir()
	p, s := deployer(t, dir, "postgresql")
	st := s.Status(t.Context(), nil)
	want := target.Status{Owned: true, Ready: true, PIDs: map[string][]int{
		"app": {s.Processes["app"][0].PID}, "db": {s.Processes["db"][0].PID},
	}}
	if !reflect.DeepEqual(st, want) {
		t.Errorf("status %+v, want %+v", st, want)
	}
	failure.None(t, target.Down(t.Context(), dir))
	gone(t, append(append(s.Processes["app"], s.Processes["db"]...), p.Identity()))
	failure.Is(t, target.Down(t.Context(), dir), target.ErrNotUp)
}
