package source

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/judge/attribution"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// TestKeep: a search is kept with the comparison, and repeated only where it failed.
func TestKeep(t *testing.T) {
	h := newHistory(t)
	base := h.commit("begin", "store/store.go", program)
	slow := h.commit("store: get twice", "store/store.go", strings.Replace(program, "x := 1", "x := 2", 1))
	w := report.Why{}
	w.Findings = []attribution.FunctionChange{{Function: attribution.Function{Name: "a/store.Get", File: "a/store/store.go"}}}
	w.Parts = []attribution.CostPart{{Kind: attribution.PartFunction, Share: 0.9}}
	doc, c := report.Document{Why: []report.Why{w}}, new(record.Comparison)
	nowhere := &plan.SourceRange{Base: base, New: "nowhere"}
	failure.None(t, h.Keep(t.Context(), nowhere, c, &doc))
	if doc.Suspects.Withheld == "" || len(doc.Suspects.Suspects) > 0 {
		t.Errorf("%+v", doc.Suspects)
	}
	failure.None(t, h.Keep(t.Context(), &plan.SourceRange{Base: base, New: "main"}, c, &doc))
	failure.None(t, h.Keep(t.Context(), nowhere, c, &doc))
	if s := doc.Suspects.Suspects; len(s) != 1 || s[0].Commit != slow || !strings.Contains(string(c.Suspects), slow) {
		t.Errorf("%+v, stored %s", doc.Suspects, c.Suspects)
	}
}
