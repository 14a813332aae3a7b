package capacity

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/stats"
)

// windows builds a search that has seen such windows of one rule, by users and ratio; from is the
// first of the tracking.
func windows(from int, usersRatio ...[2]float64) *Search {
	s := &Search{cfg: Config{Step: 0.005}, rules: []ruleBook{{name: "p99"}}, phase: Track}
	for i, w := range usersRatio {
		phase := Ramp
		if i >= from {
			phase = Track
		}
		s.samples = append(s.samples, sample{
			at:       time.Duration(i),
			phase:    phase,
			users:    w[0],
			ratios:   []float64{w[1]},
			violated: w[1] >= 1,
			complete: true,
		})
	}
	return s
}

// A line in log-log is found exactly, by regression, in any order of the windows.
func TestRegressionFindsALine(t *testing.T) {
	for _, slope := range []float64{1, 3, 8} {
		var w [][2]float64
		for _, u := range []float64{85, 90, 95, 101, 105, 108, 97, 99, 101} {
			w = append(w, [2]float64{u, math.Pow(u/100, slope)})
		}
		s := windows(6, w...)
		f, why := s.regress([]int{0}, s.center(), near)
		if why != "" || math.Abs(math.Exp(f.x)-100) > 1e-6 || math.Abs(f.slope-slope) > 1e-6 ||
			f.hi-f.lo > 1e-6 {
			t.Errorf(
				"slope %v: got %.4f users, slope %.4f, half-width %g, %q",
				slope,
				math.Exp(f.x),
				f.slope,
				f.hi-f.x,
				why,
			)
		}
	}
}

func TestRegressionRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    *Search
		why  string
	}{
		{"falls", windows(9, [2]float64{85, 1.2}, [2]float64{90, 1.1}, [2]float64{95, 1.05}, [2]float64{100, 1}, [2]float64{105, 0.95},
			[2]float64{110, 0.9}, [2]float64{108, 0.92}), "does not rise"},
		{"flat", windows(9, [2]float64{85, 1.01}, [2]float64{90, 0.99}, [2]float64{95, 1.02}, [2]float64{100, 0.98}, [2]float64{105, 1.01},
			[2]float64{110, 0.99}, [2]float64{108, 1}), "does not rise"},
		{"few", windows(9, [2]float64{95, 0.9}, [2]float64{100, 1}, [2]float64{105, 1.1}), "only 3 windows"},
		{"zeros", windows(9, [2]float64{95, 0}, [2]float64{100, 1}, [2]float64{105, 1.1}), "without any value"},
		{"beyond", windows(9, [2]float64{85, 0.55}, [2]float64{87, 0.58}, [2]float64{90, 0.65}, [2]float64{93, 0.7}, [2]float64{95, 0.75},
			[2]float64{97, 0.8}, [2]float64{98, 0.82}), "extrapolate"},
		{"one load", windows(9, [2]float64{100, 0.9}, [2]float64{100, 1}, [2]float64{100, 1.1}, [2]float64{100, 1}, [2]float64{100, 1},
			[2]float64{100, 1}), "same users"},
	} {
		if f, why := tt.s.regress([]int{0}, math.Log(100), near); !strings.Contains(why, tt.why) ||
			why == "" {
			t.Errorf(
				"%s: got %.1f users and %q, want it refused: %s",
				tt.name,
				math.Exp(f.x),
				why,
				tt.why,
			)
		}
	}
}

// Once the tracker steers, users fall whenever the value is high, and a slope through those windows
// is meaningless. Only the windows before count for it.
func TestSteeredWindowsDoNotBendTheSlope(t *testing.T) {
	var w [][2]float64
	for _, u := range []float64{82, 86, 90, 94, 98, 102, 106} {
		w = append(w, [2]float64{u, math.Pow(u/100, 2)})
	}
	for i := range 40 { // after the reversal: the slower the server the fewer the users
		u := 100 + 2*math.Sin(float64(i))
		w = append(w, [2]float64{u, 1 - 3*(u/100-1)})
	}
	s := windows(7, w...)
	f, why := s.regress([]int{0}, math.Log(100), near)
	if why != "" || math.Abs(f.slope-2) > 0.3 || math.Abs(math.Exp(f.x)-100) > 1 {
		t.Errorf("got %.1f users and slope %.2f, want 100 and 2: %s", math.Exp(f.x), f.slope, why)
	}
}

