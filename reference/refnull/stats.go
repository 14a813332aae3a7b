package refnull

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const mostTook = 1 << 20

// A tally holds the times that delayed requests took.
type tally struct {
	mu    sync.Mutex
	times []time.Duration
	more  int64 // that found no room
}

func (t *tally) add(d time.Duration) {
	t.mu.Lock()
	if len(t.times) < mostTook {
		t.times = append(t.times, d)
	} else {
		t.more++
	}
	t.mu.Unlock()
}

// strange counts the paths that the table does not have, with ids replaced by stars.
type strange struct {
	mu    sync.Mutex
	paths map[string]int64
}

func (x *strange) add(path string) {
	x.mu.Lock()
	if x.paths == nil {
		x.paths = map[string]int64{}
	}
	if _, known := x.paths[path]; known || len(x.paths) < 1000 {
		x.paths[path]++
	}
	x.mu.Unlock()
}

// Stats holds the counts of a server since it began, or since the last reset. Times are seconds.
type Stats struct {
	Requests    int64            `json:"requests"`
	Posts       int64            `json:"posts"`       // that were accepted
	Connections int64            `json:"connections"` // accepted
	Sockets     int              `json:"websockets"`  // open now
	Pushed      int64            `json:"pushed"`      // events to WebSockets, hello left out
	Unknown     map[string]int64 `json:"unknown,omitempty"`
	// of delayed requests: count, min, p50, p90, p99, p99.9, max
	Took map[string]float64 `json:"took,omitempty"`
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	st := Stats{
		Requests:    s.requests.Load(),
		Posts:       s.posts.Load(),
		Connections: s.accepted.Load(),
		Sockets:     s.sockets.count(),
		Pushed:      s.sockets.pushed.Load(),
	}
	s.strange.mu.Lock()
	st.Unknown = maps.Clone(s.strange.paths)
	s.strange.mu.Unlock()
	s.took.mu.Lock()
	times, more := slices.Clone(s.took.times), s.took.more
	s.took.mu.Unlock()
	if n := len(times); n > 0 {
		slices.Sort(times)
		// The q-quantile is the smallest time that at least q of all times do not exceed.
		at := func(q float64) float64 { return times[min(int(q*float64(n)), n-1)].Seconds() }
		st.Took = map[string]float64{
			"count": float64(int64(n) + more),
			"min":   times[0].Seconds(),
			"p50":   at(.5),
			"p90":   at(.9),
			"p99":   at(.99),
			"p99.9": at(.999),
			"max":   times[n-1].Seconds(),
		}
	}
	return st
}

// forget clears the counts.
func (s *Server) forget() {
	s.requests.Store(0)
	s.posts.Store(0)
	s.accepted.Store(0)
	s.sockets.pushed.Store(0)
	s.took.mu.Lock()
	s.took.times, s.took.more = s.took.times[:0], 0
	s.took.mu.Unlock()
	s.strange.mu.Lock()
	s.strange.paths = nil
	s.strange.mu.Unlock()
}
