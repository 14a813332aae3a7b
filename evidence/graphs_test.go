package evidence

import (
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/watch/series"
)

// The graphs that are read without the engine show the results of their queries.
func TestHistogramsAreTheirQueries(t *testing.T) {
	db := sampled(t, t.TempDir(), 90, func(second float64) (batch []series.Sample) {
		for i, handler := range []string{"a", "b", "c"} {
			n := float64(i+1) * second * (10 + math.Floor(second/20))
			batch = append(batch, series.Sample{
				Name:   "serve_seconds_count",
				Labels: labels("handler", handler),
				Value:  n,
			},
				series.Sample{
					Name:   "serve_seconds_sum",
					Labels: labels("handler", handler),
					Value:  0.02 * n * (1 + second/100),
				})
			for le, share := range map[string]float64{
				"0.005": 0.3,
				"0.01":  0.6,
				"0.025": 0.85,
				"0.05":  0.94,
				"0.1":   0.98,
				"0.25":  0.997,
				"+Inf":  1,
			} {
				batch = append(batch, series.Sample{
					Name:   "serve_seconds_bucket",
					Labels: labels("handler", handler, "le", le),
					Value:  math.Floor(n * share),
				})
			}
		}
		return batch
	})
	n := 0
	for _, span := range [][2]time.Duration{{0, 60 * time.Second}, {60 * time.Second, 89 * time.Second}} {
		x := newStretch(db, epoch, span, 10*time.Second)
		for stat, of := range map[string]func(string) dialect.GraphSource{
			dialect.Mean: dialect.MeanOf,
			dialect.P99:  dialect.P99Of,
		} {
			g := dialect.GraphQuery{
				Name:    stat,
				Scale:   1000,
				Stat:    stat,
				Sources: []dialect.GraphSource{of("serve_seconds"), of("other_seconds")},
			}
			got, ok, err := x.graph(t.Context(), g)
			lines, err2 := x.lines(t.Context(), g.Sources[0].Query, false)
			if err != nil || err2 != nil || !ok || len(lines) != 1 {
				t.Fatalf("%s: %v, %v, %v, %d lines", stat, ok, err, err2, len(lines))
			}
			want := x.line(lines[0], g.Scale)
			if !slices.Equal(got.T, want.T) {
				t.Errorf("%s: at %v, want %v", stat, got.T, want.T)
				continue
			}
			for i, v := range want.V {
				n++
				if math.Abs(got.V[i]-v) > 1e-6*math.Abs(v) {
					t.Errorf("%s: %v, want %v", stat, got.V[i], v)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d values were compared", n)
	}
}

// TestWindowOfRates: the CPU time of a test of 8 s rose until its sixth second in graphs with a
// window of 6 s, though its users did the same from the second on.
func TestWindowOfRates(t *testing.T) {
	for _, c := range []struct{ length, window, want time.Duration }{
		{8 * time.Second, 6 * time.Second, 3 * time.Second},
		{18 * time.Second, 6 * time.Second, 4 * time.Second},
		{10 * time.Minute, time.Minute, time.Minute},
		{10 * time.Minute, 4 * time.Second, 4 * time.Second},
		{24 * time.Hour, 4 * time.Second, 6 * time.Minute},
	} {
		span := [2]time.Duration{time.Minute, time.Minute + c.length}
		got := newStretch(nil, time.Time{}, span, c.window).window
		if got.Round(time.Second) != c.want.Round(time.Second) {
			t.Errorf("%v with a window of %v: %v, want %v", c.length, c.window, got, c.want)
		}
	}
}
