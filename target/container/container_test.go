package container_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/container"
	"plimsoll/target/lab"
)

// TestMain lets the test binary play the server in a container, and the program that runs one and
// is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("CONTAINER_TEST_ROLE") {
	case "server":
		serve()
	case "runner":
		run()
	default:
		os.Exit(m.Run())
	}
}

// A sight is a server's view of its environment.
type sight struct {
	PID, Host, Dir string
	Args, Root     []string
	Secret         string
	Processes      int
}

// serve writes its view into the state directory and waits for the signal to end.
func serve() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	host, _ := os.Hostname()
	dir, _ := os.Getwd()
	s := sight{
		PID:    fmt.Sprint(os.Getpid()),
		Host:   host,
		Dir:    dir,
		Args:   os.Args[1:],
		Secret: os.Getenv("SECRET"),
	}
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		s.Root = append(s.Root, e.Name())
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	s.Processes = len(procs)
	b, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile("sight.part", b, 0o644)
	}
	if err == nil {
		err = os.Rename("sight.part", "sight")
	}
	fmt.Println("serving", err)
	<-stop
	fmt.Println("asked to stop")
}

// run starts a container and waits to be killed.
func run() {
	e, err := container.FindPodman(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p, err := e.Start(context.Background(), job(os.Getenv("CONTAINER_TEST_STATE")))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("pid", p.PID())
	<-p.Done()
}

func job(state string) container.Job {
	mark, err := lab.Mark()
	if err != nil {
		panic(err)
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return container.Job{Name: mark + "-box", State: state, Spec: lab.Spec{
		Name: "box",
		Path: self,
		Args: []string{"-one", "two words"},
		Dir:  state,
		Env: []string{
			"CONTAINER_TEST_ROLE=server",
			"SECRET=hush",
			"PATH=" + os.Getenv("PATH"),
		},
		Journal:     filepath.Join(state, "journal"),
		StopTimeout: 3 * time.Second,
	}}
}

// engine finds podman. Under CI, the programs that setup installs must be present.
func engine(t *testing.T) *container.Podman {
	t.Helper()
	err := errors.New("containers need root")
	var e *container.Podman
	if os.Geteuid() == 0 {
		e, err = container.FindPodman(t.Context())
	}
	if err != nil {
		failure.Lacks(t, err)
	}
	return e
}

// state is a directory that containers and their databases' users can reach.
func state(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	failure.None(t, err)
	return dir
}

// A process is the container, or the program that runs it.
type process interface {
	Done() <-chan struct{}
	Err() error
	Tail() string
}

// look waits for the server's view.
func look(t *testing.T, dir string, p process) (s sight) {
	t.Helper()
	for range 2000 {
		if b, err := os.ReadFile(filepath.Join(dir, "sight")); err == nil {
			failure.None(t, json.Unmarshal(b, &s))
			return s
		}
		select {
		case <-p.Done():
			t.Fatalf("it ended: %v\n%s", p.Err(), p.Tail())
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("it says nothing\n%s", p.Tail())
	return s
}

// TestARelativeState: the state directory of a store such as ".plimsoll", the default, has its
// whole path inside.
func TestARelativeState(t *testing.T) {
	e := engine(t)
	dir := state(t)
	t.Chdir(filepath.Dir(dir))
	j := job(dir)
	j.State = filepath.Base(dir)
	p, err := e.Start(t.Context(), j)
	failure.None(t, err)
	defer func() { failure.None(t, p.Stop(context.Background())) }()
	if s := look(t, dir, p); s.Dir != dir {
		t.Errorf("it is in %s, want %s", s.Dir, dir)
	}
}

func TestContainer(t *testing.T) {
	e := engine(t)
	dir := state(t)
	j := job(dir)
	for round := range 2 { // again in the same place, as after a reset
		_ = os.Remove(filepath.Join(dir, "sight"))
		p, err := e.Start(t.Context(), j)
		failure.None(t, err)
		s := look(t, dir, p)
		if s.PID != "1" || s.Host != j.Name || s.Dir != dir || !slices.Equal(s.Args, j.Spec.Args) ||
			s.Secret != "hush" ||
			s.Processes != 1 {
			t.Errorf("it sees %+v", s)
		}
		for _, name := range []string{"etc", "usr", "home", "var", "root"} {
			// Podman makes /etc for hosts and names, and below /run.
			if slices.Contains(s.Root, name) && !strings.HasPrefix(dir, "/"+name) && name != "etc" {
				t.Errorf("it sees /%s: %v", name, s.Root)
			}
		}
		id, err := lab.Identify(p.PID())
		failure.None(t, err)
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID)); err != nil ||
			!strings.Contains(string(line), "two words") ||
			strings.Contains(string(line), "podman") {
			t.Errorf("round %d: process %d is %q, %v; want the server", round, id.PID, line, err)
		}
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
		if strings.Contains(string(args), "hush") {
			t.Error("a secret is on the command line")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		failure.None(t, p.Stop(ctx))
		cancel()
		if id.Alive() {
			t.Error("it runs after Stop")
		}
		failure.None(t, p.Err())
		if !strings.Contains(p.Tail(), "asked to stop") {
			t.Errorf("it was not asked to stop:\n%s", p.Tail())
		}
		if left := left(t, j.Name); len(left) > 0 {
			t.Errorf("round %d left %v", round, left)
		}
	}
}

// left returns the remaining control groups and mounts of a container.
func left(t *testing.T, name string) (all []string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, err := filepath.Glob(pattern + name)
		failure.None(t, err)
		all = append(all, found...)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	failure.None(t, err)
	if strings.Contains(string(mounts), name) {
		all = append(all, "a mount")
	}
	return all
}

// TestKilledRunner kills the program that runs a container with SIGKILL, and expects container,
// monitor and control groups to go with it.
func TestKilledRunner(t *testing.T) {
	engine(t)
	dir := state(t)
	runner, err := lab.Start(t.Context(), lab.Spec{Name: "runner", Path: os.Args[0],
		Env: append(os.Environ(), "CONTAINER_TEST_ROLE=runner", "CONTAINER_TEST_STATE="+dir)})
	failure.None(t, err)
	defer func() { _ = runner.Kill() }()
	look(t, dir, runner)
	ours := func() (pids []string) {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range all {
			b, _ := os.ReadFile(file)
			if strings.Contains(string(b), dir) || strings.Contains(string(b), "two words") {
				pids = append(
					pids,
					filepath.Base(filepath.Dir(file))+" "+strings.ReplaceAll(
						string(b),
						"\x00",
						" ",
					),
				)
			}
		}
		return pids
	}
	if len(ours()) == 0 {
		t.Fatal("nothing seems to run")
	}
	mark := fmt.Sprintf("plimsoll-%d-%d-box", runner.PID(), runner.Identity().Start)
	failure.None(t, runner.Signal(syscall.SIGKILL)) // not Kill, which would kill the group
	<-runner.Done()
	for range 1000 {
		if len(ours()) == 0 && len(left(t, mark)) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left := append(ours(), left(t, mark)...); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
}
