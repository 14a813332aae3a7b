package stats_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"plimsoll/stats"
)

// TestFewValues checks n = 0, 1, 2 and values without spread: a warning, and no invented number.
func TestFewValues(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		warns  error
	}{
		{"none", nil, stats.ErrEmpty},
		{"one", []float64{0.12}, stats.ErrTooFew},
		{"two", []float64{0.12, 0.09}, stats.ErrTooFew},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sample(t, tt.values...)
			if len(s.Warnings) != 1 || !errors.Is(s.Warnings[0], tt.warns) {
				t.Errorf("warnings: got %v, want %v", s.Warnings, tt.warns)
			}
			if ci := stats.TInterval(s, 0.95); ci.Known() || ci.Inside(-1, 1) || ci.Below(1) ||
				ci.Above(-1) {
				t.Errorf("an interval of %d values: %v", s.N(), ci)
			}
			if hl := stats.HodgesLehmann(s, 0.95); hl.Interval.Known() {
				t.Errorf("a rank interval of %d values: %v", s.N(), hl)
			}
			for what, p := range map[string]float64{
				"t test": stats.TTest(s), "MDE": stats.MDE(0.02, s.N(), 0.05),
			} {
				if !math.IsNaN(p) {
					t.Errorf("%s of %d values: %v", what, s.N(), p)
				}
			}
			if got := stats.Outliers(s); got != nil {
				t.Errorf("outliers of %d values: %v", s.N(), got)
			}
		})
	}
	if s := sample(t); !math.IsNaN(s.Mean()) || !math.IsNaN(s.SD()) || !math.IsNaN(s.Median()) {
		t.Error("an empty sample has a mean, a spread or a median")
	}
}

func TestConstantValues(t *testing.T) {
	zero, one := sample(t, 0, 0, 0, 0, 0, 0), sample(t, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
	for _, s := range []stats.Sample{zero, one} {
		if len(s.Warnings) != 1 || !errors.Is(s.Warnings[0], stats.ErrConstant) {
			t.Errorf("warnings of %v: %v", s.Values, s.Warnings)
		}
		if ci := stats.TInterval(s, 0.95); ci.Lo != s.Values[0] || ci.Hi != s.Values[0] {
			t.Errorf("interval of %v: %v", s.Values, ci)
		}
	}
	if p := stats.TTest(zero); p != 1 {
		t.Errorf("t test of zeros: %v, want 1", p)
	}
	if p := stats.TTest(one); p != 0 {
		t.Errorf("t test of equal values: %v, want 0", p)
	}
	if p, _ := stats.SignFlip(zero); p != 1 {
		t.Errorf("sign flip of zeros: %v, want 1", p)
	}
}

func TestBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	sampleOf := func(v ...float64) error { _, err := stats.NewSample(v...); return err }
	ratios := func(a, b []float64) error { _, err := stats.LogRatios(a, b); return err }
	diffs := func(a, b []float64) error { _, err := stats.Differences(a, b); return err }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"undefined", sampleOf(1, nan), "value 2 is NaN"},
		{"infinite", sampleOf(inf), "value 1 is +Inf"},
		{
			"zero",
			ratios([]float64{1, 0}, []float64{1, 1}),
			"pair 2 has the value 0: a ratio needs finite numbers above zero",
		},
		{"negative", ratios([]float64{1}, []float64{-3}), "pair 1 has the value -3"},
		{"ratio of NaN", ratios([]float64{nan}, []float64{1}), "pair 1 has the value NaN"},
		{"ratio of Inf", ratios([]float64{1}, []float64{inf}), "pair 1 has the value +Inf"},
		{"lengths", ratios([]float64{1}, nil), "1 values before and 0 after"},
		{
			"difference of NaN",
			diffs([]float64{1, nan}, []float64{1, 1}),
			"pair 2 has the values NaN and 1",
		},
		{
			"difference too large",
			diffs([]float64{-math.MaxFloat64}, []float64{math.MaxFloat64}),
			"finite numbers are needed",
		},
		{"difference lengths", diffs(nil, []float64{1}), "do not make pairs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
				t.Errorf("got %v, want %q", tt.err, tt.want)
			}
		})
	}
	for _, p := range []float64{
		stats.TQuantile(0, 3), stats.TQuantile(1, 3), stats.TQuantile(0.5, 0), stats.TQuantile(nan, 3),
		stats.MDE(0.02, 6, 0), stats.SignTest(-1, 2),
		stats.TInterval(sample(t, 1, 2, 3), 1).Lo,
	} {
		if !math.IsNaN(p) {
			t.Errorf("nonsense in, %v out", p)
		}
	}
	for _, n := range []int{
		stats.PairsFor(nan, 0.05, 0.05), stats.PairsFor(0.02, 0, 0.05), stats.PairsFor(10, 0.01, 0.05),
		stats.PairsToDecide(nan, 0.02, 0.05, 0.05), stats.PairsToDecide(0, 0.02, -1, 0.05), stats.PairsToDecide(0, 100, 0.01, 0.05),
	} {
		if n != 0 {
			t.Errorf("nonsense in, %d pairs out", n)
		}
	}
}

