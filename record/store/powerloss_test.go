package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
)

// A tape is a disk that works, and records its operations, so that every moment at which the power
// may fail can be checked.
type tape struct {
	record.OS
	root  string
	moves []move
	// inodes are numbers of files by their present names.
	inodes map[string]int
	next   int
}

// A move is one operation. Paths are below the root.
type move struct {
	what     string // "mkdir", "create", "write", "rename", "remove", "sync", "mark"
	path, to string
	inode    int
	// of a write; of the sync of a file that was written outside the tape, all of it
	data []byte
}

func newTape(root string) *tape { return &tape{root: root, inodes: map[string]int{}} }

func (t *tape) rel(path string) string {
	rel, err := filepath.Rel(t.root, path)
	if err != nil {
		panic(err)
	}
	return rel
}

// mark notes that a call has returned: its promise holds from here on.
func (t *tape) mark(text string) { t.moves = append(t.moves, move{what: "mark", path: text}) }

func (t *tape) Mkdir(dir string) error {
	err := t.OS.Mkdir(dir)
	if err == nil {
		t.moves = append(t.moves, move{what: "mkdir", path: t.rel(dir)})
	}
	return err
}

func (t *tape) Create(path string, fresh bool) (io.WriteCloser, error) {
	f, err := t.OS.Create(path, fresh)
	if err != nil {
		return nil, err
	}
	t.next++
	t.inodes[t.rel(path)] = t.next
	t.moves = append(t.moves, move{what: "create", path: t.rel(path), inode: t.next})
	return &taped{f, t, t.next}, nil
}

type taped struct {
	io.WriteCloser
	t     *tape
	inode int
}

func (f *taped) Write(b []byte) (int, error) {
	f.t.moves = append(f.t.moves, move{what: "write", inode: f.inode, data: bytes.Clone(b)})
	return f.WriteCloser.Write(b)
}

func (t *tape) Rename(from, to string) error {
	err := t.OS.Rename(from, to)
	if err == nil {
		from, to = t.rel(from), t.rel(to)
		t.inodes[to] = t.inodes[from]
		delete(t.inodes, from)
		t.moves = append(t.moves, move{what: "rename", path: from, to: to})
	}
	return err
}

func (t *tape) Remove(path string) error {
	err := t.OS.Remove(path)
	if err == nil {
		t.moves = append(t.moves, move{what: "remove", path: t.rel(path)})
	}
	return err
}

func (t *tape) Sync(path string) error {
	err := t.OS.Sync(path)
	if err == nil && !strings.HasPrefix(t.rel(path), "..") {
		t.moves = append(t.moves, move{
			what:  "sync",
			path:  t.rel(path),
			inode: t.inodes[t.rel(path)],
		})
	}
	return err
}

// A loss is the part of unsynced changes that survives a power failure: names are the changes of
// directories, data the content of files.
type loss struct {
	names bool
	data  string // "none", "all", "half" or "zeros": of the writes since the last sync
}

var losses = []loss{
	{false, "none"},
	{false, "all"},
	{true, "none"},
	{true, "all"},
	{true, "half"},
	{true, "zeros"},
	{false, "zeros"},
}

type content struct{ data, synced []byte }

// after returns the files and directories that are there after the first n moves and a power
// failure.
func (t *tape) after(n int, l loss) (dirs map[string]bool, files map[string][]byte) {
	inodes := map[int]*content{}
	now, kept := map[string]int{}, map[string]int{} // names of files; those that survive
	nowDirs, keptDirs := map[string]bool{}, map[string]bool{}
	for _, m := range t.moves[:n] {
		switch m.what {
		case "mkdir":
			nowDirs[m.path] = true
		case "create":
			inodes[m.inode], now[m.path] = new(content), m.inode
		case "write":
			inodes[m.inode].data = append(inodes[m.inode].data, m.data...)
		case "rename":
			now[m.to] = now[m.path]
			delete(now, m.path)
		case "remove":
			delete(now, m.path)
		case "sync":
			if c := inodes[m.inode]; c != nil {
				c.synced = bytes.Clone(c.data)
				continue
			}
			for name := range nowDirs {
				if filepath.Dir(name) == m.path {
					keptDirs[name] = true
				}
			}
			maps.DeleteFunc(kept, func(name string, _ int) bool {
				return filepath.Dir(name) == m.path
			})
			for name, inode := range now {
				if filepath.Dir(name) == m.path {
					kept[name] = inode
				}
			}
		}
	}
	if l.names {
		kept, keptDirs = now, nowDirs
	}
	files = map[string][]byte{}
	for name, inode := range kept {
		c := inodes[inode]
		b := bytes.Clone(c.synced)
		rest := c.data[len(c.synced):]
		switch l.data {
		case "all":
			b = append(b, rest...)
		case "half":
			b = append(b, rest[:len(rest)/2]...)
		case "zeros":
			b = append(b, make([]byte, len(rest))...)
		}
		files[name] = b
	}
	return keptDirs, files
}

