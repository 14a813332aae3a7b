package capacity

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The CPU is used up where the line through the levels meets the saturation, whatever is used
// without users.
func TestPredictedLimit(t *testing.T) {
	for _, tt := range []struct {
		name       string
		saturation float64
		costs      []cost
		want       float64 // 0 for no prediction
	}{
		{"two levels", 1, []cost{{100, 0.2}, {150, 0.3}}, 500},
		{"a rule below", 0.8, []cost{{100, 0.2}, {150, 0.3}}, 400},
		{"in the background", 1, []cost{{100, 0.4}, {200, 0.6}}, 400},
		{"one level", 1, []cost{{100, 0.2}}, 0},
		{"too near", 1, []cost{{100, 0.2}, {110, 0.22}, {105, 0.21}}, 0},
		{"falling", 1, []cost{{100, 0.4}, {200, 0.3}}, 0},
		{"none", 1, nil, 0},
	} {
		s, err := New(Config{Start: 100, Max: 1000, Saturation: tt.saturation})
		if err != nil {
			t.Fatal(err)
		}
		s.costs = tt.costs
		if p, ok := s.Predicted(); ok != (tt.want > 0) || ok && math.Abs(p.Users-tt.want) > 0.01 {
			t.Errorf("%s: %v, %v; want %v", tt.name, p, ok, tt.want)
		}
	}
}

// The interval is the scatter of the levels, carried to where the line meets the saturation.
func TestPredictionHasAnInterval(t *testing.T) {
	s, err := New(Config{Start: 100, Max: 1000})
	if err != nil {
		t.Fatal(err)
	}
	s.costs = []cost{{100, 0.21}, {150, 0.29}, {200, 0.41}}
	if p, ok := s.Predicted(); !ok || p.Lo != 0 || p.Hi != 0 {
		t.Errorf("three levels: %v, want no interval", p)
	}
	s.costs = append(s.costs, cost{250, 0.49})
	p, ok := s.Predicted()
	if !ok || !(p.Lo < p.Users && p.Users < p.Hi) || p.Hi-p.Lo < 20 || p.Hi-p.Lo > 400 ||
		p.Lo > 500 ||
		p.Hi < 500 {
		t.Errorf("%v, want an interval about 500", p)
	}
}

// quiet is a scenario without noise, so that a search with a prediction differs by nothing else
// from one without.
func quiet(server func(capacity, pace float64) *model, util func(load float64) float64) scenario {
	return scenario{capacity: 8000, server: server, tau: 60, pace: 1, cpu: util,
		cfg: Config{Start: 800, Max: 30000, Window: 15 * time.Second, Budget: time.Hour}}
}

func near8000(t *testing.T, r Result) {
	t.Helper()
	if r.Kind != Estimate || math.Abs(r.Users/8000-1) > 0.03 {
		t.Errorf("got %s of %.0f users, want an estimate near 8000: %s", r.Kind, r.Users, r.Why)
	}
}

// The prediction changes nothing of a search but its words, whatever the CPU shows.
func TestPredictionMovesNoUsers(t *testing.T) {
	for name, util := range map[string]func(float64) float64{
		"its own":             func(load float64) float64 { return 0.85 * load },
		"another limit first": func(load float64) float64 { return 0.3 * load },
		"of others":           func(float64) float64 { return 0.5 },
	} {
		sc := quiet(fluid, util)
		sc.noise = 0.02
		want, _, _ := sc.blind().search(3)
		got, _, _ := sc.search(3)
		near8000(t, got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the search is another one:\n%+v\n%+v", name, got, want)
		}
	}
}

// The prediction is a sentence, with the end of a budget below it, and a bound names the limit that
// was not reached.
func TestPredictionBeyondTheBudget(t *testing.T) {
	foreseen := func(budget time.Duration) (string, Result) {
		sc := quiet(cpu, func(load float64) float64 { return 0.1 + 0.75*load })
		sc.cfg.Saturation, sc.cfg.Budget = 0.85, budget
		s, _ := sc.run(1)
		return s.Foreseen(), s.Result()
	}
	text, r := foreseen(3 * time.Minute)
	if !strings.HasPrefix(text, "the limit of CPU is near ") ||
		!strings.HasSuffix(text, " users at this pace of steps") ||
		!strings.Contains(text, "; the budget of 3m0s ends near 1") {
		t.Errorf("got %q", text)
	}
	if r.Kind != AtLeast || !strings.Contains(r.Why, "; the limit of CPU is near ") {
		t.Errorf("%+v", r)
	}
	if text, r = foreseen(time.Hour); !strings.HasSuffix(text, " windows of the ramp") {
		t.Errorf("got %q", text)
	}
	near8000(t, r)
}
