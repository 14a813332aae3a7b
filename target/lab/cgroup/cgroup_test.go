package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// TestCPU limits a child that computes to a fifth of a core, and sees the kernel hold it back.
func TestCPU(t *testing.T) {
	needRoot(t)
	g, err := Create("test")
	failure.None(t, err)
	if err := g.CPU(0.2, 20*time.Millisecond); err != nil {
		t.Skipf("this host has no CPU quota: %v", err)
	}
	t.Cleanup(func() { failure.None(t, g.Remove()) })
	p, err := lab.Start(t.Context(), lab.Spec{
		Path: "/bin/sh",
		Args: []string{"-c", "(while :; do :; done) & while :; do :; done"},
	})
	failure.None(t, err)
	defer func() { _ = p.Kill() }()
	for range 500 { // until the child of the child is there
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.PID())); len(b) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	failure.None(t, g.Add(p.PID()))
	procs, err := os.ReadFile(filepath.Join(g.Dirs()[0], "cgroup.procs"))
	if err != nil || len(strings.Fields(string(procs))) != 2 {
		t.Errorf("in the group: %q, %v; want parent and child", procs, err)
	}
	for range 500 {
		stat, err := os.ReadFile(filepath.Join(g.Dirs()[0], "cpu.stat"))
		failure.None(t, err)
		for line := range strings.Lines(string(stat)) {
			if n, ok := strings.CutPrefix(strings.TrimSpace(line), "nr_throttled "); ok &&
				n != "0" {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("two loops in a fifth of a core were not throttled in five seconds")
}

// TestBothVersions checks the written files, over trees that look like either version.
func TestBothVersions(t *testing.T) {
	disk, err := disk(t.TempDir())
	if err != nil {
		t.Skipf("no disk to limit: %v", err)
	}
	for name, c := range map[string]struct {
		files []string // besides the group's own
		want  map[string]string
	}{
		"1": {[]string{"cpu/", "blkio/", "memory/"}, map[string]string{
			"memory/G/memory.limit_in_bytes":           "33554432",
			"cpu/G/cpu.cfs_quota_us":                   "25000",
			"cpu/G/cpu.cfs_period_us":                  "100000",
			"blkio/G/blkio.throttle.write_iops_device": disk + " 40",
		}},
		"2": {[]string{"cgroup.controllers", "cgroup.subtree_control"}, map[string]string{
			"G/memory.max": "33554432",
			"G/cpu.max":    "25000 100000",
			"G/io.max":     disk + " wiops=40",
		}},
	} {
		root := t.TempDir()
		for _, f := range c.files {
			if strings.HasSuffix(f, "/") {
				err = os.Mkdir(filepath.Join(root, f), 0o755)
			} else {
				err = os.WriteFile(filepath.Join(root, f), []byte("cpu io\n"), 0o644)
			}
			failure.None(t, err)
		}
		g, err := create(root, "x")
		failure.None(t, err)
		for f := range c.want { // the kernel makes them with the group
			path := filepath.Join(root, strings.Replace(f, "G", g.name, 1))
			failure.None(t, os.MkdirAll(filepath.Dir(path), 0o755))
			failure.None(t, os.WriteFile(path, nil, 0o644))
		}
		failure.None(t, errors.Join(
			g.CPU(0.25, 100*time.Millisecond),
			g.Writes(t.TempDir(), 40),
			g.Memory(32<<20),
		))
		for f, want := range c.want {
			got, _ := os.ReadFile(filepath.Join(root, strings.Replace(f, "G", g.name, 1)))
			if string(got) != want {
				t.Errorf("version %s: %s is %q, want %q", name, f, got, want)
			}
		}
	}
}

func TestSweep(t *testing.T) {
	root := t.TempDir()
	mark, err := lab.Mark()
	failure.None(t, err)
	for _, d := range []string{"cpu/" + mark + "-app", "cpu/plimsoll-1-999999999-app", "plimsoll-1-999999999-db", "cpu/other"} {
		failure.None(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	gone, err := sweep(root)
	if err != nil || len(gone) != 2 {
		t.Errorf("swept %v, %v; want the two of a program that is gone", gone, err)
	}
	for _, d := range []string{"cpu/" + mark + "-app", "cpu/other"} {
		failure.None(t, failure.Of(os.Stat(filepath.Join(root, d))))
	}
}

func TestMissingController(t *testing.T) {
	g, err := create(t.TempDir(), "x")
	failure.None(t, err)
	failure.Says(t, g.CPU(1, time.Second), "cpu")
}

// TestRemoveTellsWhatIsLeft cannot remove one of two directories: the guard must keep the group,
// and the next Remove try again.
func TestRemoveTellsWhatIsLeft(t *testing.T) {
	root := t.TempDir()
	for _, controller := range []string{"cpu", "memory"} {
		failure.None(t, os.Mkdir(filepath.Join(root, controller), 0o755))
	}
	g, err := create(root, "x")
	failure.None(t, err)
	forgotten := 0
	g.done = func() { forgotten++ }
	busy, err := g.dir("cpu")
	failure.None(t, err)
	idle, err := g.dir("memory")
	failure.None(t, err)
	file := filepath.Join(busy, "process") // as a process keeps a control group, too
	failure.None(t, os.WriteFile(file, nil, 0o644))
	if err := g.Remove(); err == nil || !strings.Contains(err.Error(), busy) ||
		strings.Contains(err.Error(), idle) {
		t.Errorf("Remove() = %v, want an error that names %s alone", err, busy)
	}
	if dirs := g.Dirs(); len(dirs) != 1 || dirs[0] != busy || forgotten != 0 {
		t.Errorf(
			"left are %v, and the guard forgot the group %d times; want %s, and the guard to keep it",
			dirs,
			forgotten,
			busy,
		)
	}
	failure.None(t, os.Remove(file))
	for range 2 {
		if err := g.Remove(); err != nil || len(g.Dirs()) != 0 || forgotten != 1 {
			t.Errorf(
				"Remove() = %v, left are %v, forgotten %d times; want nothing left and once",
				err,
				g.Dirs(),
				forgotten,
			)
		}
	}
	failure.Gone(t, busy)
}
