package report

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/attribution/statements"
	"plimsoll/judge/suspects"
)

func TestSuspects(t *testing.T) {
	d := Document{
		Why:        []Why{{Arm: "new", First: true, Sentence: "why"}, {Attributed: attributedCost()}},
		Statements: []StatementsOf{{Difference: *attributedStatements()}},
	}
	of, changed := d.Changed()
	if of.Role != "app" || len(of.Findings) != 3 || len(changed) != 2 || changed[0].Share != 0.9 {
		t.Errorf("%+v, %+v", of, changed)
	}
	// The time of all statements varies too much to say that it changed: no statement has a share.
	d.Statements[0].Findings = slices.Clone(d.Statements[0].Findings)
	for i, cost := range []float64{6e-6, -2e-6} {
		d.Statements[0].Findings[i].Share, d.Statements[0].Findings[i].Cost.Value = 0, cost
	}
	if _, changed := d.Changed(); changed[0].Share != 0.75 || changed[1].Share != 0.25 || !changed[1].Unclear {
		t.Errorf("without a difference of all: %+v", changed)
	}
	verdict := NamedVerdict{Arm: "new"}
	if lines := d.WhyLines(verdict); len(lines) != 1 || len(d.suspectSections()) != 0 {
		t.Errorf("without a search: %q", lines)
	}
	d.Suspects = &suspects.SuspectSearch{Base: "v1", New: "v2", Commits: 12,
		Suspects: []suspects.SuspectCommit{{
			Commit: "3f2a1c9d0b12aaaa", Title: "store: threads", Reason: "changes f",
		}}}
	lines := d.WhyLines(verdict)
	if !slices.Contains(lines, `suspect: 3f2a1c9d0b12 "store: threads" changes f`) {
		t.Errorf("lines %q", lines)
	}
	if lines := d.WhyLines(NamedVerdict{Arm: "other"}); len(lines) > 0 {
		t.Errorf("of an arm without a finding: %q", lines)
	}
	s := d.suspectSections()
	if len(s) != 1 || s[0].Table == nil || !strings.Contains(s[0].Notes[0], "Of 12 commits from v1 to v2") ||
		!strings.Contains(s[0].Notes[0], "plimsoll bisect -good v1 -bad v2") {
		t.Errorf("%+v", s)
	}
	d.Suspects.Suspects, d.Suspects.Withheld = nil, "a shallow clone"
	if s := d.suspectSections(); len(s) != 1 || s[0].Table != nil || !slices.Contains(s[0].Items, "a shallow clone") {
		t.Errorf("%+v", s)
	}
	d.Statements = []StatementsOf{{Difference: statements.Difference{}}}
	if _, changed := d.Changed(); len(changed) > 0 {
		t.Errorf("%+v", changed)
	}
}
