package fleet

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/load/workload"
)

// A host's line goes to the others when theirs does not serve any more; in one round that of no more than one host in
// clockTurns, or of clockLeast hosts: clocks whose drift becomes known do so at the same time.
const (
	clockTurns = 5
	clockLeast = 16
)

// runClock is the clock of a host as the others get it: at the instant t of the run it is ahead of the coordinator's time
// of the run by offset + drift·t.
type runClock struct {
	offset, drift float64 // nanoseconds, and for each nanosecond
	within        time.Duration
}

func (c runClock) at(t time.Duration) float64 { return c.offset + c.drift*float64(t) }

// known returns the clock as it is to be told now, an instant from l.base. Its error is that of the line and as much
// again, by which the line may change until it is told once more: the exchanges of an ordinary link move it by half of
// that for minutes. While the drift is not known, the error is that of an age at which it is. l.mu is held.
func (l *link) known(now time.Duration) runClock {
	line := l.clock.line()
	ahead := line.offset + line.drift*float64(l.epoch) - float64(l.ahead)
	within := l.clock.doubt(now+apartAfter) + max(line.half, time.Microsecond)
	return runClock{math.Round(ahead), math.Round(line.drift*1e12) / 1e12, within}
}

// outdated reports whether the others need the link's line at an instant from l.base: the last one may be off, within a
// cycle of marks before or after it, by more than it was said to, or it was said to be off by twice as much as is known
// now. So each instant that a recipient maps by a line is within that line's error, as far as the clock's own error is
// right. l.mu is held.
func (l *link) outdated(now time.Duration) (is bool, c runClock) {
	c = l.known(now)
	if l.told == nil {
		return true, c
	}
	apart := 0.0
	for _, t := range [...]time.Duration{now - markEvery, now + markEvery} { // between them it is less
		apart = max(apart, math.Abs(l.told.at(t-l.epoch)-c.at(t-l.epoch)))
	}
	covered := apart+float64(l.clock.doubt(now+markEvery)) <= float64(l.told.within)
	return !covered || l.told.within > 2*c.within, c
}

// untold is by how much the line that the other hosts have differs from the one that is known, at an instant from
// l.base. l.mu is held.
func (l *link) untold(now time.Duration) time.Duration {
	var told runClock // as they reckon without one
	if l.told != nil {
		told = *l.told
	}
	return time.Duration(math.Abs(told.at(now-l.epoch) - l.known(now).at(now-l.epoch)))
}

// tell gives all links the lines of the hosts whose last ones do not serve any more, in one encoding. It goes round among
// the links, beginning at turn, and returns the turn of the next round.
func tell(links []*link, turn int, now time.Time) int {
	if links[0].name == "" {
		return 0 // one host has one clock
	}
	var lines []byte
	most := max(clockLeast, (len(links)+clockTurns-1)/clockTurns)
	first := turn
	for i := 0; i < len(links) && most > 0; i++ {
		turn = (first + i + 1) % len(links)
		l := links[(first+i)%len(links)]
		l.mu.Lock()
		if is, c := l.outdated(now.Sub(l.base)); is {
			l.told = &c
			lines = appendClock(lines, l.n, c)
			most--
		}
		l.mu.Unlock()
	}
	if len(lines) > 0 {
		for _, l := range links {
			l.inform(nil, lines)
		}
	}
	return turn
}

// clockNote is a runClock in a message: the number of the host, offset in nanoseconds, drift in parts in a million
// millions, and the error in nanoseconds.
type clockNote [4]int64

// appendClock appends a clockNote to others in JSON, without the brackets of a list.
func appendClock(b []byte, host int, c runClock) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	for i, v := range [...]int64{int64(host), int64(c.offset), int64(math.Round(c.drift * 1e12)), int64(c.within)} {
		b = append(b, "[,,,"[i])
		b = strconv.AppendInt(b, v, 10)
	}
	return append(b, ']')
}

// clocks are those of all hosts of a fleet, as an agent of one of them gets them.
type clocks struct {
	own   int          // the host of the agent
	known []*clockNote // by host; nil: not yet
}

// take takes in lines that are new, and returns how each clock maps to that of this host. A clock maps as it stands
// until it and that of this host are known.
func (c *clocks) take(list []clockNote) ([]workload.Peer, error) {
	for _, n := range list {
		if n[0] < 0 || n[0] >= int64(len(c.known)) {
			return nil, fmt.Errorf("the clock of host %d of %d; are both programs of one version?", n[0], len(c.known))
		}
		c.known[n[0]] = &n
	}
	peers := make([]workload.Peer, len(c.known))
	own := c.known[c.own]
	for h, of := range c.known {
		if h != c.own && of != nil && own != nil {
			off, within := time.Duration(own[1]-of[1]), time.Duration(own[3]+of[3])
			peers[h] = workload.Peer{Offset: off, Drift: own[2] - of[2], Within: within}
		}
	}
	return peers, nil
}
