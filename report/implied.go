package report

import (
	"fmt"

	"plimsoll/judge/verdict"
)

// kindNotes state which operations typical(op) compares.
func kindNotes(f NamedVerdict) []string {
	var out []string
	for _, r := range f.Verdict.Results {
		if k := r.Kinds; k != nil && (k.Compared > 1 || len(k.Left) > 0) {
			out = append(out, fmt.Sprintf("%s, the %s: %s.", r.Name, r.Text(), k.Sentence()))
		}
	}
	return out
}

// impliedNotes state what the changes of costs mean for the supported users, a sentence each.
func impliedNotes(f NamedVerdict) []string {
	var out []string
	for _, r := range f.Verdict.Results {
		if r.Implies != nil {
			out = append(out, r.Name+": "+r.Implies.Sentence)
		}
	}
	return out
}

// impliedComments are those of impliedNotes that the first page has: of costs that are worse or better, and of those
// that the searches contradict.
func impliedComments(f NamedVerdict) []string {
	changed := NamedVerdict{}
	for _, r := range f.Verdict.Results {
		if m := r.Implies; m != nil && (r.Kind == verdict.Worse || r.Kind == verdict.Better || m.Search == verdict.Contradicted) {
			changed.Verdict.Results = append(changed.Verdict.Results, r)
		}
	}
	return impliedNotes(changed)
}
