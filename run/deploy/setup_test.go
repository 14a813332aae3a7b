package deploy

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/external"
)

// nobody sees the progress of deployments.
type nobody struct{}

func (nobody) What(string, time.Duration)         {}
func (nobody) Doing(string, time.Duration)        {}
func (nobody) Step(string, string, time.Duration) {}
func (nobody) Say(string, ...any)                 {}
func (nobody) End()                               {}

// empty answers everything with an empty page.
var empty = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// answering returns the address of a server that answers everything with an empty page.
func answering(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(empty)
	t.Cleanup(srv.Close)
	return srv.URL
}

func deployed(t *testing.T, spec target.Spec) *external.Site {
	t.Helper()
	dep, err := new(external.Driver).Deploy(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return dep.(*external.Site)
}

// installed completes an installation of a server of a dialect.
func installed(d *dialect.Dialect, c *Installation) *Installation {
	c.dialect, c.ground = d, newGround()
	c.sys = &System{
		Deployment:   c.Site,
		Installation: c,
		of:           &Resolver{Dialects: dialect.Set{d}},
		plan:         &plan.Plan{Workload: plan.Workload{Behavior: "b"}},
		secrets:      func(string) string { return "" },
	}
	return c
}
