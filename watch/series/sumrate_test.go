package series

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// TestSumRateIsTheEngines compares every value with the engine's, on series that begin late, end
// early, have gaps and are reset, for windows longer and shorter than the step.
func TestSumRateIsTheEngines(t *testing.T) {
	db, err := Create(t.TempDir() + "/series")
	failure.None(t, err)
	t0 := time.Unix(1_700_000_000, 0)
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, 12)
	for second := range 300 {
		var batch []Sample
		for i := range values {
			switch {
			case second < 10*i, second > 300-7*i, i%3 == 1 && second%40 > 25, rng.IntN(20) == 0:
				continue
			case rng.IntN(70) == 0:
				values[i] = rng.Float64()
			default:
				values[i] += rng.Float64() * 10
			}
			batch = append(
				batch,
				sampleOf("n_total", values[i], "le", fmt.Sprint(i%4), "handler", fmt.Sprint(i)),
			)
		}
		failure.None(t, db.Append(
			t0.Add(time.Duration(second)*time.Second+time.Duration(rng.IntN(300))*time.Millisecond),
			batch,
		))
	}
	defer db.Close()
	points := 0
	for _, by := range []string{"", "le"} {
		for _, window := range []time.Duration{4 * time.Second, 30 * time.Second, time.Minute} {
			for _, step := range []time.Duration{time.Second, 7 * time.Second, 45 * time.Second} {
				from, to := t0.Add(-20*time.Second), t0.Add(320*time.Second)
				want, err := db.Range(
					t.Context(),
					fmt.Sprintf("sum by (%s) (rate(n_total[%s]))", by, window),
					from,
					to,
					step,
				)
				failure.None(t, err)
				got, err := db.SumRate(t.Context(), "n_total", by, window, from, to, step)
				failure.None(t, err)
				if len(got) != len(want) {
					t.Fatalf(
						"by %q, window %v, step %v: %d lines, want %d",
						by,
						window,
						step,
						len(got),
						len(want),
					)
				}
				for i, l := range want {
					if got[i].Labels["le"] != l.Labels["le"] || len(got[i].T) != len(l.T) {
						t.Fatalf(
							"line %v has %d points, want %v with %d",
							got[i].Labels,
							len(got[i].T),
							l.Labels,
							len(l.T),
						)
					}
					for k, v := range l.V {
						points++
						if !got[i].T[k].Equal(l.T[k]) ||
							math.Abs(got[i].V[k]-v) > 1e-9*math.Max(1, math.Abs(v)) {
							t.Fatalf(
								"by %q, window %v, step %v: %v at %v, want %v at %v",
								by,
								window,
								step,
								got[i].V[k],
								got[i].T[k],
								v,
								l.T[k],
							)
						}
					}
				}
			}
		}
	}
	if points < 1000 {
		t.Errorf("only %d points were compared", points)
	}
	if none, err := db.SumRate(t.Context(), "nothing", "", time.Minute, t0, t0.Add(time.Minute), time.Second); err != nil ||
		len(none) != 0 {
		t.Errorf("a metric that is not there: %v, %v", none, err)
	}
	if _, err := db.SumRate(t.Context(), "n_total", "", 0, t0, t0.Add(time.Minute), time.Second); err == nil {
		t.Error("a window of nothing has no rate")
	}
}
