package fleet

import (
	"slices"
	"sync"
	"time"
)

// keptFor is the shortest time for which a message is kept for readers who learn of its channel
// later: a link may be silent for twenty seconds before its report comes, and an event may come as
// late as the grace.
const keptFor = 30 * time.Second

// A relay passes accepted messages on to the links whose processes know their channel. The others
// have no event of them, and no user who should have one.
type relay struct {
	mu          sync.Mutex
	readers     map[string][]*link // by channel
	now, before map[string][]relayed
	turn        time.Time // when now becomes before
}

// relayed is a message that a later reader of its channel needs.
type relayed struct {
	message
	by *link
}

// take passes on the messages of a link's report, and passes to the link what others had in the
// channels that it knows from now on. Its own processes hear of each other without the coordinator.
func (r *relay) take(from *link, channels []string, acked []message, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readers == nil {
		r.readers = map[string][]*link{}
	}
	if !now.Before(r.turn) {
		r.turn = now.Add(keptFor)
		r.before, r.now = r.now, map[string][]relayed{}
	}
	for _, c := range channels {
		if slices.Contains(r.readers[c], from) {
			continue
		}
		r.readers[c] = append(r.readers[c], from)
		for _, m := range slices.Concat(r.before[c], r.now[c]) {
			if m.by != from {
				from.post(m.message)
			}
		}
	}
	for _, m := range acked {
		m.Root, m.Reader = "", "" // for the audit alone
		readers := r.readers[m.Channel]
		if len(readers) < from.of {
			r.now[m.Channel] = append(r.now[m.Channel], relayed{m, from})
		}
		for _, to := range readers {
			if to != from {
				to.post(m)
			}
		}
	}
}
