package session

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/target"
	"plimsoll/target/external"
)

// answering returns the address of a server that answers everything with an empty page.
func answering(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
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

// deploymentsOf returns deployments whose users need nothing.
func deploymentsOf(s *Session) *deploy.Deployments {
	return deploy.New(deploy.Config{
		Resolver:  s.Resolver,
		Plan:      s.Plan,
		Progress:  s.Progress,
		Admit:     func(context.Context, string, []engine.Part, int) error { return nil },
		Provision: func(context.Context, workload.Env, []engine.Part, int) error { return nil },
		Survey:    func(context.Context, *deploy.System) error { return nil },
	})
}

// plainDialect returns a dialect whose behavior b does nothing.
func plainDialect() *dialect.Dialect {
	d := &dialect.Dialect{
		Name:      "d",
		Behaviors: dialect.Registry{"b": func() workload.Behavior { return nil }},
	}
	d.Settings.Check = func(map[string]string) error { return nil }
	return d
}

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// silent reports to nobody.
func silent() *audience.Reporter {
	return audience.NewReporter(io.Discard, new(plain.Secrets), false)
}
