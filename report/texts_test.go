package report

import (
	"strings"
	"testing"

	"plimsoll/plan"
)

// TestTextsOfAPerson: they take the place of the drafted ones in every form, are marked as a
// person's, and the draft stays in JSON.
func TestTextsOfAPerson(t *testing.T) {
	s := scenes()["aa"]
	draft := From(s.input())
	s.plan = mustPlan(
		planText + "report: {comments: [\"Boring is *good*.\\n\\n# Not a heading\", Second.], action_items: Ship it.}\n",
	)
	d := From(s.input())
	if d.DraftedComments || d.DraftedActions || len(d.Comments) != 2 || len(d.Actions) != 1 ||
		strings.Join(d.CommentsDraft, "|") != strings.Join(draft.Comments, "|") ||
		strings.Join(d.ActionsDraft, "|") != strings.Join(draft.Actions, "|") {
		t.Fatalf(
			"comments %q, drafted %q; actions %q, drafted %q",
			d.Comments,
			d.CommentsDraft,
			d.Actions,
			d.ActionsDraft,
		)
	}
	md := written(t, Markdown, d)
	has(
		t,
		md,
		"- Boring is *good*.\n  \n  # Not a heading\n",
		"- Ship it.\n",
		"Written by a person. The comments that were drafted",
		"Written by a person. The action items that were drafted",
	)
	if page := written(t, HTML, d); strings.Count(page, "Written by a person.") != 2 ||
		strings.Contains(page, draft.Comments[0]) {
		t.Error("the page does not hold the person's comments alone, marked as such")
	}
	// Either kind may come from a person; the caller's texts come before the plan's.
	s.plan = mustPlan(planText + "report: {action_items: Wait.}\n")
	in := s.input()
	in.Comments = []string{"From the caller."}
	d = From(in)
	if d.DraftedComments || d.Comments[0] != "From the caller." || d.DraftedActions ||
		d.Actions[0] != "Wait." {
		t.Errorf("%q, %q", d.Comments, d.Actions)
	}
	s.plan.Report = plan.Report{ActionItems: []string{"Wait."}}
	if d := From(s.input()); !d.DraftedComments || d.CommentsDraft != nil || d.DraftedActions {
		t.Errorf("only the action items are a person's: %+v", d.Comments)
	}
}
