package rig

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
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

// systemOf is a system of a site that the plan's commands prepare.
func systemOf(s *Session, c *commanded) *System {
	if c.grounds == nil {
		c.grounds = newGrounds()
	}
	return &System{Deployment: c.Site, speaks: s.Dialects, commanded: c, secrets: func(string) string { return "" }}
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

// openDir is a new directory that the users of database servers may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rig-test-") //nolint:usetesting // a TempDir is closed to the server's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
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
func silent() *Reporter { return NewReporter(io.Discard, new(plain.Secrets), false) }