func TestBracket(t *testing.T) {
	s := windows(
		9,
		[2]float64{80, 0.5},
		[2]float64{90, 0.6},
		[2]float64{100, 0.7},
		[2]float64{110, 1.2},
		[2]float64{120, 1.5},
		[2]float64{130, 2},
	)
	r, open, ok := s.bracket()
	// The best cut lies between 100 and 110; one window on the wrong side is still possible from 90
	// to 120.
	if !ok || open || math.Abs(r.Users-math.Sqrt(100*110)) > 1e-9 || math.Abs(r.Lo-90) > 1e-9 ||
		math.Abs(r.Hi-120) > 1e-9 {
		t.Errorf(
			"got %.2f in [%.2f, %.2f], want %.2f in [90, 120]",
			r.Users,
			r.Lo,
			r.Hi,
			math.Sqrt(100*110),
		)
	}
	s = windows(9, [2]float64{80, 0.5}, [2]float64{100, 1.2})
	if r, open, ok := s.bracket(); !ok || open || math.Abs(r.Lo-72) > 1e-9 ||
		math.Abs(r.Hi-100/0.9) > 1e-9 {
		t.Errorf(
			"got [%.2f, %.2f], want the interval to reach a back-off beyond what was tried: [72, 111.11]",
			r.Lo,
			r.Hi,
		)
	}
	for _, s := range []*Search{windows(9, [2]float64{80, 0.5}), windows(9, [2]float64{80, 1.5}), windows(9)} {
		if r, _, ok := s.bracket(); ok {
			t.Errorf("got %+v from windows of one kind", r)
		}
	}
	// One violation, and as much or more that held above it.
	for _, s := range []*Search{windows(2, [2]float64{90, 0.5}, [2]float64{100, 1.2}, [2]float64{95, 0.5}, [2]float64{105, 0.5}),
		windows(2, [2]float64{90, 0.5}, [2]float64{100, 1.2}, [2]float64{95, 0.5}, [2]float64{105, 0.5}, [2]float64{110, 0.5})} {
		if r, open, ok := s.bracket(); !ok || !open {
			t.Errorf(
				"got %+v, open %v: nothing says that the capacity lies below the most users",
				r,
				open,
			)
		}
	}
}

// The variance of a mean must be the one that many series show, and its interval must cover.
func TestCorrelatedMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		n          int
		r          float64
		low, high  float64 // mean of the variance over the true one
		cover      float64
		effLow, hi float64
	}{
		{20, 0.8, 0.9, 1.7, 0.85, 1, 6},
		{80, 0.8, 0.8, 1.4, 0.90, 6, 16},
		{80, 0, 1, 1.8, 0.93, 35, 75},
		{80, 0.95, 0.5, 1.2, 0.78, 1, 8},
	} {
		const series = 3000
		var sum, sum2, variance, eff float64
		covered := 0
		w := make([]float64, tt.n)
		for i := range w {
			w[i] = 1
		}
		for range series {
			z := make([]float64, tt.n)
			x := rng.NormFloat64()
			for i := range z {
				z[i] = x
				x = tt.r*x + math.Sqrt(1-tt.r*tt.r)*rng.NormFloat64()
			}
			m, v, df, e := correlatedMean(z, w)
			sum = sum + m
			sum2 = sum2 + m*m
			variance = variance + v/series
			eff = eff + e/series
			if math.Abs(m) <= stats.TQuantile(level, df)*math.Sqrt(v) {
				covered++
			}
		}
		truth := sum2/series - sum/series*sum/series
		if q := variance / truth; q < tt.low || q > tt.high {
			t.Errorf(
				"n %d, r %v: variance is %.2f of the true one, want %v to %v",
				tt.n,
				tt.r,
				q,
				tt.low,
				tt.high,
			)
		}
		if c := float64(covered) / series; c < tt.cover || c > 0.999 {
			t.Errorf("n %d, r %v: coverage %.3f, want at least %v", tt.n, tt.r, c, tt.cover)
		}
		if eff < tt.effLow || eff > tt.hi {
			t.Errorf(
				"n %d, r %v: worth %.1f windows, want %v to %v",
				tt.n,
				tt.r,
				eff,
				tt.effLow,
				tt.hi,
			)
		}
	}
	if m, v, _, _ := correlatedMean([]float64{2, 2, 2}, []float64{1, 1, 1}); m != 2 || v != 0 {
		t.Errorf("a constant series: got mean %v and variance %v", m, v)
	}
	if m, _, _, _ := correlatedMean([]float64{1, 5}, []float64{3, 1}); m != 2 {
		t.Errorf("got weighted mean %v, want 2", m)
	}
}

