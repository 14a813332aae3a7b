package record

import "time"

// A Tail is the operations that were under way when a phase ended. They are in the windows of its
// last second, because they were due in it.
type Tail struct {
	// Waited is the time from the end of the phase to the end of the last operation that has ended,
	// in nanoseconds.
	Waited time.Duration `json:"waited"`
	// Ops holds the operations by name; a name that is missing had none.
	Ops map[string]TailOp `json:"ops,omitempty"`
}

// A TailOp counts the operations of one name.
type TailOp struct {
	// Drained counts the operations that have ended since. They count in the phase like all others,
	// although they did not end in it. OK counts the successful ones. A rate counts only the
	// operations that ended in the phase, and leaves them out.
	Drained uint64 `json:"drained,omitempty"`
	OK      uint64 `json:"ok,omitempty"`
	// Open counts the operations that have not ended. The histograms of response and service hold
	// them with their age, which is a lower bound; no class counts them.
	Open uint64 `json:"open,omitempty"`
	// Least is the smallest such age in nanoseconds: a percentile from there on is a lower bound
	// too.
	Least time.Duration `json:"least_age,omitempty"`
}

// Add adds op to the operations of t under a name.
func (t *Tail) Add(name string, op TailOp) {
	if t.Ops == nil {
		t.Ops = map[string]TailOp{}
	}
	t.Ops[name] = t.Ops[name].with(op)
}

func (o TailOp) with(p TailOp) TailOp {
	switch {
	case o.Open == 0:
		o.Least = p.Least
	case p.Open > 0:
		o.Least = min(o.Least, p.Least)
	}
	o.Drained += p.Drained
	o.OK += p.OK
	o.Open += p.Open
	return o
}

// Of returns the sum of the operations that keep passes; nil passes all. A nil tail has none.
func (t *Tail) Of(keep func(name string) bool) (sum TailOp) {
	if t == nil {
		return sum
	}
	for name, op := range t.Ops {
		if keep == nil || keep(name) {
			sum = sum.with(op)
		}
	}
	return sum
}

// Bound reports whether a latency of these operations is a lower bound: an operation that had not
// ended was at least so old, or younger and may have become older than that.
func (o TailOp) Bound(latency time.Duration) bool { return o.Open > 0 && latency >= o.Least }
