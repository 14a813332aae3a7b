package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A kept engine has its state in a journal, whose records one writer at a time appends.
type kept struct {
	mu sync.RWMutex
	*journal
}

// describe is the answer to the request for a description, with counts by name.
func (k *kept) describe(out []byte, kind string, settings map[string]string) []byte {
	settings["sync"], settings["bytes"] = k.sync.String(), fmt.Sprint(k.end)
	return appendInfo(out, kind, settings)
}

// A journal is the one file of an own store: records with length and checksum, only ever appended.
// The fragment of a last record that a kill left is cut off when the journal is opened. Its methods
// are for one goroutine at a time, but readAt and tick.
type journal struct {
	f     *os.File
	end   int64
	most  int64 // bytes; 0: no limit
	sync  time.Duration
	dirty atomic.Bool
	next  time.Time // of the next sync; of who calls tick
	buf   []byte
}

// journalHead is the length of a record's head: its length and its checksum.
const journalHead = 8

// openJournal opens or makes the file of a store and hands every record in it to replay, with its
// place.
func openJournal(
	cfg StoreConfig, name string, replay func(at int64, record []byte) error,
) (*journal, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(cfg.Dir, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	j := &journal{f: f, most: cfg.Most, sync: cfg.Sync}
	if err := j.replay(replay); err != nil {
		f.Close()
		return nil, fmt.Errorf("reading the journal %s: %w", f.Name(), err)
	}
	return j, nil
}

func (j *journal) replay(each func(at int64, record []byte) error) error {
	r := bufio.NewReaderSize(j.f, 1<<20)
	var head [journalHead]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return j.f.Truncate(j.end)
			}
			return err
		}
		n, sum := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
		if n > mostFrame {
			return j.f.Truncate(j.end)
		}
		if uint32(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(r, buf); err != nil && !errors.Is(err, io.EOF) &&
			!errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		} else if err != nil || crc32.ChecksumIEEE(buf) != sum {
			return j.f.Truncate(j.end)
		}
		if err := each(j.end+journalHead, buf); err != nil {
			return err
		}
		j.end += journalHead + int64(n)
	}
}

// append writes a record and returns its place. A record that cannot be written whole is not there.
func (j *journal) append(record []byte) (at int64, err error) {
	size := journalHead + int64(len(record))
	if j.most > 0 && j.end+size > j.most {
		return 0, errFull
	}
	j.buf = binary.LittleEndian.AppendUint32(j.buf[:0], uint32(len(record)))
	j.buf = binary.LittleEndian.AppendUint32(j.buf, crc32.ChecksumIEEE(record))
	j.buf = append(j.buf, record...)
	if _, err := j.f.WriteAt(j.buf, j.end); err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			err = errFull
		}
		return 0, errors.Join(err, j.f.Truncate(j.end))
	}
	if j.sync == 0 {
		if err := j.f.Sync(); err != nil {
			return 0, errors.Join(err, j.f.Truncate(j.end))
		}
	}
	at = j.end + journalHead
	j.end += size
	j.dirty.Store(j.sync > 0)
	return at, nil
}

// readAt reads n bytes of a record from its place. It is safe to call concurrently with all other
// methods.
func (j *journal) readAt(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := j.f.ReadAt(b, at)
	return b, err
}

// tick syncs appended records to disk if it is time, concurrently with the writers. It is for one
// goroutine.
func (j *journal) tick(now time.Time) error {
	if now.Before(j.next) || !j.dirty.Swap(false) {
		return nil
	}
	j.next = now.Add(j.sync)
	if err := j.f.Sync(); err != nil {
		return fmt.Errorf("forcing the journal to disk: %w", err)
	}
	return nil
}

func (j *journal) close() error { return errors.Join(j.f.Sync(), j.f.Close()) }
