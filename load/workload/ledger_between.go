package workload

import (
	"time"

	"plimsoll/load/measure"
)

// Between is the series of deliveries from authors on other hosts, whose clock is not the
// recipient's. Only agents on hosts have it: who leads them knows whether the times are good
// enough, and makes it a part of [Delivery] or not.
const Between = "delivery_between"

// Early counts deliveries that came before they were sent, by more than the two clocks may be off.
type Early struct {
	// From is [Message.From] of their authors.
	From  int   `json:"from"`
	Count int64 `json:"count"`
	// By is the lead of the worst one, and Within the possible error between its clocks.
	By     time.Duration `json:"by"`
	Within time.Duration `json:"within"`
}

// With returns the sum of two counts of the same authors, with the worse of their worst.
func (e Early) With(o Early) Early {
	n := e.Count + o.Count
	if o.By-o.Within > e.By-e.Within {
		e = o
	}
	e.Count = n
	return e
}

// delivered records that a user got a message at an instant of nanos. The shard is locked.
func (l *Ledger) delivered(e *ledgerMessage, rec *measure.Recorder, name measure.Name, at int64) {
	took := time.Duration(at - e.sent)
	if e.from != 0 {
		name = rec.Name(Between)
		if took < -e.within {
			early := Early{From: e.from, Count: 1, By: -took, Within: e.within}
			l.outbox.add(func(t *Traffic) { t.early(early) })
		}
	}
	rec.Since(name, l.due(e.sent), took)
}

func (t *Traffic) early(e Early) {
	for i, have := range t.Early {
		if have.From == e.From {
			t.Early[i] = have.With(e)
			return
		}
	}
	t.Early = append(t.Early, e)
}