// TestTQuantile checks that the quantile inverts the distribution of gonum, out to the tails.
func TestTQuantile(t *testing.T) {
	for _, df := range []float64{1, 2, 3, 5, 11, 40, 999, 9999} {
		last := math.Inf(-1)
		for _, p := range []float64{1e-9, 1e-6, 1e-4, 0.0025, 0.025, 0.1, 0.3, 0.45, 0.499, 0.5, 0.51, 0.7, 0.95, 0.9999} {
			x := stats.TQuantile(p, df)
			if back := (distuv.StudentsT{Sigma: 1, Nu: df}).CDF(x); math.Abs(back-p) > 1e-9*p {
				t.Errorf(
					"the distribution with %v degrees of freedom at the quantile of %v is %v",
					df,
					p,
					back,
				)
			}
			if x <= last {
				t.Errorf(
					"the quantile of %v with %v degrees of freedom is %v, below the one before",
					p,
					df,
					x,
				)
			}
			last = x
		}
	}
}

// TestSwap checks that exchanging the arms mirrors everything.
func TestSwap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 3; n <= 24; n++ {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64())
		}
		there, err := stats.LogRatios(a, b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := stats.LogRatios(b, a)
		if err != nil {
			t.Fatal(err)
		}
		x, y := stats.TInterval(there, 0.95), stats.TInterval(back, 0.95)
		if !near(x.Lo, -y.Hi) || !near(x.Hi, -y.Lo) {
			t.Errorf("n %d: intervals %v and %v", n, x, y)
		}
		p, _ := stats.SignFlip(there)
		q, _ := stats.SignFlip(back)
		if p != q {
			t.Errorf("n %d: sign flips %v and %v", n, p, q)
		}
		if g, h := stats.HodgesLehmann(there, 0.9), stats.HodgesLehmann(back, 0.9); !near(
			g.Estimate,
			-h.Estimate,
		) {
			t.Errorf("n %d: centers %v and %v", n, g, h)
		}
	}
}

// TestSignFlipCountsAll compares the count by halves with that of all sign changes one by one.
func TestSignFlipCountsAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 14; n++ {
		values := normals(rng, n, 0.3, 1)
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		reached := 0
		for signs := range 1 << n {
			flipped := 0.0
			for i, v := range values {
				flipped += v * float64(1-2*(signs>>i&1))
			}
			if math.Abs(flipped) >= math.Abs(sum)-1e-12 {
				reached++
			}
		}
		p, smallest := stats.SignFlip(sample(t, values...))
		if want := float64(reached) / float64(int(1)<<n); p != want ||
			smallest != math.Pow(2, float64(1-n)) {
			t.Errorf("%d values: %v (at least %v), want %v", n, p, smallest, want)
		}
	}
	same := make([]float64, 30)
	for i := range same {
		same[i] = 1
	}
	if p, smallest := stats.SignFlip(sample(t, same...)); p != smallest {
		t.Errorf("thirty ones: %v, want %v", p, smallest)
	}
	if p, _ := stats.SignFlip(sample(t, make([]float64, 30)...)); p != 1 {
		t.Errorf("thirty zeros: %v, want 1", p)
	}
}

// TestSampledSignFlip compares the sampled p-value with the exact one where both exist, and above.
func TestSampledSignFlip(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	values := normals(rng, 44, 0.3, 1)
	s := sample(t, values...)
	p, smallest := stats.SignFlip(s)
	again, _ := stats.SignFlip(s)
	if p != again {
		t.Errorf("two calls: %v and %v", p, again)
	}
	if tt := stats.TTest(s); math.Abs(p-tt) > 0.01 || p < smallest {
		t.Errorf("sign flip %v (at least %v), t test %v", p, smallest, tt)
	}
	// Zeros do not change the test: 40 values exactly, 41 with a zero by drawing.
	exact, _ := stats.SignFlip(sample(t, values[:40]...))
	drawn, _ := stats.SignFlip(sample(t, append(slices.Clone(values[:40]), 0)...))
	if se := math.Sqrt(exact * (1 - exact) / 100_000); math.Abs(exact-drawn) > 5*se+1e-5 {
		t.Errorf("exact %v, drawn %v", exact, drawn)
	}
}

// TestLargeRanks checks that the normal approximation for large samples meets the exact
// distribution.
func TestLargeRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	values := normals(rng, 61, 0.5, 1)
	exact := stats.HodgesLehmann(sample(t, values[:60]...), 0.95)
	large := stats.HodgesLehmann(sample(t, values...), 0.95)
	if !large.Interval.Known() || math.Abs(large.Interval.Lo-exact.Interval.Lo) > 0.05 ||
		math.Abs(large.Interval.Hi-exact.Interval.Hi) > 0.05 {
		t.Errorf("60 values: %v, 61 values: %v", exact, large)
	}
	if p, q := stats.SignTest(520, 480), stats.SignTest(521, 480); math.Abs(p-q) > 0.02 ||
		math.Abs(p-0.2174) > 1e-3 {
		t.Errorf("sign tests of 1000 and 1001 throws: %v and %v", p, q)
	}
}

