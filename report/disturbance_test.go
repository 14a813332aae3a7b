package report

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
)

// disturbed is a comparison in which pair 4 adds most to the width of p95(post) on PostgreSQL, and
// whose runs have the waits that waits returns.
func disturbed(wait, test string, waits func(r RunData) float64) Document {
	s := full()
	s.seconds = 12
	s.graphs = s.graphs[:1]
	s.engines = s.engines[:1]
	in := s.input()
	for i := range in.Runs {
		if v := waits(in.Runs[i]); v >= 0 {
			in.Runs[i].Waits = []HostWait{{Name: wait, Test: test, Share: v}}
		}
	}
	for i, r := range in.Arms[0].Verdict.Results {
		r.Outliers, r.Widest = nil, 0
		if r.Name == "p95(post)" {
			r.Kind, r.Widest = verdict.Inconclusive, 4
		}
		in.Arms[0].Verdict.Results[i] = r
	}
	return From(in)
}

func TestDisturbance(t *testing.T) {
	in4 := func(arm string, loud, quiet float64) func(RunData) float64 {
		return func(r RunData) float64 {
			if r.Cell.Block == 4 && r.Cell.Arm == arm {
				return loud
			}
			return quiet
		}
	}
	for name, test := range map[string]struct {
		wait, test string
		waits      func(RunData) float64
		want       string
	}{
		"the hypervisor": {WaitSteal, Bounded, in4("new", 0.061, 0.004),
			"PostgreSQL: pair 4 stands out in p95(post); in the bounded test of its run of new the hypervisor took 6.10 % of the time of the target's cores, in no run of another pair in more than 0.40 %. It may be why."},
		"a disk": {WaitDisk, Bounded, in4("base", 0.2, 0),
			"PostgreSQL: pair 4 stands out in p95(post); in the bounded test of its run of base all work on the target's host waited for a disk in 20.00 % of the time, in no run of another pair in more than 0.00 %. It may be why."},
		"in another test": {WaitDisk, Unbounded, in4("base", 0.2, 0), ""},
		"everywhere":      {WaitDisk, Bounded, in4("base", 0.2, 0.15), ""},
		"next to nothing": {WaitDisk, Bounded, in4("base", 0.009, 0), ""},
		"another pair's": {WaitDisk, Bounded, func(r RunData) float64 {
			return float64(r.Cell.Block) / 20
		}, ""},
		"not all were looked": {WaitDisk, Bounded, in4("base", 0.2, -1), ""},
	} {
		d := disturbed(test.wait, test.test, test.waits)
		said := slices.DeleteFunc(slices.Clone(d.Comments), func(c string) bool {
			return !strings.Contains(c, "stands out")
		})
		if test.want == "" && (len(said) > 0 || len(d.Disturbances) > 0) ||
			test.want != "" && !slices.Equal(said, []string{test.want}) {
			t.Errorf("%s: %q, %+v", name, said, d.Disturbances)
		}
	}
}

// TestDisturbanceOfSeveral names a run once for all endpoints in which its pair stands out, flagged
// ones too.
func TestDisturbanceOfSeveral(t *testing.T) {
	s := full()
	s.seconds = 12
	s.graphs = s.graphs[:1]
	s.engines = s.engines[:1]
	in := s.input()
	for i, r := range in.Runs {
		v := 0.01
		if r.Cell.Block == 2 && r.Cell.Arm == "base" {
			v = 0.3
		}
		in.Runs[i].Waits = []HostWait{{
			Name:  WaitSteal,
			Test:  Bounded,
			Share: v,
		}, {Name: WaitSteal, Test: Unbounded, Share: 0.01}}
	}
	for i := range in.Arms[0].Verdict.Results {
		r := &in.Arms[0].Verdict.Results[i]
		r.Kind = verdict.Worse
		r.Widest = 1
		r.Outliers = []int{2}
	}
	d := From(in)
	if len(d.Disturbances) != 1 ||
		!slices.Equal(d.Disturbances[0].Endpoints, []string{"p95(post)", "errors"}) ||
		d.Disturbances[0].RunArm != "base" ||
		d.Disturbances[0].Block != 2 ||
		d.Disturbances[0].OtherMost != 0.01 {
		t.Errorf("%+v", d.Disturbances)
	}
}
