package rig

import (
	"sync"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// A stuckWatch notes that the series of a run are not moved to disk any more: the memory of the generator grows with
// the rest of the run.
type stuckWatch struct {
	mu  sync.Mutex
	err error
}

// watchStuck begins to watch a DB without samples. What it notes is an event at once: the run may not live to see its
// end.
func watchStuck(db *series.DB, w *record.Writer, run *clock.Clock) *stuckWatch {
	s := new(stuckWatch)
	db.OnStuck(func(err error) {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		_ = w.Event(record.Event{At: run.Now(), Kind: "error", Text: "series stay in memory: " + err.Error()})
	})
	return s
}

// finding returns the finding of a run that has ended, if there is one.
func (s *stuckWatch) finding() []record.Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return []record.Finding{{Gate: "series", Level: record.Amber,
		Text: "the series of the rest of the run stayed in memory, which grew with its length; none are missing: " + s.err.Error()}}
}
