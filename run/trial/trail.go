package trial

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// A slice holds the data of one tick.
type slice struct {
	at              time.Duration // its end
	desired, active int
	windows         []*measure.Window
	busy            map[string][2]float64 // role -> cumulative busy and total seconds at its end
	messages        workload.LedgerCount  // cumulative, at its end
	counts          workload.Activity
	userSeconds     float64
	health          map[string]health // by gate
}

// health is one gate's readings by [Signals].
type health struct {
	n             int
	sum, low, top float64
	why           string // the last reason why there was none
	na            bool   // of why: there is nothing to read
	note          string // of the top
}

func (h health) with(o health) health {
	switch {
	case o.n == 0:
		h.why, h.na = o.why, o.na
		return h
	case h.n == 0:
		o.why, o.na = h.why, h.na
		return o
	}
	note := h.note
	if o.top > h.top {
		note = o.note
	}
	return health{
		n:    h.n + o.n,
		sum:  h.sum + o.sum,
		low:  min(h.low, o.low),
		top:  max(h.top, o.top),
		why:  h.why,
		na:   h.na,
		note: note,
	}
}

func healthOf(readings map[string]Reading) map[string]health {
	out := make(map[string]health, len(readings))
	for name, rd := range readings {
		if rd.Why != "" {
			out[name] = health{why: rd.Why, na: rd.Inapplicable}
			continue
		}
		out[name] = health{n: 1, sum: rd.Value, low: rd.Value, top: rd.Value, note: rd.Note}
	}
	return out
}

// fold adds the counts, not the samples, of a later slice.
func (s *slice) fold(o slice) {
	s.counts = s.counts.Add(o.counts)
	s.userSeconds += o.userSeconds
	if s.health == nil {
		s.health = map[string]health{}
	}
	for name, h := range o.health {
		s.health[name] = s.health[name].with(h)
	}
}

// keepWorst takes over the users of a slice in which a smaller share of the wanted users was
// active. Before the first one the wanted users are negative.
func (s *slice) keepWorst(o slice) {
	if s.desired < 0 || o.active*s.desired < s.active*o.desired {
		s.desired, s.active = o.desired, o.active
	}
}

// over returns the slice with the users of the worst of many slices, their sums and their windows.
func (s slice) over(worst, sum slice, windows measureSecond) slice {
	s.desired, s.active, s.windows = worst.desired, worst.active, windows.sorted()
	s.counts = sum.counts
	s.userSeconds = sum.userSeconds
	s.health = sum.health
	return s
}

// A trail holds the last slices, oldest first, and one more than the longest window needs: the
// state at the window's beginning.
type trail struct {
	slices []slice
}

func (t *trail) push(s slice, window time.Duration) {
	t.slices = append(t.slices, s)
	keep := max(window, time.Second)
	for len(t.slices) > 2 && t.slices[1].at <= s.at-keep {
		t.slices = slices.Delete(t.slices, 0, 1)
	}
}

// last returns the stretch that ends now and spans d, or as much of it as there is.
func (t *trail) last(d time.Duration) stretch {
	n := len(t.slices)
	if n == 0 {
		return stretch{}
	}
	i := n - 1
	for i > 0 && t.slices[n-1].at-t.slices[i-1].at < d {
		i--
	}
	st := stretch{in: t.slices[i:], first: t.slices[i].at}
	if i > 0 {
		st.before = &t.slices[i-1]
		st.first = st.before.at
	} else if n > 1 {
		st.first = 2*t.slices[0].at - t.slices[1].at // one tick before the first slice
	} else {
		st.first = 0
	}
	return st
}

// A stretch is some slices in a row and the state just before them.
type stretch struct {
	before *slice // nil at the run's beginning
	in     []slice
	first  time.Duration
}

func (s stretch) span() time.Duration {
	if len(s.in) == 0 {
		return time.Nanosecond
	}
	return max(s.in[len(s.in)-1].at-s.first, time.Nanosecond)
}

// merged returns all ops whose series passes keep.
func (s stretch) merged(keep func(string) bool) *measure.Window {
	out := measure.NewWindow("")
	for _, sl := range s.in {
		for _, w := range sl.windows {
			if keep(w.Name) {
				out.Merge(w)
			}
		}
	}
	return out
}

func (s stretch) steady() *measure.Window { return s.merged(workload.Steady) }

func (s stretch) counts() workload.Activity {
	var c workload.Activity
	for _, sl := range s.in {
		c = c.Add(sl.counts)
	}
	return c
}

// userSeconds returns the time for which users were active, added up over the users.
func (s stretch) userSeconds() float64 {
	sum := 0.0
	for _, sl := range s.in {
		sum += sl.userSeconds
	}
	return sum
}

// health returns a gate's reading by Signals: the mean of the stretch, or the worst of something
// that is used up.
func (s stretch) health(g plan.Gate) Reading {
	var all health
	for _, sl := range s.in {
		all = all.with(sl.health[g.Name])
	}
	switch {
	case all.n == 0 && all.why == "":
		return Unread("nothing reads it here")
	case all.n == 0:
		return Reading{Why: all.why, Inapplicable: all.na}
	case g.Over != plan.WorstMoment:
		return Reading{Value: all.sum / float64(all.n), Note: all.note}
	case g.Floor:
		return Reading{Value: all.low, Note: all.note}
	}
	return Reading{Value: all.top, Note: all.note}
}

func (s stretch) users() int {
	if len(s.in) == 0 {
		return 0
	}
	return s.in[len(s.in)-1].active
}

func (s stretch) meanUsers() float64 {
	if len(s.in) == 0 {
		return 0
	}
	sum := 0
	for _, sl := range s.in {
		sum += sl.active
	}
	return float64(sum) / float64(len(s.in))
}

// cpu returns the share of a role's CPU time that was used.
func (s stretch) cpu(role string) (float64, bool) {
	if s.before == nil || len(s.in) == 0 {
		return 0, false
	}
	a, ok1 := s.before.busy[role]
	b, ok2 := s.in[len(s.in)-1].busy[role]
	if !ok1 || !ok2 || b[1] <= a[1] {
		return 0, false
	}
	return (b[0] - a[0]) / (b[1] - a[1]), true
}

// A measureSecond gathers the windows of one second, by name.
type measureSecond map[string]*measure.Window

func (m *measureSecond) add(ws []*measure.Window) {
	if *m == nil {
		*m = measureSecond{}
	}
	for _, w := range ws {
		if (*m)[w.Name] == nil {
			(*m)[w.Name] = measure.NewWindow(w.Name)
		}
		(*m)[w.Name].Merge(w)
	}
}

func (m measureSecond) sorted() []*measure.Window {
	return slices.SortedFunc(maps.Values(m), func(a, b *measure.Window) int {
		return cmp.Compare(a.Name, b.Name)
	})
}
