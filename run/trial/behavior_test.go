package trial

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// TestABehaviorThatSucceedsInNothingIsRed, and one that failed once, or found little to act on, is
// not.
func TestABehaviorThatSucceedsInNothingIsRed(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		ok, failed, skipped   int
		logins, failingLogins uint64
		want, text            string
	}{
		{name: "nothing tried"},
		{name: "all well", ok: 40},
		{name: "some failed", ok: 1, failed: 39},
		{
			name:   "one failed",
			failed: 1,
			want:   record.Amber,
			text:   "succeeded in nothing that they tried",
		},
		{
			name:   "two failed",
			failed: 2,
			want:   record.Red,
			text:   "succeeded in nothing: of 2 actions 2 failed and 0 found nothing to act on",
		},
		{
			name:    "few found anything",
			skipped: 9,
			want:    record.Amber,
			text:    "succeeded in nothing that they tried",
		},
		{
			name:    "none found anything",
			skipped: 10,
			want:    record.Red,
			text:    "0 failed and 10 found nothing to act on",
		},
		{
			name:          "logins fail",
			logins:        40,
			failingLogins: 20,
			want:          record.Red,
			text:          "they began no action, and 20 of 40 operations of logins failed",
		},
		{name: "one login fails", logins: 1, failingLogins: 1},
		{name: "most logins succeed", logins: 40, failingLogins: 19},
		{name: "logins fail beside users who act", ok: 40, logins: 40, failingLogins: 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := new(workload.Tally)
			b := c.Behavior("reader", []workload.TallyAction{{Name: "look", Weight: 1}})
			for i := range tt.ok + tt.failed + tt.skipped {
				switch b.Attempt(0); {
				case i < tt.ok:
					b.Succeed(0)
				case i < tt.ok+tt.failed:
					b.Fail(0)
				default:
					b.Skip(0, "no post in view")
				}
			}
			f, bad := mixFinding(c.Snapshot().Mixes()[0], logins{tt.logins, tt.failingLogins})
			if bad != (tt.want != "") ||
				bad && (f.Level != tt.want || !strings.Contains(f.Text, tt.text)) {
				t.Errorf("%v: %s %q", bad, f.Level, f.Text)
			}
		})
	}
	if record.GateCause(BehaviorGate) != record.ByTarget {
		t.Error("nobody's doing")
	}
}

// TestUsersWhoseLoginsFailAreRed: they begin no action, so that no operation of the steady state
// fails.
func TestUsersWhoseLoginsFailAreRed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := boundedSpec(t, l)
		s.Tally = new(workload.Tally)
		s.Tally.Behavior("reader", []workload.TallyAction{{Name: "look", Weight: 1}})
		time.AfterFunc(4500*time.Millisecond, func() {
			breakSockets(l, workload.Login+"_"+workload.Socket, 20)
		})
		out := carryOut(t, s)
		if gates(out.Validity) != "red behavior" || out.Validity.Valid {
			t.Errorf("valid %v: %q", out.Validity.Valid, gates(out.Validity))
		}
		finish(t, s, out)
	})
}

