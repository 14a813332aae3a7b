package workload

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// remember keeps the data of a message that the audit needs and reports whether there are now too many. The shard
// is locked.
func (l *Ledger) remember(c *ledgerChannel, m Message) (over bool) {
	if m.Reader != "" && len(c.readers) < mostReaders && !slices.Contains(c.readers, m.Reader) {
		c.readers = append(c.readers, m.Reader)
	}
	k := l.halving.Load()
	l.thinOut(c, k)
	if !l.sampled(m.ID, k) {
		return false
	}
	c.acked = append(c.acked, m.ID...)
	if m.Root != "" {
		c.acked = append(append(c.acked, 0), m.Root...) // ids may hold spaces
	}
	c.acked = append(c.acked, '\n')
	return l.kept.Add(1) > l.cap
}

// mostReaders is how many readers of a channel are kept: another one is tried when the session of the first is gone.
const mostReaders = 4

// cutLine returns the id and the root, or "", of a line of a channel's list: the id, for an answer a NUL and its
// root, a line feed.
func cutLine(line string) (id, root string) {
	id, root, _ = strings.Cut(line[:len(line)-1], "\x00")
	return id, root
}

// sampled reports whether an id belongs to the sample of one in two to the power of k.
func (l *Ledger) sampled(id string, k uint32) bool {
	h := 14695981039346656037 ^ l.salt // FNV-1a
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 32
	return h&(1<<k-1) == 0
}

// thinOut drops the ids of a channel that are not in the present sample. The shard is locked.
func (l *Ledger) thinOut(c *ledgerChannel, k uint32) {
	if c.halved == k {
		return
	}
	c.halved = k
	was := int64(bytes.Count(c.acked, []byte{'\n'}))
	var left []byte
	is := int64(0)
	for line := range strings.Lines(string(c.acked)) {
		if id, _ := cutLine(line); l.sampled(id, k) {
			left = append(left, line...)
			is++
		}
	}
	c.acked = left
	l.kept.Add(is - was)
}

// halve makes the sample half as large.
func (l *Ledger) halve() {
	l.thin.Lock()
	defer l.thin.Unlock()
	if l.kept.Load() <= l.cap {
		return // another goroutine did it
	}
	k := l.halving.Add(1)
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for _, c := range s.channels {
			l.thinOut(c, k)
		}
		s.mu.Unlock()
	}
}

// AckedMessages are messages of one channel that the server accepted; neither they nor the messages that they
// answer were deleted.
type AckedMessages struct {
	Channel string
	IDs     []string // in the order of their acknowledgment
	Readers []string // up to four, see Message.Reader; authors of messages of the channel
}

// Messages returns the acknowledged messages that should be readable, by channel, sorted by name, and the part
// of all messages that this is: 1, or a half, a quarter, ... when there were more than a million.
func (l *Ledger) Messages() (list []AckedMessages, part float64) {
	if l == nil {
		return nil, 1
	}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for _, c := range s.channels {
			l.thinOut(c, l.halving.Load())
			m := AckedMessages{Channel: c.name, Readers: slices.Clone(c.readers)}
			for line := range strings.Lines(string(c.acked)) {
				id, root := cutLine(line)
				_, gone := c.deleted[id]
				if !gone && root != "" {
					_, gone = c.deleted[root]
				}
				if !gone {
					m.IDs = append(m.IDs, id)
				}
			}
			if len(m.IDs) > 0 {
				list = append(list, m)
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b AckedMessages) int { return cmp.Compare(a.Channel, b.Channel) })
	return list, 1 / float64(uint64(1)<<l.halving.Load())
}
