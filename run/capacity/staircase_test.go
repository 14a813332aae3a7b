package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/stats"
)

func staircases() []scenario {
	stairs := func(capacity float64) Config {
		c := normal(capacity)
		c.Staircase = true
		return c
	}
	return paced([]scenario{
		row("stairs: fluid 1800", 1800, fluid, 0.03, 120, 1, stairs(1800)),
		row("stairs: M/M/8 9000", 9000, mmc, 0.02, 60, 1, stairs(9000)),
		row("stairs: timeouts 1800", 1800, timeouts, 0.02, 60, 1, stairs(1800)),
		{
			name:     "stairs: one server 700",
			capacity: 700,
			server:   single,
			noise:    0.03,
			tau:      120,
			cfg:      stairs(700),
			seeds:    50_000,
		},
	})
}

// plateausOf builds a staircase that has seen such plateaus.
func plateausOf(held func(users float64) bool, users ...float64) *Search {
	s := &Search{cfg: Config{Staircase: true}}
	for _, u := range users {
		s.plateaus = append(s.plateaus, plateau{x: math.Log(u), held: held(u)})
	}
	return s
}

func TestLogistic(t *testing.T) {
	below := func(u float64) bool { return u < 1000 }
	// Parted without an exception: the middle, within a stair.
	r, ok := plateausOf(
		below,
		950,
		975,
		990,
		1010,
		990,
		1010,
		990,
		1010,
		1030,
		990,
		1010,
		990,
	).logistic()
	if !ok || math.Abs(r.Users-1000) > 3 || r.Lo > 995 || r.Lo < 970 || r.Hi < 1005 ||
		r.Hi > 1030 ||
		!(r.Recommended < 995) {
		t.Errorf(
			"got %.1f in [%.1f, %.1f], recommended %.1f: %s",
			r.Users,
			r.Lo,
			r.Hi,
			r.Recommended,
			r.Why,
		)
	}
	// Mirrored data give the mirrored answer.
	m, _ := plateausOf(
		below,
		1e6/950,
		1e6/975,
		1e6/990,
		1e6/1010,
		1e6/990,
		1e6/1010,
		1e6/990,
		1e6/1010,
		1e6/1030,
		1e6/990,
		1e6/1010,
		1e6/990,
	).logistic()
	if math.Abs(m.Users*r.Users/1e6-1) > 2e-3 || math.Abs(m.Lo*r.Hi/1e6-1) > 4e-3 {
		t.Errorf(
			"mirrored: got %.1f in [%.1f, %.1f] from %.1f in [%.1f, %.1f]",
			m.Users,
			m.Lo,
			m.Hi,
			r.Users,
			r.Lo,
			r.Hi,
		)
	}
	for _, s := range []*Search{plateausOf(below, 900, 910, 920, 930, 940), plateausOf(below, 1100, 1200, 1300, 1400), plateausOf(below, 900, 1100)} {
		if r, ok := s.logistic(); ok {
			t.Errorf("got %+v from plateaus of one kind, or two", r)
		}
	}
}

// The interval holds every capacity that the likelihood does not exclude, between the places of the
// grid too; it has a warning where it ends only because the fit looks no further; and no estimate
// lies where no plateau was.
func TestLogisticAtItsEnds(t *testing.T) {
	below := func(u float64) bool { return u < 1000 }
	for _, users := range [][]float64{
		{950, 975, 990, 1010, 990, 1010, 990, 1010, 1030, 990, 1010, 990},
		{900, 950, 980, 1005, 1040, 990, 1015, 985, 1020, 960, 1100, 940, 1010, 992},
	} {
		s := plateausOf(below, users...)
		r, _ := s.logistic()
		profile := func(a float64) float64 {
			best := math.Inf(-1)
			for k := range 400 {
				b, l := stair/4*math.Pow(0.1/(stair/4), float64(k)/399), 0.0
				for _, p := range s.plateaus {
					z := (p.x - a) / b
					if p.held {
						z = -z
					}
					l -= math.Log1p(math.Exp(-z))
				}
				best = max(best, l)
			}
			return best
		}
		tq := stats.TQuantile(level, float64(len(users))/2)
		for _, end := range []float64{r.Lo, r.Hi} {
			if out := profile(math.Log(r.Users)) - profile(math.Log(end)); out < tq*tq/2 ||
				out > tq*tq/2+0.5 {
				t.Errorf(
					"the likelihood at %.1f, an end of [%.1f, %.1f], is lower by %.3f, want %.3f or little more",
					end,
					r.Lo,
					r.Hi,
					out,
					tq*tq/2,
				)
			}
		}
		if len(r.Warnings) > 0 {
			t.Errorf("[%.1f, %.1f]: warnings %q", r.Lo, r.Hi, r.Warnings)
		}
	}
	if r, ok := plateausOf(below, 975, 1001, 975, 1001).logistic(); !ok || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "may lie further away") {
		t.Errorf("four plateaus: [%.1f, %.1f], warnings %q", r.Lo, r.Hi, r.Warnings)
	}
	// of 12 at one level, as at max_users
	for held, want := range map[int]bool{5: false, 6: true, 7: false} {
		n := 0
		s := plateausOf(func(float64) bool {
			n++
			return n <= held
		}, slices.Repeat([]float64{700}, 12)...)
		if r, ok := s.logistic(); ok != want || ok && math.Abs(r.Users-700) > 1 {
			t.Errorf("%d of 12 held at 700 users: %v, %.1f", held, ok, r.Users)
		}
	}
}

