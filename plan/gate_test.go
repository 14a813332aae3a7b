package plan

import (
	"fmt"
	"slices"
	"testing"

	"plimsoll/internal/failure"
)

const small = "name: n\ntarget: {driver: s}\nbounded: {users: 5}\n"

func TestGatesOfAPlan(t *testing.T) {
	p, err := Parse([]byte(
		small + "workload: {behavior: b}\ngates: {fds_free: {red: 200}, lag: {amber: 10ms, red: 50ms}, steal: {red: 7%}, bursts: {amber: 2.5x}}\n",
	))
	failure.None(t, err)
	want := map[string][2]float64{
		"lag":      {10, 50},
		"fds_free": {200, 200},
		"steal":    {1, 7},
		"bursts":   {2.5, 10},
		"core":     {70, 85},
	}
	for _, g := range p.Gates.All() {
		if w, ok := want[g.Name]; ok && (g.Amber != w[0] || g.Red != w[1]) {
			t.Errorf("%s: %v and %v, want %v", g.Name, g.Amber, g.Red, w)
		}
		if changed := g.Source == "plan"; changed != slices.Contains(
			[]string{"lag", "fds_free", "steal", "bursts"},
			g.Name,
		) {
			t.Errorf("%s: source %q", g.Name, g.Source)
		}
	}
	ReadAgain(t, p)
}

func TestGateLevels(t *testing.T) {
	for _, g := range DefaultGates() {
		beyond := func(v float64) float64 {
			if g.Floor {
				return v * 0.999
			}
			return v*1.001 + 1e-9
		}
		for _, tt := range []struct {
			v    float64
			want string
		}{{g.Amber, ""}, {beyond(g.Amber), "amber"}, {g.Red, "amber"}, {beyond(g.Red), "red"}} {
			if got := g.Level(tt.v); got != tt.want {
				t.Errorf("%s at %v: %q, want %q", g.Name, tt.v, got, tt.want)
			}
		}
		if v, err := g.parse(g.format(g.Red)); err != nil || v != g.Red {
			t.Errorf("%s: red limit %s reads as %v, %v", g.Name, g.format(g.Red), v, err)
		}
		if g.Floor != (g.Amber > g.Red) {
			t.Errorf("%s: amber %v, red %v, floor %v", g.Name, g.Amber, g.Red, g.Floor)
		}
	}
}

// In a duet others on the host meet all runs alike: their gates void a run only when they leave
// little of the target's cores, and a busy core of the generator never does. The generator's own
// gates and the plan's limits stay.
func TestGatesOfADuet(t *testing.T) {
	amber, red := 50.0, 60.0
	limits := Gates{{Name: "steal", Amber: &amber, Red: &red}}
	levels := map[string]string{}
	for _, g := range InDuet(limits.All()) {
		for _, at := range []float64{50, 70, 74, 90, 100} {
			levels[fmt.Sprint(g.Name, " ", at)] = g.Level(at)
		}
	}
	for at, want := range map[string]string{
		"core 70":         "",
		"core 90":         "amber",
		"core 100":        "amber",
		"cpu 90":          "red",
		"others 74":       "amber",
		"others 90":       "red",
		"target_steal 74": "amber",
		"steal 50":        "",
		"steal 70":        "red",
		"sched 50":        "red",
		"lag 50":          "red",
	} {
		if levels[at] != want {
			t.Errorf("%s is %q, want %q", at, levels[at], want)
		}
	}
}

func TestArrivalOfAPlan(t *testing.T) {
	p, err := Parse([]byte(
		"name: n\ntarget: {driver: s}\nbounded: {users: 0}\nworkload: {behavior: b, arrival: 200/s}\n",
	))
	failure.None(t, err)
	if a := *p.Workload.Arrival; a != (Arrival{
		Rate:     200,
		Process:  Constant,
		InFlight: 500,
		Queue:    10_000,
	}) {
		t.Errorf("%+v", a)
	}
	q, err := Parse([]byte(
		"name: n\ntarget: {driver: s}\nbounded: {users: 0}\nworkload: {behavior: b, arrival: {rate: 200/s, process: constant}}\n",
	))
	if err != nil || q.Digest() != p.Digest() {
		t.Errorf("%v\n%s\n%s", err, p, q)
	}
}
