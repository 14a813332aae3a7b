package series

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Limits of one DB. They protect the tool from a target that exposes too much, and a reader from a
// query that is too large.
const (
	// MaxSeries is the largest number of different series one directory accepts. Each costs about
	// 1.8 KB of memory, and for a moment at each cut twice that.
	MaxSeries = 150_000
	// MaxScraped is the largest number of those that come from [DB.AppendText]: pages that a target
	// writes leave room for the probes of this tool.
	MaxScraped = 100_000
	// MaxSourceSeries and MaxSourceBytes are the largest number of different series, and of bytes
	// in their labels, that one source may expose in a run. A source is the set of AppendText calls
	// with one set of extra labels.
	MaxSourceSeries = 50_000
	MaxSourceBytes  = 16 << 20
	// MaxSamples is the largest number of samples of one exposition.
	MaxSamples = 50_000
	// MaxLabels and MaxLabelBytes are the largest number of labels of one series, and of bytes in
	// their names and values together, the metric's name included.
	MaxLabels     = 64
	MaxLabelBytes = 4096
	// MaxPoints is the largest number of steps of one [DB.Range] query, as in Prometheus.
	MaxPoints = 11_000
	// MaxQuerySamples is the largest number of samples a query may hold in memory at once, and of
	// points that it may evaluate for one series: a query of that size takes about 500 MB.
	MaxQuerySamples = 10_000_000
	// QueryTimeout ends a query whose context has no earlier deadline.
	QueryTimeout = 30 * time.Second
	// Lookback is the time for which a sample answers instant queries.
	Lookback = 10 * time.Second
)

var (
	// ErrReadOnly is returned by Append and AppendText of a DB that came from Open.
	ErrReadOnly = errors.New("series directory is open for reading only")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("series directory is closed")
)

// headSpan is the time span the in-memory head may cover before tsdb would cut it into several
// blocks. A run must end as one block, so the span is longer than any run.
const headSpan = 5 * 365 * 24 * time.Hour

// tsdb.DB is not used on purpose, only its head: the DB's background goroutine panics when a disk
// is full, cuts a block every two hours and deletes old ones. What the head holds, compressed to
// about four bytes a sample, index included, is moved out of memory every ten minutes: see span.
const (
	walDir   = "wal"
	headDir  = "chunks_head"
	emptyTag = "empty" // written by Close when there was no sample to put into a block
)

// DB is one directory of series. All methods may be called from several goroutines at once;
// appends are carried out one after the other. The zero value is not usable.
type DB struct {
	dir     string
	sealed  bool
	sandbox string  // empty directory of replayed heads, removed by Close
	damage  error   // the first part of a killed writer's data that the replay could not read
	write   *writer // nil for a reader
	engine  *promql.Engine
	tap     func(time.Time, int, iter.Seq2[labels.Labels, float64])

	// guards what follows, which a writer changes at a cut; locked after writer.mu
	parts sync.RWMutex
	// of the writer, or replayed from a killed writer's logs; oldest first, none when sealed
	spans  []*span
	blocks []*tsdb.Block // sealed data, or the spans that are no longer in memory

	life   sync.RWMutex // held for reading by every call, for writing by Close
	closed bool
}

// Create makes dir (its parent must exist or be creatable) and opens it for writing. It refuses a
// directory that holds anything, so that two runs never share one.
func Create(dir string) (*DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating series directory: %w", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("creating series directory: %w", err)
	}
	if len(names) > 0 {
		return nil, fmt.Errorf(
			"creating series directory %s: it is not empty (found %q); choose a new directory",
			dir,
			names[0].Name(),
		)
	}
	db := &DB{dir: dir, write: newWriter(), engine: newEngine()}
	first, err := db.newSpan(0)
	if err != nil {
		return nil, fmt.Errorf("creating series directory %s: %w", dir, err)
	}
	db.write.now, db.spans = first, []*span{first}
	return db, nil
}

// Open opens dir for reading. A sealed directory is read in place. For one whose writer was killed,
// or is at work, what is in no block yet is replayed from the log into memory; [DB.Damage] reports
// what is missing, such as the log's torn end. Open never changes dir.
func Open(dir string) (*DB, error) {
	// a writer that is at work gets in the way once in ten minutes, and when it closes
	const tries = 5
	for try := 1; ; try++ {
		l, err := survey(dir)
		if err != nil {
			return nil, fmt.Errorf("opening series directory: %w", err)
		}
		db, err := openLayout(dir, l)
		if err != nil {
			err = fmt.Errorf("opening series directory %s: %w", dir, err)
		}
		if later, failed := survey(dir); failed != nil || !l.overtaken(later) || try == tries {
			return db, err
		}
		if err == nil {
			_ = db.Close()
		}
	}
}

func openLayout(dir string, l layout) (*DB, error) {
	db := &DB{dir: dir, engine: newEngine()}
	switch {
	case len(l.blocks) > 0:
		// Close writes the block under a temporary name and renames it, so a block holds all of
		// the run even if a log still lies beside it.
		db.sealed = true
		for _, b := range l.blocks {
			blk, err := openBlock(b)
			if err != nil {
				db.Close()
				return nil, fmt.Errorf(
					"block %s is damaged: %w; the series of this run are lost unless a copy exists",
					filepath.Base(b),
					err,
				)
			}
			db.blocks = append(db.blocks, blk)
		}
	case l.spans > 0:
		if err := db.replay(l); err != nil {
			db.Close()
			return nil, fmt.Errorf("replaying the log of a run that was not closed: %w", err)
		}
	case l.empty:
		db.sealed = true
	default:
		return nil, errors.New(
			"it holds neither a block nor a log, so it is not a series directory or its block was removed",
		)
	}
	return db, nil
}

