package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

func TestParseReport(t *testing.T) {
	got, err := plan.ParseReport([]byte(
		"comments:\n  - Nothing to see.\n  - |\n    Two\n    lines.\naction_items: Ship it.\n",
	))
	want := plan.Report{
		Comments:    []string{"Nothing to see.", "Two\nlines.\n"},
		ActionItems: []string{"Ship it."},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, tt := range []struct{ name, src, want string }{
		{"empty", "", "1:1: the file is empty; write comments or action_items"},
		{"a list", "- a\n", "1:1: report: is a list; want a mapping of comments, action_items"},
		{"an unknown key", "comment: a\n", `1:1: report.comment: unknown key; did you mean "comments"?`},
		{"an empty text", "comments: [a, ' ']\n", "1:15: report.comments[1]: is empty"},
		{"an empty list", "comments: []\n", "1:11: report.comments: is an empty list"},
		{"nothing", "{}\n", "1:1: report: holds nothing"},
		{"a mapping of texts", "comments: {a: b}\n", "1:11: report.comments: is a mapping"},
		{"a number", "comments: [{a: 1}]\n", "report.comments[0]"},
		{"a secret", "comments: see http://me:hunter2@host/\n", "1:11: report.comments: holds a password"},
		{"too many", "comments: [" + strings.Repeat("a, ", 101) + "]\n", "1:11: report.comments: has 101 texts; want at most 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plan.ParseReport([]byte(tt.src))
			failure.Says(t, err, tt.want)
			failure.Hides(t, err, "hunter2")
		})
	}
}

func TestReportOfAPlan(t *testing.T) {
	const head = "name: n\ntarget: {driver: s}\nworkload: {behavior: b}\nbounded: {users: 1}\n"
	failure.Says(t, failure.Of(plan.Parse([]byte(head+"report: {comments: mine}\n"))),
		"5:9: report: only the report of a comparison has these texts; add compare, or remove them")
	p := mustParse(
		t,
		head+"compare: {arms: {base: {}, new: {}}}\nreport: {comments: mine, action_items: [a, b]}\n",
	)
	if diff := cmp.Diff(plan.Report{
		Comments:    []string{"mine"},
		ActionItems: []string{"a", "b"},
	}, p.Report); diff != "" {
		t.Error(diff)
	}
	r := p.Report.With(plan.Report{ActionItems: []string{"c"}})
	if diff := cmp.Diff(plan.Report{
		Comments:    []string{"mine"},
		ActionItems: []string{"c"},
	}, r); diff != "" || len(p.Report.ActionItems) != 2 {
		t.Error(diff)
	}
}
