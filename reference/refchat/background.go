package refchat

import (
	"strings"
	"sync/atomic"
	"time"
)

// background is work besides requests: each period burns CPU time.
type background struct {
	tick, cron, later burst
	lazy              burst
	refreshed         atomic.Int64 // nanoseconds of Unix time, of lazy
}

// A burst burns CPU time each period, or so long after a request.
type burst struct{ cpu, every time.Duration }

// set reads "CPU/DURATION" for a fault, and reports whether it is one.
func (b *background) set(name, value string) bool {
	cpu, every, _ := strings.Cut(value, "/")
	x, err1 := time.ParseDuration(cpu)
	y, err2 := time.ParseDuration(every)
	if err1 != nil || err2 != nil || x <= 0 || x > time.Second || y < time.Millisecond || y > time.Minute {
		return false
	}
	to := map[string]*burst{"tick": &b.tick, "cron": &b.cron, "later": &b.later, "lazy": &b.lazy}[name]
	*to = burst{x, y}
	return true
}

// startBackground begins the work that follows the clock.
func (s *Server) startBackground() {
	b := &s.faults.background
	if b.tick.every > 0 {
		s.bg.Go(func() { s.ticks(b.tick) })
	}
	if b.cron.every > 0 {
		s.bg.Go(func() { s.catchesUp(b.cron) })
	}
}

// ticks burns at the ticks of a ticker, which drops those that nobody waits for.
func (s *Server) ticks(b burst) {
	t := time.NewTicker(b.every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.burnAside(b.cpu)
		case <-s.bgCtx.Done():
			return
		}
	}
}

// catchesUp burns once for each period, also for those that passed while the process stood still.
func (s *Server) catchesUp(b burst) {
	for due := time.Now().Add(b.every); sleep(s.bgCtx, time.Until(due)) == nil; due = due.Add(b.every) {
		s.burnAside(b.cpu)
	}
}

// afterRequest burns some time after a request, and in the first one after each period.
func (s *Server) afterRequest() {
	b := &s.faults.background
	now, last := time.Now().UnixNano(), b.refreshed.Load()
	if b.lazy.every > 0 && now-last >= int64(b.lazy.every) && b.refreshed.CompareAndSwap(last, now) {
		s.burnAside(b.lazy.cpu)
	}
	if b := s.faults.background.later; b.every > 0 {
		s.bg.Go(func() {
			if sleep(s.bgCtx, b.every) == nil {
				s.burnAside(b.cpu)
			}
		})
	}
}

func (s *Server) burnAside(cpu time.Duration) {
	s.met.burnt.Add(float64(spin(cpu.Nanoseconds())) / 1e9)
}
