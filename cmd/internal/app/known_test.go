package app

import (
	"fmt"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/run/capacity"
	"plimsoll/run/session"
)

// Margins may name operations of any dialect in the measured phase, and no others.
func TestKnownMargins(t *testing.T) {
	const src = "name: n\ntarget: {driver: refnull}\nworkload: {behavior: poster}\nbounded: {users: 5}\ncompare: {arms: {base: {}, new: {}}, margin: {%s: 10%%}}\n"
	for endpoint, want := range map[string]bool{
		"p95(post)":                      true,
		"mean(reply)":                    true,
		"throughput(post)":               true,
		"p95(login)":                     true,
		"p99(login_websocket)":           true,
		"p95(storm_reconnect_websocket)": true,
		"max(storm_login_login)":         true,
		"mean(psot)":                     false,
		"p25(post)":                      false,
		"p95(storm_nap_websocket)":       false,
		"mean(create_bot)":               false,
	} {
		if _, err := new(App).Known().Parse(fmt.Appendf(nil, src, endpoint)); (err == nil) != want {
			t.Errorf("%s: accepted %v, want %v: %v", endpoint, err == nil, want, err)
		}
	}
}

// A search can begin with every start that plan check accepts, and with no other: both packages
// have the limits, and may not import each other.
func TestKnownSearches(t *testing.T) {
	for _, tt := range []struct {
		pace, set string
		want      bool
	}{
		{"1", "mode: tracking", true},
		{"1", "step: 19.99%", true},
		{"1", "step: 20%", false},
		{"0.1", "step: 50%", false},
		{"1", "step: 20%, mode: staircase", false},
		{"1", "step: 0.01%, precision: 0.1%, ramp_rate: 0.001%", true},
		{"1", "precision: 50%, ramp_rate: 99.99%", true},
		{"1", "ramp_rate: 100%", false},
		{"0.1", "ramp_rate: 9.9%", true},
		{"0.1", "ramp_rate: 10%", false},
		{"0.3", "ramp_rate: 30%", false},
		{"100", "ramp_rate: 100%, budget: 168h, window: 30m", true},
		{"0.0021", "mode: tracking", true},
		{"0.002", "mode: tracking", false},
		{"0.001", "budget: 1s, window: 500ms", false},
		{"0.001", "budget: 1s, window: 500ms, ramp_rate: 0.01%", true},
	} {
		src := fmt.Appendf(
			nil,
			"name: n\ntarget: {driver: refnull}\nworkload: {behavior: poster, pace: %s}\nunbounded: {max_users: 50, %s}\n",
			tt.pace,
			tt.set,
		)
		p, err := plan.Parse(src) // as a stored one, of which these limits are not asked
		failure.None(t, err)
		_, begun := capacity.New((session.RunPart{Unbounded: true}).Tests(p).Search.Config)
		_, checked := new(App).Known().Parse(src)
		if (begun == nil) != tt.want || (checked == nil) != tt.want {
			t.Errorf(
				"pace %s, %s: want good %v\nthe search: %v\nplan check: %v",
				tt.pace,
				tt.set,
				tt.want,
				begun,
				checked,
			)
		}
	}
}
