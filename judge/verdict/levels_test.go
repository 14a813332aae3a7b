package verdict_test

import (
	"math"
	"testing"

	"plimsoll/judge/verdict"
)

// TestLevels tells what longer runs would find, and what more blocks.
func TestLevels(t *testing.T) {
	r := costOf("app", 1.05)
	within := map[int]float64{1: 1e-5, 2: 1e-5, 3: 2e-5, 4: 2e-5, 5: 3e-5, 6: 3e-5}
	r.TellLevels(within, 12)
	l := r.Levels
	if l == nil {
		t.Fatal("the levels are not known")
	}
	if between := math.Sqrt(r.SD*r.SD - 2e-5); l.Blocks != 6 || l.Measure != 12 ||
		math.Abs(l.Within-math.Sqrt(2e-5)) > 1e-9 ||
		math.Abs(l.Between-between) > 1e-9 {
		t.Errorf("%+v, want between %v", l, between)
	}
	if math.Abs(l.MDE-r.MDE) > 1e-9 || !(l.Longer < l.MDE && l.More < l.Longer) {
		t.Errorf("%+v, and the result's own MDE is %v", l, r.MDE)
	}
	all := r
	all.Levels = nil
	delete(within, 4)
	if all.TellLevels(within, 12); all.Levels != nil {
		t.Errorf("a block without its inside: %+v", all.Levels)
	}
	rate := around(failures(), 1, 1.01, 0.01)
	if rate.TellLevels(map[int]float64{
		1: 0,
		2: 0,
		3: 0,
		4: 0,
		5: 0,
		6: 0,
	}, 12); rate.Levels != nil {
		t.Errorf("error rates: %+v", rate.Levels)
	}
	few := verdict.Judge(r.Endpoint, r.Pairs[:2], verdict.Fixed(2))
	if few.TellLevels(map[int]float64{1: 0, 2: 0}, 12); few.Levels != nil {
		t.Errorf("two pairs: %+v", few.Levels)
	}
}
