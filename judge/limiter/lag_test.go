package limiter_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/limiter"
)

// bounded is a run with a ramp of ten samples to a fixed number of users and thirty at them, in
// which a rule was broken in the samples from (included) to (excluded).
func bounded(from, to int) *scene {
	s := newScene()
	s.o.Users = nil
	s.o.Broken = nil
	s.o.Rule = "promql: max(max_over_time(plimsoll_replication_lag_seconds[15s])) < 2"
	s.o.CPU, s.o.Roles = map[string][]float64{}, []string{"app", "db", "replica"}
	for i := range 40 {
		s.o.Users = append(s.o.Users, sceneCapacity*math.Min(1, float64(i+1)/10))
		s.o.Broken = append(s.o.Broken, i >= from && i < to)
	}
	for _, role := range s.o.Roles {
		s.cores(role, 0.2)
	}
	return s
}

// at adds the lag of the replicas by sample.
func (s *scene) at(t *testing.T, name, role string, f func(sample int) float64) *scene {
	t.Helper()
	s.see(t, name, role, flat(0))
	v := s.o.Traces[len(s.o.Traces)-1].Values
	for i := range v {
		v[i] = f(i)
	}
	return s
}

// lags is a lag that grows as the load rises.
func lags(l float64) float64 { return 6 * math.Pow(l, 8) }

// A replica that is behind is named where it is the cause, and only there.
func TestDiagnoseReplicas(t *testing.T) {
	// Stopped for five seconds of the measured phase; the indicator is the highest value of its
	// rate window.
	stopped := func(i int) float64 {
		if i < 20 || i > 29 {
			return 0.01
		}
		return math.Min(float64(i-19), 5)
	}
	for _, tt := range []struct {
		name  string
		build func() *scene
		want  string
	}{
		{"stopped in a bounded test", func() *scene {
			return bounded(21, 30).at(t, "replication-lag", "replica", stopped)
		}, "replication-lag replica"},
		{"behind more and more as the load rises", func() *scene {
			return newScene().see(t, "replication-lag", "replica", lags).see(t, "cpu", "replica", idle)
		}, "replication-lag replica"},
		{"a small lag, and a rule of something else broke", func() *scene {
			return newScene().see(t, "replication-lag", "replica", func(l float64) float64 {
				return 1.2 * math.Pow(math.Min(l, 1), 8)
			})
		}, limiter.LimitUnknown},
		{"a small lag beside a full core of the app", func() *scene {
			return newScene().see(t, "replication-lag", "replica", func(l float64) float64 {
				return math.Min(l, 1)
			}).see(t, "cpu", "app", full)
		}, "cpu app"},
		{"no replicas", func() *scene {
			return bounded(21, 30).at(t, "cpu", "app", func(int) float64 { return 0.97 })
		}, "cpu app"},
		{"behind in the ramp alone", func() *scene {
			return bounded(21, 30).at(t, "replication-lag", "replica", func(i int) float64 {
				if i < 8 {
					return 20
				}
				return 0.01
			})
		}, limiter.LimitUnknown},
		{"the replica's cores are full, and so it is behind", func() *scene {
			return newScene().see(t, "replication-lag", "replica", lags).see(t, "cpu", "replica", full)
		}, "cpu replica"},
		// waiting ranks before use
		{"it is behind, and the app's cores are full by themselves", func() *scene {
			return newScene().see(t, "replication-lag", "replica", lags).see(t, "cpu", "app", full)
		}, "replication-lag replica"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.build()
			l := s.limiter()
			if l.Name != tt.want {
				t.Errorf("named %q, want %q: %s\nothers %+v", l.Name, tt.want, l.Sentence, l.Others)
			}
			if tt.want == "replication-lag replica" &&
				(!strings.Contains(l.Sentence, "behind the server that it follows") || l.Advice == "") {
				t.Errorf("sentence %q, advice %q", l.Sentence, l.Advice)
			}
			there := slices.ContainsFunc(s.o.Traces, func(x limiter.Trace) bool {
				return limiter.Indicators()[x.Indicator].Limiter == "replication-lag"
			})
			if named := strings.Contains(l.Sentence, "replication-lag"); named && !there {
				t.Errorf("a lag that nobody saw: %s", l.Sentence)
			}
		})
	}
	full := newScene().see(t, "replication-lag", "replica", lags).
		see(t, "cpu", "replica", full).
		limiter()
	if len(full.Others) != 1 || full.Others[0].Name != "replication-lag replica" ||
		full.Others[0].Why != "a symptom of cpu replica" {
		t.Errorf("the lag is not told as the cores' symptom: %+v", full.Others)
	}
	unbroken := bounded(0, 0).at(t, "replication-lag", "replica", stopped)
	unbroken.o.Reached, unbroken.o.Why = false, "no rule broke in the measured phase"
	if l := unbroken.limiter(); l.Name != limiter.LimitNone {
		t.Errorf("no rule broke, and %q is named", l.Name)
	}
}
