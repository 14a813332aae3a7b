package evidence

import (
	"strings"
	"testing"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/report"
)

// TestScripted: the end of a run on a terminal, and the whole of it, have the checks of a script and
// its exceptions; those of a run without a script have neither.
func TestScripted(t *testing.T) {
	t.Parallel()
	of := func(ok, failed uint64) *measure.Window {
		w := measure.NewWindow("")
		w.Classes[measure.OK], w.Classes[measure.Script] = ok, failed
		return w
	}
	merged := map[string]*measure.Window{
		"post":                           of(100, 0),
		workload.Check + "is 200":        of(90, 10),
		workload.Check + "is JSON":       of(100, 0),
		workload.Iteration + "read":      of(95, 5),
		workload.Iteration + "write":     of(100, 0),
		workload.Group + "the front row": of(100, 0),
	}
	for name, w := range merged {
		w.Name = name
	}
	events := []record.Event{
		{Kind: "error", Text: "dial: refused"},
		{Kind: "error", Text: workload.Exception("read", "a.js:3: boom")},
		{Kind: "error", Text: workload.Exception("write", "a.js:9: later")},
	}
	s := Shown{Checks: report.ChecksOf(merged), Exceptions: exceptionsOf(merged, events), Ops: opsOf(merged, 0)}
	var whole, end strings.Builder
	if err := s.Text(&whole); err != nil {
		t.Fatal(err)
	}
	if err := s.Screen("dir").Write(&end, 0); err != nil {
		t.Fatal(err)
	}
	for text, wants := range map[string][]string{
		whole.String(): {"is 200       90      10\n", "is JSON     100       0\n",
			"5 of 200 iterations ended in an exception, the first: read: a.js:3: boom", "iteration read"},
		end.String(): {"exceptions: 5 of 200 iterations", "check: is 200: 90 passed, 10 failed", "checks: 1 of 2 always held"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	if strings.Contains(whole.String(), workload.Check) {
		t.Errorf("a check is among the operations:\n%s", whole.String())
	}
	none := map[string]*measure.Window{"post": of(1, 1)}
	if report.ChecksOf(none) != nil || exceptionsOf(none, events) != nil {
		t.Error("a run without a script has checks or exceptions")
	}
}
