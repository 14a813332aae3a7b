package capacity

import (
	"math"
	"strings"
	"testing"
	"time"
)

// A real release at pace 0.2, whose budget of 20 s of the clock ended every search of a comparison
// far below its capacity.
func TestForecastOfAShortBudget(t *testing.T) {
	c := Config{
		Start:     100,
		Max:       5000,
		Window:    3 * time.Second,
		RampRate:  0.01,
		RampFloor: 20,
		Budget:    20 * time.Second,
	}
	f, err := c.Forecast()
	if err != nil {
		t.Fatal(err)
	}
	if f.Reach < 170 || f.Reach > 200 {
		t.Errorf("the budget ends at %.0f users, want about 100 exp(20 s × 3.3 %%/s)", f.Reach)
	}
	for _, want := range []string{"20s of search end near 1", " users at this pace of steps", "too short for the precision"} {
		if !strings.Contains(f.String(), want) {
			t.Errorf("%q lacks %q", f, want)
		}
	}
	short := f.Short()
	if !strings.Contains(short, "budget of 20s") ||
		!strings.Contains(short, "Raise unbounded.budget to ") {
		t.Errorf("got %q", short)
	}
	c.Budget = f.Enough
	if f, _ = c.Forecast(); f.Short() != "" || f.Reach < 300 {
		t.Errorf("a budget of %v is advised and short: %v", c.Budget, f.Short())
	}
	// The ramp does not end there by itself.
	c.Budget = 20 * time.Second
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	f, _ = c.Forecast()
	users := c.Start
	for at := time.Duration(0); ; at += 500 * time.Millisecond {
		a := s.Step(Observation{
			At:        at,
			Users:     users,
			MeanUsers: float64(users),
			Readings:  []RuleReading{{Rule: "r", Value: 1, Limit: 2, Less: true, OK: true}},
		})
		if a.Done {
			break
		}
		users = a.Users
	}
	if math.Abs(float64(users)/f.Reach-1) > 0.06 {
		t.Errorf("a ramp without violations ends at %d users, foretold %.0f", users, f.Reach)
	}
}

// A budget that reaches the maximum, or three times the start, is not called short.
func TestAmpleBudget(t *testing.T) {
	for _, c := range []Config{
		// the demo's
		{
			Start:     90,
			Max:       900,
			Window:    1500 * time.Millisecond,
			RampRate:  0.1,
			RampFloor: 40,
			Budget:    16 * time.Second,
		},
		{Start: 3600, Max: 36000, Budget: time.Hour},
		{Start: 100, Max: 120, Window: 3 * time.Second, RampRate: 0.01, Budget: 20 * time.Second},
	} {
		f, err := c.Forecast()
		if err != nil || f.Short() != "" {
			t.Errorf("%+v: %q, %v", c, f.Short(), err)
		}
	}
}
