package read

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// TestShowNamesExpectedAnswers: show has them below the operations and in its JSON, under their own name, and neither
// as operations nor as errors.
func TestShowNamesExpectedAnswers(t *testing.T) {
	reg := measure.NewRegistry(1)
	for range 100 {
		reg.Recorder(0).Record(reg.Name("get_thread"), &measure.Op{Done: time.Millisecond})
	}
	for range 3 {
		workload.Anticipated(reg, "get_thread", 404, "app.post.get.app_error", 0)
	}
	merged := map[string]*measure.Window{}
	for _, w := range reg.Cut() {
		merged[w.Name] = w
	}
	s := shown{evidence.Shown{Ops: evidence.OpsOf(merged, time.Second)}}
	if len(s.Ops) != 2 || s.Ops[0].Name != "get_thread" || s.Ops[0].Errors != 0 || s.Ops[1].Count != 100 {
		t.Fatalf("rows %+v", s.Ops)
	}
	var out bytes.Buffer
	printRun(&app.App{Stdout: &out, Stderr: &out}, s)
	if want := "3 expected 404 app.post.get.app_error"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in:\n%s", want, out.String())
	}
	b, err := json.Marshal(s.Ops[0])
	if want := `"expected":[{"op":"get_thread","status":404,"id":"app.post.get.app_error","n":3}]`; err != nil || !strings.Contains(string(b), want) {
		t.Errorf("%s is not in %s, %v", want, b, err)
	}
}

// TestShowTellsACapacityInTurns tells the capacity of a run of a duet from that of a server alone.
func TestShowTellsACapacityInTurns(t *testing.T) {
	for _, duet := range []*record.Duet{nil, {Seats: 2}} {
		var out bytes.Buffer
		printRun(&app.App{Stdout: &out, Stderr: &out}, shown{evidence.Shown{Manifest: record.Manifest{Duet: duet,
			Capacity: &record.Capacity{Kind: record.Estimate, Users: 67, Lo: 66, Hi: 68}}}})
		if got := strings.Contains(out.String(), "found in turns (a duet)"); got != (duet != nil) {
			t.Errorf("a run in turns %v:\n%s", duet != nil, out.String())
		}
	}
}

// An interrupted run is not one whose numbers were found invalid: the first line has the reason, once.
func TestInterruptedRunIsNotInvalid(t *testing.T) {
	why := "interrupted by SIGINT"
	s := shown{evidence.Shown{Manifest: record.Manifest{ID: "r1", State: record.Interrupted, Why: why},
		Validity: record.Validity{Findings: []record.Finding{{Gate: "complete", Level: record.Red, Text: "the run was " + record.Interruption(why)}}}}}
	var screen, all bytes.Buffer
	if err := s.Screen("dir").Write(&screen, 0); err != nil {
		t.Fatal(err)
	}
	printRun(&app.App{Stdout: &all, Stderr: &all}, s)
	for _, out := range []string{screen.String(), all.String()} {
		if !strings.HasPrefix(out, "run r1: interrupted by SIGINT; only a part of it was measured\n") || strings.Contains(out, "VALID") || strings.Count(out, "interrupted") != 1 {
			t.Error(out)
		}
	}
}
