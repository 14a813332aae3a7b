package comparison

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/measure"
	"plimsoll/record"
	"plimsoll/stats"
	"plimsoll/verdict"
)

// metricFloor is the smallest difference of a quantile of one operation that matters, in milliseconds, whatever its share.
const metricFloor = 2

// metricProbs are the quantiles of every operation that are compared beside the primary endpoints.
var metricProbs = []float64{0.50, 0.95, 0.99}

func metricName(p float64, op string) string { return fmt.Sprintf("p%.0f(%s)", 100*p, op) }

// exceedances counts, second by second, the operations of one name that took at least as long as one of its quantiles.
type exceedances struct {
	name, op string
	p        float64
	above    time.Duration
	value    float64 // milliseconds
	hit      []uint64
}

// metricsOf returns the quantiles of every operation of the phase, in milliseconds, as far as the run carries them: it must
// have operations enough, also after counting those that depend on each other as fewer (stats.QuantileSupported).
func metricsOf(r *record.Run, ph record.Phase, merged map[string]*measure.Window) (map[string]float64, error) {
	out := map[string]float64{}
	first, seconds := secondsOf(ph)
	var asked []*exceedances
	byOp, total := map[string][]*exceedances{}, map[string][]uint64{}
	for _, op := range slices.Sorted(maps.Keys(merged)) {
		h := merged[op].Response
		for _, p := range metricProbs {
			if n := h.Count(); !stats.QuantileSupported(p, n, float64(n)) {
				continue
			}
			q := h.Quantile(p)
			// Less a hundredth, which is more than one step of the histogram: the bucket of the quantile is counted.
			e := &exceedances{name: metricName(p, op), op: op, p: p, above: q - q/100, value: float64(q) / float64(time.Millisecond), hit: make([]uint64, seconds)}
			asked, byOp[op] = append(asked, e), append(byOp[op], e)
		}
		if byOp[op] != nil {
			total[op] = make([]uint64, seconds)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at < ph.From || at >= ph.To {
			return at < ph.To
		}
		for _, w := range ws {
			for _, e := range byOp[w.Name] {
				e.hit[second-first] += w.Response.CountOver(e.above)
			}
			if t := total[w.Name]; t != nil {
				t[second-first] += w.Response.Count()
			}
		}
		return true
	})
	for _, e := range asked {
		n := merged[e.op].Response.Count()
		if stats.QuantileSupported(e.p, n, stats.EffectiveCount(e.hit, total[e.op])) && e.value > 0 {
			out[e.name] = e.value
		}
	}
	return out, err
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
