package rig

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
)

// TestForesaw: endpoints that the plan cannot decide are named while it runs, those of each database with its name.
func TestForesaw(t *testing.T) {
	var b strings.Builder
	s := &Session{Progress: NewReporter(&b, new(plain.Secrets), false)}
	x := record.Expected{Metric: "p99(op)", Margin: 0.15, Blocks: 6, MDE: 0.44, Load: 21 * time.Minute, NotJudged: true}
	y := x
	y.Engine = plan.PostgreSQL
	s.foresaw([]record.Expected{{Metric: "p95(post)", Margin: 0.10, MDE: 0.08}, x, y})
	const takes = "(21 min of load for 15 %; 6 blocks can find 44 %)\n"
	want := "  not judged: p99(op) " + takes + "  not judged: PostgreSQL p99(op) " + takes
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