// TestMessagesThatNobodyCanLookForVoidABoundedTest: an answer that accepts a message and names
// none, or another one, loses it silently otherwise.
func TestMessagesThatNobodyCanLookForVoidABoundedTest(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   func(i int) string
		n    int // of 400
		want string
		text string
	}{
		{"all named", nil, 0, "", ""},
		{"two without a name", func(int) string {
			return ""
		}, 2, "red audit", "2 of 402 messages were accepted so that nobody can look for them: 2 by answers without their identifier"},
		{"one of them", func(int) string { return "" }, 1, "amber audit", "1 of 401 messages"},
		{"two with the same name", func(int) string {
			return "m7"
		}, 2, "red audit", "2 of 402 messages were accepted so that nobody can look for them: 2 under the identifier of another message"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			s := boundedSpec(t, l)
			s.Ledger = workload.NewLedger(time.Second, 1)
			time.AfterFunc(4500*time.Millisecond, func() {
				ack := func(id string) {
					s.Ledger.Acked(workload.Message{
						ID:      id,
						Channel: "c",
						Author:  -1,
						Sent:    time.Now(),
						Acked:   time.Now(),
					})
				}
				for i := range 400 {
					ack(fmt.Sprint("m", i))
				}
				for i := range tt.n {
					ack(tt.id(i))
				}
			})
			out := carryOut(t, s)
			if gates(out.Validity) != tt.want ||
				out.Validity.Valid == strings.Contains(tt.want, "red") {
				t.Errorf("valid %v: %q, want %q", out.Validity.Valid, gates(out.Validity), tt.want)
			}
			if tt.text != "" && !strings.HasPrefix(out.Validity.Findings[0].Text, tt.text) {
				t.Errorf("text %q", out.Validity.Findings[0].Text)
			}
			finish(t, s, out)
		})
	}
}

// breakSockets records n event connections that broke, under a series' name.
func breakSockets(l *lab, name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec := l.reg.Recorder(0)
	for range n {
		rec.Error(rec.Name(name), measure.WS)
	}
}

// TestSocketsThatBreakBreakTheRule: of 100 users, however many operations succeed beside them.
func TestSocketsThatBreakBreakTheRule(t *testing.T) {
	for _, tt := range []struct {
		name, series string
		n            int
		broken       string
		findings     string
	}{
		{"none", workload.Socket, 0, "", ""},
		{"one", workload.Socket, 1, "", "amber rules"},
		{"two", workload.Socket, 2, "rate(disconnected) < 1% min 200: 2 %", ""},
		{"two that come back", workload.Login + "_" + workload.Socket, 2, "rate(disconnected) < 1% min 200: 2 %", ""},
		{"more than there are users", workload.Socket, 250, "rate(disconnected) < 1% min 200: 100 %", ""},
		{"in a storm that breaks them", workload.StormPrefix + "reconnect_" + workload.Socket, 50, "", ""},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			s := spec(t, l)
			b := bounded
			b.Rules = rules(t, "rate(disconnected) < 1%", "mean(op) < 100ms")
			s.Bounded, s.Rules = &b, nil
			time.AfterFunc(4500*time.Millisecond, func() { breakSockets(l, tt.series, tt.n) })
			out := carryOut(t, s)
			if strings.Join(out.Broken, "") != tt.broken || gates(out.Validity) != tt.findings ||
				!out.Validity.Valid {
				t.Errorf("broken %q, findings %q", out.Broken, gates(out.Validity))
			}
			finish(t, s, out)
		})
	}
}

// TestEachTestHasItsOwnRules: those of the bounded test judge no search, and those of the search no
// bounded test.
func TestEachTestHasItsOwnRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := spec(t, l)
		b := bounded
		b.Rules = rules(t, "mean(op) < 5ms")
		s.Bounded, s.Rules = &b, rules(t, "cpu(app) < 85%")
		s.Search = &SearchTest{
			Config: capacity.Config{
				Start:     900,
				Max:       2000,
				RampRate:  0.02,
				RampFloor: 10,
				Window:    s.Window,
				Step:      0.01,
				Precision: 0.02,
				Budget:    60 * time.Second,
			},
			Rush: s.Window,
		}
		out := carryOut(t, s)
		if len(out.Broken) != 1 || !strings.HasPrefix(out.Broken[0], "mean(op) < 5ms: 10") {
			t.Errorf("broken %q", out.Broken)
		}
		if out.Capacity == nil || out.Capacity.Rule != "cpu(app) < 85%" {
			t.Errorf("capacity %+v", out.Capacity)
		}
		r := finish(t, s, out)
		ev := eventsOf(t, r)
		for _, e := range ev {
			if e.Kind == "slo" && (e.Phase == "search") != (e.Rule == "cpu(app) < 85%") {
				t.Errorf("in phase %s: %s", e.Phase, e.Rule)
			}
		}
	})
}
