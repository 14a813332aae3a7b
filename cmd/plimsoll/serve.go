package main

import (
	"context"
	"flag"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/plain"
	"plimsoll/record"
	"plimsoll/series"
	"plimsoll/store"
)

// serve answers the Prometheus HTTP API over a run.
func (a *app) serve(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	id := fs.String("prometheus", "", "the `run` whose series are served by the Prometheus HTTP API: its id, a prefix of it, or its directory")
	listen := fs.String("listen", "127.0.0.1:9090", "`address` to listen at; others than the loopback device's let whoever reaches them read the run")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	if *id == "" {
		return usagef("say which run: serve -prometheus RUN")
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	r, err := st.Run(*id)
	if err != nil {
		return usageError{err}
	}
	f, err := follow(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		return err
	}
	defer f.close()
	if first, last, ok := f.db.Bounds(); ok {
		plain.Fprintf(a.stderr, "plimsoll: run %s, series from %s to %s\n", r.Manifest.ID, first.Format(time.RFC3339), last.Format(time.RFC3339))
	} else {
		plain.Fprintf(a.stderr, "plimsoll: run %s has no series\n", r.Manifest.ID)
	}
	if !f.db.Sealed() {
		plain.Fprintf(a.stderr, "plimsoll: the run was not closed: it was killed or is going on. Its log is read anew while it grows, at the cost of CPU time on this host; run -serve answers from the run itself\n")
	}
	if err := f.db.Damage(); err != nil {
		plain.Fprintf(a.stderr, "plimsoll: %v\n", err)
	}
	stop, err := a.servePrometheus(*listen, "-listen", series.QueryTimeout, f.source)
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	return nil
}

// A follower keeps the series of a run open, and opens them anew while another process writes them: a log can only be
// read from its beginning.
type follower struct {
	dir    string
	mu     sync.RWMutex // held for reading while a request is answered
	db     *series.DB
	opened time.Time
	took   time.Duration
}

// followPause is the least time between two readings of a log; one that takes long is read less often, so that it takes a
// tenth of a core at most.
const followPause = 5 * time.Second

func follow(dir string) (*follower, error) {
	f := &follower{dir: dir}
	return f, f.open()
}

func (f *follower) open() error {
	began := time.Now()
	db, err := series.Open(f.dir)
	if err != nil {
		return err
	}
	if f.db != nil {
		err = f.db.Close()
	}
	f.db, f.opened, f.took = db, time.Now(), time.Since(began)
	return err
}

func (f *follower) due() bool {
	return !f.db.Sealed() && time.Since(f.opened) >= max(followPause, 10*f.took)
}

// source is a promapi.Source.
func (f *follower) source() (*series.DB, func(), error) {
	f.mu.RLock()
	if !f.due() {
		return f.db, f.mu.RUnlock, nil
	}
	f.mu.RUnlock()
	f.mu.Lock()
	if f.due() {
		// At the moment in which the run is sealed, neither log nor block may be readable: the old state goes on.
		if f.open() != nil {
			f.opened = time.Now()
		}
	}
	f.mu.Unlock()
	f.mu.RLock()
	return f.db, f.mu.RUnlock, nil
}

func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.db.Close()
}
