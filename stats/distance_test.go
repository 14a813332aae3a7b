package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTotalVariation(t *testing.T) {
	if d := TotalVariation([]float64{0.5, 0.5, 0}, []float64{0.2, 0.5, 0.3}); math.Abs(
		d-0.3,
	) > 1e-12 {
		t.Errorf("distance %v, want 0.3", d)
	}
}

// With two categories the distance is |k/n - p|, whose distribution is binomial and can be summed
// exactly.
func TestChanceDistanceAgainstTheBinomial(t *testing.T) {
	for _, tt := range []struct {
		n int
		p float64
	}{{20, 0.3}, {50, 0.02}, {400, 0.5}, {5000, 0.004}} {
		type cell struct{ d, prob float64 }
		var cells []cell
		mean := 0.0
		for k := range tt.n + 1 {
			a, _ := math.Lgamma(float64(tt.n + 1))
			b, _ := math.Lgamma(float64(k + 1))
			c, _ := math.Lgamma(float64(tt.n - k + 1))
			prob := math.Exp(
				a - b - c + float64(k)*math.Log(tt.p) + float64(tt.n-k)*math.Log1p(-tt.p),
			)
			d := math.Abs(float64(k)/float64(tt.n) - tt.p)
			cells = append(cells, cell{d, prob})
			mean += d * prob
		}
		slices.SortFunc(cells, func(a, b cell) int { return int(math.Copysign(1, a.d-b.d)) })
		at := func(q float64) float64 {
			sum := 0.0
			for _, c := range cells {
				if sum += c.prob; sum >= q {
					return c.d
				}
			}
			return 1
		}
		m, q := ChanceDistance([]float64{tt.p, 1 - tt.p}, tt.n)
		if math.Abs(m/mean-1) > 0.05 {
			t.Errorf("n %d p %v: mean %v, exactly %v", tt.n, tt.p, m, mean)
		}
		if q < at(0.985)-1e-9 || q > at(0.995)+1e-9 {
			t.Errorf(
				"n %d p %v: 99 %% quantile %v, exactly %v to %v",
				tt.n,
				tt.p,
				q,
				at(0.985),
				at(0.995),
			)
		}
	}
}

// One honest experiment in a hundred exceeds the quantile, for many categories as well.
func TestChanceDistanceIsCalibrated(t *testing.T) {
	p := make([]float64, 50)
	for i := range p {
		p[i] = 1 / float64(i+1)
	}
	total := 0.0
	for _, x := range p {
		total += x
	}
	const n = 800
	_, limit := ChanceDistance(p, n)
	rnd := rand.New(rand.NewPCG(1, 2))
	over := 0
	for range 2000 {
		q, share := make([]float64, len(p)), make([]float64, len(p))
		for range n {
			x := rnd.Float64() * total
			k := 0
			for ; k < len(p)-1 && x >= p[k]; k++ {
				x -= p[k]
			}
			q[k] += 1.0 / n
		}
		for i := range p {
			share[i] = p[i] / total
		}
		if TotalVariation(share, q) > limit {
			over++
		}
	}
	if over < 8 || over > 36 {
		t.Errorf("%d of 2000 honest samples exceed the 99 %% quantile", over)
	}
	if a, b := ChanceDistance(p, n); a != a || b != limit {
		t.Error("not the same twice")
	}
	if m, _ := ChanceDistance(nil, 5); !math.IsNaN(m) {
		t.Error("no categories, and a number")
	}
}

func TestDesignEffect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table [][]float64
		want  float64
	}{
		{"none", nil, 1},
		{"one cluster", [][]float64{{3, 4, 5}, {0, 0, 0}}, 1},
		{"one category", [][]float64{{3, 0}, {9, 0}}, 1},
		{"alike", [][]float64{{5, 5}, {50, 50}}, 1},
		// X2 = n with one degree of freedom
		{"each its own", [][]float64{{10, 0}, {0, 10}}, 20},
		// four cells, each 5 off an expected 15
		{"by hand", [][]float64{{20, 10}, {10, 20}}, 4 * 25. / 15.},
	} {
		if got := DesignEffect(tt.table); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
