package plan

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Every printed number is read as the same number, to the last bit.
func TestQuantitiesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		v := float64(r.IntN(1_000_000_000)) / 1e11
		if got, err := parsePercent(formatPercent(v)); err != nil || got != v {
			t.Fatalf("%v prints as %s and is read as %v, %v", v, formatPercent(v), got, err)
		}
		d := time.Duration(r.Int64N(int64(MaxTime)))
		if r.IntN(2) == 0 {
			d = d.Truncate(time.Second)
		}
		if got, err := parseDuration(FormatDuration(d)); err != nil || got != d {
			t.Fatalf("%v prints as %s and is read as %v, %v", d, FormatDuration(d), got, err)
		}
	}
}

func TestFormat(t *testing.T) {
	third := 0.07
	for v, want := range map[float64]string{
		0.25:      "25%",
		1:         "100%",
		0:         "0%",
		0.00025:   "0.025%",
		third:     "7%",
		third * 3: "21.000000000000002%",
		10:        "1000%",
	} {
		if got := formatPercent(v); got != want {
			t.Errorf("formatPercent(%v) = %s, want %s", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0:                       "0s",
		time.Second:             "1s",
		time.Minute:             "1m",
		10 * time.Minute:        "10m",
		time.Hour:               "1h",
		90 * time.Minute:        "1h30m",
		time.Hour + time.Second: "1h0m1s",
		1500 * time.Millisecond: "1.5s",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"seed", "sed", 1}, {"users", "usres", 1}, {"pace", "pase", 1}, {"abc", "xyz", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
