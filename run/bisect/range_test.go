package bisect

import (
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/record/store/storetest"
	"plimsoll/run/source"
)

func TestBuilds(t *testing.T) {
	builds, command, err := Range{Given: []string{"/a", "b"}}.Builds(t.Context(), source.Repository{})
	if err != nil || command != nil || len(builds) != 2 || builds[1] != (Build{Name: "b", Binary: "b"}) {
		t.Errorf("%+v, %q, %v", builds, command, err)
	}
	for want, r := range map[string]Range{
		"two builds or more":              {Given: []string{"a"}},
		"-build goes with":                {Given: []string{"a", "b"}, Build: "b {commit} {dir}"},
		"a: with -good and -bad the only": {Given: []string{"a"}, Bad: "v2"},
		"-build is missing":               {Good: "v1", Bad: "v2"},
	} {
		_, _, err := r.Builds(t.Context(), source.Repository{Dir: t.TempDir()})
		failure.Says(t, err, want)
	}
}

func TestCheckPlan(t *testing.T) {
	parse := func(more string) *plan.Plan {
		t.Helper()
		p, err := plan.Parse([]byte(testPlan + more))
		failure.None(t, err)
		return p
	}
	failure.None(t, CheckPlan(parse(""), "p.yaml"))
	failure.Says(t, CheckPlan(parse("database: {engine: [postgresql, mysql]}"), "p.yaml"), "p.yaml", "2 engines")
	p := parse("")
	p.Compare = nil
	failure.Says(t, CheckPlan(p, "p.yaml"), "p.yaml has no compare section")
}

// TestTake: a bisection is under way once, and goes on from what is stored.
func TestTake(t *testing.T) {
	st := storetest.At(t, t.TempDir())
	p, err := plan.Parse([]byte(testPlan))
	failure.None(t, err)
	opened := func() *Record { return NewRecord(p, "cost(app)", nil, []Build{{Name: "a"}, {Name: "b"}}) }
	r := opened()
	dir, unlock, err := r.Take(st)
	failure.None(t, err)
	_, _, err = opened().Take(st)
	failure.Says(t, err, "wait for it, or end it first")
	r.Why = "cut"
	failure.None(t, r.Save(dir, nil))
	unlock()
	again := opened()
	_, unlock, err = again.Take(st)
	failure.None(t, err)
	unlock()
	if again.Why != "cut" {
		t.Errorf("%+v", again)
	}
}
