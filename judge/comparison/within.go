package comparison

import (
	"math"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// MostPortions is the largest number of equal parts of a run behind an estimate of its inner
// spread: each holds many turns of a duet, so that neighbors hardly depend on each other.
const MostPortions = 10

// A Portion holds a part of the measured phase for one endpoint: a sum and what it is divided by
// (CPU time and operations, response times and operations), or the times that a quantile is of.
type Portion struct {
	Sum, Count float64
	Times      *measure.Histogram // nil for none; owned by the stretch
}

// Add adds another part. It keeps nothing of o.
func (s *Portion) Add(o Portion) {
	s.Sum += o.Sum
	s.Count += o.Count
	if o.Times == nil {
		return
	}
	if s.Times == nil {
		s.Times = new(measure.Histogram)
	}
	s.Times.Merge(o.Times)
}

// Inside reports whether the inner spread of runs is known for an endpoint: a cost, a mean or a
// quantile.
func Inside(e plan.Endpoint) bool {
	_, quantile := e.Quantile()
	return quantile || e.Stat == "cost" || e.Stat == "mean"
}

// value is the endpoint's number of the stretch, in any unit; false where it has none.
func (s Portion) value(e plan.Endpoint) (v float64, ok bool) {
	if p, quantile := e.Quantile(); quantile {
		if s.Times == nil || s.Times.Count() < stats.LeastOps(p) {
			return 0, false
		}
		v = float64(s.Times.Quantile(p))
	} else {
		v = s.Sum / s.Count
	}
	return v, v > 0 && !math.IsInf(v, 1)
}

// Within returns ln(new/base) of an endpoint over the parts of two runs that took turns, and the
// variance that their inside leaves it: the parts, which follow each other and are equally long,
// are joined to at most [MostPortions] stretches, and the difference of each is one repetition,
// since both runs met the same host in it. Parts that one run alone has are left out. It reports
// false below [stats.MinStretches], and where a stretch has no number.
func Within(e plan.Endpoint, base, fresh []Portion) (difference, variance float64, ok bool) {
	parts := min(len(base), len(fresh))
	n := min(parts, MostPortions)
	if n < stats.MinStretches || !Inside(e) {
		return 0, 0, false
	}
	var whole [2]Portion
	each := make([]float64, n)
	for k := range n {
		var joined [2]Portion
		for i := k * parts / n; i < (k+1)*parts/n; i++ {
			joined[0].Add(base[i])
			joined[1].Add(fresh[i])
		}
		var value [2]float64
		for arm := range value {
			whole[arm].Add(joined[arm])
			if value[arm], ok = joined[arm].value(e); !ok {
				return 0, 0, false
			}
		}
		each[k] = math.Log(value[1] / value[0])
	}
	x, _ := whole[0].value(e)
	y, _ := whole[1].value(e)
	variance = stats.StretchVariance(each)
	return math.Log(y / x), variance, !math.IsNaN(variance)
}

// stretchesOf prepares the stretches of the endpoints that are means or quantiles of operations, of
// a run that took turns with others; nothing for one that did not. take takes in a second of the
// phase.
func (n *Numbers) stretchesOf(
	r *record.Run,
	ph record.Phase,
	endpoints []plan.Endpoint,
) (take func(second int, ws []*measure.Window)) {
	if r.Manifest.Duet == nil {
		return func(int, []*measure.Window) {}
	}
	first, seconds := ph.Seconds()
	parts := min(seconds, MostPortions)
	n.Portions = map[string][]Portion{}
	for _, e := range endpoints {
		if Inside(e) && e.Stat != "cost" {
			n.Portions[e.Name] = make([]Portion, parts)
		}
	}
	of := PortionsOf(endpoints)
	return func(second int, ws []*measure.Window) {
		k := (second - first) * parts / seconds
		of(ws, func(endpoint string, s Portion) { n.Portions[endpoint][k].Add(s) })
	}
}

// PortionsOf returns a function that calls add with the portion of the windows for each endpoint
// that is a mean or a quantile of their operations, once for each window that counts. The
// histograms belong to the windows.
func PortionsOf(
	endpoints []plan.Endpoint,
) func(ws []*measure.Window, add func(endpoint string, s Portion)) {
	type one struct {
		plan.Endpoint
		selected func(series string) bool
	}
	var asked []one
	for _, e := range endpoints {
		if Inside(e) && e.Stat != "cost" {
			asked = append(asked, one{e, trial.Selector(e.Of)})
		}
	}
	return func(ws []*measure.Window, add func(endpoint string, s Portion)) {
		for _, w := range ws {
			for _, e := range asked {
				if !e.selected(w.Name) {
					continue
				}
				h := w.Response
				if e.Service {
					h = w.Service
				}
				s := Portion{Sum: h.Sum().Seconds(), Count: float64(h.Count())}
				if _, quantile := e.Quantile(); quantile {
					s.Times = h
				}
				add(e.Name, s)
			}
		}
	}
}

// tellLevels adds to a result the two parts of the spread of its differences, where the inside of
// all of its runs is known.
func tellLevels(r *verdict.Result, pairs []numbersPair) {
	within := map[int]float64{}
	length := 0.0
	for _, p := range pairs {
		if _, v, ok := Within(r.Endpoint, p.base.Portions[r.Name], p.fresh.Portions[r.Name]); ok {
			within[p.block] = v
			length += (p.base.Measured.Seconds() + p.fresh.Measured.Seconds()) / 2
		}
	}
	if len(within) > 0 {
		r.TellLevels(within, length/float64(len(within)))
	}
}
