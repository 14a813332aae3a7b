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
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

// A layout is what lies in a series directory.
type layout struct {
	blocks  []string // of a run that was closed
	empty   bool     // it was closed without a sample
	spans   int      // number of the last span, + 1
	logs    map[int]bool
	spilled map[int][]string // blocks by span
}

// survey lists a directory. A writer may change it meanwhile: it removes a log only when there is a block, so blocks
// are listed after logs.
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
				l.spilled[n] = append(l.spilled[n], filepath.Join(dir, spillDir, s.Name(), b.Name()))
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

// overtaken reports whether later, of the same directory, has blocks that l has not: what was read since by l
// may have been removed meanwhile.
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

// replay reads the spans of a writer that never closed, or is at work: the block where there is one, else the log. The
// first thing that cannot be read is the damage, or an error if there is nothing else.
func (db *DB) replay(l layout) error {
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

// replaySpan reads one span. lost is the part of it that could not be read, err the reason why nothing of it could.
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

// replayLog reads a span's log into a new head. lost is for the samples after the first record that could not be read.
func (db *DB) replayLog(n int) (s *span, lost, err error) {
	var heard hearing
	listen := slog.New(&heard)
	log, err := wlog.Open(listen, db.logDir(n)) // opens no segment for writing
	if err != nil {
		return nil, nil, err
	}
	if db.sandbox == "" { // a head insists on a directory for chunks
		if db.sandbox, err = os.MkdirTemp("", "series-*"); err != nil {
			return nil, nil, err
		}
	}
	head, err := tsdb.NewHead(nil, listen, log, nil, headOptions(filepath.Join(db.sandbox, strconv.Itoa(n))), nil)
	if err != nil {
		return nil, nil, err
	}
	err = head.Init(math.MinInt64)
	if torn, ok := errors.AsType[*wlog.CorruptionErr](err); ok {
		// The records before the torn one are in the head.
		lost, err = fmt.Errorf("the log ends in a damaged record, samples after it are missing: %w", torn), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if lost == nil && heard.text != "" {
		lost = fmt.Errorf("reading the log: %s", heard.text)
	}
	return &span{n: n, head: head}, lost, nil
}

// hearing is a log handler that keeps the first complaint of the replay, which tsdb writes only to
// its log, and which a reader of the run needs.
type hearing struct{ text string }

func (h *hearing) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (h *hearing) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h *hearing) WithGroup(string) slog.Handler                { return h }

func (h *hearing) Handle(_ context.Context, r slog.Record) error {
	if h.text != "" {
		return nil
	}
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	})
	h.text = b.String()
	return nil
}
