package workload

import "plimsoll/load/measure"

// A ledgerWaiting is an event that came before the acknowledgment of its message.
type ledgerWaiting struct {
	rec  *measure.Recorder
	at   int64
	user int32
	name measure.Name
}

// ledgerLists are lists for events that wait. A message needs one for milliseconds and is
// remembered for half a minute: with lists of their own, all of thousands of messages would in time
// have one as large as the largest channel.
type ledgerLists struct {
	spare [][]ledgerWaiting
	room  int // of the spare ones together, in events
}

// Bounds of the memory that nobody uses, so that no exceptional message determines it. Lists are of
// a shard, the others of one message.
const (
	mostSpareLists = 256
	mostSpareRoom  = 1 << 16 // events, of 24 bytes
	firstRoom      = 16      // events
	mostAfter      = 32      // ledgerMessage.after
	mostPending    = 128     // bytes, ledgerMessage.pending
)

// wait keeps an event until the message is acknowledged. The shard is locked.
func (s *ledgerShard) wait(e *ledgerMessage, w ledgerWaiting) {
	if e.waiting == nil {
		e.waiting = s.lists.take()
	}
	e.waiting = append(e.waiting, w)
}

// waited gives up the events of a message that waited. The shard is locked.
func (s *ledgerShard) waited(e *ledgerMessage) {
	if e.waiting != nil {
		s.lists.give(e.waiting)
		e.waiting = nil
	}
}

// take returns an empty list: the one that was used last, which is the likeliest to have room
// enough.
func (p *ledgerLists) take() []ledgerWaiting {
	n := len(p.spare)
	if n == 0 {
		return make([]ledgerWaiting, 0, firstRoom)
	}
	list := p.spare[n-1]
	p.spare[n-1] = nil
	p.spare = p.spare[:n-1]
	p.room -= cap(list)
	return list
}

// give takes a list back, unless there are enough.
func (p *ledgerLists) give(list []ledgerWaiting) {
	if len(p.spare) == mostSpareLists || p.room+cap(list) > mostSpareRoom {
		return
	}
	clear(list) // the recorders
	p.spare = append(p.spare, list[:0])
	p.room += cap(list)
}

// emptied returns a list without its elements for the next message, which gets its room if that is
// not for more than most.
func emptied[T any](list []T, most int) []T {
	if cap(list) > most {
		return nil
	}
	return list[:0]
}
