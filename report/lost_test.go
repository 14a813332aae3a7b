package report

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// A server that lost acknowledged messages is not released, even with good latencies.
func TestLostMessagesStopTheRelease(t *testing.T) {
	for name, users := range map[string]record.Users{
		"lost 6 messages that it had acknowledged, of 12000": {
			Format: record.UsersVersion,
			Whole:  workload.LedgerCount{Acked: 2000, Judged: 2000, Seen: 999},
			Audit: &record.Audit{AuditResult: workload.AuditResult{
				Expected: 2000,
				Readable: 1999,
				Missing:  1,
				Part:     1,
			}},
		},
		"did not bring 6 of": {
			Format: record.UsersVersion,
			Whole:  workload.LedgerCount{Acked: 10, Judged: 10, Seen: 999, Lost: 1},
		},
	} {
		in := scenes()["aa"].input()
		for i := range in.Runs {
			if in.Runs[i].Cell.Arm == "new" {
				in.Runs[i].Users = &users
			}
		}
		d := From(in)
		if d.Kind != verdict.Same {
			t.Fatalf("the verdict is %s", d.Kind)
		}
		if lost := d.AcknowledgedLost; lost%6 != 0 || (lost > 0) != (users.Audit != nil) {
			t.Errorf("%s: %d acknowledged messages are lost", name, lost)
		}
		actions, comments := strings.Join(d.Actions, " "), strings.Join(d.Comments, " ")
		if strings.Contains(actions, "Release can continue") || !strings.Contains(actions, name) ||
			!strings.Contains(comments, name) {
			t.Errorf("%s: actions %q, comments %q", name, actions, comments)
		}
		junit := written(t, JUnit, d)
		if users.Audit != nil &&
			!strings.Contains(junit, `<failure type="lost" message="6 of 12000 cannot be read">`) {
			t.Errorf("JUnit:\n%s", junit)
		}
	}
}

// One zero makes no mean zero.
func TestAsidesWithZeros(t *testing.T) {
	var rows []imported.PairRow
	for i, base := range []float64{0, 400, 400} {
		rows = append(rows, imported.PairRow{
			Metric: "errors",
			Pair:   verdict.Pair{Block: i + 1, Base: base, New: 3},
		}, imported.PairRow{Metric: "time", Pair: verdict.Pair{Block: i + 1, Base: 2, New: 8}})
	}
	a := FromRows(JudgeInput{Names: [2]string{"base", "new"}, Asides: rows}).Given.Asides
	if len(a) != 2 || math.Abs(float64(a[0].Base)-800./3) > 1e-9 ||
		math.Abs(float64(a[0].New)-3) > 1e-9 ||
		a[0].Effect.Known() ||
		!a[0].Arithmetic {
		t.Errorf("%+v", a)
	}
	if math.Abs(float64(a[1].Effect)-3) > 1e-9 || a[1].Arithmetic {
		t.Errorf("%+v", a[1])
	}
}

// voidedBy is a comparison of equal arms of which block 1 had an attempt before the one that
// counts: the run of the new arm on one database was void by a gate, and had such users if there
// are any.
func voidedBy(gate string, users *record.Users) Input {
	in := scenes()["aa"].input()
	for _, r := range in.Runs[:4:4] {
		r.Cell.Run += "-voided"
		r.Cell.Dropped, r.Cell.Why = true, "another run of the block was not valid"
		if r.Cell.Arm == "new" && r.Cell.Engine == "mysql" {
			r.Cell.Valid, r.Cell.Why = false, gate+": it did not hold"
			r.Validity = record.Validity{Findings: []record.Finding{{
				Gate:  gate,
				Level: record.Red,
				Text:  "it did not hold",
			}}}
			if users != nil {
				r.Users = users
			}
		}
		in.Comparison.Runs = append(in.Comparison.Runs, r.Cell)
		in.Runs = append(in.Runs, r)
	}
	return in
}

// A failure of a server in a voided run still counts after the block is run again.
func TestVoidedByTheTargetStopsTheRelease(t *testing.T) {
	for gate, fine := range map[string]bool{
		"rows":         false,
		"audit":        false,
		"failed users": false,
		"level":        false,
		"search":       false,
		"lag":          true,
	} {
		d := From(voidedBy(gate, nil))
		if d.Kind != verdict.Same || d.State.Judged != 6 {
			t.Fatalf("%s: %s, %d blocks", gate, d.Kind, d.State.Judged)
		}
		if got := slices.Contains(d.Actions, "Release can continue as planned."); got != fine {
			t.Errorf("%s: %q", gate, d.Actions)
		}
	}
}

