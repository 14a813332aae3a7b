package control

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/stats"
)

const level = 0.975 // upper quantile of a two-sided 95 % interval

// near is how far from the crossing, in log users, a window may be and still count: 25 %.
var near = math.Log(1.25)

// estimate returns the capacity from the windows seen so far, and false if they cannot carry one.
func (s *Search) estimate() (Result, bool) {
	binding := s.binding()
	if len(binding) == 0 {
		return Result{}, false
	}
	center, ok := s.trackCenter()
	if !ok {
		return Result{}, false
	}
	f, why := s.regress(binding, center)
	if why == "" {
		return Result{Kind: Estimate, Users: math.Exp(f.x), Lo: math.Exp(f.x - f.half), Hi: math.Exp(f.x + f.half),
			Rule: s.rules[binding[0]].name, Estimator: Regression, Windows: f.n,
			Why: fmt.Sprintf("the binding rule crosses its limit there: regression over %d windows near it, "+
				"%.1f %% more of the limit per 1 %% more users", f.n, f.slope)}, true
	}
	r, ok := s.trackMean()
	if !ok {
		return Result{}, false
	}
	r.Rule = s.rules[binding[0]].name
	r.Why += "; the regression was refused: " + why
	return r, true
}

// binding returns the rules that stop the users: the one that is worst in most violated windows, then every other
// that is worst in at least a quarter of them.
func (s *Search) binding() []int {
	count := make([]int, len(s.rules))
	total := 0
	for _, w := range s.samples {
		if w.violated && w.worst >= 0 && !w.dirty {
			count[w.worst]++
			total++
		}
	}
	var rules []int
	for i, n := range count {
		if n > 0 && 4*n >= total {
			rules = append(rules, i)
		}
	}
	slices.SortStableFunc(rules, func(a, b int) int { return count[b] - count[a] })
	return rules
}

// clean returns the windows of the tracking phase that are not dirty.
func (s *Search) clean() []sample {
	var c []sample
	for _, w := range s.samples {
		if w.phase == Track && !w.dirty {
			c = append(c, w)
		}
	}
	return c
}

// trackCenter is the median of log users while tracking: where to look for the crossing.
func (s *Search) trackCenter() (float64, bool) {
	c := s.clean()
	if len(c) < 2 {
		return 0, false
	}
	x := make([]float64, len(c))
	for i := range c {
		x[i] = math.Log(c[i].users)
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2, true
}

// A fit is a crossing: x in log users, half the width of its interval, the slope of log ratio over log users.
type fit struct {
	x, half, slope float64
	n              int
}

type point struct{ x, y, w float64 }

// regress fits y = log(value/limit) of the binding rules over x = log(users) near the crossing, and solves y = 0.
// It returns why it refuses, or "".
func (s *Search) regress(binding []int, center float64) (fit, string) {
	var pts []point
	for _, w := range s.samples {
		if w.dirty {
			continue
		}
		q := math.Inf(-1)
		for _, i := range binding {
			if i >= len(w.ratios) || math.IsNaN(w.ratios[i]) {
				q = math.NaN()
				break
			}
			q = max(q, w.ratios[i])
		}
		if math.IsNaN(q) {
			continue
		}
		if q <= 0 {
			if math.Abs(math.Log(w.users)-center) < near/2 {
				return fit{}, "the rule has windows without any value near the crossing"
			}
			continue
		}
		pts = append(pts, point{x: math.Log(w.users), y: math.Log(q)})
	}
	var f fit
	var why string
	c := center
	for range 8 {
		f, why = line(pts, c)
		if why != "" {
			return fit{}, why
		}
		if math.Abs(f.x-c) < 1e-4 {
			break
		}
		c = min(max(f.x, center-near/2), center+near/2)
	}
	if math.Abs(f.x-center) > near/2 {
		return fit{}, "it would extrapolate"
	}
	return f, ""
}

// line is one weighted fit around the crossing c.
func line(pts []point, c float64) (fit, string) {
	const least = 6
	h := near
	var sw, sx, sy float64
	n := 0
	for i := range pts {
		p := &pts[i]
		u := math.Abs(p.x-c) / h
		p.w = 0
		if u < 1 {
			p.w = math.Pow(1-u*u*u, 3) / (1 + p.y*p.y)
			n++
		}
		sw += p.w
		sx += p.w * p.x
		sy += p.w * p.y
	}
	if n < least {
		return fit{}, fmt.Sprintf("only %d windows are near the crossing", n)
	}
	mx, my := sx/sw, sy/sw
	var sxx, sxy float64
	for _, p := range pts {
		sxx += p.w * (p.x - mx) * (p.x - mx)
		sxy += p.w * (p.x - mx) * (p.y - my)
	}
	if sxx <= 0 {
		return fit{}, "all windows have the same users"
	}
	b := sxy / sxx
	// Residual variance, effective number, serial correlation.
	var ss, sw2, lag, prev float64
	havePrev := false
	for _, p := range pts {
		if p.w == 0 {
			continue
		}
		e := p.y - my - b*(p.x-mx)
		ss += p.w * e * e
		sw2 += p.w * p.w
		if havePrev {
			lag += math.Sqrt(p.w) * e * prev
		}
		prev, havePrev = math.Sqrt(p.w)*e, true
	}
	neff := sw * sw / sw2
	df := neff - 2
	if df < 1 {
		return fit{}, "too few windows are near the crossing"
	}
	var2 := ss / sw * neff / df // residual variance of a window with weight 1
	r := 0.0
	if ss > 0 {
		r = (lag/ss*neff + 1) / (neff + 4)
	}
	r = min(max(r, 0), 0.9)
	inflate := (1 + r) / (1 - r)
	se := math.Sqrt(var2 / (sxx / sw * neff))
	t := stats.TQuantile(level, df)
	if !(b > t*se) {
		return fit{}, fmt.Sprintf("the rule does not rise with the users (slope %.2f, its uncertainty %.2f)", b, t*se)
	}
	x := mx - my/b
	v := var2 / (b * b) * (1/neff + (x-mx)*(x-mx)/(sxx/sw*neff)) * inflate
	return fit{x: x, half: t * math.Sqrt(v), slope: b, n: n}, ""
}

// trackMean is the mean of the users over the tracking windows after the first reversal, with a t interval over
// means of batches.
func (s *Search) trackMean() (Result, bool) {
	if s.firstTurn < 0 {
		return Result{}, false
	}
	var x []float64
	for _, w := range s.samples[s.firstTurn:] {
		if w.phase == Track && !w.dirty {
			x = append(x, math.Log(w.users))
		}
	}
	batches := min(len(x)/2, 10)
	if batches < 2 {
		return Result{}, false
	}
	size := len(x) / batches
	x = x[len(x)-size*batches:]
	means := make([]float64, batches)
	for i := range means {
		for _, v := range x[i*size : (i+1)*size] {
			means[i] += v / float64(size)
		}
	}
	sample, err := stats.NewSample(means...)
	if err != nil {
		return Result{}, false
	}
	m := sample.Mean()
	half := stats.TQuantile(level, float64(batches-1)) * sample.SD() / math.Sqrt(float64(batches))
	half = max(half, s.cfg.Step/2)
	return Result{Kind: Estimate, Users: math.Exp(m), Lo: math.Exp(m - half), Hi: math.Exp(m + half),
		Estimator: TrackMean, Windows: len(x),
		Why: fmt.Sprintf("the mean of the users over %d tracking windows after the first reversal, interval from %d batches",
			len(x), batches)}, true
}
