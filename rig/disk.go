package rig

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
	// diskEvery is the least time between two looks at the target's files.
	diskEvery = time.Second
	// diskStale is for how long the last look may be used.
	diskStale = 30 * time.Second
)

// A diskWatch knows how much disk the files of a target take, and since when. It looks in real time: the files are
// there while the target stands still, too.
type diskWatch struct {
	dir   string
	limit plan.DiskLimit
	mu    sync.Mutex
	used  int64
	at    time.Time // of the last look that succeeded
	err   error     // of the last look
}

// watchDisk begins to watch the files below dir. stop ends it.
func watchDisk(ctx context.Context, dir string, limit plan.DiskLimit) (w *diskWatch, stop func()) {
	w = &diskWatch{dir: dir, limit: limit, at: time.Now()}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			w.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(max(diskEvery, 20*time.Since(began))): // looking must not become a load of its own
			}
		}
	})
	return w, func() { cancel(); wg.Wait() }
}

func (w *diskWatch) look(ctx context.Context) {
	used, err := targetUse(ctx, w.dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.used, w.at = used, time.Now()
	}
}

// until is the stop rule of a trial.
func (w *diskWatch) until() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := time.Since(w.at); d > diskStale {
		return "", errors.Join(fmt.Errorf("how much disk the target's files take has not been known for %v", d.Round(time.Second)), w.err)
	}
	if w.used < int64(w.limit) {
		return "", nil
	}
	return fmt.Sprintf("the target's files take %.4g GiB, the limit is %v", float64(w.used)/(1<<30), w.limit), nil
}

// targetUse is diskUse with the data of servers whose user cannot reach dir: a link leads to them, see
// [lab.PrivateDir].
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

// diskUse returns how many bytes of disk the files below dir take. Files that go while it looks are left out.
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
