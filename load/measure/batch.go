package measure

import (
	"sync"
	"time"
)

// batchSize is the number of ops that are recorded under one lock, whose cost is more than that of
// recording one of them.
const batchSize = 32

// A Batch records ops for one goroutine and hands them to the registry in groups, because the lock
// is the dearest part of recording one. Its owner calls Flush or Close before it rests: an op is in
// no cut until then. A Batch takes 1.8 KiB; those that were closed are used again, so that owners
// who mostly rest share a few, which stay in the processor's caches. It is not safe for concurrent
// use.
type Batch struct {
	shard   *shard
	n       int
	entries [batchSize]entry
}

// entry is an op, or with lagOnly the lateness of an action, before it is counted.
type entry struct {
	due, lag, wait, service int64
	bytes                   int64
	name                    Name
	class                   Class
	scheduled, lagOnly      bool
}

func (e *entry) set(n Name, op *Op) {
	e.due = int64(op.Due)
	e.lag = int64(op.Due - op.Intended)
	e.wait = int64(op.Sent - op.Due)
	e.service = int64(op.Done - op.Sent)
	e.bytes = op.Bytes
	e.name = n
	e.class = op.Class
	e.scheduled = op.Scheduled
	e.lagOnly = false
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// Batch returns an empty batch of the recorder.
func (rec *Recorder) Batch() *Batch {
	b := batches.Get().(*Batch)
	b.shard = rec.shard
	return b
}

// Close flushes a batch that its owner will not use again.
func (b *Batch) Close() {
	b.Flush()
	batches.Put(b)
}

// Record counts op under n, at the latest with the next Flush.
func (b *Batch) Record(n Name, op *Op) {
	if b.n == batchSize {
		b.Flush()
	}
	b.entries[b.n].set(n, op)
	b.n++
}

// Lag is [Recorder.Lag], at the latest with the next Flush.
func (b *Batch) Lag(n Name, d time.Duration) {
	if b.n == batchSize {
		b.Flush()
	}
	b.entries[b.n] = entry{lag: int64(d), name: n, lagOnly: true}
	b.n++
}

// Flush counts the ops that are still held.
func (b *Batch) Flush() {
	if b.n == 0 {
		return
	}
	s := b.shard
	s.mu.Lock()
	cells, mark := s.cur[inTime], s.mark
	for i := range b.entries[:b.n] {
		e := &b.entries[i]
		if int(e.name) >= len(cells) || cells[e.name] == nil {
			s.cell(inTime, e.name)
			cells = s.cur[inTime]
		}
		switch {
		case e.lagOnly:
			cells[e.name].lag.add(e.lag)
		case e.due >= mark:
			cells[e.name].add(e)
		default:
			s.add(e)
		}
	}
	s.mu.Unlock()
	b.n = 0
}
