package report

import (
	"slices"

	"plimsoll/plan"
)

// draft writes the comments and the action items. Those of a person, of the caller or else of the plan, take their
// place, and the draft is kept beside them.
func (b *builder) draft() {
	d := b.d
	var own plan.Report
	if b.in.Plan != nil {
		own = b.in.Plan.Report
	}
	own = own.With(plan.Report{Comments: b.in.Comments, ActionItems: b.in.Actions})
	d.Comments, d.DraftedComments = b.comments(), true
	d.Actions, d.DraftedActions = b.actions(), true
	if len(own.Comments) > 0 {
		d.CommentsDraft, d.Comments, d.DraftedComments = d.Comments, slices.Clone(own.Comments), false
	}
	if len(own.ActionItems) > 0 {
		d.ActionsDraft, d.Actions, d.DraftedActions = d.Actions, slices.Clone(own.ActionItems), false
	}
}

// personNote marks texts that a person wrote.
func personNote(drafted bool, what string) []string {
	if drafted {
		return nil
	}
	return []string{"Written by a person. The " + what + " that were drafted from the findings are in the report's JSON."}
}
