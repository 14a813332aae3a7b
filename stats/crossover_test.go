package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/stats"
)

// TestCrossoverIsLeastSquares compares with the normal equations of d = arm + order·second, solved
// here, and with the p-value of the t that they give.
func TestCrossoverIsLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 20))
	for range 200 {
		n := 4 + rng.IntN(9)
		order, values := make([]int, n), make([]float64, n)
		for i := range order {
			order[i] = 1 - 2*(i%2)
			if i == n-1 && n > 6 && rng.IntN(2) == 0 {
				order[i] = -order[i]
			}
			values[i] = 0.3 + 0.7*float64(order[i]) + rng.NormFloat64()
		}
		c, ok := stats.NewCrossover(sample(t, values...), order)
		if !ok {
			t.Fatalf("orders %v are refused", order)
		}
		var sx, sy, sxy, syy float64
		for i, v := range values {
			x := float64(order[i])
			sx = sx + x
			sy = sy + v
			sxy = sxy + x*v
			syy = syy + v*v
		}
		m := float64(n)
		det := m*m - sx*sx
		arm, second := (m*sy-sx*sxy)/det, (m*sxy-sx*sy)/det
		rss := syy - arm*sy - second*sxy
		variance := rss / (m - 2)
		se := math.Sqrt(variance * m / det)
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("%v %v: %s is %v, want %v", order, values, what, got, want)
			}
		}
		near("the arm", c.Estimate.Mean, arm)
		near("the order", c.Order.Mean, second)
		near("the error", c.Estimate.SE, se)
		near("the error of the order", c.Order.SE, se)
		near("the sd", c.SD, math.Sqrt(variance))
		near("the freedom", c.Estimate.DF, m-2)
		near("the adjusted mean", c.Adjusted.Mean(), arm)
		near("the interval", c.Estimate.Interval(0.95).Hi, arm+stats.TQuantile(0.975, m-2)*se)
		if p := c.Estimate.Test(); p <= 0.05 != (math.Abs(arm) >= stats.TQuantile(0.975, m-2)*se) {
			t.Fatalf("p = %v", p)
		}
	}
	for _, order := range [][]int{{1, 1, 1, 1, 1, -1}, {1, 1, 1, 1, 1, 1}, {1, -1, 1, -1, 0, 1}, {1, -1}, {1, -1, 1}} {
		values := make([]float64, len(order))
		if _, ok := stats.NewCrossover(sample(t, values...), order); ok {
			t.Errorf("orders %v are accepted", order)
		}
	}
	if c, ok := stats.NewCrossover(sample(t, 0.3, 0.1, 0.3, 0.1), []int{1, -1, 1, -1}); ok {
		t.Errorf("constant within orders: an error of %v", c.Estimate.SE)
	}
}

// TestCompareSpreads compares with Pitman's own form of the statistic, from the ratio of variances
// and the correlation of the arms.
func TestCompareSpreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 21))
	for range 200 {
		n := 5 + rng.IntN(10)
		x := make([]float64, n)
		y := make([]float64, n)
		d := make([]float64, n)
		for i := range x {
			day := rng.NormFloat64()
			x[i], y[i] = day+rng.NormFloat64(), day+2*rng.NormFloat64()
			d[i] = y[i] - x[i]
		}
		a, b := sample(t, x...), sample(t, y...)
		got := stats.CompareSpreads(a, b, sample(t, d...), false)
		both := 0.0
		for i := range x {
			both += (x[i] - a.Mean()) * (y[i] - b.Mean())
		}
		r := both / float64(n-1) / (a.SD() * b.SD())
		f := math.Pow(b.SD()/a.SD(), 2)
		want := math.Abs(f-1) * math.Sqrt(float64(n-2)) / (2 * math.Sqrt(f*(1-r*r)))
		if back := stats.TQuantile(1-got.P/2, float64(n-2)); math.Abs(back-want) > 1e-6*(1+want) {
			t.Fatalf("t = %v, want %v", back, want)
		}
		if got.Before != a.SD() || got.After != b.SD() {
			t.Fatalf("%+v", got)
		}
	}
	wild := stats.CompareSpreads(
		sample(t, 0.1, -0.2, 0.3, -0.1, 0.2, -0.3),
		sample(t, 0.2, -0.1, 0.1, -9, -0.2, 0.3),
		sample(t, 0.1, 0.1, -0.2, -8.9, -0.4, 0.6),
		false,
	)
	if !(wild.P < 0.001) || !(wild.FlipP > 0.2) {
		t.Errorf("one wild run: %+v", wild)
	}
}

// TestCrossoverOfTwoConstants does not call an effect exact that is there in one order and not in
// the other.
func TestCrossoverOfTwoConstants(t *testing.T) {
	s := sample(t, -0.1, 0, -0.1, 0, -0.1, 0)
	order := []int{1, -1, 1, -1, 1, -1}
	if c, ok := stats.NewCrossover(s, order); ok {
		t.Errorf("an interval of %v around %v", c.Estimate.Interval(0.95), c.Estimate.Mean)
	}
	same := sample(t, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1)
	if _, ok := stats.NewCrossover(same, order); !ok {
		t.Error("differences that do not vary at all have no effect of the order")
	}
}
