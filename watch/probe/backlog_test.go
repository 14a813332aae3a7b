package probe

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/failure"
)

// A metronome is a target that burns CPU time each period, also for those in which it stood.
type metronome struct {
	every, cpu time.Duration
	from       time.Time
	frozen     bool
	at, used   time.Duration // the last moment it ran, and what it had used then
}

// read returns the CPU time until now: one core works off what is due.
func (m *metronome) read() (CPUTime, error) {
	now := time.Since(m.from)
	if !m.frozen {
		due := now / m.every * m.cpu
		m.used = min(due, m.used+now-m.at)
		m.at = now
	}
	return CPUTime{Total: m.used}, nil
}

func (m *metronome) freeze() { _, _ = m.read(); m.frozen = true }
func (m *metronome) thaw()   { m.frozen, m.at = false, time.Since(m.from) }

// TestBacklog lets a target stand still for three quarters of the time: what it owes to the clock
// is read while no clock runs, and the pauses of turns that began without this reading are not
// covered.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &metronome{every: 250 * time.Millisecond, cpu: 5 * time.Millisecond, from: time.Now()}
		b := NewBacklog([]Role{{Name: "app", CPU: m.read}, {Name: "other"}})
		failure.None(t, b.Idle(t.Context(), 4*time.Second))
		for turn := range 100 {
			m.freeze()
			b.Stand()
			time.Sleep(750 * time.Millisecond)
			m.thaw()
			if turn%4 > 0 {
				b.CatchUp(200 * time.Millisecond)
			}
			b.Start()
			time.Sleep(250 * time.Millisecond)
		}
		got := map[string]float64{}
		samples, err := b.Sample(t.Context(), time.Now())
		failure.None(t, err)
		for _, s := range samples {
			got[s.Name] += s.Value
		}
		for name, want := range map[string]float64{
			"plimsoll_idle_cpu_ratio":              0.02,
			"plimsoll_pause_seconds_total":         77,
			"plimsoll_backlog_pause_seconds_total": 58,
			"plimsoll_backlog_cpu_seconds_total":   58 * 0.02,
			"plimsoll_turns_total":                 75,
			"plimsoll_turns_pause_seconds_total":   58,
			"plimsoll_turns_pause_squares_total":   45,
			"plimsoll_turns_cpu_ratio_total":       75 * 0.02,
		} {
			if v := got[name]; math.Abs(v/want-1) > 0.07 {
				t.Errorf("%s is %v, want about %v", name, v, want)
			}
		}
		if e := got["plimsoll_idle_cpu_error_ratio"]; !(e > 0.001 && e < 0.02) {
			t.Errorf("the idle rate has an error of %v", e)
		}
	})
	if NewBacklog([]Role{{Name: "app"}}) != nil {
		t.Error("the backlog of a role without a control group is known")
	}
}
