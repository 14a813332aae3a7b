package deploy

import (
	"testing"

	"plimsoll/dialect"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// A server of others is ready when the page of its API answers: "/" need not be there.
func TestReadyOfServersElsewhere(t *testing.T) {
	d := &dialect.Dialect{
		Behaviors: dialect.Registry{"b": func() workload.Behavior { return nil }},
		Drivers:   []dialect.ServerDriver{{Name: "own", Ready: "/ping"}},
	}
	for _, tt := range []struct{ driver, ready, want string }{
		{plan.External, "", "/ping"},
		{plan.External, "/mine", "/mine"},
		{plan.Process, "", ""},
	} {
		p := &plan.Plan{
			Target:   plan.Target{Driver: tt.driver, Ready: tt.ready},
			Workload: plan.Workload{Behavior: "b"},
		}
		f := New(Config{Resolver: Resolver{Dialects: dialect.Set{d}}, Plan: p})
		spec, err := f.spec(p.Target, Need{}, &System{})
		if err != nil || spec.Ready != tt.want {
			t.Errorf("%+v: ready at %q, %v", tt, spec.Ready, err)
		}
	}
}

// Only an arm that is compared with the base may fail without ending the command.
func TestArmsThatMayFail(t *testing.T) {
	f := New(Config{
		Plan: &plan.Plan{
			Compare: &plan.Compare{Arms: []plan.Arm{{Name: "base"}, {Name: "new"}}},
		},
	})
	for need, want := range map[Need]bool{
		{Arm: "base", Comparison: "c"}: false,
		{Arm: "new"}:                   false,
		{Arm: "new", Comparison: "c"}:  true,
	} {
		if got := f.MayFail(need); got != want {
			t.Errorf("%+v: %t", need, got)
		}
	}
}
