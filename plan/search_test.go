package plan_test

import (
	"strings"
	"testing"

	"plimsoll/plan"
)

// Settings with which no search can run are reported before the run, at their keys.
func TestSearchesThatCouldNotBegin(t *testing.T) {
	k := plan.Known{Drivers: []string{"server"}}
	for _, tt := range []struct{ name, pace, set, want string }{
		{"usual", "1", "mode: tracking", ""},
		{"large step", "1", "step: 19.9%", ""},
		{"step", "1", "step: 20%", "5:33: unbounded.step: 20% is out of range; want 0.01% to less than 20%"},
		{"far too large a step", "1", "step: 50%", "5:33: unbounded.step: 50% is out of range; want 0.01% to less than 20%"},
		{"fast ramp", "1", "ramp_rate: 99.9%", ""},
		{"ramp", "1", "ramp_rate: 100%",
			"5:38: unbounded.ramp_rate: 100% divided by workload.pace 1 is 100% of the users per second; want less than 100%: write less than 100% here, or a larger pace"},
		{"ramp at a pace", "0.1", "ramp_rate: 15%",
			"5:38: unbounded.ramp_rate: 15% divided by workload.pace 0.1 is 150% of the users per second; want less than 100%: write less than 10% here, or a larger pace"},
		{"slow pace", "100", "ramp_rate: 100%", ""},
		{"tiny pace", "0.001", "mode: tracking",
			"5:12: unbounded.ramp_rate: 0.2% divided by workload.pace 0.001 is 200% of the users per second; want less than 100%: write less than 0.1% here, or a larger pace"},
		{"tiny pace and ramp", "0.001", "ramp_rate: 0.05%", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			paced := strings.Replace(minimal, "behavior: poster", "behavior: poster, pace: "+tt.pace, 1)
			text := []byte(paced + "unbounded: {max_users: 9, " + tt.set + "}\n")
			checked(t, k, text, tt.want)
		})
	}
}
