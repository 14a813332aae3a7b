package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// The part of its cores that the target of a comparison should use. Below, an operation meets no
// other one, and a difference of capacity cannot be seen; above, queues amplify differences and
// noise alike.
const (
	LeastBusy = 0.40
	MostBusy  = 0.50
	wantBusy  = (LeastBusy + MostBusy) / 2
)

const (
	// growth limits the next level to so many times the highest one that was carried, and
	// fastGrowth where that used less than hardlyBusy.
	growth     = 4.0
	fastGrowth = 10.0
	hardlyBusy = 0.01
	// confirmations is the number of windows of the level that is taken, and of one at which
	// something broke: the host may have done that once.
	confirmations = 2
	// room ends the search between a level that is too low and one that is too high.
	room = 1.12
	// starved is the part of its own time at lower levels, in which it waits for no answer, below
	// which a queue holds a user.
	starved = 0.7
	// ofTrend is the number of highest levels that predict the next one.
	ofTrend = 3
)

// A LevelConfig limits a [LevelSearch].
type LevelConfig struct {
	Start, Max int           // users; Start is at least 1
	Budget     time.Duration // of the whole search
	Step       time.Duration // the usual time of one level
}

// A LevelReading is a window at a constant number of users.
type LevelReading struct {
	At          time.Duration // since the search began
	Users       int
	Utilization float64 // of the busiest role's cores
	Waiting     float64 // part of the users' time in which they waited for answers
	Broken      string  // why the users are not carried; empty if they are
}

// A LevelAction is the next window. Rest is true after a level that was too high: what it left
// behind is to be worked off first.
type LevelAction struct {
	Users      int
	Rest, Done bool
}

// A LevelResult is a number of users and the utilization that the target has with it.
type LevelResult struct {
	Users       int
	Utilization float64
	// Short explains a utilization outside of [LeastBusy] to [MostBusy], as a clause; empty if it
	// is.
	Short string
	// Capped is true if only LevelConfig.Max kept the search from more users, and Wanted how many
	// it would have tried.
	Capped bool
	Wanted int
}

// A LevelSearch finds the number of users at which the busiest role of a target uses [LeastBusy] to
// [MostBusy] of its cores. It comes from below, since a target may remember an overload.
type LevelSearch struct {
	cfg   LevelConfig
	tried []*triedLevel // ascending
	last  LevelAction
	over  string // why the search ended without a level in the range
	want  int    // the next level without cfg.Max
}

type triedLevel struct {
	users, windows int
	util, waiting  float64 // means of the windows
	broken         string
}

func (t *triedLevel) inside() bool {
	return t.broken == "" && t.util >= LeastBusy && t.util <= MostBusy
}

// reach returns the most users of the next level.
func (t *triedLevel) reach() float64 {
	if t.util < hardlyBusy {
		return fastGrowth * float64(t.users)
	}
	return growth * float64(t.users)
}

// NewLevelSearch returns a search whose first level is First.
func NewLevelSearch(cfg LevelConfig) *LevelSearch {
	cfg.Start = max(min(cfg.Start, cfg.Max), 1)
	return &LevelSearch{cfg: cfg, last: LevelAction{Users: cfg.Start}}
}

// First returns the first window.
func (s *LevelSearch) First() LevelAction { return s.last }

// Step takes a window in and returns the next one.
func (s *LevelSearch) Step(o LevelReading) LevelAction {
	t := s.add(o)
	if (t.inside() || t.broken != "") && t.windows < confirmations {
		s.last = LevelAction{Users: t.users}
		return s.last
	}
	next := s.next(t)
	s.last = LevelAction{Users: next, Rest: next < t.users, Done: next == 0}
	if !s.last.Done && o.At+s.cfg.Step > s.cfg.Budget {
		s.over = fmt.Sprintf("the %v of the pilot were over", s.cfg.Budget)
		s.last.Done = true
	}
	return s.last
}

func (s *LevelSearch) add(o LevelReading) *triedLevel {
	i, found := slices.BinarySearchFunc(s.tried, o.Users, func(t *triedLevel, n int) int {
		return cmp.Compare(t.users, n)
	})
	if !found {
		s.tried = slices.Insert(s.tried, i, &triedLevel{users: o.Users})
	}
	t := s.tried[i]
	t.windows++
	n := float64(t.windows)
	t.util += (o.Utilization - t.util) / n
	t.waiting += (o.Waiting - t.waiting) / n
	t.broken = o.Broken
	for _, low := range s.tried[:i] {
		if t.broken == "" && low.broken == "" && 1-t.waiting < starved*(1-low.waiting) {
			t.broken = fmt.Sprintf(
				"a user waits for answers %.0f %% of the time, and %.0f %% at %d users",
				100*t.waiting,
				100*low.waiting,
				low.users,
			)
		}
	}
	return t
}

