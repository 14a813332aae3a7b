package series

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
)

// TestReadersDuringCuts opens the directory of a writer that is at work until it has closed.
func TestReadersDuringCuts(t *testing.T) {
	const n = 160
	db := cutting(t, 40*time.Second)
	var appended atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		appendDuringCuts(t, db, n, &appended)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	defer wg.Wait()
	deadline := time.Now().Add(time.Minute)
	for sealed := false; !sealed; {
		if time.Now().After(deadline) {
			t.Fatal("the run was not sealed")
		}
		least := int(appended.Load())
		r, err := Open(db.Dir())
		failure.None(t, err)
		got := everything(t, r)
		sealed = r.Sealed()
		failure.None(t, r.Close())
		if sealed {
			least = n
		}
		if least > 0 && len(got) != 4 {
			t.Fatalf("%d series, %d seconds were appended before", len(got), least)
		}
		for key, samples := range got {
			if len(samples) < least {
				t.Errorf("%s: %d samples, %d were appended before", key, len(samples), least)
			}
			for i, s := range samples {
				if s != (stored{int64(1000 * i), float64(i)}) {
					t.Fatalf("%s: sample %d is %v", key, i, s)
				}
			}
		}
	}
}

// TestPartsOfAKilledWriter: where the block of a part is not whole, its log counts; where that is
// gone, it is damage.
func TestPartsOfAKilledWriter(t *testing.T) {
	db := cutting(t, 10*time.Second)
	x := func(s int) Sample { return Sample{Name: "x", Value: float64(s)} }
	unblock := block(t, db, 0)
	for s := range 15 {
		put(t, db, s, x(s))
	}
	unblock()
	logs := snapshot(t, db.Dir()) // with the whole log of part 0
	for s := 15; s < 25; s++ {
		put(t, db, s, x(s))
	}
	if len(db.blocks) != 1 {
		t.Fatalf("%d blocks, %v", len(db.blocks), db.write.failure)
	}
	dir := filepath.Base(db.blocks[0].Dir())
	for name, c := range map[string]struct {
		spoil func(block string) error // of part 0
		log   bool                     // of part 0 is there
		first int                      // second that is left
	}{
		"block":         {nil, false, 0},
		"block and log": {nil, true, 0},
		"half a block and log": {func(b string) error {
			return os.Rename(b, b+".tmp-for-creation")
		}, true, 0},
		"damaged block and log": {func(b string) error {
			return os.Truncate(filepath.Join(b, "index"), 100)
		}, true, 0},
		"damaged block": {func(b string) error {
			return os.Truncate(filepath.Join(b, "index"), 100)
		}, false, 11},
		"block is gone": {os.RemoveAll, false, 11},
		"every trace is gone": {func(b string) error {
			return os.RemoveAll(filepath.Dir(filepath.Dir(b)))
		}, false, 11},
		"damaged block, empty log": {func(b string) error {
			return errors.Join(os.Remove(filepath.Join(b, "meta.json")), os.Mkdir(filepath.Join(b, "../../../wal"), 0o700))
		}, false, 11},
	} {
		t.Run(name, func(t *testing.T) {
			killed := snapshot(t, db.Dir())
			if c.log {
				failure.None(
					t,
					os.CopyFS(filepath.Join(killed, walDir), os.DirFS(filepath.Join(logs, walDir))),
				)
			}
			if c.spoil != nil {
				failure.None(t, c.spoil(filepath.Join(killed, spillDir, "0000", dir)))
			}
			before := listing(t, killed)
			r := open(t, killed)
			if damage := r.Damage(); (damage != nil) != (c.first > 0) ||
				damage != nil && strings.Contains(damage.Error(), "\n") {
				t.Errorf("Damage = %v", damage)
			}
			var want []stored
			for s := c.first; s < 25; s++ {
				want = append(want, stored{int64(1000 * s), float64(s)})
			}
			if d := cmp.Diff(map[string][]stored{`{__name__="x"}`: want}, everything(t, r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(before, listing(t, killed)); d != "" {
				t.Errorf("Open changed the directory:\n%s", d)
			}
		})
	}
}

// held returns what this process holds of files below dir, or of files there that were removed:
// those that are there, mappings and descriptors.
func held(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, "file "+path)
		}
		return err
	})
	failure.None(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	failure.None(t, err)
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, dir) {
			all = append(all, "mapping "+strings.TrimSpace(line))
		}
	}
	names, err := os.ReadDir("/proc/self/fd")
	failure.None(t, err)
	for _, n := range names {
		if to, err := os.Readlink("/proc/self/fd/" + n.Name()); err == nil &&
			strings.Contains(to, dir) {
			all = append(all, "descriptor "+to)
		}
	}
	return all
}

// unsealed is the directory of a writer at work that has a block of one span and the log of
// another, of several chunks.
func unsealed(t *testing.T) (dir string) {
	t.Helper()
	db := cutting(t, 400*time.Second)
	for s := range 800 {
		put(t, db, s, Sample{
			Name:  "x",
			Value: float64(s * s % 97),
		}, Sample{Name: "y", Value: float64(s)})
	}
	if len(db.blocks) != 1 || len(db.spans) != 1 {
		t.Fatalf("%d blocks, %d spans", len(db.blocks), len(db.spans))
	}
	return db.Dir()
}

// TestReaderLeavesNothing: a reader of a run that goes on opens it again and again. It writes no
// file, and after Close holds nothing of its temporary directory.
func TestReaderLeavesNothing(t *testing.T) {
	dir, tmp := unsealed(t), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for range 3 {
		db, err := Open(dir)
		failure.None(t, err)
		if got := one(t, db, `count_over_time(x[1h])`, at(800)); got != 800 || db.Damage() != nil {
			t.Errorf("%v samples, %v", got, db.Damage())
		}
		for _, what := range held(t, tmp) {
			if !strings.HasPrefix(what, "descriptor ") {
				t.Errorf("open: %s", what)
			}
		}
		failure.None(t, db.Close())
		if left := held(t, tmp); len(left) > 0 {
			t.Errorf("closed:\n%s", strings.Join(left, "\n"))
		}
		if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
			t.Errorf("closed: %v, %v", entries, err)
		}
	}
}

// TestReplayWithoutRoom: where no temporary directory can be made, Open fails with its place, also
// if a part of the run is in a block. That is no damage of the run.
func TestReplayWithoutRoom(t *testing.T) {
	dir := unsealed(t)
	for name, tmp := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "gone"),
		"a file":  filepath.Join(dir, walDir+"-0001", "00000000"),
		"no room": "/proc/self", // nothing can be made there
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", tmp)
			db, err := Open(dir)
			if err == nil {
				t.Errorf("it opens, Damage = %v", db.Damage())
				db.Close()
			} else if text := err.Error(); !strings.Contains(text, dir) || !strings.Contains(text, "temporary directory in "+tmp) || strings.Contains(text, "\n") {
				t.Errorf("error %q does not name both directories in one line", text)
			}
		})
	}
}
