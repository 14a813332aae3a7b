package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// The plan of a duet with these keys of its bounded test, and of the comparison.
const measured = `name: n
target: {driver: server}
workload: {behavior: poster}
bounded: {users: 5%s}
compare: {arms: {base: {}, new: {}}%s}
`

// TestMeasureAuto reads the limits of a measured phase without a declared length.
func TestMeasureAuto(t *testing.T) {
	k := plan.Known{Drivers: []string{"server", plan.External}}
	for keys, want := range map[string][2]time.Duration{
		", measure: auto":                                       {7 * time.Second, 30 * time.Second},
		", measure: auto, measure_min: 40s":                     {40 * time.Second, 40 * time.Second},
		", measure: auto, measure_max: 1m":                      {7 * time.Second, time.Minute},
		", measure: \"auto\", measure_min: 5s, measure_max: 9s": {5 * time.Second, 9 * time.Second},
	} {
		p, err := k.Parse(fmt.Appendf(nil, measured, keys, ", mode: duet"))
		if err != nil {
			t.Errorf("%q: %v", keys, err)
			continue
		}
		if b := p.Bounded; !b.Auto() || b.MeasureMin != want[0] || b.MeasureMax != want[1] ||
			b.Measure != want[1] {
			t.Errorf("%q: %+v", keys, b)
		}
		if again := plan.ReadAgain(t, p); again.Bounded.Measure != want[1] ||
			!strings.Contains(p.String(), "measure: auto\n") {
			t.Errorf("%q: its canonical form:\n%s", keys, p)
		}
	}
	p, err := k.Parse(fmt.Appendf(nil, measured, ", measure: 9s", ""))
	if err != nil || p.Bounded.Auto() || p.Bounded.Measure != 9*time.Second ||
		strings.Contains(p.String(), "measure_") {
		t.Errorf("a declared length: %+v, %v\n%s", p.Bounded, err, p)
	}
	for _, tt := range []struct{ bounded, compare, want string }{
		{", measure: soon", "", `bounded.measure: "soon"`},
		{", measure_min: 9s", "", "bounded.measure_min: has no effect on a measured phase of a declared length; set bounded.measure to auto"},
		{", measure: 9s, measure_max: 9s", "", "bounded.measure_max: has no effect"},
		{", measure: auto, measure_min: 4s", ", mode: duet", "bounded.measure_min: 4s is out of range; want 5s to "},
		{", measure: auto, measure_min: 9s, measure_max: 8s", ", mode: duet", "bounded.measure_max: 8s is less than bounded.measure_min 9s"},
		{", measure: auto, window: last 5s", ", mode: duet", "bounded.measure: auto excludes bounded.until and bounded.window"},
		{", measure: auto", ", mode: sequence", "bounded.measure: auto looks at runs that take turns, and compare.mode is sequence; write a time"},
	} {
		failure.Says(t, failure.Of(k.Parse(fmt.Appendf(nil, measured, tt.bounded, tt.compare))),
			tt.want)
	}
	single := "name: n\ntarget: {driver: server}\nworkload: {behavior: poster}\nbounded: {users: 5, measure: auto}\n"
	failure.Says(t, failure.Of(k.Parse([]byte(single))),
		"take turns, and the plan compares nothing")
}
