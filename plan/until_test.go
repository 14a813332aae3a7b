package plan

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

func TestDiskLimits(t *testing.T) {
	for text, want := range map[string]DiskLimit{
		"disk=10GiB":     10 << 30,
		"disk = 1.5 GiB": 3 << 29,
		"disk=1TiB":      1 << 40,
		"disk=1MiB":      1 << 20,
		"disk=1025MiB":   1025 << 20,
	} {
		got, err := parseDiskLimit(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
		if again, err := parseDiskLimit(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %s, which reads as %d, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"10GiB":        "no stop rule",
		"disk=10GB":    "1024",
		"disk=10":      "no stop rule",
		"disk=-1GiB":   "no stop rule",
		"disk=1KiB":    "no stop rule",
		"disk=0GiB":    "out of range",
		"disk=5000TiB": "out of range",
		"time=1h":      "no stop rule",
		"":             "no stop rule",
		"disk=10 G":    "1024",
	} {
		failure.Says(t, failure.Of(parseDiskLimit(text)), want)
	}
}

func TestLastParts(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"last 60m": time.Hour,
		"last 90s": 90 * time.Second,
		"last  5m": 5 * time.Minute,
	} {
		got, err := parseLastPart(text)
		if err != nil || time.Duration(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if again, err := parseLastPart(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %s, which reads as %v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"60m":        "does not name a part",
		"first 60m":  "does not name a part",
		"last":       "does not name a part",
		"last 60":    "no unit",
		"last 500ms": "whole seconds",
		"last 1.5s":  "whole seconds",
		"last 0s":    "whole seconds",
		"last 10%":   "percentage",
	} {
		failure.Says(t, failure.Of(parseLastPart(text)), want)
	}
}

// planWith is a plan with these lines in its bounded section, and further ones at its end.
func planWith(bounded, more string) string {
	return "name: n\ntarget: {driver: process, binary: ./server}\nworkload: {behavior: b}\nbounded: {users: 5, measure: 10m, " + bounded + "}\n" + more
}

func TestUntilAndWindow(t *testing.T) {
	p, err := Parse([]byte(planWith("until: disk=10GiB, window: last 1m", "")))
	if err != nil || p.Bounded.Until != 10<<30 || time.Duration(p.Bounded.Window) != time.Minute {
		t.Fatalf("%+v, %v", p, err)
	}
	ReadAgain(t, p)
	plain, err := Parse([]byte(planWith("ramp: 1m", "")))
	if err != nil || strings.Contains(plain.String(), "until") ||
		strings.Contains(plain.String(), "window") {
		t.Errorf("a plan without them mentions them (%v):\n%s", err, plain)
	}
	const search = "unbounded: {max_users: 50}\ncompare: {arms: {base: {}, new: {}}, combine: true}\n"
	if _, err := Parse([]byte(planWith("window: last 1m", search))); err != nil {
		t.Errorf("a window beside a search: %v", err)
	}
}
