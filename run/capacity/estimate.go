package capacity

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/stats"
)

const level = 0.975 // upper quantile of a two-sided 95 % interval

// near is the largest distance from the crossing, in log users, of a window that counts: 25 %.
var near = math.Log(1.25)

// wide is the same for a search whose time is over before six windows are that near: the slope of a
// rule that is nearly a power of the users, as CPU is, may come from farther away.
var wide = math.Log(1.8)

// estimate returns the capacity from the windows seen so far, and false if they cannot carry one.
// The last resort is only for a search whose time is over.
func (s *Search) estimate(lastResort bool) (Result, bool) {
	binding := s.binding()
	if len(binding) == 0 {
		return Result{}, false
	}
	center := s.center()
	f, why := s.regress(binding, center, near)
	if why != "" && lastResort {
		if g, whyWide := s.regress(binding, center, wide); whyWide == "" {
			f, why = g, ""
		}
	}
	if why == "" {
		return s.doubted(s.widened(Result{
			Kind:      Estimate,
			Users:     math.Exp(f.x),
			Lo:        math.Exp(f.lo),
			Hi:        math.Exp(f.hi),
			Rule:      s.rules[binding[0]].name,
			Estimator: Regression,
			Windows:   f.n,
			eff:       f.eff,
			Why: fmt.Sprintf(
				"the binding rule crosses its limit there: regression over %d windows near it, "+
					"%.1f %% more of the limit per 1 %% more users",
				f.n,
				f.slope,
			),
		}), binding, center, f.slope), true
	}
	r, ok := s.trackMean(center)
	if ok {
		r = s.widened(r)
	}
	if !ok && lastResort {
		var open bool
		r, open, ok = s.bracket()
		ok = ok && !open
	}
	if !ok {
		return Result{}, false
	}
	r.Rule = s.rules[binding[0]].name
	r.Why += "; the regression was refused: " + why
	return s.doubted(r, binding, center, 0), true
}

// widened returns an estimate whose interval also holds that of the cut that best parts healthy
// windows from violated ones, if that cut lies outside of it: two estimators that disagree are less
// certain than each claims.
func (s *Search) widened(r Result) Result {
	if cut, _, ok := s.bracket(); ok && (cut.Users < r.Lo || cut.Users > r.Hi) {
		r.Lo, r.Hi = min(r.Lo, cut.Lo), max(r.Hi, cut.Hi)
	}
	return r
}

