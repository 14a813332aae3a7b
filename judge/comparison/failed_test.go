package comparison

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// failing carries out a comparison in which the new arm fails on postgresql the first time that
// these blocks are run, and base in those; a block that is listed twice fails the second time too.
func failing(
	t *testing.T,
	cause record.Cause,
	fresh, base []int,
) (verdict.Verdict, *record.Comparison) {
	t.Helper()
	b := newBench(t)
	b.cause = cause
	b.void("new", "postgresql", fresh...)
	b.void("base", "postgresql", base...)
	c := b.compare(6)
	data, err := json.Marshal(c) // as it is read again from disk
	if err != nil {
		t.Fatal(err)
	}
	c = new(record.Comparison)
	if err := json.Unmarshal(data, c); err != nil {
		t.Fatal(err)
	}
	arms, _ := b.judge(c)
	return arms[0].Verdict, c
}

// TestABuildThatVoidsRunsIsNotSame compares builds that are alike in every run that is valid. One
// of them fails in some runs, whose blocks are run again.
func TestABuildThatVoidsRunsIsNotSame(t *testing.T) {
	for _, tt := range []struct {
		name        string
		cause       record.Cause
		fresh, base []int
		kind        verdict.Kind
	}{
		{"none fails", record.ByTarget, nil, nil, verdict.Same},
		{"one run of six fails", record.ByTarget, []int{3}, nil, verdict.Inconclusive},
		// Holm over five endpoints.
		{"every run fails once", record.ByTarget, []int{1, 2, 3, 4, 5, 6}, nil, verdict.Inconclusive},
		{"every run fails", record.ByTarget, []int{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, nil, verdict.Worse},
		{"base fails in one", record.ByTarget, nil, []int{3}, verdict.Inconclusive},
		{"each fails in one", record.ByTarget, []int{2}, []int{3}, verdict.Same},
		{"the generator was too slow", record.ByGenerator, []int{2, 3}, nil, verdict.Same},
		{"a neighbor was busy", record.ByHost, []int{2, 3}, nil, verdict.Same},
		// which are not judged, nor is anybody blamed
		{"a person steered two runs", record.ByHand, []int{2, 3}, nil, verdict.Same},
		{"a person steered every run", record.ByHand, []int{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, nil, verdict.Invalid},
	} {
		v, _ := failing(t, tt.cause, tt.fresh, tt.base)
		if v.Kind != tt.kind {
			t.Errorf("%s: %s, want %s: %s", tt.name, v.Kind, tt.kind, v.Lead)
		}
		counted := tt.cause == record.ByTarget && len(tt.fresh)+len(tt.base) > 0
		i := len(v.Results) - 1
		if got := v.Results[i].Name == verdict.FailedRuns; got != counted {
			t.Errorf("%s: the last endpoint is %s", tt.name, v.Results[i].Name)
		}
		if f := v.Results[i].Failed; counted &&
			(f.New.Failed != len(tt.fresh) || f.Base.Failed != len(tt.base) || f.New.Runs != min(12, 6+len(tt.fresh)+len(tt.base))) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

// TestFailedRunsAreNamed checks which runs are named as failed, and the counts.
func TestFailedRunsAreNamed(t *testing.T) {
	v, c := failing(t, record.ByTarget, []int{3}, nil)
	r := resultOf(t, v, verdict.FailedRuns)
	if text := r.Sentence + fmt.Sprint(r.Warnings); !strings.Contains(
		text,
		"1 of 7 runs of new failed and 0 of 7 of base",
	) ||
		!strings.Contains(text, "in block 3") {
		t.Errorf("%q", text)
	}
	for i := range c.Runs {
		if run := &c.Runs[i]; run.Block == 3 && !run.Valid && run.Cause != record.ByTarget {
			t.Errorf("the record does not say whose doing it was: %+v", run)
		}
	}
}

// TestUnclearVoidsAreNotTheSame voids more runs of the new arm for a reason that may be the
// target's: the verdict is neither the same nor better.
func TestUnclearVoidsAreNotTheSame(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cause     record.Cause
		targetToo bool
		fresh     []int
		base      []int
		kind      verdict.Kind
	}{
		{"a neighbor alone", record.ByHost, false, []int{2, 3}, nil, verdict.Same},
		{"a red gate of the target, and a neighbor that was noticed", record.ByHost, true, []int{2, 3}, nil, verdict.Inconclusive},
		{"as many of base", record.ByHost, true, []int{2}, []int{3}, verdict.Same},
		{"more of base", record.ByHost, true, nil, []int{3}, verdict.Same},
		{"no known cause", "", false, []int{2}, nil, verdict.Inconclusive},
	} {
		b := newBench(t)
		b.cause, b.targetToo = tt.cause, tt.targetToo
		b.void("new", "postgresql", tt.fresh...)
		b.void("base", "postgresql", tt.base...)
		c := b.compare(6)
		arms, _ := b.judge(c)
		if v := arms[0].Verdict; v.Kind != tt.kind ||
			tt.kind == verdict.Inconclusive &&
				!strings.Contains(v.Reason, "may be the target's doing") {
			t.Errorf("%s: %s, want %s: %s", tt.name, v.Kind, tt.kind, v.Reason)
		}
	}
}

// TestFailedRunsUnderOtherLoadsAreNotTheSame lets one side of a comparison of capacities under
// other loads fail: the verdict is neither same nor better.
func TestFailedRunsUnderOtherLoadsAreNotTheSame(t *testing.T) {
	for fresh, kind := range map[int]verdict.Kind{0: verdict.Same, 1: verdict.Inconclusive} {
		b := newBench(t)
		b.cause = record.ByTarget
		if fresh > 0 {
			b.void("base", "mysql", 2)
		}
		c := b.compare(6)
		p := parse(t)
		p.Bounded.Users = plan.PerEngine{"postgresql": 10, "mysql": 12}
		_, databases := mustJudge(t, c, p, b.load)
		for _, j := range databases {
			if j.Arm == "base" && (j.OtherLoad == "" || j.Verdict.Kind != kind) {
				t.Errorf(
					"%d failed: %s (%q), want %s: %s",
					fresh,
					j.Verdict.Kind,
					j.OtherLoad,
					kind,
					j.Verdict.Reason,
				)
			}
		}
	}
}