// sides returns the highest level that is carried and too low, and the lowest one above it that is
// too high; nil where there is none.
func (s *LevelSearch) sides() (below, above *triedLevel) {
	for _, t := range s.tried {
		switch {
		case t.broken != "" || t.util > MostBusy:
			return below, t
		case t.util < LeastBusy:
			below = t
		}
	}
	return below, nil
}

// next returns the number of users of the next level, 0 for none, after the windows of t.
func (s *LevelSearch) next(t *triedLevel) int {
	if t.inside() {
		return 0
	}
	below, above := s.sides()
	aim := s.predicted()
	switch {
	case below == nil && above == nil:
		return 0 // all that were tried are inside
	case below == nil:
		if above.users == 1 {
			return 0
		}
		aim = min(aim, float64(above.users)/2)
	case above == nil:
		aim = min(max(aim, room*float64(below.users)), below.reach())
	default:
		lo, hi := float64(below.users), float64(above.users)
		if hi <= room*lo || above.users-below.users < 2 {
			return 0
		}
		if above.broken != "" || aim <= lo || aim >= hi {
			aim = math.Sqrt(lo * hi)
		}
		aim = min(max(aim, math.Sqrt(room)*lo, lo+1), hi/math.Sqrt(room), hi-1)
	}
	s.want = twoDigits(aim)
	if below != nil && s.want <= below.users {
		s.want = below.users + 1
	}
	if above != nil && s.want >= above.users {
		s.want = above.users - 1
	}
	if below != nil && below.users >= s.cfg.Max {
		return 0
	}
	return min(s.want, s.cfg.Max)
}

// twoDigits rounds a number of users, at least 1, to two digits, so that comparisons under one load
// have one number.
func twoDigits(x float64) int {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(max(x, 1)))-1))
	return int(max(1, math.Round(x/unit)*unit))
}

// predicted returns where the middle of the range is: on the line through the highest levels that
// are carried, or on the power of the users through the two highest, whichever is lower. The line
// has the CPU time of an idle target; the power has costs of a user that rise with the users.
func (s *LevelSearch) predicted() float64 {
	var of []cost
	for _, t := range s.tried {
		if t.broken == "" {
			of = append(of, cost{float64(t.users), t.util})
		}
	}
	of = of[max(0, len(of)-ofTrend):]
	if len(of) == 0 {
		return 1
	}
	top := of[len(of)-1]
	if len(of) == 1 {
		return top.users * wantBusy / max(top.util, wantBusy/fastGrowth)
	}
	aim := fastGrowth * top.users // where the utilization does not rise
	if mx, my, sxx, sxy := trend(of); sxy > 0 {
		aim = mx + (wantBusy-my)*sxx/sxy
	}
	low := of[len(of)-2]
	power := math.Log(top.util/low.util) / math.Log(top.users/low.users)
	if low.util > 0 && power > 1 {
		aim = min(aim, top.users*math.Pow(wantBusy/top.util, 1/power))
	}
	return aim
}

// Result returns the level that was found, and false if no level was carried.
func (s *LevelSearch) Result() (LevelResult, bool) {
	var best *triedLevel
	for _, t := range s.tried {
		if t.inside() && (best == nil || math.Abs(t.util-wantBusy) < math.Abs(best.util-wantBusy)) {
			best = t
		}
	}
	if best != nil {
		return best.result(""), true
	}
	below, above := s.sides()
	switch {
	case below == nil && above == nil:
		return LevelResult{}, false
	case below == nil && above.broken != "":
		return LevelResult{Short: above.broken}, false
	case below == nil:
		return above.result("the lowest level that was tried"), true
	case above == nil:
		r := below.result(
			cmp.Or(s.over, fmt.Sprintf("more than %d users are not allowed", s.cfg.Max)),
		)
		r.Capped, r.Wanted = below.users >= s.cfg.Max, s.want
		return r, true
	case above.broken != "":
		return below.result(fmt.Sprintf("at %d users %s", above.users, above.broken)), true
	}
	part := (wantBusy - below.util) / (above.util - below.util)
	users := float64(below.users) + part*float64(above.users-below.users)
	short := fmt.Sprintf("predicted between %.0f %% at %d users and %.0f %% at %d",
		100*below.util, below.users, 100*above.util, above.users)
	return LevelResult{Users: twoDigits(users), Utilization: wantBusy, Short: short}, true
}

func (t *triedLevel) result(short string) LevelResult {
	return LevelResult{Users: t.users, Utilization: t.util, Short: short}
}
