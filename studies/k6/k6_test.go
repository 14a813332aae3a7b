package main

import (
	"encoding/json"
	"slices"
	"testing"
)

// A sample of k6 is counted under the name that plimsoll gives to the same thing.
func TestCount(t *testing.T) {
	got := newTally()
	for _, line := range []string{
		`{"metric":"http_reqs","data":{"value":1,"tags":{"group":"","name":"http://h/a/12?x=1","url":"http://h/a/12?x=1","method":"GET","expected_response":"true"}}}`,
		`{"metric":"http_reqs","data":{"value":1,"tags":{"name":"read","url":"read","method":"GET","expected_response":"false"}}}`,
		`{"metric":"http_reqs","data":{"value":1,"tags":{"group":"::setup","name":"login","url":"http://h/c"}}}`,
		`{"metric":"checks","data":{"value":0,"tags":{"check":"found"}}}`,
		`{"metric":"group_duration","data":{"value":3,"tags":{"group":"::in::out"}}}`,
		`{"metric":"ws_sessions","data":{"value":1,"tags":{"status":"101"}}}`,
		`{"metric":"iterations","data":{"value":1}}`,
	} {
		var p point
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		got.count(p)
	}
	for name, want := range map[string]passed{"GET /a/{id}": {1, 0}, "read": {0, 1}, "ws connect": {1, 0}} {
		if *at(got.Requests, name) != want {
			t.Errorf("%s: %v, want %v", name, *at(got.Requests, name), want)
		}
	}
	if len(got.Requests) != 3 || got.Iterations != 1 || got.Groups["out"] != 1 ||
		*at(got.Checks, "found") != (passed{0, 1}) {
		t.Errorf("%+v", got)
	}
}

// Both sides of a comparison: counts that differ are named, one that is missing on a side too, and
// thresholds have no slack.
func TestDifferences(t *testing.T) {
	ours := `{"operations":[{"name":"GET /","count":40,"errors":1},{"name":"iteration default","count":40},
		{"name":"group in","count":39},{"name":"op","count":40}],
		"checks":[{"name":"found","passed":38,"failed":2}],
		"findings_and_errors":[{"kind":"slo"},{"kind":"slo","violated":true},
			{"kind":"slo","rule":"rate(errors) < 0.1% min 2000","undecided":true},{"kind":"phase"}]}`
	var r stored
	if err := json.Unmarshal([]byte(ours), &r); err != nil {
		t.Fatal(err)
	}
	peer := newTally()
	peer.Iterations, peer.Thresholds = 41, passed{1, 1}
	peer.Requests["GET /"], peer.Checks["found"] = &passed{39, 1}, &passed{38, 2}
	peer.Groups["in"] = 40
	for _, tt := range []struct {
		slack  int
		change func()
		want   []string
	}{
		{1, func() {}, nil},
		{0, func() {}, []string{"iterations: k6 41, plimsoll 40", "group in: k6 40, plimsoll 39"}},
		{5, func() { peer.Thresholds = passed{2, 0} }, []string{"thresholds: k6 2, plimsoll 1, not 1"}},
		{5, func() { peer.Thresholds = passed{1, 1}; peer.Requests["late"] = &passed{9, 0} },
			[]string{"request late: k6 9, plimsoll 0"}},
	} {
		tt.change()
		got := outcome{Peer: peer, Ours: r.tally(), Slack: tt.slack}.differences()
		if !slices.Equal(got, tt.want) {
			t.Errorf("slack %d: %q, want %q", tt.slack, got, tt.want)
		}
	}
}