// binding returns the rules that stop the users: the one that is worst in most violated windows,
// then every other that is worst in at least a quarter of them.
func (s *Search) binding() []int {
	count := make([]int, len(s.rules))
	total := 0
	for _, w := range s.samples {
		if w.violated && w.worst >= 0 {
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

// center returns the place to look for the crossing, in log users: the median of the later half of
// the tracking windows, and the cut of the bracket while there are few.
func (s *Search) center() float64 {
	var x []float64
	for _, w := range s.samples {
		if w.phase == Track {
			x = append(x, math.Log(w.users))
		}
	}
	if len(x) < 8 {
		if r, _, ok := s.bracket(); ok {
			return math.Log(r.Users)
		}
		return math.Log(s.users)
	}
	return middle(x[len(x)/2:])
}

// turn is the index of the first window that reversed the tracker not far from the center, or -1. A
// reversal far away was a false alarm on the way.
func (s *Search) turn(center float64) int {
	for k := 1; k < len(s.samples); k++ {
		w, p := s.samples[k], s.samples[k-1]
		if p.phase == Track && w.violated != p.violated &&
			math.Abs(math.Log(w.users)-center) < near/2 {
			return k
		}
	}
	return -1
}

// A fit is a crossing: x in log users and its interval, the slope of log ratio over log users.
type fit struct {
	x, lo, hi, slope float64
	n                int
	eff              float64
}

// A point is a window. An early one was not yet steered by the tracker, so its users do not depend
// on its noise.
type point struct {
	x, y, w float64
	early   bool
	joined  bool // holds the cost of arrivals: it shows the slope, not the crossing
}

// regress fits y = log(value/limit) of the binding rules over x = log(users) near the crossing, and
// solves y = 0. It returns why it refuses, or "".
func (s *Search) regress(binding []int, center, width float64) (fit, string) {
	var pts []point
	turn := s.turn(center)
	for k, w := range s.samples {
		q := w.ratio(binding)
		if math.IsNaN(q) {
			continue
		}
		if q <= 0 {
			if math.Abs(math.Log(w.users)-center) < near/2 {
				return fit{}, "the rule has windows without any value near the crossing"
			}
			continue
		}
		pts = append(pts, point{x: math.Log(w.users), y: math.Log(q), early: turn < 0 || k < turn+4,
			joined: s.settling > 0 && w.phase == Ramp})
	}
	var f fit
	var why string
	c := center
	for range 8 {
		f, why = line(pts, c, width)
		if why != "" {
			return fit{}, why
		}
		if math.Abs(f.x-c) < 1e-4 {
			break
		}
		c = min(max(f.x, center-near/2), center+near/2)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, w := range s.samples {
		lo, hi = min(lo, math.Log(w.users)), max(hi, math.Log(w.users))
	}
	if math.Abs(f.x-center) > near/2 || f.x < lo || f.x > hi {
		return fit{}, "it would extrapolate"
	}
	return f, ""
}

// line is one fit around the crossing c. The slope comes from the windows that were not yet steered
// by the tracker (early); then every window near gives an estimate of the crossing, x - y/slope,
// and the fit is their mean.
func line(pts []point, c, width float64) (fit, string) {
	const least = 6
	var sw, sx, sy float64
	early := 0
	for i := range pts {
		p := &pts[i]
		p.w = 0
		if u := math.Abs(p.x-c) / width; u < 1 {
			p.w = math.Pow(1-u*u*u, 3) / (1 + p.y*p.y)
		}
		if p.early && p.w > 0 {
			early++
			sw += p.w
			sx += p.w * p.x
			sy += p.w * p.y
		}
	}
	if early < least {
		return fit{}, fmt.Sprintf("only %d windows are near the crossing", early)
	}
	mx, my := sx/sw, sy/sw
	var sxx, sxy, ss, sw2 float64
	for _, p := range pts {
		if p.early {
			sxx += p.w * (p.x - mx) * (p.x - mx)
			sxy += p.w * (p.x - mx) * (p.y - my)
			sw2 += p.w * p.w
		}
	}
	if sxx <= 1e-12*sw { // a millionth of the users is not a spread
		return fit{}, "all windows have the same users"
	}
	b := sxy / sxx
	for _, p := range pts {
		if p.early {
			e := p.y - my - b*(p.x-mx)
			ss += p.w * e * e
		}
	}
	neff := sw * sw / sw2
	if neff < 3 {
		return fit{}, "too few windows are near the crossing"
	}
	seb := math.Sqrt(ss / sxx / (neff - 2))
	if t := stats.TQuantile(level, neff-2); !(b > t*seb) {
		return fit{}, fmt.Sprintf(
			"the rule does not rise with the users (slope %.2f, its uncertainty %.2f)",
			b,
			t*seb,
		)
	}
	var z, w []float64
	var swy, swa float64
	for _, p := range pts {
		if p.w > 0 && !p.joined {
			z, w = append(z, p.x-p.y/b), append(w, p.w)
			swy += p.w * p.y
			swa += p.w
		}
	}
	if len(z) < least {
		return fit{}, fmt.Sprintf("only %d windows after the ramp are near the crossing", len(z))
	}
	m, v, df, eff := correlatedMean(z, w)
	bias := swy / swa / b * seb / b
	f := fit{x: m, slope: b, n: len(z), eff: eff}
	half := stats.TQuantile(level, df) * math.Sqrt(v+bias*bias)
	f.lo, f.hi = m-half, m+half
	// Half of all windows are violated at the capacity, so z has its median there. Where windows
	// spread evenly about their mean that is the same, and the mean is more precise; where they do
	// not, the interval covers both.
	if x, lo, hi := correlatedMedian(z, w); math.Abs(x-m) > half/2 {
		f.lo, f.hi = min(f.lo, lo), max(f.hi, hi)
	}
	return f, ""
}

// trackMean is the mean of the users over the tracking windows after the first reversal.
func (s *Search) trackMean(center float64) (Result, bool) {
	turn := s.turn(center)
	if turn < 0 {
		return Result{}, false
	}
	// A ramp that ended far from the center was ended by windows that carry little information. A
	// march follows, which is not part of the mean: it begins where the tracker first passes the
	// center; and the interval holds that of the cut, which needs no tracker.
	from, below := turn, s.samples[turn].users < math.Exp(center)
	for from < len(s.samples) && (s.samples[from].users < math.Exp(center)) == below {
		from++
	}
	far := math.Abs(math.Log(s.samples[turn].users)-center) > near/4
	if far && len(s.samples)-from >= 4 {
		turn = from
	}
	var x, w []float64
	for _, p := range s.samples[turn:] {
		if p.phase != Steady {
			x, w = append(x, math.Log(p.users)), append(w, 1)
		}
	}
	if len(x) < 4 {
		return Result{}, false
	}
	m, v, df, eff := correlatedMean(x, w)
	half := stats.TQuantile(level, df) * math.Sqrt(v)
	half = max(half, s.cfg.Step/2)
	lo, hi := math.Exp(m-half), math.Exp(m+half)
	if cut, _, ok := s.bracket(); far && ok {
		lo, hi = min(lo, cut.Lo), max(hi, cut.Hi)
	}
	return Result{
		Kind:      Estimate,
		Users:     math.Exp(m),
		Lo:        lo,
		Hi:        hi,
		Estimator: TrackMean,
		eff:       eff,
		Windows:   len(x),
		Why: fmt.Sprintf(
			"the mean of the users over %d tracking windows after the first reversal",
			len(x),
		),
	}, true
}
