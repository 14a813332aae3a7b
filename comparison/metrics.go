package comparison

import (
	"fmt"
	"maps"
	"math"
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

// metricsOf returns p50, p95 and p99 of every operation of the phase, in milliseconds, those that the run carries, and which of
// the endpoints are quantiles that it does not carry well.
func metricsOf(r *record.Run, ph record.Phase, merged map[string]*measure.Window, endpoints []verdict.Endpoint,
	window func(string) *measure.Window) (values map[string]float64, thin map[string]bool, err error) {
	first, seconds := secondsOf(ph)
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
	for _, op := range names {
		h := merged[op].Response
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
	_, err = r.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at < ph.From || at >= ph.To {
			return at < ph.To
		}
		for _, w := range ws {
			for _, t := range bySeries[w.Name] {
				t.hit[second-first] += t.of(w).CountOver(t.above)
				t.total[second-first] += t.of(w).Count()
			}
		}
		return true
	})
	values, thin = map[string]float64{}, map[string]bool{}
	for _, t := range further {
		if t.supported() && t.value > 0 {
			values[t.name] = t.value
		}
	}
	for _, t := range primary {
		thin[t.name] = t.n > 0 && !t.supported()
	}
	return values, thin, err
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

// secondsOf returns the first second that begins in a phase, and how many do.
func secondsOf(ph record.Phase) (first, n int) {
	ceil := func(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
	return ceil(ph.From), max(0, ceil(ph.To)-ceil(ph.From))
}

// family judges every further metric of one side against another, from the blocks in which both have a valid run.
func family(pairs []numbersPair, primaries []verdict.Endpoint) verdict.Family {
	var names []string
	base, fresh := map[string]int64{}, map[string]int64{}
	for _, p := range pairs {
		for name := range p.base.Metrics {
			names = append(names, name)
		}
		for op, n := range p.base.Counts {
			base[op] += n
		}
		for op, n := range p.fresh.Counts {
			fresh[op] += n
		}
	}
	slices.Sort(names)
	var metrics []verdict.Metric
	for _, name := range slices.Compact(names) {
		if slices.ContainsFunc(primaries, func(e verdict.Endpoint) bool { return e.Name == name }) {
			continue
		}
		m := verdict.Metric{Name: name, Unit: "ms", Better: verdict.Lower, Floor: metricFloor}
		for _, p := range pairs {
			x, ok1 := p.base.Metrics[name]
			y, ok2 := p.fresh.Metrics[name]
			if ok1 && ok2 {
				m.Pairs = append(m.Pairs, verdict.Pair{Block: p.block, Base: x, New: y})
			}
		}
		if len(m.Pairs) > 0 {
			metrics = append(metrics, m)
		}
	}
	return verdict.JudgeFamily(metrics, base, fresh)
}

// numbersPair is what the two runs of a block say.
type numbersPair struct {
	block       int
	base, fresh Numbers
}
