package series

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		if err != nil {
			t.Fatal(err)
		}
		got := everything(t, r)
		sealed = r.Sealed()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
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

// TestPartsOfAKilledWriter: where the block of a part is not whole, its log counts; where that is gone, it is damage.
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
		"block":                 {nil, false, 0},
		"block and log":         {nil, true, 0},
		"half a block and log":  {func(b string) error { return os.Rename(b, b+".tmp-for-creation") }, true, 0},
		"damaged block and log": {func(b string) error { return os.Truncate(filepath.Join(b, "index"), 100) }, true, 0},
		"damaged block":         {func(b string) error { return os.Truncate(filepath.Join(b, "index"), 100) }, false, 11},
		"block is gone":         {os.RemoveAll, false, 11},
		"every trace is gone":   {func(b string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(b))) }, false, 11},
		"damaged block, empty log": {func(b string) error {
			return errors.Join(os.Remove(filepath.Join(b, "meta.json")), os.Mkdir(filepath.Join(b, "../../../wal"), 0o700))
		}, false, 11},
	} {
		t.Run(name, func(t *testing.T) {
			killed := snapshot(t, db.Dir())
			if c.log {
				if err := os.CopyFS(filepath.Join(killed, walDir), os.DirFS(filepath.Join(logs, walDir))); err != nil {
					t.Fatal(err)
				}
			}
			if c.spoil != nil {
				if err := c.spoil(filepath.Join(killed, spillDir, "0000", dir)); err != nil {
					t.Fatal(err)
				}
			}
			before := listing(t, killed)
			r := open(t, killed)
			if damage := r.Damage(); (damage != nil) != (c.first > 0) || damage != nil && strings.Contains(damage.Error(), "\n") {
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
