package series

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"
)

const (
	// cutEvery is the sample time after which a writer begins a new span.
	cutEvery = 10 * time.Minute
	// cutTries limits the cuts in a row that fail. After that the rest of the run stays in memory.
	cutTries = 3
	// spillDir holds the blocks of a run that goes on, each in a directory with the number of its
	// span.
	spillDir = "spilled"
)

// A span holds what was appended between two cuts: a head in memory with a log of its own. Spans
// are numbered from 0. The last one of a writer takes the appends; one before it has no appends any
// more and waits for its block, after which memory and log are given up.
//
// tsdb truncates one head instead. A head refuses whatever is older than its truncation, and loses
// what comes in between the block and the truncation: but a source may be read only after the run
// (the telemetry of a service), and time has to move forward for each series alone. A new head
// takes samples of any time.
type span struct {
	n    int
	head *tsdb.Head
	log  *wlog.WL // of a writer
}

// empty reports whether the span has no sample.
func (s *span) empty() bool { return s.head.MinTime() > s.head.MaxTime() }

// logDir is the directory of a span's log.
func (db *DB) logDir(n int) string {
	if n == 0 {
		return filepath.Join(db.dir, walDir)
	}
	return filepath.Join(db.dir, fmt.Sprintf("%s-%04d", walDir, n))
}

// spanOfLog is the reverse of logDir for the name of an entry.
func spanOfLog(name string) (n int, ok bool) {
	if name == walDir {
		return 0, true
	}
	digits, ok := strings.CutPrefix(name, walDir+"-")
	if !ok {
		return 0, false
	}
	n, ok = spanNumber(digits)
	return n, ok && n > 0
}

// spanNumber parses the number of a span: more than any run has would be a stranger's.
func spanNumber(digits string) (n int, ok bool) {
	u, err := strconv.ParseUint(digits, 10, 16)
	return int(u), err == nil
}

// blockDir is the directory in which a span's block is written.
func (db *DB) blockDir(n int) string {
	return filepath.Join(db.dir, spillDir, fmt.Sprintf("%04d", n))
}

// newSpan makes head and log of a span. All heads have one directory for chunks: a writer's head
// leaves it empty.
func (db *DB) newSpan(n int) (*span, error) {
	quiet := slog.New(slog.DiscardHandler)
	log, err := wlog.New(quiet, nil, db.logDir(n), compression.Snappy)
	if err != nil {
		return nil, err
	}
	head, err := tsdb.NewHead(nil, quiet, log, nil, headOptions(db.dir), nil)
	if err == nil {
		err = head.Init(math.MinInt64)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &span{n: n, head: head, log: log}, nil
}

// cut has a new span begun when a batch at ms is past the next cut. The caller holds w.mu, and
// batches are appended while the span before is written. What is older than the cut goes into the
// new span and is no reason for a cut.
func (db *DB) cut(w *writer, ms int64) {
	switch {
	case w.due == 0:
		w.due = ms + w.every.Milliseconds()
	case ms >= w.due && !w.cutting && w.failed < cutTries:
		w.due = ms + w.every.Milliseconds()
		w.cutting = true
		w.cuts.Go(func() {
			if err := db.cutOnce(w); err != nil && w.stuck != nil {
				w.stuck(err)
			}
		})
	}
}

// cutOnce spills. It returns the reason if that has failed so often that it is not tried any more.
func (db *DB) cutOnce(w *writer) error {
	err := db.spill(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutting = false
	if w.failure = err; err == nil {
		w.failed = 0
		return nil
	}
	if w.failed++; w.failed < cutTries {
		return nil
	}
	return fmt.Errorf("moving the series of %v to disk, %d attempts: %w", w.every, w.failed, err)
}

// OnStuck makes the DB call f once when it gives up moving the series of a run that goes on from
// memory to disk: the rest of the run stays in memory until Close, and in its log. err has the
// reason of the last attempt. f is called from a goroutine for which Close waits. OnStuck is called
// before the first Append.
func (db *DB) OnStuck(f func(err error)) { db.write.stuck = f }

// spill begins a new span and writes the one before it into a block, or tries again to write the
// one that waits. Only one goroutine spills at a time. After an error everything that was stored is
// where it was, in memory and in a log.
func (db *DB) spill(w *writer) error {
	old := db.waiting()
	if old == nil {
		// What can be known to fail fails before there is a second span.
		if err := os.MkdirAll(db.blockDir(w.now.n), 0o700); err != nil {
			return err
		}
		next, err := db.newSpan(w.now.n + 1)
		if err != nil {
			return errors.Join(err, os.RemoveAll(db.logDir(w.now.n+1)))
		}
		old = db.begun(w, next)
	}
	dir, err := writeBlock(old.head, db.blockDir(old.n))
	if err != nil {
		return err
	}
	blk, err := openBlock(dir)
	if err == nil {
		err = errors.Join(syncDir(filepath.Join(db.dir, spillDir)), syncDir(db.dir))
		if err != nil {
			err = errors.Join(err, blk.Close())
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	db.parts.Lock()
	db.blocks = append(db.blocks, blk)
	db.spans = slices.Delete(db.spans, 0, 1) // queries that began before have the head still
	db.parts.Unlock()
	// The block has everything: a log that is left costs room until Close, and nothing else.
	_ = old.log.Close()
	_ = os.RemoveAll(db.logDir(old.n))
	return nil
}

// waiting returns the span of a writer that has been cut off and is in no block yet, or nil.
func (db *DB) waiting() *span {
	db.parts.RLock()
	defer db.parts.RUnlock()
	if len(db.spans) < 2 {
		return nil
	}
	return db.spans[0]
}

// begun makes next the span that takes the appends, and returns the one that took them until now.
func (db *DB) begun(w *writer, next *span) *span {
	w.mu.Lock()
	defer w.mu.Unlock()
	db.parts.Lock()
	defer db.parts.Unlock()
	db.spans = append(db.spans, next)
	old := w.now
	w.now = next
	return old
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
