package workload

import (
	"cmp"
	"math"
	"slices"
)

// remember keeps the data of a message that the audit needs. The shard is locked.
func (l *Ledger) remember(s *ledgerShard, c *ledgerChannel, m Message) {
	if l.outbox != nil {
		return // the ledger that gathers does
	}
	if m.Reader != "" && len(c.readers) < mostReaders && !slices.Contains(c.readers, m.Reader) {
		c.readers = append(c.readers, m.Reader)
	}
	l.spool.add(s, c, m.ID, m.Root)
}

// mostReaders is the largest number of readers of a channel that are kept: another one is tried
// when the session of the first is gone.
const mostReaders = 4

// AckedMessages are messages of one channel that the server accepted; neither they nor the messages
// that they answer were deleted.
type AckedMessages struct {
	Channel string
	IDs     []string // in the order of their acknowledgment
	Readers []string // up to four, see Message.Reader; authors of messages of the channel
}

// Messages returns the acknowledged messages that should be readable, by channel, sorted by name,
// and the part of all messages that this is: 1, or a half, a quarter, ... when there were more than
// a million. It is smaller by those that the disk did not give back.
func (l *Ledger) Messages() (list []AckedMessages, part float64) {
	if l == nil {
		return nil, 1
	}
	v := l.spool.view()
	ids, read := make([][]string, len(v.channels)), int64(0)
	for r := range v.records() {
		read++
		if !v.channels[r.channel].gone(r.id, r.root) {
			ids[r.channel] = append(ids[r.channel], string(r.id))
		}
	}
	for i, of := range v.channels {
		if len(ids[i]) > 0 {
			list = append(list, AckedMessages{
				Channel: of.channel.name,
				IDs:     ids[i],
				Readers: of.readers(),
			})
		}
	}
	slices.SortFunc(list, func(a, b AckedMessages) int { return cmp.Compare(a.Channel, b.Channel) })
	if part = math.Ldexp(1, -v.k); read < v.size {
		part *= float64(read) / float64(v.size)
	}
	return list, part
}

// A spooledChannel is a channel of a ledger that has messages in its spool.
type spooledChannel struct {
	shard   *ledgerShard
	channel *ledgerChannel
}

// gone reports whether a message, or the one that it answers, was deleted.
func (of spooledChannel) gone(id, root []byte) bool {
	of.shard.mu.Lock()
	defer of.shard.mu.Unlock()
	_, gone := of.channel.deleted[string(id)]
	if !gone && len(root) > 0 {
		_, gone = of.channel.deleted[string(root)]
	}
	return gone
}

func (of spooledChannel) readers() []string {
	of.shard.mu.Lock()
	defer of.shard.mu.Unlock()
	return slices.Clone(of.channel.readers)
}