// Messages that were lost in a voided run are gone after its block was run again, too: no form of
// the report passes over them.
func TestMessagesLostInAVoidedRun(t *testing.T) {
	in := voidedBy(record.CrashGate, &record.Users{
		Format: record.UsersVersion,
		Audit: &record.Audit{AuditResult: workload.AuditResult{
			Expected: 2000,
			Readable: 1997,
			Missing:  3,
			Part:     1,
		}},
	})
	voided := ""
	for _, r := range in.Runs {
		if !r.Cell.Valid {
			voided = r.Cell.Run
		}
	}
	d := From(in)
	if d.Kind != verdict.Same || d.State.Judged != 6 || d.AcknowledgedLost != 3 || voided == "" {
		t.Fatalf(
			"%s, %d blocks, %d lost, in run %q",
			d.Kind,
			d.State.Judged,
			d.AcknowledgedLost,
			voided,
		)
	}
	if want := []LostRun{{
		Run:      voided,
		Engine:   "mysql",
		Arm:      "new",
		Missing:  3,
		Expected: 2000,
	}}; !slices.Equal(d.LostElsewhere, want) {
		t.Errorf("lost elsewhere %+v, want %+v", d.LostElsewhere, want)
	}
	junit := written(t, JUnit, d)
	for _, want := range []string{`<testcase name="acknowledged messages (new, run ` + voided + `)"`, `<failure type="lost" message="3 of 2000 cannot be read`} {
		if n := strings.Count(junit, want); n != 1 {
			t.Errorf("JUnit has %q %d times, want once:\n%s", want, n, junit)
		}
	}
	if problems := checkJUnit(junit); len(problems) > 0 {
		t.Error(problems)
	}
	has(t, written(t, Comment, d), "3 of 2000 cannot be read")
}

// Messages that no reader may read are named, and are not counted as lost.
func TestNotAuditedIsNamed(t *testing.T) {
	audit := record.Audit{AuditResult: workload.AuditResult{Expected: 2000, Readable: 400, Part: 1}}
	audit.Refuse(1600, "get_posts: status 403")
	users := record.Users{
		Format: record.UsersVersion,
		Whole:  workload.LedgerCount{Acked: 2000, Judged: 2000, Seen: 999},
		Audit:  &audit,
	}
	in := scenes()["aa"].input()
	for i := range in.Runs {
		in.Runs[i].Users = &users
	}
	d := From(in)
	if d.AcknowledgedLost != 0 {
		t.Errorf("%d acknowledged messages are lost", d.AcknowledgedLost)
	}
	text := written(t, FullMarkdown, d)
	has(t, text, "9600 not audited", "get_posts: status 403", "nobody may read 9600 of 12000")
}

// A sizing warns of each run that lost acknowledged messages, and of one that could not be checked;
// others say nothing.
func TestSizingWarnsOfLostMessages(t *testing.T) {
	doc := seedDocument(t)
	d := doc.Sizing
	audit := func(missing int) *record.Users {
		return &record.Users{Audit: &record.Audit{AuditResult: workload.AuditResult{
			Expected: 90,
			Readable: 90 - missing,
			Missing:  missing,
		}}}
	}
	d.Audited("run-a", 50, audit(0), nil)
	d.Audited("run-b", 200, nil, nil)
	d.Audited("run-c", 400, &record.Users{}, nil)
	if d.AcknowledgedLost != 0 || d.LostWarnings() != nil {
		t.Errorf("%d lost, %q", d.AcknowledgedLost, d.LostWarnings())
	}
	d.Audited("search", 0, audit(2), nil)
	d.Audited("run-d", 1, audit(3), nil)
	d.Audited("gone", 750, audit(5), errors.New("no such run"))
	want := []string{
		"the target lost messages that it had acknowledged (first search, run search): 2 of 90 cannot be read",
		"the target lost messages that it had acknowledged (1 user, run run-d): 3 of 90 cannot be read",
		"it is not known whether the target lost messages that it had acknowledged (750 users, run gone): no such run",
	}
	if got := d.LostWarnings(); d.AcknowledgedLost != 5 || !slices.Equal(got, want) {
		t.Errorf("%d lost, %q", d.AcknowledgedLost, got)
	}
	has(t, written(t, Markdown, doc), want...)
	has(t, written(t, HTML, doc), want...)
	d.LostIn[1].Run = d.Steps[1].Run
	if text := written(t, CSV, doc); strings.Count(text, d.Steps[1].Run+",3\n") != 1 ||
		strings.Count(text, ",\n") != len(d.Steps)-1 {
		t.Errorf("the CSV lacks the lost messages of one step, or has some of another:\n%s", text)
	}
	has(t, written(t, JSON, doc), `"acknowledged_lost": 5`)
}
