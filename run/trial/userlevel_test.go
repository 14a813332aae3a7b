package trial

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/run/capacity"
)

func levelSpec(t *testing.T, l *lab) Config {
	s := spec(t, l)
	s.Level = &LevelTest{
		LevelConfig: capacity.LevelConfig{
			Start:  10,
			Max:    1000,
			Budget: time.Minute,
			Step:   9 * time.Second,
		},
		Used:   func() map[string][2]float64 { return l.used("app", "db") },
		Ramp:   time.Second,
		Window: 4 * time.Second,
	}
	return s
}

func (l *lab) used(roles ...string) map[string][2]float64 {
	out := map[string][2]float64{}
	for _, role := range roles {
		if busy, total, err := l.Busy(role); err == nil {
			out[role] = [2]float64{busy, total}
		}
	}
	return out
}

// At 0.85 of a core for 400 users, 188 to 235 users use 40 to 50 % of it.
func TestLevelTrial(t *testing.T) {
	tests := []struct {
		name        string
		set         func(*lab, *Config)
		least, most int
		short       string
	}{
		{"linear", func(*lab, *Config) {}, 188, 235, ""},
		{"arrivals of a tenth of a second", func(l *lab, _ *Config) {
			l.arrival = 0.1
		}, 188, 235, ""},
		{"arrivals of a hundred operations", func(l *lab, _ *Config) {
			l.initial = 100
		}, 188, 235, ""},
		{"a neighbor of the generator", func(l *lab, _ *Config) {
			l.health = func(users int) map[string]Reading {
				return map[string]Reading{"core": {Value: 99}}
			}
		}, 188, 235, ""},
		{"a rule breaks", func(l *lab, _ *Config) {
			l.latency = func(users int) time.Duration {
				return time.Duration(users) * time.Millisecond
			}
		}, 80, 99, "mean(op) < 100ms breaks"},
		{"the generator is at its limit", func(l *lab, _ *Config) {
			l.health = func(users int) map[string]Reading {
				return map[string]Reading{"core": {Value: float64(users)}}
			}
		}, 40, 99, "the load generator was at its limit"},
	}
	for _, tt := range tests {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(400)
			s := levelSpec(t, l)
			tt.set(l, &s)
			out := carryOut(t, s)
			f := out.Level
			if f == nil || f.Users < tt.least || f.Users > tt.most || f.Role != "app" ||
				!strings.Contains(f.Short, tt.short) ||
				tt.short == "" && f.Short != "" {
				t.Errorf(
					"found %+v (%s); want %d to %d users, %q",
					f,
					gates(out.Validity),
					tt.least,
					tt.most,
					tt.short,
				)
			}
			if a := f.Arrival.Seconds(); a < 0.8*l.arrival-0.002 || a > 1.2*l.arrival+0.002 {
				t.Errorf("an arrival costs %v, want %v s", f.Arrival, l.arrival)
			}
			r := finish(t, s, out)
			if ph, ok := r.Manifest.Phase("pilot"); !ok || ph.To > 75*time.Second {
				t.Errorf("phases %+v", r.Manifest.Phases)
			}
		})
	}
}

func TestLevelTrialWithoutCPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(400)
		l.blind = true
		s := levelSpec(t, l)
		s.Rules, s.Level.Used = nil, func() map[string][2]float64 { return l.used("app") }
		_, err := Run(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), "write a number") {
			t.Errorf("%v; want the remedy", err)
		}
	})
}
