package workload

import (
	"hash/maphash"
	"sync"
	"time"

	"plimsoll/measure"
)

// Deliveries pairs each post with the events that announce it to others. It is safe for concurrent use.
//
// The author's side calls Sent with the post's id and the instant at which its request was sent; each recipient
// calls Received with the id and the instant at which its connection read the event. A delivery is recorded as
// soon as both are known, in either order. Entries are forgotten after Keep; a post that was acknowledged is
// counted by the ledger of what should have arrived elsewhere, not here.
type Deliveries struct {
	seed   maphash.Seed
	keep   time.Duration
	shards [16]deliveryShard
}

type deliveryShard struct {
	mu    sync.Mutex
	posts map[string]*delivery
	sweep time.Time
}

type delivery struct {
	sent    time.Time // zero while only events were seen
	born    time.Time
	waiting []waiting
}

type waiting struct {
	rec  *measure.Recorder
	name measure.Name
	at   time.Time
}

// NewDeliveries returns an empty register that keeps a post for at least keep (30 s if keep is 0).
func NewDeliveries(keep time.Duration) *Deliveries {
	if keep <= 0 {
		keep = 30 * time.Second
	}
	d := &Deliveries{seed: maphash.MakeSeed(), keep: keep}
	for i := range d.shards {
		d.shards[i].posts = map[string]*delivery{}
	}
	return d
}

// Sent says that the post with this id was sent at this instant and accepted by the server.
func (d *Deliveries) Sent(id string, sent time.Time) {
	s := d.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(id, sent, d.keep)
	e.sent = sent
	for _, w := range e.waiting {
		w.rec.Value(w.name, w.at.Sub(sent))
	}
	e.waiting = nil
}

// Received says that a user other than the author read the event of post id at this instant; the delivery is
// recorded with rec under name.
func (d *Deliveries) Received(id []byte, at time.Time, rec *measure.Recorder, name measure.Name) {
	s := &d.shards[maphash.Bytes(d.seed, id)%uint64(len(d.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.posts[string(id)]; e != nil && !e.sent.IsZero() {
		rec.Value(name, at.Sub(e.sent))
		return
	}
	e := s.entry(string(id), at, d.keep)
	e.waiting = append(e.waiting, waiting{rec, name, at})
}

func (d *Deliveries) shard(id string) *deliveryShard {
	return &d.shards[maphash.String(d.seed, id)%uint64(len(d.shards))]
}

func (s *deliveryShard) entry(id string, now time.Time, keep time.Duration) *delivery {
	if now.After(s.sweep) {
		for k, e := range s.posts {
			if now.Sub(e.born) > keep {
				delete(s.posts, k)
			}
		}
		s.sweep = now.Add(keep / 4)
	}
	e := s.posts[id]
	if e == nil {
		e = &delivery{born: now}
		s.posts[id] = e
	}
	return e
}