// lay writes the survivors of a power failure into a directory. A file whose directory is lost is
// lost with it.
func lay(t *testing.T, root string, dirs map[string]bool, files map[string][]byte) {
	t.Helper()
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(root, name), b, 0o644); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// A power failure at any moment leaves of every file the old one or the new one, and never less
// than a call that has returned promised.
func TestPowerLossLeavesOldOrNew(t *testing.T) {
	root := t.TempDir()
	disk := newTape(root)
	s, err := OpenOn(disk, root)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &record.Comparison{
		ID:    "c1",
		Name:  "n",
		State: record.Running,
		Arms:  []string{"base", "new"},
		Plan:  strings.Repeat("x: y\n", 40),
	}
	must(s.SaveComparison(c))
	disk.mark("comparison 0")
	w, err := s.Create(record.Manifest{
		ID:    "r1",
		Name:  "n",
		Epoch: time.Unix(1, 0).UTC(),
		Arm:   "base",
	})
	must(err)
	disk.mark("run")
	win := measure.NewWindow("post")
	for second := range 2 {
		win.Response.Record(time.Duration(second+1) * time.Millisecond)
		win.Classes[measure.OK]++
		must(w.Windows(second, []*measure.Window{win}))
		must(w.Event(record.Event{
			At:    time.Duration(second) * time.Second,
			Kind:  "users",
			Users: 5,
		}))
	}
	must(w.Users(record.Users{}))
	must(w.Omitted(1, []*measure.Window{win}))
	must(w.Telemetry(record.Telemetry{
		Records: 2,
		Taken:   2,
	}, func(yield func(int, []*measure.Window) bool) { yield(0, []*measure.Window{win}) }))
	must(w.Update(func(m *record.Manifest) {
		m.Capacity = &record.Capacity{
			Kind:  record.Estimate,
			Users: 321,
		}
	}))
	digest, err := w.Seal(context.Background(), record.Validity{Valid: true}, "")
	must(err)
	disk.mark("sealed")
	c.Runs = append(c.Runs, record.ComparisonRun{
		Run:    "r1",
		Digest: digest,
		Arm:    "base",
		Valid:  true,
	})
	must(s.SaveComparison(c))
	disk.mark("comparison 1")
	must(s.SaveSizing(&record.Sizing{
		ID:      "z1",
		Planned: []int{50},
		Steps:   []record.SizingStep{{Users: 50, Run: "r1", Digest: digest}},
	}))
	disk.mark("sizing")

	promised, seen := map[string]bool{}, map[string]bool{}
	for n := range len(disk.moves) + 1 {
		if n > 0 && disk.moves[n-1].what == "mark" {
			promised[disk.moves[n-1].path] = true
		}
		for _, l := range losses {
			dirs, files := disk.after(n, l)
			key := fmt.Sprintf("%v %q %d", dirs, files, len(promised))
			if seen[key] {
				continue
			}
			seen[key] = true
			left := t.TempDir()
			lay(t, left, dirs, files)
			for _, wrong := range afterPowerLoss(left, promised) {
				t.Errorf(
					"power lost after %d of %d moves (names that were not synced kept: %v, content: %s): %s",
					n,
					len(disk.moves),
					l.names,
					l.data,
					wrong,
				)
			}
			if t.Failed() {
				return // one state shows it
			}
		}
	}
	if len(seen) < 100 || len(promised) != 5 {
		t.Errorf(
			"only %d states of %d moves were looked at, %d promises",
			len(seen),
			len(disk.moves),
			len(promised),
		)
	}
}

// afterPowerLoss reads everything that is left, and returns the faults.
func afterPowerLoss(root string, promised map[string]bool) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	s, err := Open(root)
	if err != nil {
		return []string{err.Error()}
	}
	runs := map[string]string{} // that something refers to, with their digests
	if c, err := s.Comparison("c1"); err == nil {
		for _, r := range c.Runs {
			runs[r.Run] = r.Digest
		}
		if promised["comparison 1"] && len(c.Runs) != 1 {
			bad("the comparison has %d runs after it was saved with one", len(c.Runs))
		}
	} else if promised["comparison 0"] || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotFound) {
		bad("%v", err)
	}
	if z, err := s.Sizing("z1"); err == nil {
		for _, step := range z.Steps {
			runs[step.Run] = step.Digest
		}
	} else if promised["sizing"] || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotFound) {
		bad("%v", err)
	}
	r, err := s.Run("r1")
	if err != nil {
		if _, serr := os.Stat(filepath.Join(root, "runs", "r1", record.ManifestFile)); promised["run"] ||
			len(runs) > 0 ||
			serr == nil {
			bad("%v", err)
		}
		return wrong
	}
	for _, want := range runs {
		if have, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile)); err != nil ||
			have != want {
			bad("the manifest has the digest %s, %s was recorded: %v", have, want, err)
		}
	}
	if _, err := r.Events(); err != nil &&
		(r.Manifest.State == record.Sealed || !errors.Is(err, fs.ErrNotExist)) {
		bad("%v", err)
	}
	if r.Manifest.State != record.Sealed {
		if r.Validity.Valid || promised["sealed"] {
			bad("the run is %s and valid: %v", r.Manifest.State, r.Validity.Valid)
		}
		if _, err := r.EachSecond(func(int, []*measure.Window) bool {
			return true
		}); err != nil && !errors.Is(err, record.ErrWindows) && !errors.Is(err, fs.ErrNotExist) {
			bad("%v", err)
		}
		return wrong
	}
	if changed, err := r.Verify(); err != nil || len(changed) > 0 {
		bad("the run is sealed, and %q changed: %v", changed, err)
	}
	sums, err := r.Merged(0, time.Minute)
	if err != nil || sums["post"] == nil || sums["post"].Count() != 3 || !r.Validity.Valid ||
		r.Manifest.Capacity == nil {
		bad("the run is sealed, and its numbers are not there: %v %v %v", sums, err, r.Validity)
	}
	return wrong
}