func TestStaircaseFindsAStep(t *testing.T) {
	sc := newScript(t, Config{
		Start:     600,
		Max:       5000,
		Staircase: true,
		Budget:    30 * time.Minute,
		Precision: 0.03,
	}, func(n int, _ time.Duration) []RuleReading {
		return []RuleReading{cpuOf(n, 1000)}
	})
	seen := 0
	sc.until(func(a Action) bool {
		if a.Phase == Stairs {
			seen++
		}
		return false
	})
	r := sc.s.Result()
	if r.Kind != Estimate || r.Estimator != Logistic || math.Abs(r.Users/1000-1) > 0.013 ||
		r.Lo > 1000 ||
		r.Hi < 1000 ||
		r.Rule != "cpu(app)" {
		t.Errorf(
			"got %s of %.1f [%.1f, %.1f] by %s, rule %q",
			r.Kind,
			r.Users,
			r.Lo,
			r.Hi,
			r.Estimator,
			r.Rule,
		)
	}
	if !(r.Recommended > 900 && r.Recommended < r.Users) || seen < 12*12*5-60 ||
		!strings.HasPrefix(r.Stopped, "precision") {
		t.Errorf(
			"recommended %.1f, %d steps on plateaus, stopped by %s",
			r.Recommended,
			seen,
			r.Stopped,
		)
	}
}

func TestStaircaseBelowTheKneeIsABound(t *testing.T) {
	hurt := false // one false alarm ends the ramp; then all is well
	sc := newScript(t, Config{
		Start:     600,
		Max:       700,
		Staircase: true,
		Budget:    40 * time.Minute,
	}, func(n int, at time.Duration) []RuleReading {
		v := 0.5
		if at > 30*time.Second && at < 50*time.Second {
			v, hurt = 2, true
		}
		return []RuleReading{{Rule: "cpu(app)", Value: v, Limit: 1, Less: true, OK: true}}
	})
	want(t, sc.result(), AtLeast, 700, "max users", "three plateaus")
	if !hurt {
		t.Error("no alarm was given")
	}
}

func TestForecast(t *testing.T) {
	f, err := Config{Start: 3600, Max: 36000}.Forecast()
	// ln 10 / 0.002 s at most, for growth is a fraction of the users at each step.
	if err != nil || f.Ramp < 19*time.Minute || f.Ramp > 20*time.Minute ||
		f.Most != 20*time.Minute ||
		f.Least < 6*time.Minute ||
		f.Least > 10*time.Minute {
		t.Errorf("got %+v, %v", f, err)
	}
	g, _ := Config{Start: 3600, Max: 36000, Staircase: true, Budget: time.Hour}.Forecast()
	if g.Least != 36*time.Minute {
		t.Errorf("a staircase: got %+v, want 12 plateaus of three minutes", g)
	}
	if got := g.String(); got != "a ramp of at most 19m0s, then at least 36m0s to the precision that is asked for; at most 1h0m0s in all" {
		t.Errorf("got %q", got)
	}
	g, _ = Config{Start: 200, Max: 600, Budget: time.Minute}.Forecast()
	if got := g.String(); !strings.HasPrefix(got, "1m0s of search end near 2") ||
		!strings.Contains(
			got,
			" users at this pace of steps, and are too short for the precision that is asked for, which takes at least ",
		) {
		t.Errorf("a short budget: got %q", got)
	}
	// No search is over sooner than foretold.
	sc := tuned()[7] // white noise
	f, _ = sc.cfg.Forecast()
	for seed := range uint64(10) {
		if r, took, _ := sc.search(seed); took < f.Least {
			t.Errorf("over after %v, foretold at least %v: %s", took, f.Least, r.Stopped)
		}
	}
}

