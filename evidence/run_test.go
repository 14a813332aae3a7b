package evidence_test

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/evidence"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
)

const planText = "name: n\ntarget: {driver: chat}\nworkload: {behavior: poster, pace: 0.5}\nbounded: {users: 10}\ncompare: {arms: {base: {}, new: {}}, blocks: 6}\n"

// A run reads its plan once; a plan of another version is an error, and its run can be queried all
// the same.
func TestPlanOfARun(t *testing.T) {
	known := new(evidence.Catalog)
	r := known.Of(&record.Run{Manifest: record.Manifest{Plan: planText}})
	p, err := r.Plan()
	if err != nil || p.Workload.Pace != 0.5 {
		t.Fatal(p, err)
	}
	if again, _ := r.Plan(); again != p || r.Asked() != p {
		t.Error("the plan was read again")
	}
	r = known.Of(&record.Run{Manifest: record.Manifest{Plan: planText + "later: 1\n"}})
	if p, err := r.Plan(); err == nil || p != nil {
		t.Errorf("%v: want an error", p)
	}
	if p := r.Asked(); p.Workload.Pace != 1 || p.Bounded != nil {
		t.Errorf("%+v, want the pace 1 and no test", p)
	}
}

// The plan of a comparison is the plan that made it.
func TestPlanOfAComparison(t *testing.T) {
	p, err := plan.Parse([]byte(planText))
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Comparison{
		ID:         "c",
		Plan:       p.String(),
		PlanDigest: p.Digest(),
		Arms:       []string{"base", "new"},
		Engines:    comparison.Engines(p),
		Blocks:     6,
	}
	for _, l := range comparison.PlannedLooks(p) {
		c.Looks = append(c.Looks, record.Look{Blocks: l.Blocks, Alpha: l.Alpha})
	}
	if got, err := evidence.PlanOf(c); err != nil || got.String() != p.String() {
		t.Fatal(got, err)
	}
	c.Blocks = 5
	if got, err := evidence.PlanOf(c); !errors.Is(err, comparison.ErrAltered) || got != nil {
		t.Errorf("other blocks: %v, %v", got, err)
	}
	c.Plan += "later: 1\n"
	if _, err := evidence.PlanOf(c); err == nil ||
		!strings.Contains(err.Error(), "the stored plan of c: ") {
		t.Errorf("another version: %v", err)
	}
}
