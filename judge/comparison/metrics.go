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

func metricName(p float64, op string) string { return fmt.Sprintf("p%.0f(%s)", 100*p, op) }

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
	var further, primary []*tail
	bySeries := map[string][]*tail{}
	ask := func(name string, p float64, h *measure.Histogram, of func(*measure.Window) *measure.Histogram, series ...string) *tail {
		q := h.Quantile(p)
		t := &tail{
			name:     name,
			p:        p,
			value:    float64(q) / float64(time.Millisecond),
			n:        h.Count(),
			of:       of,
			hit:      make([]uint64, seconds),
			total:    make([]uint64, seconds),
			quantile: h.Quantile,
		}
		// more than one step of the histogram: the bucket of the quantile itself is counted
		t.above = q - q/100
		for _, s := range series {
			bySeries[s] = append(bySeries[s], t)
		}
		return t
	}
	names := slices.Sorted(maps.Keys(merged))
	n.Metrics, n.SD = map[string]SecondaryValue{}, map[string]float64{}
	for _, op := range names {
		h := merged[op].Response
		if h.Count() >= stats.TailOps && h.Sum() > 0 {
			n.Metrics["mean("+op+")"] = operation(
				float64(h.Sum())/float64(h.Count())/float64(time.Millisecond),
				h.Count(),
				true,
			)
		}
		for _, p := range metricProbs {
			if n := h.Count(); stats.QuantileSupported(p, n, float64(n)) {
				further = append(further, ask(metricName(p, op), p, h, response, op))
			}
		}
	}
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
		primary = append(
			primary,
			ask(
				e.Name,
				p,
				of(window(e.Of)),
				of,
				slices.DeleteFunc(slices.Clone(names), func(s string) bool {
					return !selected(s)
				})...),
		)
	}
	course := record.NewCourse(ph, shifted(endpoints))
	stretches := n.stretchesOf(r, ph, endpoints)
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at < ph.From || at >= ph.To {
			return at < ph.To
		}
		course.Add(second, ws)
		stretches(second, ws)
		for _, w := range ws {
			for _, t := range bySeries[w.Name] {
				t.hit[second-first] += t.of(w).CountOver(t.above)
				t.total[second-first] += t.of(w).Count()
			}
		}
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
