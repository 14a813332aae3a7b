package evidence

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// The end of a search that a gate ended, or that is unstable by itself, states its cause once.
func TestOneCauseOnce(t *testing.T) {
	const cause, rest = "the busiest core: 95 %", "every rule held at 30 users, but no level for long"
	other := "every rule held up to 30 users, and after the overload at none"
	for _, tt := range []struct {
		name    string
		c       record.Capacity
		l       limiter.Limiter
		finding record.Finding
		cause   string
		lacks   string
	}{
		{"unstable by a gate", record.Capacity{
			Kind:    record.Unstable,
			Rule:    record.ByGate + "core",
			Stopped: record.ByHealth + cause,
			Why:     "the load generator was held up: " + cause + "; " + rest,
		},
			limiter.Limiter{
				Name:     limiter.LimitHost,
				Sentence: "LIMITED BY OTHERS ON THE HOST: core: " + cause + ".",
			}, record.Finding{
				Gate: "core",
				Text: cause + "; this ended the search",
			}, cause, "this ended"},
		{"a bound by a gate", record.Capacity{
			Kind:    record.AtLeast,
			Users:   30,
			Rule:    record.ByGate + "core",
			Stopped: record.ByHealth + cause,
			Why:     "the load generator was held up: " + cause,
		},
			limiter.Limiter{
				Name:     limiter.LimitHost,
				Sentence: "LIMITED BY OTHERS ON THE HOST: core: " + cause + ".",
			}, record.Finding{
				Gate: "core",
				Text: cause + "; this ended the search",
			}, cause, "this ended"},
		{"unstable by itself", record.Capacity{
			Kind:    record.Unstable,
			Stopped: "budget: the time of 20s is over",
			Why:     other,
		},
			limiter.Limiter{
				Name:     limiter.LimitNone,
				Sentence: "Nothing limited the run: the search is unstable: " + other + ".",
			}, record.Finding{
				Gate: "search",
				Text: "the search is unstable: " + other,
			}, other, "Nothing"},
	} {
		tt.finding.Level = record.Amber
		s := Shown{Manifest: record.Manifest{ID: "r", Capacity: &tt.c}, Limiter: &tt.l}
		s.Validity.Add(tt.finding)
		var out strings.Builder
		if err := s.Screen("dir").Write(&out, 1000); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Count(text, tt.cause) != 1 ||
			strings.Contains(text, tt.lacks) ||
			strings.Contains(tt.c.Why, rest) && !strings.Contains(text, "unstable: "+rest) {
			t.Errorf("%s:\n%s", tt.name, text)
		}
	}
}

// An interrupted run is not one whose numbers were found invalid: the first line has the reason,
// once.
func TestInterruptedRunIsNotInvalid(t *testing.T) {
	why := "interrupted by SIGINT"
	s := Shown{
		Manifest: record.Manifest{ID: "r1", State: record.Interrupted, Why: why},
		Validity: record.Validity{Findings: []record.Finding{{
			Gate:  "complete",
			Level: record.Red,
			Text:  "the run was " + record.Interruption(why),
		}}},
	}
	var screen, all bytes.Buffer
	if err := s.Screen("dir").Write(&screen, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Text(&all); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{screen.String(), all.String()} {
		if !strings.HasPrefix(
			out,
			"run r1: interrupted by SIGINT; only a part of it was measured\n",
		) ||
			strings.Contains(out, "VALID") ||
			strings.Count(out, "interrupted") != 1 {
			t.Error(out)
		}
	}
}

// TestShowNamesExpectedAnswers: show has them below the operations and in its JSON, under their own
// name, and neither as operations nor as errors.
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
	s := Shown{Ops: opsOf(merged, time.Second)}
	if len(s.Ops) != 2 || s.Ops[0].Name != "get_thread" || s.Ops[0].Errors != 0 ||
		s.Ops[1].Count != 100 {
		t.Fatalf("rows %+v", s.Ops)
	}
	var out bytes.Buffer
	if err := s.Text(&out); err != nil {
		t.Fatal(err)
	}
	if want := "3 expected 404 app.post.get.app_error"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in:\n%s", want, out.String())
	}
	b, err := json.Marshal(s.Ops[0])
	if want := `"expected":[{"op":"get_thread","status":404,"id":"app.post.get.app_error","n":3}]`; err != nil ||
		!strings.Contains(string(b), want) {
		t.Errorf("%s is not in %s, %v", want, b, err)
	}
}

// TestShowTellsACapacityInTurns distinguishes the capacity of a run of a duet from the capacity of
// a server alone.
func TestShowTellsACapacityInTurns(t *testing.T) {
	for _, duet := range []*record.Duet{nil, {Seats: 2}} {
		var out bytes.Buffer
		s := Shown{Manifest: record.Manifest{
			Duet:     duet,
			Capacity: &record.Capacity{Kind: record.Estimate, Users: 67, Lo: 66, Hi: 68},
		}}
		if err := s.Text(&out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "found in turns (a duet)"); got != (duet != nil) {
			t.Errorf("a run in turns %v:\n%s", duet != nil, out.String())
		}
	}
}