// Where windows have a long tail, their mean is not their median; the interval must cover the
// median.
func TestSkewedWindowsWidenTheRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	held := 0
	const runs = 100
	for range runs {
		var pts []point
		for i := range 240 {
			x := 0.1*rng.Float64() - 0.05
			pts = append(pts, point{
				x:     x,
				y:     8*x + 0.3*(rng.ExpFloat64()-math.Ln2),
				w:     1,
				early: i < 120,
			})
		}
		if f, why := line(pts, 0, near); why != "" {
			held++ // refused
		} else if f.lo <= 0 && 0 <= f.hi {
			held++
		}
	}
	if held < 90 {
		t.Errorf(
			"%d of %d intervals hold the users at which half of all windows are violated",
			held,
			runs,
		)
	}
}

func TestStridesShrinkAndGrow(t *testing.T) {
	sc := newScript(t, Config{
		Start:     800,
		Max:       20000,
		Precision: 1e-9,
		Budget:    20 * time.Minute,
	}, func(n int, at time.Duration) []RuleReading {
		limit := 1000.0
		if at > 10*time.Minute { // the capacity jumps, as when a neighbor leaves
			limit = 1500
		}
		return []RuleReading{{
			Rule:  "cpu",
			Value: float64(n) / limit,
			Limit: 1,
			Less:  true,
			OK:    true,
		}}
	})
	var before, after float64
	users := sc.users
	sc.until(func(a Action) bool {
		change := math.Abs(float64(a.Users)/float64(users) - 1)
		users = a.Users
		switch {
		case sc.at > 8*time.Minute && sc.at < 10*time.Minute:
			before = max(before, change)
		case sc.at > 10*time.Minute && sc.at < 13*time.Minute:
			after = max(after, change)
		}
		return false
	})
	if before > 0.0061 || before == 0 {
		t.Errorf("after reversals the longest stride is %.2f %%, want 0.5 %%", 100*before)
	}
	if after < 0.02 {
		t.Errorf("on a long march the longest stride is %.2f %%, want 2.5 %%", 100*after)
	}
}

// However well the ramp alone shows the crossing, precision requires four windows of the tracker.
func TestPrecisionNeedsTrackingWindows(t *testing.T) {
	for tracked := range 7 {
		var w [][2]float64
		for i := range 40 {
			u := 85 + 0.5*float64(i)
			w = append(w, [2]float64{u, math.Pow(u/100, 2) * (1 + 0.002*math.Pow(-1, float64(i)))})
		}
		for i := range tracked {
			u := 99 + float64(i%3)
			w = append(w, [2]float64{u, math.Pow(u/100, 2)})
		}
		s := windows(40, w...)
		s.cfg.Precision = 0.02
		r, _ := s.estimate(false)
		if r, ok := s.precise(r, 1); ok != (tracked >= 4) {
			t.Errorf("%d tracking windows: got %v (%s)", tracked, ok, r.Stopped)
		}
	}
}