// isULID reports whether name has the form of a block directory's name.
func isULID(name string) bool {
	return len(name) == 26 && strings.Trim(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// openBlock opens one block and checks that its index can be read. tsdb panics at some damaged
// files.
func openBlock(dir string) (blk *tsdb.Block, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a file of it is cut short: %v", v)
		}
	}()
	blk, err = tsdb.OpenBlock(nil, dir, chunkenc.NewPool(), nil)
	if err != nil {
		return nil, err
	}
	q, err := tsdb.NewBlockQuerier(blk, math.MinInt64, math.MaxInt64)
	if err == nil {
		_, _, err = q.LabelValues(context.Background(), nameLabel, nil)
		err = errors.Join(err, q.Close())
	}
	if err != nil {
		return nil, errors.Join(err, blk.Close())
	}
	return blk, nil
}

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples:               MaxQuerySamples,
		Timeout:                  QueryTimeout,
		LookbackDelta:            Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return interval.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		Parser:                   parser.NewParser(parser.Options{}),
	})
}

// Tap makes the DB call f with every batch once it is stored, in order: its time (in milliseconds),
// how many samples, and each of them. f is called within Append, must not block, and must not keep
// the sequence; it may keep labels. Tap is called before the first Append.
func (db *DB) Tap(f func(t time.Time, n int, samples iter.Seq2[labels.Labels, float64])) {
	db.tap = f
}

// Dir returns the directory the DB was opened with.
func (db *DB) Dir() string { return db.dir }

// Sealed reports whether the run was closed in order: its data came from its block, not from what
// a killed writer left. A DB from Create is not sealed.
func (db *DB) Sealed() bool { return db.sealed }

// Damage returns nil, or an error for the samples that reading what a killed writer left had to
// leave out: everything after the first record of a log that could not be read, or a part of the
// run whose block is damaged and whose log is gone.
func (db *DB) Damage() error { return db.damage }

// Bounds returns the times of the first and the last sample. ok is false when there is none.
func (db *DB) Bounds() (first, last time.Time, ok bool) {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return first, last, false
	}
	return db.bounds()
}

func (db *DB) bounds() (first, last time.Time, ok bool) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	db.parts.RLock()
	defer db.parts.RUnlock()
	for _, s := range db.spans {
		lo, hi = min(lo, s.head.MinTime()), max(hi, s.head.MaxTime())
	}
	for _, b := range db.blocks {
		lo, hi = min(lo, b.MinTime()), max(hi, b.MaxTime()-1) // a block's end is exclusive
	}
	if lo > hi {
		return first, last, false
	}
	return time.UnixMilli(lo).UTC(), time.UnixMilli(hi).UTC(), true
}

// Querier lets promql read the DB. It satisfies storage.Queryable of Prometheus, for an HTTP API
// in front of a run. The caller closes the querier before the DB.
func (db *DB) Querier(mint, maxt int64) (storage.Querier, error) {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return nil, ErrClosed
	}
	return db.querier(mint, maxt)
}

// querier reads the blocks and heads of this moment. A cut moves a head into a block, and does so
// between two queriers: each has every sample once.
func (db *DB) querier(mint, maxt int64) (_ storage.Querier, err error) {
	db.parts.RLock()
	defer db.parts.RUnlock()
	var qs []storage.Querier
	add := func(b tsdb.BlockReader, mint, maxt int64) {
		if err != nil {
			return
		}
		var q storage.Querier
		if q, err = tsdb.NewBlockQuerier(b, mint, maxt); err == nil {
			qs = append(qs, q)
		}
	}
	for _, b := range db.blocks {
		if db.sealed || b.OverlapsClosedInterval(mint, maxt) {
			add(b, mint, maxt)
		}
	}
	for _, s := range db.spans {
		if lo, hi := max(mint, s.head.MinTime()), min(maxt, s.head.MaxTime()); lo <= hi {
			add(tsdb.NewRangeHead(s.head, lo, hi), lo, hi)
		}
	}
	if err != nil {
		for _, q := range qs {
			err = errors.Join(err, q.Close())
		}
		return nil, err
	}
	return storage.NewMergeQuerier(qs, nil, storage.ChainedSeriesMerge), nil
}

// Close ends the use of the DB. For a DB from Create it first writes everything into one block and
// then removes the log; if writing the block fails (a full disk), the log and the blocks of cuts
// stay, and Open can still read them. Close waits for calls that are under way. A second Close does
// nothing.
func (db *DB) Close() error {
	db.life.Lock()
	defer db.life.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	var errs []error
	if db.write != nil {
		if err := db.seal(); err != nil {
			errs = append(errs, fmt.Errorf(
				"sealing series directory %s: %w; the log is kept and can be read",
				db.dir,
				err,
			))
		}
	}
	for _, b := range db.blocks {
		errs = append(errs, b.Close())
	}
	if db.write == nil {
		for _, s := range db.spans {
			errs = append(errs, s.drop())
		}
	}
	if db.sandbox != "" {
		errs = append(errs, os.RemoveAll(db.sandbox))
	}
	return errors.Join(errs...)
}
