package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// live gives a run users that did something: 16 actions, storms, logins, messages. bad is the
// number of faults.
func live(r *RunData, bad int, hostile string) {
	rng := rand.New(rand.NewPCG(11, uint64(r.Cell.Block)))
	b := workload.BehaviorCount{Behavior: "person" + hostile}
	for k := range 16 {
		n := int64(8000 / (k + 1))
		a := workload.ActionCount{
			Name:     fmt.Sprintf("action_%02d%s", k, hostile),
			Weight:   8 / float64(k+1),
			Attempts: n,
			OK:       n,
		}
		switch k {
		case 3:
			a.Skipped = map[string]int64{"no post in view" + hostile: 7, "no other channel": 9}
			a.OK -= 16
		case 5:
			a.Failed = int64(bad) * n
			a.OK -= a.Failed
		case 15:
			a.Absent = "needs version 10.5" + hostile
			a.Attempts = 0
			a.OK = 0
		}
		b.Actions = append(b.Actions, a)
	}
	r.Users = &record.Users{
		Format: record.UsersVersion,
		Phase:  "measure",
		Grace:  10 * time.Second,
		Mixes:  workload.Snapshot{b}.Mixes(),
		Whole: workload.LedgerCount{
			Acked:      2000,
			Judged:     1900,
			Seen:       60000 - int64(bad)*3,
			Late:       2,
			Lost:       int64(bad) * 3,
			Duplicated: int64(bad) * 5,
			Misordered: int64(bad),
		},
		Audit: &record.Audit{
			AuditResult: workload.AuditResult{
				Expected: 2000,
				Readable: 2000 - bad,
				Part:     1,
				Rows: []workload.RowCount{{
					Store:  "database",
					What:   "things",
					Least:  10,
					Most:   12,
					Actual: 11,
				}, {Store: "wide", What: "things", Least: 5, Most: 5, Actual: 4}},
			},
			Took: time.Second,
		},
		Storms: []record.StormOutcome{
			{
				Kind:     "reconnect",
				Share:    0.5,
				Over:     2 * time.Second,
				From:     10 * time.Second,
				To:       13 * time.Second,
				Affected: 200,
				Done:     200 - bad,
				Missed:   bad,
				Back:     2600 * time.Millisecond,
			},
			{Kind: "mention", From: 16 * time.Second, To: 18 * time.Second, Affected: 1},
		},
	}
	if bad > 0 {
		r.Users.Audit.MissingIDs, r.Users.Audit.Missing = []string{"id" + hostile}, bad
		r.Users.Audit.Error = "ran out of time" + hostile
	}
	r.Outside = record.Outside{
		Login: map[string]*measure.Window{
			"login_me": window(rng, "login_me", 400, 3, 0),
			"login":    window(rng, "login", 5, 80, 1),
		},
		Storms: []map[string]*measure.Window{
			{
				"storm_reconnect_websocket": window(rng, "storm_reconnect_websocket", 200, 9, 2),
				"storm_reconnect_posts":     window(rng, "storm_reconnect_posts", 198, 4, 0),
			},
			{"storm_mention_post": window(rng, "storm_mention_post", 5, 40, 0)},
		},
	}
}

// liveInput is a comparison in which the new arm's server loses messages.
func liveInput(hostile string) Input {
	s := scenes()["full"]
	s.engines = []string{"postgresql"}
	s.plan = mustPlan(
		strings.NewReplacer(
			"[postgresql, mysql]",
			"postgresql",
			"{postgresql: 400, mysql: 300}",
			"400",
			"behavior: poster",
			"behavior: poster, mix: busy, weights: {a: 1}, login: cold",
		).Replace(planText),
	)
	in := s.input()
	for i := range in.Runs {
		live(&in.Runs[i], b2i(in.Runs[i].Cell.Arm == "new"), hostile)
	}
	return in
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func runText(t *testing.T, r RunData, p *plan.Plan) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return RunText(w, r, p) }))
}

func TestUsersGolden(t *testing.T) {
	d := From(liveInput(""))
	golden(t, "users.md", written(t, FullMarkdown, d))
	of, err := json.MarshalIndent(d.Users[len(d.Users)-1], "", " ") // of one arm
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "users.json", append(of, '\n'))
	for i, r := range liveInput("").Runs[:2] {
		golden(t, fmt.Sprintf("users-run-%d.txt", i), runText(t, r, mustPlan(planText)))
	}
}

// A storm from which nobody came back has no time until all were.
func TestStormOfNobody(t *testing.T) {
	r := liveInput("").Runs[0]
	s := &r.Users.Storms[0]
	s.Done = 0
	s.Missed = s.Affected
	s.Back = 0
	has(t, runText(t, r, mustPlan(planText)), "none is back")
}

func TestUsersOfHostileNames(t *testing.T) {
	d := From(liveInput(nasty))
	page := written(t, HTML, d)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
		t.Error("a name got out of the page")
	}
	text := written(t, FullMarkdown, d)
	for _, bad := range []string{"\n# head", "\x1b", "\u202e", " <script>"} {
		if strings.Contains(text, bad) {
			t.Errorf("a name got out of the Markdown: %q", bad)
		}
	}
	if strings.ContainsAny(runText(t, liveInput(nasty).Runs[0], nil), "\x1b\u202e") {
		t.Error("a name got out of the text")
	}
}

func TestRunTextOfNothing(t *testing.T) {
	if text := runText(t, RunData{}, &plan.Plan{}); text != "" {
		t.Errorf("%q", text)
	}
}

// TestUndelivered: the deliveries of a target that reports that it delivers nothing are not
// counted.
func TestUndelivered(t *testing.T) {
	in := liveInput("")
	r := in.Runs[slices.IndexFunc(in.Runs, func(r RunData) bool { return r.Cell.Arm == "base" })]
	r.Users.Undelivered = "the target says so"
	r.Users.Whole = workload.LedgerCount{Acked: 2000, Judged: 1900}
	text := runText(t, r, nil)
	if strings.Contains(text, "ATTENTION") ||
		!strings.Contains(text, "Deliveries are not judged: the target says so.") {
		t.Errorf("%s", text)
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 && f[0] == "2000" &&
			strings.Join(f[1:6], " ") != strings.Repeat(dash+" ", 4)+dash {
			t.Errorf("the row of messages: %q", line)
		}
	}
}
