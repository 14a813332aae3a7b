package main

import (
	"fmt"
	"testing"
)

// Margins may name what any dialect's runs have in their measured phase, and nothing else.
func TestKnownMargins(t *testing.T) {
	const src = "name: n\ntarget: {driver: refnull}\nworkload: {behavior: poster}\nbounded: {users: 5}\ncompare: {arms: {base: {}, new: {}}, margin: {%s: 10%%}}\n"
	for endpoint, want := range map[string]bool{
		"p95(post)": true, "mean(reply)": true, "throughput(story)": true, "p95(login)": true, "p99(login_websocket)": true,
		"p95(storm_reconnect_websocket)": true, "max(storm_login_login)": true,
		"mean(psot)": false, "p25(post)": false, "p95(storm_nap_websocket)": false, "mean(create_bot)": false,
	} {
		if _, err := known().Parse(fmt.Appendf(nil, src, endpoint)); (err == nil) != want {
			t.Errorf("%s: accepted %v, want %v: %v", endpoint, err == nil, want, err)
		}
	}
}
