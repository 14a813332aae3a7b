package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"plimsoll/plan"
	"plimsoll/target/lab"
)

const (
	diskEvery = time.Second      // the least time between two looks at the target's files
	diskStale = 30 * time.Second // the greatest age of a look that counts
)

// A DiskWatch knows the space on disk that the files of a target take. It looks in real time: the
// files also exist while the target stands still. Its methods are safe for concurrent use.
type DiskWatch struct {
	dir   string
	limit plan.DiskLimit
	stop  context.CancelFunc
	wait  sync.WaitGroup

	mu   sync.Mutex
	used int64
	at   time.Time // of the last look that succeeded
	err  error     // of the last look
}

// WatchDisk begins to watch the files below dir. The caller calls End.
func WatchDisk(ctx context.Context, dir string, limit plan.DiskLimit) *DiskWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &DiskWatch{dir: dir, limit: limit, stop: cancel, at: time.Now()}
	w.wait.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			w.look(ctx)
			// Looking must not become a load.
			pause := max(diskEvery, 20*time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
	return w
}

// End ends the watch. It may be called again.
func (w *DiskWatch) End() {
	w.stop()
	w.wait.Wait()
}

func (w *DiskWatch) look(ctx context.Context) {
	used, err := targetUse(ctx, w.dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.used, w.at = used, time.Now()
	}
}

// Full returns the reason why the limit is reached; empty while it is not. The error reports that
// the space has not been known for too long.
func (w *DiskWatch) Full() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := time.Since(w.at); d > diskStale {
		return "", errors.Join(
			fmt.Errorf("how much disk the target's files take has not been known "+
				"for %v", d.Round(time.Second)),
			w.err,
		)
	}
	if w.used < int64(w.limit) {
		return "", nil
	}
	return fmt.Sprintf("the target's files take %.4g GiB, the limit is %v",
		float64(w.used)/(1<<30), w.limit), nil
}

// targetUse is diskUse with the data of servers whose user cannot reach dir: a link leads to them,
// see [lab.PrivateDir].
func targetUse(ctx context.Context, dir string) (int64, error) {
	used, err := diskUse(ctx, dir)
	if err != nil {
		return used, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return used, err
	}
	for _, e := range entries {
		to, ok := lab.Elsewhere(filepath.Join(dir, e.Name()))
		if !ok {
			continue // its data are here
		}
		more, err := diskUse(ctx, to)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return used, err
		}
		used += more
	}
	return used, nil
}

// diskUse returns the bytes on disk that the files below dir take. Files that go while it looks are
// left out.
func diskUse(ctx context.Context, dir string) (int64, error) {
	var used int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && path != dir {
				return nil
			}
			return err
		}
		fi, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			used += st.Blocks * 512
		} else {
			used += fi.Size()
		}
		return nil
	})
	return used, err
}
