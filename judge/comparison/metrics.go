package comparison

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// metricFloor is the smallest difference of a quantile of one operation that matters, in
// milliseconds, for any relative difference.
const metricFloor = 2

// metricProbs are the quantiles of every operation that are compared beside the primary endpoints.
var metricProbs = []float64{0.50, 0.95, 0.99}

// A tail counts, second by second, the operations that took at least as long as one quantile of
// theirs.
type tail struct {
	name       string
	p          float64
	above      time.Duration
	value      float64 // milliseconds
	n          uint64
	of         func(*measure.Window) *measure.Histogram
	hit, total []uint64
	quantile   func(float64) time.Duration
}

// effective returns how many independent operations the tail is worth.
func (t *tail) effective() float64 { return stats.EffectiveCount(t.hit, t.total) }

func response(w *measure.Window) *measure.Histogram { return w.Response }

func service(w *measure.Window) *measure.Histogram { return w.Service }

// metricsOf fills in the metrics of the phase's operations beside the endpoints: mean, p50, p95 and
// p99 of each, as far as the run has enough operations; the endpoints that are quantiles of too few
// operations; and the distributions whose shift is computed.
func (n *Numbers) metricsOf(
	r *record.Run,
	ph record.Phase,
	merged map[string]*measure.Window,
	endpoints []plan.Endpoint,
	window func(string) *measure.Window,
) error {
	first, seconds := ph.Seconds()
	asked := &tailCounts{seconds: seconds, bySeries: map[string][]*tail{}}
	n.Metrics, n.SD = map[string]SecondaryValue{}, map[string]float64{}
	n.means(merged)
	further := asked.ofOperations(merged)
	primary := asked.ofEndpoints(endpoints, merged, window)
	course := record.NewCourse(ph, shifted(endpoints))
	stretches := n.stretchesOf(r, ph, endpoints)
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at < ph.From || at >= ph.To {
			return at < ph.To
		}
		course.Add(second, ws)
		stretches(second, ws)
		asked.count(second-first, ws)
		return true
	})
	course.Close()
	n.Course = course.Groups
	for _, t := range further {
		if stats.QuantileSupported(t.p, t.n, t.effective()) && t.value > 0 {
			n.Metrics[t.name] = operation(t.value, t.n, false)
		}
	}
	for _, t := range primary {
		sd := stats.QuantileSD(t.p, t.effective(), func(p float64) float64 {
			return t.quantile(p).Seconds()
		})
		if !math.IsNaN(sd) && !math.IsInf(sd, 0) {
			n.SD[t.name] = sd
		}
	}
	return err
}

// means adds the mean response time of each operation.
func (n *Numbers) means(merged map[string]*measure.Window) {
	for op, w := range merged {
		h := w.Response
		if h.Count() >= stats.TailOps && h.Sum() > 0 {
			mean := float64(h.Sum()) / float64(h.Count()) / float64(time.Millisecond)
			n.Metrics["mean("+op+")"] = operation(mean, h.Count(), true)
		}
	}
}

// tailCounts holds the tails of a phase by the operations that they count.
type tailCounts struct {
	seconds  int // of the phase
	bySeries map[string][]*tail
}

// ask adds the tail beyond a quantile of a histogram, which is counted in series.
func (ts *tailCounts) ask(
	name string,
	p float64,
	h *measure.Histogram,
	of func(*measure.Window) *measure.Histogram,
	series ...string,
) *tail {
	q := h.Quantile(p)
	t := &tail{
		name:     name,
		p:        p,
		value:    float64(q) / float64(time.Millisecond),
		n:        h.Count(),
		of:       of,
		hit:      make([]uint64, ts.seconds),
		total:    make([]uint64, ts.seconds),
		quantile: h.Quantile,
	}
	// more than one step of the histogram: the bucket of the quantile itself is counted
	t.above = q - q/100
	for _, s := range series {
		ts.bySeries[s] = append(ts.bySeries[s], t)
	}
	return t
}

// ofOperations asks for the quantiles of every operation, as far as it has enough.
func (ts *tailCounts) ofOperations(merged map[string]*measure.Window) []*tail {
	var out []*tail
	for op, w := range merged {
		h := w.Response
		for _, p := range metricProbs {
			if n := h.Count(); stats.QuantileSupported(p, n, float64(n)) {
				out = append(out, ts.ask(fmt.Sprintf("p%.0f(%s)", 100*p, op), p, h, response, op))
			}
		}
	}
	return out
}

// ofEndpoints asks for the endpoints that are quantiles.
func (ts *tailCounts) ofEndpoints(
	endpoints []plan.Endpoint,
	merged map[string]*measure.Window,
	window func(string) *measure.Window,
) []*tail {
	var out []*tail
	for _, e := range endpoints {
		p, ok := e.Quantile()
		if !ok {
			continue
		}
		of := response
		if e.Service {
			of = service
		}
		selected := trial.Selector(e.Of)
		series := slices.DeleteFunc(slices.Collect(maps.Keys(merged)),
			func(s string) bool { return !selected(s) })
		out = append(out, ts.ask(e.Name, p, of(window(e.Of)), of, series...))
	}
	return out
}

// count adds the operations of a second, which is counted from the first one of the phase.
func (ts *tailCounts) count(second int, ws []*measure.Window) {
	for _, w := range ws {
		for _, t := range ts.bySeries[w.Name] {
			t.hit[second] += t.of(w).CountOver(t.above)
			t.total[second] += t.of(w).Count()
		}
	}
}

// operation is a further number of operations of this program's users, in milliseconds.
func operation(value float64, n uint64, mean bool) SecondaryValue {
	return SecondaryValue{
		Unit:   "ms",
		Better: plan.Lower,
		Floor:  metricFloor,
		Value:  value,
		Count:  float64(n),
		Mean:   mean,
	}
}

// numbersPair holds the numbers of the two runs of a block.
type numbersPair struct {
	block       int
	base, fresh Numbers
	first       string // as in verdict.Pair
}
