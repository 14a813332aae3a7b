package refchat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/reference/dataset"
	"plimsoll/reference/refchat"
)

// DefaultPassword is the password of all users unless Options set another. It is not a secret: it
// opens only accounts that were made for tests.
const DefaultPassword = "Password-1"

// Options of [Load]. The zero value is ready.
type Options struct {
	Password string // of all users; default DefaultPassword
	// The hash of the password, as the server takes it; default the server's own.
	Hash     string
	Workers  int            // connections that load at a time; default the number of CPUs
	Progress func(Progress) // called now and then, from several goroutines but one at a time
}

// Progress is the progress of a load.
type Progress struct {
	Phase     string // "counting", "schema", "rows", "indexes", "statistics"
	Done, All int64  // posts, rows or indexes
}

// A Result describes a finished load.
type Result struct {
	Rows    map[string]int64 `json:"rows"` // by table
	Bytes   int64            `json:"bytes"`
	Indexes int              `json:"indexes"`
	Load    time.Duration    `json:"load"`   // rows, without indexes
	Build   time.Duration    `json:"build"`  // indexes and keys
	Settle  time.Duration    `json:"settle"` // statistics for the planner
	// of the sessions that loaded; nothing of them stays
	Settings map[string]string `json:"settings"`
}

const loading = "loading"

// Load fills an empty database. An error leaves it empty again.
func Load(
	ctx context.Context,
	dsn string,
	p *dataset.Population,
	opt Options,
) (res Result, err error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.Password == "" {
		opt.Password = DefaultPassword
	}
	hash, err := refchat.HashPassword(opt.Hash, opt.Password)
	if err != nil {
		return res, err
	}
	db, err := open(ctx, dsn)
	if err != nil {
		return res, err
	}
	var telling sync.Mutex
	db.workers, db.tell = opt.Workers, func(phase string, done, all int64) {
		if opt.Progress != nil {
			telling.Lock()
			defer telling.Unlock()
			opt.Progress(Progress{phase, done, all})
		}
	}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx))) }()
	if err := db.empty(ctx); err != nil {
		return res, err
	}
	totals, err := p.Totals(ctx, opt.Workers, func(n int) {
		db.tell("counting", int64(n), int64(p.Spec().Posts))
	})
	if err != nil {
		return res, err
	}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
			defer cancel()
			if derr := db.drop(ctx); derr != nil {
				err = fmt.Errorf(
					"%w; the tables of the broken load could not be dropped, drop the database: %w",
					err,
					derr,
				)
			}
		}
	}()
	db.tell("schema", 0, 1)
	if err := refchat.Migrate(ctx, dsn); err != nil {
		return res, err
	}
	if err := db.mark(ctx, loading, ""); err != nil {
		return res, fmt.Errorf("marking the database: %w", err)
	}
	if res, err = db.fill(ctx, (&rows{p, totals, hash}).streams()); err != nil {
		return res, err
	}
	spec := p.Spec()
	return res, db.mark(ctx, refchat.SchemaVersion, spec.Name+" "+spec.Digest())
}

// fill loads rows into tables without indexes, and then makes the indexes and the statistics.
func (l *loader) fill(ctx context.Context, all []stream) (res Result, err error) {
	var tables []string
	for _, s := range all {
		if !slices.Contains(tables, s.table) {
			tables = append(tables, s.table)
		}
	}
	work, last, err := l.strip(ctx, l.db, tables)
	if err != nil {
		return res, fmt.Errorf("dropping the indexes: %w", err)
	}
	l.byWeight(work)
	began := time.Now()
	if res.Rows, res.Bytes, err = l.copyAll(ctx, all); err != nil {
		return res, err
	}
	res.Load = time.Since(began)
	began = time.Now()
	if res.Indexes, err = l.buildAll(ctx, work); err != nil {
		return res, err
	}
	res.Build = time.Since(began)
	began = time.Now()
	l.tell("statistics", 0, 1)
	if err := l.settle(ctx, tables, last); err != nil {
		return res, fmt.Errorf("collecting statistics: %w", err)
	}
	res.Settle = time.Since(began)
	res.Settings = l.settings
	return res, nil
}

// counter counts the bytes read through it.
type counter struct {
	r     io.Reader
	bytes *atomic.Int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// inParallel lets each worker take the next of n pieces of work with its own session; the first
// error stops all.
func (l *loader) inParallel(
	ctx context.Context, n int, do func(ctx context.Context, c *sql.Conn, i int) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(l.workers, n) {
		wg.Go(func() {
			c, err := l.db.Conn(ctx)
			if err != nil {
				cancel(fmt.Errorf("connecting: %w", err))
				return
			}
			defer c.Close()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, c, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (l *loader) copyAll(
	ctx context.Context, all []stream,
) (rows map[string]int64, size int64, err error) {
	var bytes, done, expected atomic.Int64
	for _, s := range all {
		expected.Add(s.rows)
	}
	rows = map[string]int64{}
	var mu sync.Mutex
	err = l.inParallel(ctx, len(all),
		func(ctx context.Context, c *sql.Conn, i int) error {
			s := all[i]
			n, err := l.copy(ctx, c, s, counter{s.open(), &bytes})
			if err != nil {
				return fmt.Errorf("loading table %s: %w", s.table, err)
			}
			mu.Lock()
			rows[s.table] += n
			mu.Unlock()
			l.tell("rows", done.Add(s.rows), expected.Load())
			return nil
		})
	return rows, bytes.Load(), err
}

// buildAll makes all indexes and returns how many.
func (l *loader) buildAll(ctx context.Context, work []build) (int, error) {
	indexes := 0
	for _, b := range work {
		indexes += b.indexes
	}
	var done atomic.Int64
	l.tell("indexes", 0, int64(indexes))
	return indexes, l.inParallel(ctx, len(work),
		func(ctx context.Context, c *sql.Conn, i int) error {
			for _, statement := range work[i].statements {
				if _, err := c.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("building %s: %w", work[i].name, err)
				}
			}
			l.tell("indexes", done.Add(int64(work[i].indexes)), int64(indexes))
			return nil
		})
}
