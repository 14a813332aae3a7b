package comparison

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
	"plimsoll/trial"
	"plimsoll/verdict"
)

// metricFloor is the smallest difference of a quantile of one operation that matters, in milliseconds, whatever its share.
const metricFloor = 2

// metricProbs are the quantiles of every operation that are compared beside the primary endpoints.
var metricProbs = []float64{0.50, 0.95, 0.99}

func metricName(p float64, op string) string { return fmt.Sprintf("p%.0f(%s)", 100*p, op) }

// A tail counts, second by second, the operations that took at least as long as one quantile of theirs.
type tail struct {
	name       string
	p          float64
	above      time.Duration
	value      float64 // milliseconds
	n          uint64
	of         func(*measure.Window) *measure.Histogram
	hit, total []uint64
}

// supported reports whether the run carries the quantile: it must have operations enough, also after counting those that depend on
// each other as fewer.
func (t *tail) supported() bool {
	return stats.QuantileSupported(t.p, t.n, stats.EffectiveCount(t.hit, t.total))
}

func response(w *measure.Window) *measure.Histogram { return w.Response }

func service(w *measure.Window) *measure.Histogram { return w.Service }

// metricsOf fills in what the operations of the phase say beside the endpoints: mean, p50, p95 and p99 of each, those that the run
// carries, which of the endpoints are quantiles that it does not carry well, and the distributions whose shift is looked for.
func (n *Numbers) metricsOf(r *record.Run, ph record.Phase, merged map[string]*measure.Window, endpoints []verdict.Endpoint,
	window func(string) *measure.Window) error {
	first, seconds := ph.Seconds()
	var further, primary []*tail
	bySeries := map[string][]*tail{}
	ask := func(name string, p float64, h *measure.Histogram, of func(*measure.Window) *measure.Histogram, series ...string) *tail {
		q := h.Quantile(p)
		t := &tail{name: name, p: p, value: float64(q) / float64(time.Millisecond), n: h.Count(), of: of, hit: make([]uint64, seconds), total: make([]uint64, seconds)}
		t.above = q - q/100 // more than one step of the histogram: the bucket of the quantile itself is counted
		for _, s := range series {
			bySeries[s] = append(bySeries[s], t)
		}
		return t
	}
	names := slices.Sorted(maps.Keys(merged))
	n.Metrics, n.Thin = map[string]Further{}, map[string]bool{}
	for _, op := range names {
		h := merged[op].Response
		if h.Count() >= stats.TailOps && h.Sum() > 0 {
			n.Metrics["mean("+op+")"] = operation(float64(h.Sum())/float64(h.Count())/float64(time.Millisecond), h.Count(), true)
		}
		for _, p := range metricProbs {
			if n := h.Count(); stats.QuantileSupported(p, n, float64(n)) {
				further = append(further, ask(metricName(p, op), p, h, response, op))
			}
		}
	}
	for _, e := range endpoints {
		rule, err := plan.ParseSLO(e.Name + " < 1s")
		if err != nil {
			continue // capacity, errors
		}
		p, ok := percentile(rule.Stat)
		if !ok {
			continue
		}
		of := response
		if rule.Service {
			of = service
		}
		selected := trial.Selector(rule.Arg)
		primary = append(primary, ask(e.Name, p, of(window(rule.Arg)), of, slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !selected(s) })...))
	}
	course := record.NewCourse(ph, shifted(endpoints))
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at < ph.From || at >= ph.To {
			return at < ph.To
		}
		course.Add(second, ws)
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
		if t.supported() && t.value > 0 {
			n.Metrics[t.name] = operation(t.value, t.n, false)
		}
	}
	for _, t := range primary {
		n.Thin[t.name] = t.n > 0 && !t.supported()
	}
	return err
}

// operation is a further number of operations of this program's users, in milliseconds.
func operation(value float64, n uint64, mean bool) Further {
	return Further{Unit: "ms", Better: verdict.Lower, Floor: metricFloor, Value: value, Count: float64(n), Mean: mean}
}

// percentile reads the statistic "p99" as 0.99.
func percentile(stat string) (p float64, ok bool) {
	n, err := fmt.Sscanf(stat, "p%g", &p)
	return p / 100, n == 1 && err == nil && p > 0 && p < 100
}

// warnThin says of how many runs an endpoint's quantile is not known well.
func warnThin(r *verdict.Result, pairs []numbersPair) {
	thin := 0
	for _, p := range pairs {
		for _, n := range []Numbers{p.base, p.fresh} {
			if n.Thin[r.Name] {
				thin++
			}
		}
	}
	if thin > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("in %d of %d runs fewer than %d operations lie beyond the percentile, counting those that came together as fewer: "+
			"measure longer, or compare a lower percentile", thin, 2*len(pairs), stats.TailOps))
	}
}

// numbersPair is what the two runs of a block say.
type numbersPair struct {
	block       int
	base, fresh Numbers
	first       string // as in verdict.Pair
}
