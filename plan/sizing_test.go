package plan

import (
	"strings"
	"testing"
	"time"
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

func TestSizingProblems(t *testing.T) {
	const head = "name: n\ntarget: {driver: s}\nworkload: {behavior: b}\n"
	const offer = "{name: A, vcpu: 2, memory: 4GB, price: 6, currency: EUR}"
	for _, tt := range []struct{ name, text, want string }{
		{"good", "sizing: {steps: [50, 200]}", ""},
		{"automatic", "sizing: {}\nunbounded: {max_users: 9}", ""},
		{"prices without sizing", "bounded: {users: 1}\nprices: [" + offer + "]", ""},
		{"no steps and no search", "sizing: {}", "sizing.steps: is missing"},
		{"empty steps", "sizing: {steps: []}", "sizing.steps: is an empty list"},
		{"descending", "sizing: {steps: [50, 50]}", "sizing.steps[1]: 50 users are not more"},
		{"no user", "sizing: {steps: [0]}", "sizing.steps[0]: 0 is out of range"},
		{"no number", "sizing: {steps: [many]}", "sizing.steps[0]"},
		{"no hold", "sizing: {steps: [5], hold: 0s}", "sizing.hold: 0s is out of range"},
		{"ramp down", "sizing: {steps: [5], ramp: 30/s to 5/s}", "goes down"},
		{"ramp without unit", "sizing: {steps: [5], ramp: 5 to 30}", "is not a ramp"},
		{"ramp of nothing", "sizing: {steps: [5], ramp: 0/s}", "out of range"},
		{"unknown offer", "sizing: {steps: [5], offer: B}\nprices: [" + offer + "]", "sizing.offer: \"B\" is not in prices"},
		{"which offer", "sizing: {steps: [5]}\nprices: [" + offer + "]", "sizing.offer: is missing"},
		{"twice", "sizing: {steps: [5], offer: A}\nprices: [" + offer + ", " + offer + "]", "prices[1].name: \"A\" is there twice"},
		{"incomplete", "sizing: {steps: [5], offer: A}\nprices: [{name: A}]", "prices[0].vcpu: is missing"},
		{"memory", "sizing: {steps: [5], offer: A}\nprices: [" + strings.Replace(offer, "4GB", "4", 1) + "]", "no amount of memory"},
		{"no memory", "sizing: {steps: [5], offer: A}\nprices: [" + strings.Replace(offer, "4GB", "0GB", 1) + "]", "out of range"},
		{"currency", "sizing: {steps: [5], offer: A}\nprices: [" + strings.Replace(offer, "EUR", "€", 1) + "]", "no currency"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse([]byte(head + tt.text + "\n"))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if again, err := Parse([]byte(p.String())); err != nil || again.Digest() != p.Digest() {
					t.Errorf("%v in\n%s", err, p)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]string{"4GB": "4GB", "4 GiB": "4GB", "1.5GB": "1536MB", "512MB": "512MB"} {
		m, err := parseMemory(text)
		if err != nil || m.String() != want {
			t.Errorf("%s: %v, %v", text, m, err)
		}
	}
}
