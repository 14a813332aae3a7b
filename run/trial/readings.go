package trial

import (
	"fmt"
	"math"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A Reading is the value that a gate read. With a Why there is no Value: the gate is not measured,
// which is never green; or it is Inapplicable, because its signal does not exist in this run.
type Reading struct {
	Value        float64
	Why          string
	Inapplicable bool
	// Note completes the text of a finding, such as by the name of one of several servers; often
	// empty.
	Note string
}

// Unread returns a reading without a value, and why.
func Unread(format string, args ...any) Reading {
	return Reading{Why: fmt.Sprintf(format, args...)}
}

// NoNeed returns the reading of a gate that has nothing to read in the run.
func NoNeed(why string) Reading { return Reading{Why: why, Inapplicable: true} }

// A Counter is a [Driver] that accounts for the time of its users. One goroutine calls it.
type Counter interface{ Activity() workload.Activity }

const (
	lateBy   = 10 * time.Millisecond // when an action counts as late
	realWait = time.Millisecond      // a shorter wait is the cost of a connection on a near network
	fewest   = 100                   // actions of which a p99 can be taken
)

// readers take a reading over a stretch from the trial's own records; all other gates are read by
// [Signals].
var readers = map[string]func(stretch) Reading{
	"lag":    readLag,
	"late":   readLate,
	"users":  readUsers,
	"wait":   readWait,
	"inbox":  readInbox,
	"rate":   readRate,
	"bursts": readBursts,
	"little": readLittle,

	scriptGate: readScript,
}

// readLag and readLate judge how late actions began and how late operations were by themselves, and
// the worse counts: in actions of many operations, operations would hide late beginnings, and in a
// mix of few such actions the beginnings would hide late operations.
func readLag(st stretch) Reading {
	return st.worstLag("a p99", p99)
}

func readLate(st stretch) Reading {
	return st.worstLag("a share of 1 %", func(h *measure.Histogram) float64 {
		return 100 * float64(h.CountOver(lateBy)) / float64(h.Count())
	})
}

// p99 returns a p99 in milliseconds.
func p99(h *measure.Histogram) float64 { return h.Quantile(0.99).Seconds() * 1e3 }

// worstLag takes a reading of how late actions began and of how late operations were, as far as
// there are enough, and returns the worse.
func (s stretch) worstLag(what string, of func(*measure.Histogram) float64) Reading {
	out, most := Reading{}, uint64(0)
	for _, keep := range []func(string) bool{isSchedule, workload.Operation} {
		lag := s.merged(keep).Lag
		if most = max(most, lag.Count()); lag.Count() >= fewest {
			out.Value = max(out.Value, of(lag))
		}
	}
	if most < fewest {
		return Unread("%d actions and operations are too few for %s, want %d", most, what, fewest)
	}
	return out
}

func isSchedule(series string) bool { return series == workload.Schedule }

func readUsers(st stretch) Reading {
	out := Reading{Value: 100, Why: "no users are wanted, only arrivals", Inapplicable: true}
	for _, sl := range st.in {
		if sl.desired > 0 {
			out = Reading{Value: min(out.Value, 100*float64(sl.active)/float64(sl.desired))}
		}
	}
	return out
}

func readWait(st stretch) Reading {
	if st.counts().Wanted > 0 {
		return NoNeed("beside arrivals, waits are for a place among those in flight")
	}
	w := st.steady()
	if w.Response.Count() < fewest {
		return Unread("%d operations are too few, want %d", w.Response.Count(), fewest)
	}
	if w.Response.Sum() < leastResponse {
		return Unread("%v of response time is too little to be compared with, want %v",
			w.Response.Sum().Round(time.Millisecond), leastResponse)
	}
	// Against a target that answers in a fraction of a millisecond, any wait is a large share of
	// nothing.
	of := max(w.Response.Sum(), time.Duration(w.Response.Count())*realWait)
	return Reading{Value: 100 * w.Wait.SumOver(realWait).Seconds() / of.Seconds()}
}

// leastResponse is the response time below which one slow dial would be a large part of a second's.
const leastResponse = time.Second

func readInbox(st stretch) Reading {
	h := st.merged(func(s string) bool { return s == workload.Inbox }).Lag
	if h.Count() == 0 {
		return Unread("no WebSocket event came with the kernel's stamp")
	}
	return Reading{Value: p99(h)}
}

func readRate(st stretch) Reading {
	c := st.counts()
	if c.Wanted == 0 {
		return NoNeed("the plan has no arrivals; the rate of users follows from their number, " +
			"see users and little")
	}
	return Reading{Value: 100 * float64(c.Served) / float64(c.Wanted)}
}

// readBursts compares the fullest 100 ms with the mean. Counts of independent actions vary by their
// root; four roots are more than any of some thousand bins shows by chance (Poisson), and are taken
// off the peak.
func readBursts(st stretch) Reading {
	b := st.counts().Begun
	sum, peak := 0.0, 0.0
	for _, n := range b {
		sum += float64(n)
		peak = max(peak, float64(n))
	}
	mean := sum / max(float64(len(b)), 1)
	if len(b) < 20 || mean < 1 {
		return Unread("fewer than 10 actions began per second, or for less than 2 s")
	}
	return Reading{Value: max(peak-4*math.Sqrt(mean), mean) / mean}
}

// readLittle adds up where the users' time went: users × time = Σ (pause + action), with the parts
// inside the stretch of pauses and actions that it cuts at its ends. The rest was spent late or
// lost.
func readLittle(st stretch) Reading {
	c, have := st.counts(), st.userSeconds()
	if have == 0 {
		return NoNeed("there are no users, only arrivals")
	}
	return Reading{Value: 100 * math.Abs(have-(c.Think+c.Busy+c.Open).Seconds()) / have}
}
