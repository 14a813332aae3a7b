package trial

import (
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// iterate records iterations of a script, some of which ended in an exception.
func iterate(l *lab, n, exceptions int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec := l.reg.Recorder(0)
	name := rec.Name(workload.Iteration + "default")
	for i := range n {
		if i < exceptions {
			rec.Error(name, measure.Script)
		} else {
			rec.Value(name, time.Second)
		}
	}
}

// TestScripts: exceptions void a run from 1 % of a script's iterations on, and checks that do not
// hold break the rule that limits them. Neither is an operation.
func TestScripts(t *testing.T) {
	for _, tt := range []struct {
		name             string
		iterations       int
		exceptions       int
		unheld           int // of 1000 checks
		valid            bool
		gate, text, rule string
	}{
		{name: "none", valid: true},
		{name: "good", iterations: 1000, unheld: 9, valid: true},
		{name: "one exception", iterations: 1000, exceptions: 1, valid: true, gate: "amber script",
			text: "iterations of the script that ended in an exception, of all: 0.1% in the measured phase: a.js:3: boom"},
		{name: "many", iterations: 1000, exceptions: 50, gate: "red script",
			text: "iterations of the script that ended in an exception, of all: 5% in the measured phase: a.js:3: boom"},
		{name: "checks", iterations: 1000, unheld: 20, valid: true, rule: "rate(failed_checks) < 1% min 200: 2 %"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			s := spec(t, l)
			b := bounded
			b.Rules = rules(t, "rate(errors) < 0.1%", "p99(iteration default) < 2s")
			if tt.iterations > 0 {
				b.Rules = append(b.Rules, rules(t, "rate(failed_checks) < 1%", "rate(script) < 90%")...)
			} else {
				b.Rules = b.Rules[:1]
			}
			s.Bounded, s.Rules = &b, nil
			s.Thrown = func() string { return "a.js:3: boom" }
			time.AfterFunc(4500*time.Millisecond, func() {
				iterate(l, tt.iterations, tt.exceptions)
				l.mu.Lock()
				defer l.mu.Unlock()
				rec := l.reg.Recorder(0)
				check := rec.Name(workload.Check + "is 200")
				for i := range tt.iterations {
					if i < tt.unheld {
						rec.Error(check, measure.Script)
					} else {
						rec.Value(check, 0)
					}
				}
			})
			out := carryOut(t, s)
			if out.Validity.Valid != tt.valid || gates(out.Validity) != tt.gate || strings.Join(out.Broken, "") != tt.rule {
				t.Errorf("valid %v, findings %q, broken %q", out.Validity.Valid, gates(out.Validity), out.Broken)
			}
			if tt.text != "" && out.Validity.Findings[0].Text != tt.text {
				t.Errorf("text %q", out.Validity.Findings[0].Text)
			}
			finish(t, s, out)
		})
	}
}

// TestScriptInASearch: exceptions in windows in which every rule held void a search too.
func TestScriptInASearch(t *testing.T) {
	for _, tt := range []struct {
		exceptions int
		want       string
	}{{0, ""}, {2, "amber script"}, {30, "red script"}} {
		virtual(t, tt.want, func(t *testing.T) {
			l := newLab(800)
			for at := time.Second; at < time.Hour; at += time.Second {
				time.AfterFunc(at, func() { iterate(l, 1000, tt.exceptions) })
			}
			_, out := searched(t, l)
			if got := gates(out.Validity); strings.Contains(got, "script") != (tt.want != "") ||
				!strings.Contains(got, tt.want) || out.Validity.Valid != (tt.exceptions < 30) {
				t.Errorf("valid %v, findings %q, want %q", out.Validity.Valid, got, tt.want)
			}
		})
	}
}
