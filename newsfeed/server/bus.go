package server

import (
	"context"
	"fmt"
)

// Operations of the own bus.
const (
	busProduce = iota + 1
	busFetch
	busInfo
)

// mostFetched is how many records one fetch returns.
const mostFetched = 10000

// A Bus is a client of the own message bus: one topic of one partition. Safe for concurrent use.
type Bus struct{ ownStore }

// NewBus returns a client of the bus at an address; it connects when it has to.
func NewBus(addr string) *Bus {
	return &Bus{ownStore{newLink(addr), busInfo, []string{"records"}}}
}

// Produce appends records and returns the offset of the first. All of them are there when it
// returns nil; after an error they may be there, too. ctx needs a deadline.
func (b *Bus) Produce(ctx context.Context, records [][]byte) (offset int64, err error) {
	frame := appendInt(newFrame(nil, busProduce), int64(len(records)))
	for _, r := range records {
		frame = appendText(frame, r)
	}
	err = b.call(ctx, frame, func(f *fields) { offset = f.int() })
	return offset, err
}

// Fetch returns the records from an offset on, at most 10,000; none when there are no more yet. ctx
// needs a deadline.
func (b *Bus) Fetch(ctx context.Context, offset int64) (records [][]byte, err error) {
	err = b.call(ctx, appendInt(newFrame(nil, busFetch), offset), func(f *fields) {
		records = make([][]byte, f.count())
		for i := range records {
			records[i] = []byte(f.text())
		}
	})
	return records, err
}

// busEngine keeps the records in its journal, one batch per record of it.
type busEngine struct {
	kept
	places []busPlace // by offset
}

type busPlace struct {
	at int64
	n  int32
}

func newBusEngine(cfg StoreConfig) (*busEngine, error) {
	e := &busEngine{}
	var err error
	e.journal, err = openJournal(cfg, "bus.journal", e.take)
	return e, err
}

// take notes the places of a batch's records.
func (e *busEngine) take(at int64, batch []byte) error {
	f := &fields{b: batch}
	n := f.count()
	places := make([]busPlace, 0, n)
	for range n {
		r := f.bytes()
		places = append(places, busPlace{at + int64(len(batch)-len(f.b)-len(r)), int32(len(r))})
	}
	if err := f.end(); err != nil {
		return err
	}
	e.places = append(e.places, places...)
	return nil
}

func (e *busEngine) handle(op byte, f *fields, out []byte) ([]byte, error) {
	switch op {
	case busProduce:
		e.mu.Lock()
		defer e.mu.Unlock()
		if err := new(busEngine).take(0, f.b); err != nil {
			return out, err // before anything is written
		}
		at, err := e.append(f.b)
		if err != nil {
			return out, err
		}
		first := len(e.places)
		return appendInt(out, int64(first)), e.take(at, f.b)
	case busFetch:
		from := f.int()
		if err := f.end(); err != nil || from < 0 {
			return out, errFrame
		}
		e.mu.RLock()
		places := e.places[min(from, int64(len(e.places))):]
		e.mu.RUnlock()
		return e.fetch(places, out)
	case busInfo:
		e.mu.RLock()
		defer e.mu.RUnlock()
		records := fmt.Sprint(len(e.places))
		return e.describe(out, KindBus, map[string]string{"records": records}), nil
	}
	return out, errFrame
}

func (e *busEngine) fetch(places []busPlace, out []byte) ([]byte, error) {
	n, size := 0, 0
	for n < len(places) && n < mostFetched && size < mostFrame/2 {
		size += int(places[n].n)
		n++
	}
	out = appendInt(out, int64(n))
	for _, p := range places[:n] {
		b, err := e.readAt(p.at, int(p.n))
		if err != nil {
			return out, fmt.Errorf("reading a record: %w", err)
		}
		out = appendText(out, b)
	}
	return out, nil
}
