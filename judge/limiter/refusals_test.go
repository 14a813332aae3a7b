package limiter_test

import (
	"strings"
	"testing"

	"plimsoll/judge/limiter"
)

// TestNothingLimitedIsNotSaidOfFailedOperations: a search that ended at its own limit, in which
// operations failed, was limited.
func TestNothingLimitedIsNotSaidOfFailedOperations(t *testing.T) {
	s := newScene()
	s.o.Reached = false
	s.o.Rule = ""
	s.o.Why = "the search reached max_users"
	s.see(t, "cpu", "app", idle)
	if l := s.limiter(); l.Kind != limiter.LimitNone {
		t.Errorf("without failures: %s", l.Sentence)
	}
	s.o.Failed = "3708 of 6205 operations failed there (59.8 %): 4xx 3708 (429 3708)"
	if l := s.limiter(); l.Kind != limiter.LimitUnknown ||
		!strings.Contains(l.Sentence, "3708 of 6205") ||
		l.Failed != s.o.Failed {
		t.Errorf("with failures that nothing explains: %s", l.Sentence)
	}
	// At every load alike: no dose response.
	s.see(t, "refusals", "target", flat(0.6))
	if l := s.limiter(); l.Kind != limiter.LimitUnknown {
		t.Errorf("refusals that are not those failures: %s", l.Sentence)
	}
	s.o.Failures = map[string]float64{limiter.LimitRefusals: 1}
	if l := s.limiter(); l.Name != "refusals target" || l.Failed == "" {
		t.Errorf("refusals that are those failures: %s", l.Sentence)
	}
	s.see(t, "refusals", "app", queue)
	if l := s.limiter(); l.Name != "refusals app" {
		t.Errorf("refusals that the app counts: %s", l.Sentence)
	}
	s.o.Reached, s.o.Rule = true, "p99(op) < 2s"
	s.o.Traces = s.o.Traces[:len(s.o.Traces)-1]
	if l := s.limiter(); l.Kind == limiter.LimitRefusals {
		t.Errorf("a latency broke, and refusals at every load alike are named: %s", l.Sentence)
	}
}

// TestCutConnectionsAreASymptom of any other limiter that qualifies.
func TestCutConnectionsAreASymptom(t *testing.T) {
	for _, cause := range []string{"", "db-pool", "accept-backlog", "network-loss"} {
		s := newScene()
		s.o.Rule = "rate(errors) < 0.1% min 2000"
		s.o.Failures = map[string]float64{limiter.LimitCut: 1}
		s.see(t, "cut-connections", "target", queue)
		want := "cut-connections target"
		if cause != "" {
			s.see(t, cause, "app", queue)
			want = cause + " app"
		}
		if l := s.limiter(); l.Name != want {
			t.Errorf("got %s, want %s: %s", l.Name, want, l.Sentence)
		}
	}
}
