package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/record"
)

func TestCanaryMovesWithAnArm(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shift float64 // of the new arm
		noise float64
		moved bool
		says  string
	}{
		{"a quiet host", 1, 0.004, false, "was the same for both to within 2 %"}, {"one that is 1 % slower for one arm", 0.99, 0.004, false, "was the same for both to within 2 %"},
		{"one that is 5 % slower for one arm", 0.95, 0.004, true, "another one for this arm"}, {"or faster", 1.05, 0.004, true, "another one for this arm"},
		{"a host of which nothing can be said", 1, 0.2, false, "too wide to say"},
	} {
		in := planned()
		cells := map[string]float64{}
		for i, r := range in.Comparison.Runs {
			v := 10_000 * math.Exp(tt.noise*math.Sin(float64(7*i)))
			if r.Arm == "new" {
				v *= tt.shift
			}
			cells[r.Run] = v
		}
		for i := range in.Runs {
			in.Runs[i].Cell.Canary = cells[in.Runs[i].Cell.Run]
		}
		d := From(in)
		if len(d.Protocol.Canary) != 1 || d.Protocol.Canary[0].Moved != tt.moved ||
			d.Protocol.Canary[0].Pairs != 6 {
			t.Errorf("%s: %+v", tt.name, d.Protocol.Canary)
		}
		md := written(t, FullMarkdown, d)
		if warned := strings.Contains(md, "the environment moved with the arm"); warned != tt.moved ||
			!strings.Contains(md, "The canary (a null server") ||
			!strings.Contains(md, tt.says) {
			t.Errorf("%s: warned %v", tt.name, warned)
		}
	}
	// Where the target is not ours, nothing is known of its cores.
	away := planned()
	away.Plan.Target.Driver = plan.External
	for i := range away.Runs {
		away.Runs[i].Cell.Canary = 10_000
	}
	if texts := strings.Join(From(away).Protocol.canaryTexts(From(away)), " "); !strings.Contains(
		texts,
		"a null server on the generator's host",
	) ||
		strings.Contains(texts, "target's cores") {
		t.Errorf("a target that others run: %s", texts)
	}
	// Without readings the report has no text about the canary.
	if d := From(planned()); d.Protocol.Canaries != 0 || len(d.Protocol.canaryTexts(d)) != 0 {
		t.Errorf("%+v", d.Protocol)
	}
}

// A block whose canary could not be measured is not one of 0 requests per second.
func TestCanaryMissingAtTheEnds(t *testing.T) {
	for _, deaf := range []int{1, 6} {
		in := planned()
		for i := range in.Runs {
			if in.Runs[i].Cell.Block != deaf {
				in.Runs[i].Cell.Canary = 10_000
			}
		}
		if p := From(in).Protocol; p.CanaryFirst != 10_000 || p.CanaryLast != 10_000 {
			t.Errorf("without block %d: from %v to %v", deaf, p.CanaryFirst, p.CanaryLast)
		}
	}
}

// A host that moved with an arm can hide an effect of the build.
func TestCanaryThatMovedStopsTheRelease(t *testing.T) {
	for shift, fine := range map[float64]bool{1: true, 1.05: false, 0.95: false} {
		in := scenes()["aa"].input()
		in.Comparison.Before = &record.Before{At: in.Comparison.Started}
		for i := range in.Runs {
			in.Runs[i].Cell.Canary = 10_000 * math.Exp(0.002*math.Sin(float64(7*i)))
			if in.Runs[i].Cell.Arm == "new" {
				in.Runs[i].Cell.Canary *= shift
			}
		}
		d := From(in)
		if got := slices.Contains(d.Actions, "Release can continue as planned."); got != fine {
			t.Errorf("%v: %q", shift, d.Actions)
		}
	}
}
