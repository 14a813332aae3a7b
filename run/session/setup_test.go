package session

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/target"
	"plimsoll/target/external"
	"plimsoll/watch/series"
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

// created is a new store of series.
func created(t *testing.T, dir string) *series.DB {
	t.Helper()
	db, err := series.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// fleetKeys makes the keys of a fleet with these agents.
func fleetKeys(t *testing.T, names ...string) (keys string, token func(name string) *join.Token) {
	t.Helper()
	dir := t.TempDir()
	keys = filepath.Join(dir, "fleet.json")
	file := func(name string) string { return filepath.Join(dir, name+".nk") }
	for _, name := range names {
		if _, err := join.NewToken(files.OS{}, keys, file(name)); err != nil {
			t.Fatal(err)
		}
	}
	return keys, func(name string) *join.Token {
		t.Helper()
		token, err := join.ReadToken(file(name))
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
}

// silent reports to nobody.
func silent() *audience.Reporter { return audience.NewReporter(io.Discard, new(plain.Secrets), false) }
