package series

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// SumRate is Range for the one expression that costs most of a report, sum by (by)
// (rate(metric[window])); with an empty by there is one line, without labels. Its result equals the
// engine's (rate as Prometheus documents it, with its extrapolation to the window's ends), and
// reads each sample once where the engine reads it once for each step whose window holds it: a
// server's histograms are thousands of series.
func (db *DB) SumRate(
	ctx context.Context,
	metric, by string,
	window time.Duration,
	from, to time.Time,
	step time.Duration,
) (out []RangeSeries, err error) {
	if step < time.Millisecond || window < time.Millisecond || to.Before(from) ||
		to.Sub(from)/step >= MaxPoints {
		return nil, fmt.Errorf(
			"rate of %s: window %v, step %v from %v to %v cannot be computed",
			metric,
			window,
			step,
			from,
			to,
		)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("rate of %s: %w", metric, err)
		}
	}()
	r := rates{
		start:  from.UnixMilli(),
		step:   step.Milliseconds(),
		window: window.Milliseconds(),
		n:      int(to.Sub(from)/step) + 1,
	}
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return nil, ErrClosed
	}
	lo, hi := r.start-r.window+1, r.start+int64(r.n-1)*r.step
	q, err := db.querier(lo, hi)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	set := q.Select(ctx, false, &storage.SelectHints{
		Start: lo,
		End:   hi,
	}, labels.MustNewMatcher(labels.MatchEqual, nameLabel, metric))
	sums := map[string]*sum{}
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		key := s.Labels().Get(by) // empty where by is
		if sums[key] == nil {
			sums[key] = &sum{values: make([]float64, r.n), seen: make([]bool, r.n)}
		}
		it = s.Iterator(it)
		if err := r.read(it, lo, hi); err != nil {
			return nil, err
		}
		r.addTo(sums[key])
	}
	if err := set.Err(); err != nil {
		return nil, err
	}
	return r.lines(sums, by), nil
}

// lines returns the sums as series, in the order of their values of the label.
func (r *rates) lines(sums map[string]*sum, by string) (out []RangeSeries) {
	for key, s := range sums {
		l := RangeSeries{Labels: map[string]string{}}
		if key != "" {
			l.Labels[by] = key
		}
		for k, v := range s.values {
			if s.seen[k] {
				l.T = append(l.T, time.UnixMilli(r.start+int64(k)*r.step).UTC())
				l.V = append(l.V, v)
			}
		}
		if len(l.T) > 0 {
			out = append(out, l)
		}
	}
	sort.Slice(out, func(i, k int) bool { return out[i].Labels[by] < out[k].Labels[by] })
	return out
}

// A sum is one line in the making.
type sum struct {
	values []float64
	seen   []bool
}

// rates evaluates one series after the other on the same steps. All times are in milliseconds.
type rates struct {
	start, step, window int64
	n                   int
	t                   []int64
	raw                 []float64 // as stored
	rising              []float64 // without the resets of the counter
}

// read takes in the samples of a series.
func (r *rates) read(it chunkenc.Iterator, lo, hi int64) error {
	r.t = r.t[:0]
	r.raw = r.raw[:0]
	r.rising = r.rising[:0]
	lost := 0.0
	for kind := it.Seek(lo); kind != chunkenc.ValNone; kind = it.Next() {
		if kind != chunkenc.ValFloat {
			return fmt.Errorf("the series holds native histograms, want numbers")
		}
		t, v := it.At()
		if t > hi {
			break
		}
		if n := len(r.raw); n > 0 && v < r.raw[n-1] {
			lost += r.raw[n-1]
		}
		r.t, r.raw, r.rising = append(r.t, t), append(r.raw, v), append(r.rising, v+lost)
	}
	return it.Err()
}

// addTo adds the series' rate at each step at which its window holds two samples or more.
func (r *rates) addTo(s *sum) {
	first, after := 0, 0 // samples of the window: from first (included) to after (excluded)
	for k := range r.n {
		end := r.start + int64(k)*r.step
		begin := end - r.window
		for after < len(r.t) && r.t[after] <= end {
			after++
		}
		for first < after && r.t[first] <= begin {
			first++
		}
		if after-first < 2 {
			continue
		}
		s.values[k] += r.rate(first, after-1, begin, end)
		s.seen[k] = true
	}
}

// rate is that of the samples from first to last in the window from begin to end, extrapolated to
// the window's ends as Prometheus does it: to an end from which the nearest sample is at most 1.1
// of their average distance away, otherwise by half of that distance, and never to before the
// counter was zero. See "rate()" in its documentation of functions, and extrapolatedRate.
func (r *rates) rate(first, last int, begin, end int64) float64 {
	growth := r.rising[last] - r.rising[first]
	sampled := float64(r.t[last]-r.t[first]) / 1000
	apart := sampled / float64(last-first)
	before, behind := float64(r.t[first]-begin)/1000, float64(end-r.t[last])/1000
	if before >= 1.1*apart {
		before = apart / 2
	}
	if growth > 0 && r.raw[first] >= 0 {
		before = math.Min(before, sampled*(r.raw[first]/growth))
	}
	if behind >= 1.1*apart {
		behind = apart / 2
	}
	return growth * ((sampled + before + behind) / sampled) / (float64(r.window) / 1000)
}

// QuantileOf is histogram_quantile(q, ...) of the buckets of one histogram: lines by their label
// le, as SumRate gives them. Steps at which the quantile is not a number (an empty histogram) are
// left out.
func QuantileOf(q float64, buckets []RangeSeries) RangeSeries {
	at := map[int64]promql.Buckets{}
	var times []int64
	for _, l := range buckets {
		bound, err := strconv.ParseFloat(l.Labels["le"], 64)
		if err != nil {
			continue // no bucket
		}
		for i, t := range l.T {
			ms := t.UnixMilli()
			if at[ms] == nil {
				at[ms] = make(promql.Buckets, 0, len(buckets))
				times = append(times, ms)
			}
			at[ms] = append(at[ms], promql.Bucket{UpperBound: bound, Count: l.V[i]})
		}
	}
	slices.Sort(times)
	out := RangeSeries{Labels: map[string]string{}}
	for _, ms := range times {
		if v, _, _, _, _, _ := promql.BucketQuantile(q, at[ms]); !math.IsNaN(v) {
			out.T, out.V = append(out.T, time.UnixMilli(ms).UTC()), append(out.V, v)
		}
	}
	return out
}
