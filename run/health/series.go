package health

import (
	"sync"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// A SeriesWatch notes that the series of a run are not moved to disk any more: the memory of the
// generator grows with the rest of the run.
type SeriesWatch struct {
	mu  sync.Mutex
	err error
}

// WatchSeries begins to watch a DB without samples. It writes an event at once: the run may not
// live to see its end.
func WatchSeries(db *series.DB, w *record.Writer, run *clock.Clock) *SeriesWatch {
	s := new(SeriesWatch)
	db.OnStuck(func(err error) {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		text := "series stay in memory: " + err.Error()
		_ = w.Event(record.Event{At: run.Now(), Kind: "error", Text: text})
	})
	return s
}

// Finding returns the finding of a run that has ended, if there is one.
func (s *SeriesWatch) Finding() []record.Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return []record.Finding{{Gate: "series", Level: record.Amber,
		Text: "the series of the rest of the run stayed in memory, which grew with its length; " +
			"none are missing: " + s.err.Error()}}
}