func TestPool(t *testing.T) {
	rate := func(bad func(n int, window int) float64) Result {
		k := 0
		sc := newScript(t, Config{
			Start:  300,
			Max:    5000,
			Budget: 10 * time.Minute,
		}, func(n int, _ time.Duration) []RuleReading {
			k++
			return []RuleReading{
				cpuOf(n, 500),
				{
					Rule:     "rate(5xx)",
					Value:    bad(n, k/5) / 200,
					Limit:    0.001,
					Less:     true,
					OK:       true,
					Count:    200,
					MinCount: 8000,
					Rate:     true,
				},
			}
		})
		return sc.result()
	}
	if r := rate(func(int, int) float64 { return 0 }); len(r.Warnings) != 0 {
		t.Errorf("no errors: got warnings %q", r.Warnings)
	}
	// 0.25 %, and no window of 200 can show it
	r := rate(func(_, k int) float64 { return float64(k % 2) })
	if len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "rate(5xx) does not hold at the answer: of ") ||
		r.Margins[1].Ratio < 2 ||
		r.Margins[1].Ratio > 3 {
		t.Errorf(
			"errors in every other window: got warnings %q, margins %+v",
			r.Warnings,
			r.Margins,
		)
	}
	s, err := New(Config{Start: 300, Max: 300})
	if err != nil {
		t.Fatal(err)
	}
	for at := time.Duration(0); at < time.Minute && !s.done; at += 3 * time.Second {
		s.Step(Observation{
			At:        at,
			Users:     300,
			MeanUsers: 300,
			Readings: []RuleReading{
				{
					Rule:     "rate(5xx)",
					Limit:    0.00025,
					Less:     true,
					OK:       true,
					Count:    100,
					MinCount: 8000,
					Rate:     true,
				}},
		})
	}
	if r := s.Result(); r.Kind != AtLeast || len(r.Warnings) != 1 ||
		!strings.Contains(
			r.Warnings[0],
			"was never decided at the answer: it asks for 8000 operations",
		) {
		t.Errorf("too few operations: got %s, warnings %q", r.Kind, r.Warnings)
	}
}

// A search without a number has no windows near its answer: a rate that windows decided is not
// called undecided, and one that none decided has its own reason.
func TestRatesOfAnUnstableSearch(t *testing.T) {
	for count, want := range map[uint64]string{
		9000: "",
		100:  "rate(5xx) was never decided: it asks for 8000 operations, and a window had at most 100",
	} {
		s, err := New(Config{Start: 300, Max: 5000})
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Duration(0); at <= 20*time.Second; at += 3 * time.Second {
			s.Step(Observation{
				At:        at,
				Users:     300,
				MeanUsers: 300,
				Readings: []RuleReading{
					{
						Rule:     "rate(5xx)",
						Limit:    0.00025,
						Less:     true,
						OK:       true,
						Count:    count,
						MinCount: 8000,
						Rate:     true,
					}},
			})
		}
		r := s.Result()
		if r.Kind != Unstable || strings.Join(r.Warnings, "; ") != want {
			t.Errorf("%d operations: got %s, warnings %q, want %q", count, r.Kind, r.Warnings, want)
		}
	}
}