func TestPairsFor(t *testing.T) {
	for _, sd := range []float64{0.005, 0.02, 0.0283, 0.05, 0.2} {
		for _, alpha := range []float64{0.05, 0.0221} {
			n := stats.PairsFor(sd, 0.05, alpha)
			if n < stats.MinPairs || stats.MDE(sd, n, alpha) > 0.05 {
				t.Errorf("sd %v: %d pairs see %v", sd, n, stats.MDE(sd, n, alpha))
			}
			if n > stats.MinPairs && stats.MDE(sd, n-1, alpha) <= 0.05 {
				t.Errorf("sd %v: one pair less than %d is enough", sd, n)
			}
		}
	}
	if n := stats.PairsToDecide(0, 0.001, 0.05, 0.05); n != stats.MinPairs {
		t.Errorf("a clear case takes %d pairs", n)
	}
	if near, far := stats.PairsToDecide(0.01, 0.06, 0.05, 0.05), stats.PairsToDecide(0.049, 0.3, 0.05, 0.05); near <= stats.MinPairs ||
		far <= near {
		t.Errorf("hard cases take %d and %d pairs", near, far)
	}
}

// TestCountLimits compares the limits with quantiles of chi-squared over two, from published
// tables, and checks their coverage.
func TestCountLimits(t *testing.T) {
	for _, tt := range []struct{ events, lo, hi float64 }{
		{0, 0, 5.9915 / 2}, {1, 0.1026 / 2, 9.4877 / 2}, {2, 0.7107 / 2, 12.5916 / 2}, {10, 10.8508 / 2, 33.9244 / 2}, {15, 18.4927 / 2, 46.1943 / 2},
	} {
		if lo, hi := stats.CountLimits(tt.events, 0.95); math.Abs(lo-tt.lo) > 1e-4 ||
			math.Abs(hi-tt.hi) > 1e-4 {
			t.Errorf("%v events: %v to %v, want %v to %v", tt.events, lo, hi, tt.lo, tt.hi)
		}
	}
	for _, events := range []float64{40, 1e4, 1e7} {
		lo, hi := stats.CountLimits(events, 0.95)
		if p := (distuv.Poisson{Lambda: hi}).CDF(events); math.Abs(p-0.05) > 1e-5 {
			t.Errorf("%v events or fewer of %v: %v of cases, want one in twenty", events, hi, p)
		}
		if p := 1 - (distuv.Poisson{Lambda: lo}).CDF(events-1); math.Abs(p-0.05) > 1e-5 {
			t.Errorf("%v events or more of %v: %v of cases, want one in twenty", events, lo, p)
		}
	}
	for _, bad := range [][2]float64{{-1, 0.95}, {math.NaN(), 0.95}, {math.Inf(1), 0.95}, {3, 0}, {3, 1}} {
		if lo, hi := stats.CountLimits(bad[0], bad[1]); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%v: %v to %v", bad, lo, hi)
		}
	}
}

func TestHolmWithGaps(t *testing.T) {
	got := stats.Holm([]float64{0.01, math.NaN(), 0.02})
	if !near(got[0], 0.03) || !math.IsNaN(got[1]) || !near(got[2], 0.04) {
		t.Errorf("got %v, want [0.03 NaN 0.04]", got)
	}
	if got := stats.Holm(nil); len(got) != 0 {
		t.Errorf("an empty family gives %v", got)
	}
}

func TestOutliersOfEqualValues(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   []int
	}{
		{"five pairs", []float64{0, 0, 0, 0, 9}, nil},
		{"rounding", []float64{0.1, 0.1, 0.1, 0.1, 0.1, math.Nextafter(0.1, 1)}, nil},
		{"one of six", []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.2}, []int{5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := stats.Outliers(sample(t, tt.values...)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestArgumentsAreKept checks that no function changes its arguments.
func TestArgumentsAreKept(t *testing.T) {
	values := []float64{3, 1, 2, 9, -4, 0, 7}
	s := sample(t, values...)
	before := slices.Clone(s.Values)
	stats.HodgesLehmann(s, 0.9)
	stats.Outliers(s)
	stats.SignFlip(s)
	s.Median()
	s.Without(2, 4)
	if !slices.Equal(s.Values, before) {
		t.Errorf("got %v, want %v", s.Values, before)
	}
	values[0] = 100
	if s.Values[0] != 3 {
		t.Error("the sample shares memory with its argument")
	}
	if got := s.Without(0, 6).Values; !slices.Equal(got, []float64{1, 2, 9, -4, 0}) {
		t.Errorf("without the ends: %v", got)
	}
}

func normals(rng *rand.Rand, n int, mean, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean + sd*rng.NormFloat64()
	}
	return out
}
