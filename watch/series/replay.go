package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

// A layout lists the contents of a series directory.
type layout struct {
	blocks  []string // of a run that was closed
	empty   bool     // it was closed without a sample
	spans   int      // number of the last span, + 1
	logs    map[int]bool
	spilled map[int][]string // blocks by span
}

// survey lists a directory. A writer may change it meanwhile: it removes a log only when there is a
// block, so blocks are listed after logs.
func survey(dir string) (layout, error) {
	l := layout{logs: map[int]bool{}, spilled: map[int][]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		n, log := spanOfLog(e.Name())
		switch {
		case e.IsDir() && log:
			l.logs[n] = true
			l.spans = max(l.spans, n+1)
		case e.IsDir() && isULID(e.Name()):
			l.blocks = append(l.blocks, filepath.Join(dir, e.Name()))
		case e.Name() == emptyTag:
			l.empty = true
		}
	}
	spans, err := list(filepath.Join(dir, spillDir))
	if err != nil {
		return l, err
	}
	for _, s := range spans {
		n, ok := spanNumber(s.Name())
		if !ok {
			continue
		}
		l.spans = max(l.spans, n+1)
		blocks, err := list(filepath.Join(dir, spillDir, s.Name()))
		if err != nil {
			return l, err
		}
		for _, b := range blocks {
			if b.IsDir() && isULID(b.Name()) {
				l.spilled[n] = append(
					l.spilled[n],
					filepath.Join(dir, spillDir, s.Name(), b.Name()),
				)
			}
		}
	}
	return l, nil
}

// list is os.ReadDir, without an error for what is missing or no directory.
func list(dir string) ([]os.DirEntry, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return nil, nil
	}
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// overtaken reports whether later, of the same directory, has blocks that l has not: what was read
// since by l may have been removed meanwhile.
func (l layout) overtaken(later layout) bool {
	if !slices.Equal(l.blocks, later.blocks) || l.empty != later.empty {
		return true
	}
	for n, blocks := range later.spilled {
		if !slices.Equal(l.spilled[n], blocks) {
			return true
		}
	}
	return false
}

// replay reads the spans of a writer that never closed, or is at work: the block where there is
// one, else the log. The first thing that cannot be read is the damage, or an error if there is
// nothing else.
func (db *DB) replay(l layout) (err error) {
	if len(l.logs) > 0 {
		if db.sandbox, err = scratch(); err != nil {
			return err
		}
	}
	for n := range l.spans {
		lost, err := db.replaySpan(n, l)
		if db.damage == nil {
			db.damage = errors.Join(lost, err) // at most one of them
		}
	}
	if len(db.blocks) == 0 && len(db.spans) == 0 {
		return db.damage
	}
	return nil
}

// replaySpan reads one span. lost is the part of it that could not be read, err the reason why
// nothing of it could.
func (db *DB) replaySpan(n int, l layout) (lost, err error) {
	var bad error
	for _, dir := range l.spilled[n] {
		blk, err := openBlock(dir)
		if err == nil {
			db.blocks = append(db.blocks, blk)
			return nil, nil
		}
		bad = fmt.Errorf("block %s of a part of the run is damaged: %w", filepath.Base(dir), err)
	}
	if !l.logs[n] {
		if bad == nil {
			bad = fmt.Errorf("part %d of the run has neither a block nor a log", n)
		}
		return nil, bad
	}
	s, lost, err := db.replayLog(n)
	if err != nil {
		if bad != nil {
			err = fmt.Errorf("%w, and its log: %w", bad, err)
		}
		return nil, err
	}
	db.spans = append(db.spans, s)
	if lost == nil && s.empty() {
		lost = bad // the log was being removed
	}
	return lost, nil
}

// replayLog reads a span's log into a new head. lost is for the samples after the first record that
// could not be read.
//
// A head given a log reads it by itself, faster on many cores. But it writes each chunk that is
// full to a file below its directory and maps 128 MiB for it, panics in a goroutine of its own if
// that disk is full, and has to write the rest to be closed. Samples that are appended stay in
// memory, as a writer's do.
func (db *DB) replayLog(n int) (s *span, lost, err error) {
	segments, err := wlog.NewSegmentsReader(db.logDir(n))
	if err != nil {
		return nil, nil, err
	}
	defer segments.Close()
	options := headOptions(db.sandbox)
	options.IsolationDisabled = true // nothing is appended while it is queried
	head, err := tsdb.NewHead(nil, slog.New(slog.DiscardHandler), nil, nil, options, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := head.Init(math.MinInt64); err != nil {
		return nil, nil, errors.Join(err, head.Close())
	}
	return &span{n: n, head: head}, appendLog(head, wlog.NewReader(segments)), nil
}

// appendLog appends the records of a log to a head. The error is for the samples that it left out.
func appendLog(head *tsdb.Head, log *wlog.Reader) (lost error) {
	type known struct {
		ref  storage.SeriesRef // in the head
		lset labels.Labels
	}
	var (
		all     = map[chunks.HeadSeriesRef]*known{}
		dec     = record.NewDecoder(nil, slog.New(slog.DiscardHandler))
		series  []record.RefSeries
		samples []record.RefSample
		err     error
	)
	leave := func(ref chunks.HeadSeriesRef, why error) {
		if lost == nil {
			lost = fmt.Errorf("reading the log: a sample of series %d is left out: %w", ref, why)
		}
	}
	for err == nil && log.Next() {
		switch rec := log.Record(); dec.Type(rec) {
		case record.Series:
			series, err = dec.Series(rec, series[:0])
			for _, s := range series {
				all[s.Ref] = &known{lset: s.Labels}
			}
		case record.Samples, record.SamplesV2:
			samples, err = dec.Samples(rec, samples[:0])
			app := head.Appender(context.Background())
			for _, s := range samples {
				k := all[s.Ref]
				if k == nil {
					leave(s.Ref, errors.New("the log does not have the series"))
					continue
				}
				ref, refused := app.Append(k.ref, k.lset, s.T, s.V)
				if refused != nil {
					leave(s.Ref, refused)
					continue
				}
				k.ref = ref
			}
			if refused := app.Commit(); err == nil {
				err = refused
			}
		default: // a writer's log has no others
		}
	}
	if err == nil {
		err = log.Err()
	}
	if err != nil {
		// The records before the torn one are in the head.
		return fmt.Errorf("the log ends in a damaged record, samples after it are missing: %w", err)
	}
	return lost
}

// drop gives up the head of a reader. Without its samples it has no chunk to write to a file as it
// is closed.
func (s *span) drop() error {
	return errors.Join(s.head.Truncate(s.head.MaxTime()+1), s.head.Close())
}

// scratch makes the directory that heads insist on, with the one for chunks in it. They leave it
// empty.
func scratch() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "series-*"); err == nil {
		if err = os.Mkdir(filepath.Join(dir, headDir), 0o700); err != nil {
			_ = os.Remove(dir)
		}
	}
	if err != nil {
		return "", fmt.Errorf(
			"making a temporary directory in %s: %w; make room there, or set TMPDIR to another directory",
			os.TempDir(),
			err,
		)
	}
	return dir, nil
}
