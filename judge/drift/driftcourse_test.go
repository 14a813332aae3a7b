package drift_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/drift"
)

// service is an hour of a service in intervals of 36 s: operations of three kinds, whose level
// wanders by sd with the correlation rho between intervals; climb is their climb in the hour, in
// ms.
func service(rng *rand.Rand, sd, rho float64, climb map[string]float64) drift.Signal {
	const n = 100
	s := drift.Signal{
		Name:     "mean response",
		Unit:     "ms",
		Step:     36 * time.Second,
		Material: 0.02,
		Values:   make([]float64, n),
	}
	levels := map[string]float64{"read": 30, "post": 50, "search": 80}
	weights := map[string]float64{"read": 0.6, "post": 0.3, "search": 0.1}
	x := rng.NormFloat64()
	wander := make([]float64, n)
	for i := range wander {
		wander[i] = x
		x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
	}
	for _, name := range []string{"read", "post", "search"} {
		p := drift.SignalPart{Name: name, Weight: weights[name]}
		for i := range n {
			v := levels[name]*(1+sd*wander[i]+sd/4*rng.NormFloat64()) + climb[name]*float64(i)/n
			p.Values = append(p.Values, v)
			s.Values[i] += weights[name] * v
		}
		s.Parts = append(s.Parts, p)
	}
	return s
}

// TestClimb has the climb of a studied service: mean latency from 41 to 60 ms in the hour.
func TestClimb(t *testing.T) {
	rng := rand.New(rand.NewPCG(410, 2))
	got := drift.FindDrift([]drift.Signal{service(rng, 0.02, 0.3, map[string]float64{
		"read":   20,
		"post":   20,
		"search": 10,
	})})[0]
	if got.State != drift.Rises || math.Abs(got.First-42) > 2 || math.Abs(got.Last-60) > 2 ||
		*got.Lo > 19 ||
		*got.Hi < 19 ||
		*got.Hi-*got.Lo > 5 ||
		math.Abs(*got.Change-0.45) > 0.06 ||
		math.Abs(got.Hours-0.99) > 0.001 {
		t.Errorf(
			"%s; %+v, change %v, slope %v, interval %v to %v",
			got.Sentence,
			got.Ends,
			*got.Change,
			*got.PerHour,
			*got.Lo,
			*got.Hi,
		)
	}
	for _, want := range []string{"mean response: rises by +", "over 59.4 minutes", "95 % interval +", "from 4", " ms at first to ", " ms at last, +4", "of its 3 parts", "read (3"} {
		if !strings.Contains(got.Sentence, want) {
			t.Errorf("%q lacks %q", got.Sentence, want)
		}
	}
	if len(got.Parts) < 2 || got.Parts[0].Name != "read" || got.Parts[1].Name != "post" ||
		got.Parts[0].Last-got.Parts[0].First < 15 {
		t.Errorf("parts %+v", got.Parts)
	}
	down := drift.FindDrift([]drift.Signal{service(rng, 0.03, 0.5, map[string]float64{"post": -30})})[0]
	if down.State != drift.Falls || len(down.Parts) != 1 || down.Parts[0].Name != "post" ||
		down.Parts[0].PerHour > -20 {
		t.Errorf("one operation gets quicker: %+v", down)
	}
	// More and more searches: nothing gets slower by itself.
	mixed := service(rng, 0.01, 0, nil)
	for i := range mixed.Values {
		mixed.Values[i] += 20 * float64(i) / 100
	}
	if d := drift.FindDrift([]drift.Signal{mixed})[0]; d.State != drift.Rises ||
		len(d.Parts) != 0 ||
		!strings.Contains(d.Sentence, "none of its 3 parts does so by itself") {
		t.Errorf("a mixture: %s", d.Sentence)
	}
	if d := drift.FindDrift([]drift.Signal{{
		Name: "x",
		Step: time.Second,
	}})[0]; d.State != drift.TooShort || d.Change != nil || d.First != 0 {
		t.Errorf("nothing: %+v", d)
	}
}

// TestDriftCalibration simulates services without drift: in how many hours is a drift found, with
// noise of 3 and 10 % whose neighbors depend on each other? And how often is a climb from 41 to 60
// ms found, and one of 5 %?
func TestDriftCalibration(t *testing.T) {
	t.Parallel()
	const times = 1500
	for i, tt := range []struct {
		name    string
		sd, rho float64
		climb   float64
		lo, hi  float64
	}{
		{"no drift, sd 3 %, correlation 0", 0.03, 0, 0, 0, 0.015},
		{"no drift, sd 3 %, correlation 0.5", 0.03, 0.5, 0, 0, 0.025},
		{"no drift, sd 10 %, correlation 0.5", 0.10, 0.5, 0, 0, 0.025},
		{"no drift, sd 10 %, correlation 0.8", 0.10, 0.8, 0, 0, 0.05},
		{"41 to 60 ms, sd 10 %, correlation 0.5", 0.10, 0.5, 19, 0.99, 1},
		{"41 to 60 ms, sd 10 %, correlation 0.8", 0.10, 0.8, 19, 0.8, 1},
		{"41 to 43 ms, sd 3 %, correlation 0.5", 0.03, 0.5, 2, 0.3, 1},
	} {
		rng := rand.New(rand.NewPCG(411, uint64(i)))
		found, covered := 0, 0
		for range times {
			s := service(rng, tt.sd, tt.rho, map[string]float64{
				"read":   tt.climb,
				"post":   tt.climb,
				"search": tt.climb,
			})
			s.Parts = nil
			d := drift.FindDrift([]drift.Signal{s})[0]
			if slices.Contains([]string{drift.Rises, drift.Falls, drift.LevelsOff}, d.State) {
				found++
			}
			if slope := tt.climb; *d.Lo <= slope && slope <= *d.Hi {
				covered++
			}
		}
		share(t, tt.name, found, times, tt.lo, tt.hi)
		share(t, tt.name+": the interval of the slope holds it", covered, times, 0.80, 1)
	}
}

// share fails the test unless the share of hits lies between lo and hi.
func share(t *testing.T, name string, hits, of int, lo, hi float64) {
	t.Helper()
	rate := float64(hits) / float64(of)
	t.Logf("%-60s %6.2f %%", name, 100*rate)
	if rate < lo || rate > hi {
		t.Errorf("%s: %.2f %% of %d, want %.2f to %.2f %%", name, 100*rate, of, 100*lo, 100*hi)
	}
}
