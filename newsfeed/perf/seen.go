package perf

import (
	"maps"
	"slices"
)

// mostBeyond is how many numbers of one server are kept that came before an earlier one did.
const mostBeyond = 1 << 16

// seen records which records of one server have come.
type seen struct {
	next   int64              // all below it have come, or are given up
	beyond map[int64]struct{} // those from next on that have come
	lost   int64              // given up
}

// note reports whether a number comes for the first time. One that was given up counts as seen.
func (s *seen) note(n int64) (first bool) {
	if _, there := s.beyond[n]; there || n < s.next {
		return false
	}
	s.beyond[n] = struct{}{}
	s.pull()
	if len(s.beyond) > mostBeyond {
		s.giveUp()
	}
	return true
}

// pull moves next over the numbers that have come.
func (s *seen) pull() {
	for {
		if _, there := s.beyond[s.next]; !there {
			return
		}
		delete(s.beyond, s.next)
		s.next++
	}
}

// giveUp stops waiting for numbers below the later half of those that have come.
func (s *seen) giveUp() {
	come := slices.Sorted(maps.Keys(s.beyond))
	half := len(come) / 2
	s.lost += come[half] - s.next - int64(half)
	s.next = come[half]
	for _, n := range come[:half] {
		delete(s.beyond, n)
	}
	s.pull()
}

// missing is how many numbers below the highest one have not come.
func (s *seen) missing() int64 {
	if len(s.beyond) == 0 {
		return s.lost
	}
	most := s.next
	for n := range maps.Keys(s.beyond) {
		most = max(most, n)
	}
	return s.lost + most + 1 - s.next - int64(len(s.beyond))
}
