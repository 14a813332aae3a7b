package series

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

func headOptions(dir string) *tsdb.HeadOptions {
	o := tsdb.DefaultHeadOptions()
	o.ChunkDirRoot = dir
	o.ChunkRange = headSpan.Milliseconds()
	o.ChunkWriteQueueSize = 0 // no goroutine
	o.StripeSize = 1 << 12
	return o
}

// seal makes one block of the whole run and then removes the logs and the blocks of spans. The
// order matters: at every instant each span is in its log, or in a block of its own, or in the
// block of the run.
//
// The heads are not closed: that would first write their chunks to a second place, and panic if the
// disk is full. They hold no file that is written, and no goroutine.
func (db *DB) seal() error {
	w := db.write
	w.cuts.Wait()
	var err error
	switch {
	case len(db.blocks) > 0 || len(db.spans) > 1:
		err = db.join()
	case !w.now.empty():
		_, err = writeBlock(w.now.head, db.dir)
	default:
		err = os.WriteFile(
			filepath.Join(db.dir, emptyTag),
			[]byte("this run recorded no series\n"),
			0o600,
		)
	}
	for _, s := range db.spans {
		err = errors.Join(err, s.log.Close())
	}
	if err != nil {
		return errors.Join(err, w.failure)
	}
	for n := range w.now.n + 1 {
		err = errors.Join(err, os.RemoveAll(db.logDir(n)))
	}
	return errors.Join(
		err,
		os.RemoveAll(filepath.Join(db.dir, headDir)),
		os.RemoveAll(filepath.Join(db.dir, spillDir)),
	)
}

// join writes the spans that are in memory into blocks, and makes one of all blocks.
func (db *DB) join() error {
	for _, s := range db.spans {
		if s.empty() {
			continue
		}
		dir, err := writeBlock(s.head, db.blockDir(s.n))
		if err != nil {
			return err
		}
		blk, err := openBlock(dir)
		if err != nil {
			return err
		}
		db.blocks = append(db.blocks, blk)
	}
	slices.SortStableFunc(db.blocks, func(a, b *tsdb.Block) int {
		return cmp.Compare(a.MinTime(), b.MinTime())
	})
	var dirs []string
	for _, b := range db.blocks {
		dirs = append(dirs, b.Dir())
	}
	c, err := compactor()
	if err != nil {
		return err
	}
	ids, err := c.Compact(db.dir, dirs, db.blocks)
	if err == nil && len(ids) == 0 {
		err = errNoBlock
	}
	return err
}

var errNoBlock = errors.New("no block was written although there are samples")

// writeBlock writes all samples of a head into a new block below dest and returns its directory.
// The compactor writes under a temporary name, syncs, and renames.
func writeBlock(head *tsdb.Head, dest string) (dir string, err error) {
	c, err := compactor()
	if err != nil {
		return "", err
	}
	mint, maxt := head.MinTime(), head.MaxTime()
	// +1: a block's end is exclusive.
	ids, err := c.Write(dest, tsdb.NewRangeHead(head, mint, maxt), mint, maxt+1, nil)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", errNoBlock
	}
	return filepath.Join(dest, ids[0].String()), nil
}

func compactor() (*tsdb.LeveledCompactor, error) {
	return tsdb.NewLeveledCompactor(
		context.Background(),
		nil,
		slog.New(slog.DiscardHandler),
		[]int64{headSpan.Milliseconds()},
		chunkenc.NewPool(),
		nil,
	)
}
