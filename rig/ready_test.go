package rig

import (
	"testing"

	"plimsoll/dialect"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// A server of others is ready when the page of its API answers: "/" need not be there.
func TestReadyOfServersElsewhere(t *testing.T) {
	d := &dialect.Dialect{Behaviors: dialect.Registry{"b": func() workload.Behavior { return nil }}, Drivers: []dialect.ServerDriver{{Name: "own", Ready: "/ping"}}}
	for _, tt := range []struct{ driver, ready, want string }{
		{plan.External, "", "/ping"},
		{plan.External, "/mine", "/mine"},
		{plan.Process, "", ""},
	} {
		p := &plan.Plan{Target: plan.Target{Driver: tt.driver, Ready: tt.ready}, Workload: plan.Workload{Behavior: "b"}}
		f := &Deployments{s: &Session{Program: &Program{Dialects: dialect.Set{d}}, Plan: p}}
		spec, err := f.spec(p.Target, "", "", "", &System{})
		if err != nil || spec.Ready != tt.want {
			t.Errorf("%+v: ready at %q, %v", tt, spec.Ready, err)
		}
	}
}
