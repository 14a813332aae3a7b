package compare

import (
	"testing"
	"time"
)

// A forecast learns from the runs made: servers that take 6 s longer to start than the plan's
// allowance make 24 runs take eleven minutes and not nine.
func TestPaceLearnsFromRuns(t *testing.T) {
	p := pace{planned: 22 * time.Second, block: 4, all: 24}
	if p.each() != 22*time.Second {
		t.Errorf("before the first run: %v", p.each())
	}
	for i, took := range []time.Duration{30, 28, 26, 28} {
		want := ""
		if i == 3 {
			want = "a run takes 28s with its reset and end, where the forecast had 22s: about 11m10s for 24 runs"
		}
		if got := p.made(1, took*time.Second); got != want {
			t.Errorf("run %d: %q, want %q", i+1, got, want)
		}
	}
	if got := p.made(4, 4*38*time.Second); got != "" || p.each() != 33*time.Second {
		t.Errorf("the second block: %q, a run takes %v", got, p.each())
	}
	near := pace{planned: 22 * time.Second, block: 4, all: 24}
	if got := near.made(4, 4*24*time.Second); got != "" {
		t.Errorf("within a tenth: %q", got)
	}
}
