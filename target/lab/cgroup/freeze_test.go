package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		failure.Lacks(t, "control groups need root")
	}
}

// inVersions runs a test with the root of each version of this host's control groups.
func inVersions(t *testing.T, test func(t *testing.T, root string)) {
	for version, root := range hierarchies(t) {
		t.Run("version "+version, func(t *testing.T) { test(t, root) })
	}
}

// hierarchies returns roots that show one version of this host's control groups alone, by version.
func hierarchies(t testing.TB) map[string]string {
	t.Helper()
	needRoot(t)
	out := map[string]string{}
	link := func(version, name, to string) {
		if out[version] == "" {
			out[version] = t.TempDir()
		}
		failure.None(t, os.Symlink(to, filepath.Join(out[version], name)))
	}
	if mount := unified(mounted); mount != "" {
		link("2", "unified", mount)
	}
	for _, controller := range []string{"freezer", "cpuacct"} {
		if dir := filepath.Join(mounted, controller); exists(filepath.Join(dir, "cgroup.procs")) {
			link("1", controller, dir)
		}
	}
	if len(out) == 0 {
		failure.Lacks(t, "this host has no control groups")
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// group makes a group that freezes and counts, for the time of the test.
func group(t testing.TB, root string) *Group {
	t.Helper()
	g, err := create(root, "test")
	failure.None(t, err)
	g.name += "-" + strconv.Itoa(int(time.Now().UnixNano()))
	if g.done, err = lab.UndoCgroup(g.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { failure.None(t, errors.Join(g.Thaw(), g.Remove())) })
	failure.None(t, errors.Join(g.Freezable(), g.Account()))
	return g
}

// shell starts a shell in the group.
func shell(t *testing.T, g *Group, script string) *lab.Process {
	t.Helper()
	p, err := lab.Start(t.Context(), lab.Spec{Path: "/bin/sh", Args: []string{"-c", script}})
	failure.None(t, err)
	t.Cleanup(func() { _ = p.Kill() })
	failure.None(t, g.Add(p.PID()))
	return p
}

func ends(t *testing.T, p *lab.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the process lives")
	}
}

func used(t *testing.T, g *Group) time.Duration {
	t.Helper()
	u, err := g.CPUTime()
	failure.None(t, err)
	return u.Total
}

// grows waits until the group has used more CPU time than before.
func grows(t *testing.T, g *Group, before time.Duration) {
	t.Helper()
	failure.Unless(t, func() bool {
		return used(t, g) > before
	}, "the group uses no CPU time since it was thawed")
}

// TestFreeze freezes a process with children of its own again and again, in both versions: while
// they are frozen they use no CPU time, and afterwards they do.
func TestFreeze(t *testing.T) {
	inVersions(t, func(t *testing.T, root string) {
		g := group(t, root)
		shell(t, g.Part("app"), "(while :; do :; done) & while :; do /bin/true; done")
		shell(t, g.Part("db"), "while :; do :; done")
		for range 20 {
			before := used(t, g)
			grows(t, g, before)
			failure.None(t, g.Freeze(t.Context()))
			frozen := used(t, g)
			time.Sleep(5 * time.Millisecond)
			// The kernel's own way into the freezer may end a moment later.
			if now := used(t, g); now > frozen+time.Millisecond {
				t.Fatalf("while it was frozen, the group used %v of CPU time", now-frozen)
			}
			failure.None(t, g.Thaw())
			grows(t, g, frozen+time.Millisecond)
		}
	})
}

// TestFreezeEnds has a group of which the kernel never reports that it is frozen: at the end of the
// context it is thawed.
func TestFreezeEnds(t *testing.T) {
	root := t.TempDir()
	failure.None(t, os.Mkdir(filepath.Join(root, "freezer"), 0o755))
	g, err := create(root, "x")
	failure.None(t, err)
	failure.Says(t, g.Freeze(t.Context()), "not freezable")
	state := filepath.Join(root, "freezer", g.name, "freezer.state")
	failure.None(t, errors.Join(
		os.Mkdir(filepath.Dir(state), 0o755),
		os.WriteFile(state, []byte("THAWED"), 0o644),
	))
	failure.None(t, g.Freezable())
	over := errors.New("the turn is over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
	defer cancel()
	if err := g.Freeze(ctx); !errors.Is(err, over) || !strings.Contains(err.Error(), state) {
		t.Errorf("Freeze() = %v, want the cause of the context, and %s", err, state)
	}
	if b, _ := os.ReadFile(state); string(b) != "THAWED" {
		t.Errorf("afterwards the group's state is %q", b)
	}
}

// TestNotFreezable is a host without a freezer.
func TestNotFreezable(t *testing.T) {
	g, err := create(t.TempDir(), "x")
	failure.None(t, err)
	failure.Says(t, g.Freezable(), "freezer")
	failure.Says(t, g.Account(), "cpuacct")
	if _, err := g.CPUTime(); err == nil {
		t.Error("CPUTime before Account is no error")
	}
}

// TestParts counts two roles apart, processes that have ended included, and both together in the
// whole.
func TestParts(t *testing.T) {
	inVersions(t, func(t *testing.T, root string) {
		g := group(t, root)
		app, db := g.Part("app"), g.Part("db")
		if g.Part("app") != app {
			t.Error("a second call of Part makes another one")
		}
		failure.None(t, errors.Join(app.Account(), db.Account()))
		file := filepath.Join(t.TempDir(), "go")
		p := shell(
			t,
			app,
			"until [ -e "+file+" ]; do sleep 0.01; done; i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done",
		)
		failure.None(t, os.WriteFile(file, nil, 0o600))
		ends(t, p)
		u, err := app.CPUTime()
		failure.None(t, err)
		if u.Total <= 0 {
			t.Errorf("the processes that have ended used %v", u.Total)
		}
		if used(t, db) != 0 || used(t, g) < u.Total {
			t.Errorf("app used %v, db %v, both %v", u.Total, used(t, db), used(t, g))
		}
		shell(t, db, "while :; do :; done")
		grows(t, db, 0)
		if again := used(t, app); again != u.Total {
			t.Errorf("app used %v while only db ran", again-u.Total)
		}
	})
}

// TestSweepFrozen leaves a frozen group of a program that is gone: its processes end, and it is
// removed.
func TestSweepFrozen(t *testing.T) {
	inVersions(t, func(t *testing.T, root string) {
		g, err := create(root, "x")
		failure.None(t, err)
		g.name = fmt.Sprintf("plimsoll-1-%d", time.Now().UnixNano()) // process 1 began before that
		t.Cleanup(func() { _ = errors.Join(g.Thaw(), g.Remove()) })
		failure.None(t, errors.Join(g.Freezable(), g.Account()))
		p := shell(t, g.Part("app"), "trap '' TERM; sleep 300")
		failure.None(t, g.Freeze(t.Context()))
		dirs := g.Dirs()
		gone, err := sweep(root)
		failure.None(t, err)
		ends(t, p)
		for _, dir := range dirs {
			if !slices.Contains(gone, dir) || exists(dir) {
				t.Errorf("swept %v; %s is left", gone, dir)
			}
		}
	})
}

// TestFreezeOrAccountInEitherVersion checks directories over trees that look like a host with
// version 1, 2, and both.
func TestFreezeOrAccountInEitherVersion(t *testing.T) {
	for _, tt := range []struct {
		name    string
		files   map[string]string
		want    []string // directories of the group G
		passive bool
	}{
		{"1", map[string]string{
			"freezer/": "",
			"cpuacct/": "",
			"cpu/":     "",
		}, []string{"freezer/G", "cpuacct/G"}, true},
		{"1, one hierarchy counts and shares", map[string]string{
			"freezer/":     "",
			"cpu,cpuacct/": "",
			"cpu>":         "cpu,cpuacct",
			"cpuacct>":     "cpu,cpuacct",
		}, []string{"freezer/G", "cpuacct/G"}, false},
		{"2", map[string]string{
			"cgroup.controllers":     "cpu io",
			"cgroup.subtree_control": "",
		}, []string{"G"}, true},
		{"2 that shares", map[string]string{
			"cgroup.controllers":     "cpu io",
			"cgroup.subtree_control": "cpu io",
		}, []string{"G"}, false},
		{"both", map[string]string{
			"unified/cgroup.controllers":     "",
			"unified/cgroup.subtree_control": "",
			"freezer/":                       "",
			"cpuacct/":                       "",
			"cpu/":                           "",
		}, []string{"unified/G"}, true},
		{"2 of an old kernel, and 1", map[string]string{
			"unified/cgroup.controllers":     "",
			"unified/cgroup.subtree_control": "",
			"freezer/":                       "",
			"unified/G/old":                  "",
		}, []string{"unified/G", "freezer/G"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			g, err := create(root, "x")
			failure.None(t, err)
			put := func(path, text string) {
				failure.None(t, errors.Join(
					os.MkdirAll(filepath.Dir(path), 0o755),
					os.WriteFile(path, []byte(text), 0o644),
				))
			}
			old := false
			for name, text := range tt.files {
				switch {
				case strings.HasSuffix(name, "/"):
					err = os.Mkdir(filepath.Join(root, name), 0o755)
				case strings.HasSuffix(name, ">"):
					err = os.Symlink(text, filepath.Join(root, strings.TrimSuffix(name, ">")))
				case strings.HasSuffix(name, "/old"):
					old = true
				default:
					put(filepath.Join(root, name), text)
				}
				failure.None(t, err)
			}
			if got := passive(root); got != tt.passive {
				t.Errorf("passive() = %t", got)
			}
			// The kernel makes these with the group.
			for _, dir := range tt.want {
				dir = filepath.Join(root, strings.Replace(dir, "G", g.name, 1))
				switch {
				case strings.Contains(dir, "freezer"):
					put(filepath.Join(dir, "freezer.state"), "THAWED\n")
				case strings.Contains(dir, "cpuacct"):
					put(filepath.Join(dir, "cpuacct.usage"), "1500000007\n")
					put(filepath.Join(dir, "cpuacct.stat"), "user 90\nsystem 60\n")
				default:
					put(
						filepath.Join(dir, "cpu.stat"),
						"usage_usec 1500000\nuser_usec 900000\nsystem_usec 600000\nnice_usec 3\n",
					)
					if !old {
						put(filepath.Join(dir, "cgroup.freeze"), "0\n")
						put(filepath.Join(dir, "cgroup.events"), "populated 1\nfrozen 1\n")
					}
				}
			}
			failure.None(t, errors.Join(g.Freezable(), g.Account()))
			defer g.freezer.close()
			control := filepath.Join(
				root,
				strings.Replace(tt.want[0], "G", g.name, 1),
				"cgroup.freeze",
			)
			if tt.name[0] == '1' || old {
				control = filepath.Join(root, "freezer", g.name, "freezer.state")
			}
			if got := g.freezer.control.Name(); got != control {
				t.Errorf("it is frozen by %s, want %s", got, control)
			}
			u, err := g.CPUTime()
			failure.None(t, err)
			if u.Total.Truncate(time.Microsecond) != 1500*time.Millisecond ||
				u.User != 900*time.Millisecond ||
				u.System != 600*time.Millisecond {
				t.Errorf("CPUTime() = %+v", u)
			}
		})
	}
}

// TestAddToPart adds a process to a part: to the part's directories, and to those of the whole that
// have none of the part within them.
func TestAddToPart(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"cpu", "cpuacct"} {
		failure.None(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	g, err := create(root, "x")
	failure.None(t, err)
	limited, err := g.dir("cpu")
	failure.None(t, err)
	part, err := g.Part("app").dir("cpuacct")
	failure.None(t, err)
	whole := filepath.Dir(part)
	for _, dir := range []string{limited, whole, part} {
		failure.None(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644))
	}
	p := shell(t, g.Part("app"), "exec sleep 300")
	for dir, want := range map[string]string{
		limited: strconv.Itoa(p.PID()),
		whole:   "",
		part:    strconv.Itoa(p.PID()),
	} {
		if got, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")); string(got) != want {
			t.Errorf("%s holds %q, want %q", dir, got, want)
		}
	}
}

// TestMain lets the test binary play the program that is killed: see TestKilledWhileFrozen.
func TestMain(m *testing.M) {
	if root := os.Getenv("CGROUP_TEST_ROOT"); root != "" {
		if err := freezing(root); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// freezing freezes a child with one of its own in another session, and waits to be killed.
func freezing(root string) error {
	g, err := create(root, "killed")
	if err != nil {
		return err
	}
	if _, err := lab.UndoCgroup(g.name); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p, err := lab.Start(context.Background(), lab.Spec{
		Path:   "/bin/sh",
		Args:   []string{"-c", "setsid sleep 300 & echo $!; wait"},
		Stdout: w,
	})
	if err != nil {
		return err
	}
	var child int
	if _, err := fmt.Fscan(r, &child); err != nil {
		return err
	}
	if err := errors.Join(g.Freezable(), g.Account(), g.Part("app").Account(), g.Part("app").Add(p.PID()), g.Freeze(context.Background())); err != nil {
		return err
	}
	fmt.Println(
		"frozen",
		p.PID(),
		child,
		strings.Join(slices.Concat(g.Dirs(), g.Part("app").Dirs()), " "),
	)
	select {}
}

// TestKilledWhileFrozen kills a program whose children are frozen, in either version: the guard
// ends them all, and removes the group. In version 1, a frozen process does not take even SIGKILL.
func TestKilledWhileFrozen(t *testing.T) {
	inVersions(t, func(t *testing.T, root string) {
		r, w, err := os.Pipe()
		failure.None(t, err)
		defer r.Close()
		p, err := lab.Start(t.Context(), lab.Spec{
			Path:   os.Args[0],
			Env:    append(os.Environ(), "CGROUP_TEST_ROOT="+root),
			Stdout: w,
			Stderr: w,
		})
		failure.None(t, err)
		w.Close()
		defer func() { _ = p.Kill() }()
		line, err := bufio.NewReader(r).ReadString('\n')
		f := strings.Fields(line)
		if err != nil || len(f) < 5 || f[0] != "frozen" {
			t.Fatalf("the program printed %q, %v", line, err)
		}
		var ids []lab.Identity
		for _, text := range f[1:3] {
			pid, err := strconv.Atoi(text)
			failure.None(t, err)
			id, err := lab.Identify(pid)
			failure.None(t, err)
			ids = append(ids, id)
		}
		failure.None(t, p.Signal(os.Kill))
		ends(t, p)
		for _, id := range ids {
			failure.Unless(t, func() bool { return !id.Alive() }, id, " survives")
		}
		failure.Unless(t, func() bool {
			return !slices.ContainsFunc(f[3:], exists)
		}, "a group is left of ", f[3:])
	})
}
