package plan_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

const autoUsers = `
name: auto
target: {driver: external, url: "http://127.0.0.1:8065"}
workload: {behavior: poster}
bounded: {users: auto, ramp: 1s, settle: 1s, measure: 5s}
`

func TestAutoUsers(t *testing.T) {
	p, err := plan.Parse([]byte(autoUsers))
	failure.None(t, err)
	if n, ok := p.Bounded.UsersFor(""); ok || n != 0 || !p.Bounded.AutoUsers() {
		t.Errorf("%d users, %v; want none before a pilot has found them", n, ok)
	}
	if text := p.String(); !strings.Contains(text, "users: auto\n") {
		t.Errorf("printed as:\n%s", text)
	}
	plan.ReadAgain(t, p)
	found := p.WithUsers(plan.PerEngine{"": 85})
	if n, ok := found.Bounded.UsersFor(""); n != 85 || !ok || found.Bounded.AutoUsers() ||
		!p.Bounded.AutoUsers() {
		t.Errorf("%d users, %v; want 85, and the first plan as it was", n, ok)
	}
	written, err := plan.Parse([]byte(strings.Replace(autoUsers, "users: auto", "users: 85", 1)))
	if err != nil || written.Digest() != found.Digest() {
		t.Errorf(
			"a plan with the number written into it: %v, another digest than with the number found",
			err,
		)
	}
}

func TestLoadIsChosen(t *testing.T) {
	tests := []struct {
		bounded      string
		pace         float64
		ramp, settle time.Duration
	}{
		{"bounded: {users: auto, measure: auto}", 0.03, 4 * time.Second, 6 * time.Second},
		{
			"bounded: {users: auto, measure: auto, ramp: 20s}",
			0.03,
			20 * time.Second,
			6 * time.Second,
		},
		{
			"bounded: {users: auto, measure: auto}\nunbounded: {max_users: 90}",
			1,
			time.Minute,
			time.Minute,
		},
		{"bounded: {users: auto, measure: 5s}", 1, time.Minute, time.Minute},
		{"bounded: {users: 85, measure: auto}", 1, time.Minute, time.Minute},
	}
	for _, tt := range tests {
		line := "bounded: {users: auto, ramp: 1s, settle: 1s, measure: 5s}"
		p, err := plan.Parse([]byte(strings.Replace(autoUsers, line, tt.bounded, 1)))
		failure.None(t, err)
		if b := p.Bounded; b.Ramp != tt.ramp || b.Settle != tt.settle ||
			p.Workload.Pace != tt.pace {
			t.Errorf(
				"%s: pace %v, ramp %v, settle %v; want %v, %v and %v",
				tt.bounded,
				p.Workload.Pace,
				b.Ramp,
				b.Settle,
				tt.pace,
				tt.ramp,
				tt.settle,
			)
		}
		plan.ReadAgain(t, p)
	}
}
