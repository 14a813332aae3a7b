package plan

import (
	"testing"
	"time"

	"plimsoll/internal/failure"
)

func TestRamp(t *testing.T) {
	seed := Rates{5, 30}
	for _, tt := range []struct {
		r    Rates
		n    int
		want time.Duration
	}{
		{seed, 50, 10 * time.Second}, // 5/s
		{seed, 200, 20 * time.Second},
		{seed, 500, 20 * time.Second},
		{seed, 750, 25 * time.Second}, // 30/s
		{Rates{10, 10}, 40, 4 * time.Second},
	} {
		if got := tt.r.Ramp(tt.n); got != tt.want {
			t.Errorf("%d users at %v take %v, want %v", tt.n, tt.r, got, tt.want)
		}
	}
}

// TestSizing: plans of load steps, whose canonical form is the same plan.
func TestSizing(t *testing.T) {
	for _, text := range []string{
		"sizing: {steps: [50, 200]}",
		"sizing: {}\nunbounded: {max_users: 9}",
		"bounded: {users: 1}\nprices: [{name: A, vcpu: 2, memory: 4GB, price: 6, currency: EUR}]",
	} {
		p, err := Parse(
			[]byte("name: n\ntarget: {driver: s}\nworkload: {behavior: b}\n" + text + "\n"),
		)
		failure.None(t, err)
		ReadAgain(t, p)
	}
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]string{
		"4GB":   "4GB",
		"4 GiB": "4GB",
		"1.5GB": "1536MB",
		"512MB": "512MB",
	} {
		m, err := parseMemory(text)
		if err != nil || m.String() != want {
			t.Errorf("%s: %v, %v", text, m, err)
		}
	}
}