// The ends of an interval need not be as far from the estimate: half its width is not how far they
// are.
func TestPrecisionOfALopsidedInterval(t *testing.T) {
	r := Result{Kind: Estimate, Users: 1000, Lo: 999, Hi: 1037}
	if got, want := r.precision(), "precision: half of the interval is 1.9 % of the estimate"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUpperRate(t *testing.T) {
	for _, tt := range []struct {
		bad, of uint64
		want    float64
	}{
		{0, 0, 1}, {5, 5, 1},
		{0, 8000, 1 - math.Pow(0.05, 1.0/8000)}, // the rule of three: 3/8000
		{2, 100, 0.06162},                       // R: binom.test(2, 100, alternative = "less")
		{10, 100, 0.16372},
	} {
		if got := upperRate(tt.bad, tt.of); math.Abs(got-tt.want) > 2e-4*max(tt.want, 0.05) {
			t.Errorf("%d of %d: got %.6f, want %.6f", tt.bad, tt.of, got, tt.want)
		}
	}
}

// A rule that is only a warning is reported and moves nothing, with data or without.
func TestWarningsDoNotSteer(t *testing.T) {
	sc := newScript(t, Config{
		Start:  300,
		Max:    5000,
		Budget: 20 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		return []RuleReading{
			cpuOf(n, 500),
			{Rule: "memory", Value: 9, Limit: 1, Less: true, OK: true, Warning: true},
			{Rule: "gone", Warning: true},
		}
	})
	r := sc.result()
	if r.Kind != Estimate || r.Rule != "cpu(app)" || math.Abs(r.Users-500) > 3 {
		t.Errorf("got %s of %.1f, rule %q", r.Kind, r.Users, r.Rule)
	}
	if r.Margins[1].Ratio != 9 || len(r.Warnings) != 1 ||
		r.Warnings[0] != "gone was never decided: it never had data" {
		t.Errorf("margins %+v, warnings %q", r.Margins, r.Warnings)
	}
}

// A rule that is violated for longer than the whole search takes is undecided: it moves nothing,
// and the result notes it.
func TestViolatedForTooShortATime(t *testing.T) {
	sc := newScript(t, Config{
		Start:  300,
		Max:    5000,
		Budget: 20 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		return []RuleReading{
			cpuOf(n, 500),
			{Rule: "queue", Value: 9, Limit: 1, Less: true, OK: true, Brief: true},
		}
	})
	r := sc.result()
	if r.Kind != Estimate || r.Rule != "cpu(app)" || len(r.Warnings) != 1 ||
		r.Warnings[0] != "queue was never decided: it was violated all the time, for less than it asks for" {
		t.Errorf("got %s, rule %q, warnings %q", r.Kind, r.Rule, r.Warnings)
	}
}

func TestGraceOfARule(t *testing.T) {
	gone := func(grace time.Duration) (Result, time.Duration) {
		sc := newScript(t, Config{
			Start:  300,
			Max:    5000,
			grace:  time.Hour,
			Budget: 50 * time.Minute,
		}, func(int, time.Duration) []RuleReading {
			return []RuleReading{ok("p99"), {Rule: "promql: x < 1", Grace: grace}}
		})
		r := sc.result()
		return r, sc.at
	}
	if r, at := gone(30 * time.Second); r.Kind != Invalid || r.Rule != "promql: x < 1" ||
		at > 40*time.Second ||
		!strings.Contains(r.Why, "more than 30s") {
		t.Errorf("got %s after %v: %s", r.Kind, at, r.Why)
	}
	if r, at := gone(0); r.Kind == Estimate || at < 49*time.Minute {
		t.Errorf("got %s after %v", r.Kind, at)
	}
}

// A server that is overloaded may not answer its metrics page. The tracker must leave that load,
// not wait there.
func TestViolatedWithoutAllDataStillGoesDown(t *testing.T) {
	sc := newScript(t, Config{
		Start:  300,
		Max:    5000,
		Budget: 20 * time.Minute,
		grace:  5 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		page := ok("page")
		if n > 500 {
			page = RuleReading{Rule: "page"}
		}
		return []RuleReading{cpuOf(n, 500), page}
	})
	if r := sc.result(); r.Kind != Estimate || math.Abs(r.Users/500-1) > 0.02 {
		t.Errorf("got %s of %.1f: %s", r.Kind, r.Users, r.Why)
	}
}

// On a staircase, too: a plateau whose rules are violated is left, whatever else has no data.
func TestAViolatedPlateauWithoutAllDataIsLeft(t *testing.T) {
	sc := newScript(t, Config{
		Start:     300,
		Max:       5000,
		Staircase: true,
		Budget:    30 * time.Minute,
		Precision: 0.03,
		grace:     3 * time.Minute,
	}, func(n int, _ time.Duration) []RuleReading {
		page := ok("page")
		if n > 500 {
			page = RuleReading{Rule: "page"}
		}
		return []RuleReading{cpuOf(n, 500), page}
	})
	if r := sc.result(); r.Kind != Estimate || r.Estimator != Logistic ||
		math.Abs(r.Users/500-1) > 0.02 {
		t.Errorf("got %s of %.1f by %q: %s", r.Kind, r.Users, r.Estimator, r.Why)
	}
}
