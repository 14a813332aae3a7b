package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"
)

func headOptions(dir string) *tsdb.HeadOptions {
	o := tsdb.DefaultHeadOptions()
	o.ChunkDirRoot = dir
	o.ChunkRange = headSpan.Milliseconds()
	o.ChunkWriteQueueSize = 0 // no goroutine
	o.StripeSize = 1 << 12
	return o
}

// start makes the head and the log of a new directory.
func (db *DB) start() error {
	quiet := slog.New(slog.DiscardHandler)
	log, err := wlog.New(quiet, nil, filepath.Join(db.dir, walDir), compression.Snappy)
	if err != nil {
		return err
	}
	db.write.log = log
	db.head, err = tsdb.NewHead(nil, quiet, log, nil, headOptions(db.dir), nil)
	if err == nil {
		err = db.head.Init(math.MinInt64)
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	return nil
}

// seal writes the head into one block and then removes the log. The order matters: at every
// instant the directory holds the log, or the block, or both.
//
// The head itself is not closed: that would first write its chunks to a second place, and panic if
// the disk is full. It holds no file and no goroutine.
func (db *DB) seal() error {
	mint, maxt := db.head.MinTime(), db.head.MaxTime()
	var err error
	if mint <= maxt {
		err = db.writeBlock(mint, maxt)
	} else {
		err = os.WriteFile(filepath.Join(db.dir, emptyTag), []byte("this run recorded no series\n"), 0o600)
	}
	if err = errors.Join(err, db.write.log.Close()); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(db.dir, walDir)), os.RemoveAll(filepath.Join(db.dir, headDir)))
}

// writeBlock writes the head's samples from mint to maxt inclusive. The compactor writes under a
// temporary name, syncs, and renames.
func (db *DB) writeBlock(mint, maxt int64) error {
	c, err := tsdb.NewLeveledCompactor(context.Background(), nil, slog.New(slog.DiscardHandler), []int64{headSpan.Milliseconds()}, chunkenc.NewPool(), nil)
	if err != nil {
		return err
	}
	// +1: a block's end is exclusive.
	ids, err := c.Write(db.dir, tsdb.NewRangeHead(db.head, mint, maxt), mint, maxt+1, nil)
	if err == nil && len(ids) == 0 {
		err = errors.New("no block was written although there are samples")
	}
	return err
}

// replay reads the log of a writer that never closed into a new head.
func (db *DB) replay() error {
	var heard hearing
	listen := slog.New(&heard)
	log, err := wlog.Open(listen, filepath.Join(db.dir, walDir)) // opens no segment for writing
	if err != nil {
		return err
	}
	box, err := os.MkdirTemp("", "series-*") // a head insists on a directory for chunks
	if err != nil {
		return err
	}
	head, err := tsdb.NewHead(nil, listen, log, nil, headOptions(box), nil)
	if err == nil {
		err = head.Init(math.MinInt64)
		if torn, ok := errors.AsType[*wlog.CorruptionErr](err); ok {
			// The records before the torn one are in the head.
			db.damage, err = fmt.Errorf("the log ends in a damaged record, samples after it are missing: %w", torn), nil
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(box))
	}
	if db.damage == nil && heard.text != "" {
		db.damage = fmt.Errorf("reading the log: %s", heard.text)
	}
	db.head, db.sandbox = head, box
	return nil
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
