package server

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// wideTTL is how long a row lives: the 90 days of the reference.
const wideTTL = 90 * 24 * time.Hour

// mostRows is how many rows one read returns, the newest.
const mostRows = 1000

// Tables of wide rows.
const (
	outboundTable = iota
	inboundTable
)

// A story is one row of a participant's outbound or inbound.
type story struct {
	From           int64 // inbound only
	Occurred       time.Time
	Subject, Story string
}

// wideRows is the store of stories by participant: one row each in the sender's outbound and in
// every friend's inbound.
type wideRows interface {
	// Insert adds a row to the participant's partition; the store sets the time.
	Insert(ctx context.Context, table int, participant int64, row story) error
	// Read returns the newest rows of a partition, the newest first, at most mostRows.
	Read(ctx context.Context, table int, participant int64) ([]story, error)
	Describe(ctx context.Context) (StoreInfo, error)
	Close()
}

// Operations of the own wide-row store.
const (
	wideInsert = iota + 1
	wideRead
	wideInfo
)

// ownWide is the client of the own store.
type ownWide struct{ ownStore }

func newOwnWide(addr string) ownWide {
	return ownWide{ownStore{newLink(addr), wideInfo, []string{"outbound", "inbound"}}}
}

func (w ownWide) Insert(ctx context.Context, table int, participant int64, row story) error {
	b := newFrame(make([]byte, 0, 64+len(row.Subject)+len(row.Story)), wideInsert)
	b = appendInt(appendInt(appendInt(b, int64(table)), participant), row.From)
	return w.call(ctx, appendText(appendText(b, row.Subject), row.Story), nil)
}

func (w ownWide) Read(ctx context.Context, table int, participant int64) (rows []story, err error) {
	b := appendInt(appendInt(newFrame(nil, wideRead), int64(table)), participant)
	err = w.call(ctx, b, func(f *fields) {
		rows = make([]story, f.count())
		for i := range rows {
			rows[i] = story{
				Occurred: time.Unix(0, f.int()),
				From:     f.int(),
				Subject:  f.text(),
				Story:    f.text(),
			}
		}
	})
	return rows, err
}

// wideEngine keeps the rows in its journal and their places in memory.
type wideEngine struct {
	kept
	parts map[wideKey][]wideRow // in the order of their times
	last  int64                 // time of the newest row
	rows  map[int64]int64       // by table
}

type wideKey struct {
	table       int64
	participant int64
}

type wideRow struct {
	at   int64 // in the journal
	time int64
	n    int32
}

func newWideEngine(cfg StoreConfig) (*wideEngine, error) {
	w := &wideEngine{parts: map[wideKey][]wideRow{}, rows: map[int64]int64{}}
	oldest := time.Now().Add(-wideTTL).UnixNano()
	var err error
	w.journal, err = openJournal(cfg, "wide.journal", func(at int64, record []byte) error {
		f := &fields{b: record}
		key, when := wideKey{f.int(), f.int()}, f.int()
		if f.bad {
			return errFrame
		}
		w.last = max(w.last, when)
		if when > oldest {
			w.add(key, wideRow{at: at, time: when, n: int32(len(record))})
		}
		return nil
	})
	return w, err
}

func (w *wideEngine) add(k wideKey, r wideRow) {
	w.parts[k] = append(w.parts[k], r)
	w.rows[k.table]++
}

func (w *wideEngine) handle(op byte, f *fields, out []byte) ([]byte, error) {
	switch op {
	case wideInsert:
		key := wideKey{f.int(), f.int()}
		from := f.int()
		subject := f.bytes()
		text := f.bytes()
		if err := f.end(); err != nil {
			return out, err
		}
		return out, w.insert(key, from, subject, text)
	case wideRead:
		key := wideKey{f.int(), f.int()}
		if err := f.end(); err != nil {
			return out, err
		}
		return w.read(key, out)
	case wideInfo:
		w.mu.RLock()
		defer w.mu.RUnlock()
		return w.describe(out, KindWide, map[string]string{
			"outbound": fmt.Sprint(w.rows[outboundTable]),
			"inbound":  fmt.Sprint(w.rows[inboundTable]),
		}), nil
	}
	return out, errFrame
}

func (w *wideEngine) insert(key wideKey, from int64, subject, text []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	when := max(time.Now().UnixNano(), w.last+1) // no two rows of one time, as with time UUIDs
	record := appendInt(
		appendInt(appendInt(appendInt(nil, key.table), key.participant), when),
		from,
	)
	record = appendText(appendText(record, subject), text)
	at, err := w.append(record)
	if err != nil {
		return err
	}
	w.last = when
	w.add(key, wideRow{at: at, time: when, n: int32(len(record))})
	return nil
}

func (w *wideEngine) read(key wideKey, out []byte) ([]byte, error) {
	oldest := time.Now().Add(-wideTTL).UnixNano()
	w.mu.RLock()
	all := w.parts[key]
	live := slices.Clone(all[max(0, len(all)-mostRows):])
	w.mu.RUnlock()
	live = slices.DeleteFunc(live, func(r wideRow) bool { return r.time <= oldest })
	out = appendInt(out, int64(len(live)))
	for _, r := range slices.Backward(live) {
		b, err := w.readAt(r.at, int(r.n))
		if err != nil {
			return out, fmt.Errorf("reading a row: %w", err)
		}
		f := &fields{b: b}
		f.int()
		f.int()
		// time, sender, subject and story as they were written
		if out = append(out, f.b...); f.bad {
			return out, errFrame
		}
	}
	return out, nil
}
