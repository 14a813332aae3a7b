package main

import (
	"strings"
	"testing"

	"plimsoll/judge/bisect"
)

// TestRanges: ten ranges have a first changed build with more work than the build before it, and
// twenty have none.
func TestRanges(t *testing.T) {
	changed, seen := 0, map[string]bool{}
	all := ranges()
	for i, r := range all {
		if r.Range != i+1 || r.First < 0 || r.First >= rangeBuilds || (r.First > 0) != (r.Function != "") {
			t.Errorf("%+v", r)
		}
		if r.First > 0 {
			changed++
			seen[r.Function] = true
		}
	}
	if changed != rangesChanged || len(seen) != changed || len(all) != rangesChanged+rangesAlike {
		t.Errorf("%d of %d ranges are changed, by %d functions", changed, len(all), len(seen))
	}
	text := rangePlan(1, "/p")
	if !strings.Contains(text, rangeMeasured) || !strings.Contains(text, "tiny, binary: /p, args") {
		t.Errorf("%s", text)
	}
}

func TestScoresOfRanges(t *testing.T) {
	answer := func(first, build int, outcome bisect.Outcome) searchedRange {
		return searchedRange{
			buildRange: buildRange{First: first},
			Answer:     bisect.Diagnosis{Outcome: outcome, Build: build},
		}
	}
	broken := answer(3, 3, bisect.Found)
	broken.Problem = "no answer"
	for _, tt := range []struct {
		of   searchedRange
		want string
	}{
		{answer(3, 3, bisect.Found), right},
		{answer(3, 4, bisect.Found), wrong},
		{answer(3, 31, bisect.Nothing), nothing},
		{answer(3, 3, bisect.Undecided), nothing},
		{answer(0, 31, bisect.Nothing), right},
		{answer(0, 5, bisect.Undecided), right},
		{answer(0, 5, bisect.Found), wrong},
		{broken, without},
	} {
		if got := tt.of.score(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.of, got, tt.want)
		}
	}
	page := rangesPage([]searchedRange{answer(3, 3, bisect.Found), answer(0, 5, bisect.Found)})
	for _, want := range []string{"| 1 | 1 | 0 | 0 | 0 | **100 ", "| 1 | 0 | 1 | – | 0 | **0 "} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}
