package external_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/external"
)

func server(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ping" && r.URL.Path != "/sub/ping" {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestDeployAndReset(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	url := server(t)
	spec := target.Spec{
		Name: "real", URL: url + "/sub/", Ready: "/ping", MetricsURL: "/metrics", Version: "v1",
		Secrets: map[string]string{"TOKEN": "hush-hush"}, Env: map[string]string{"OUT": out},
		ResetCmd: []string{"/bin/sh", "-c", `printf %s "$TOKEN" > "$OUT"`},
	}
	dep, err := new(external.Driver).Deploy(t.Context(), spec)
	failure.None(t, err)
	if dep.URL() != url+"/sub" ||
		!slices.Equal(dep.MetricsURLs(), []string{url + "/sub/metrics"}) ||
		len(dep.PIDs()) != 0 {
		t.Errorf("URL %q, metrics %q, pids %v", dep.URL(), dep.MetricsURLs(), dep.PIDs())
	}
	if d := dep.Describe(); d.Driver != "external" || d.Version != "v1" ||
		strings.Contains(d.Settings["reset"], "hush") {
		t.Errorf("description %+v", d)
	}
	failure.None(t, dep.Reset(t.Context()))
	if got, err := os.ReadFile(out); err != nil || string(got) != "hush-hush" {
		t.Errorf("the reset command wrote %q (%v)", got, err)
	}
	failure.None(t, dep.Stop(t.Context()))
	failure.None(t, target.Ready(t.Context(), url+"/ping"))
}

func TestResetErrors(t *testing.T) {
	url := server(t)
	dep, err := new(external.Driver).Deploy(t.Context(), target.Spec{URL: url, Ready: "/ping"})
	failure.None(t, err)
	failure.Is(t, dep.Reset(t.Context()), target.ErrNoReset)
	dep, err = new(external.Driver).Deploy(t.Context(), target.Spec{
		URL: url, Ready: "/ping", Secrets: map[string]string{"TOKEN": "hush-hush"},
		ResetCmd: []string{"/bin/sh", "-c", "echo bad token $TOKEN; exit 4"},
	})
	failure.None(t, err)
	err = dep.Reset(t.Context())
	failure.Says(t, err, "exit status 4", "bad token [redacted]")
	failure.Hides(t, err, "hush")
	dep, err = (&external.Driver{ResetTimeout: 50 * time.Millisecond}).Deploy(
		t.Context(),
		target.Spec{
			URL: url, Ready: "/ping", ResetCmd: []string{"/bin/sleep", "300"},
		},
	)
	failure.None(t, err)
	failure.Says(t, dep.Reset(t.Context()), "not done within 50ms")
}

func TestDeployErrors(t *testing.T) {
	url := server(t)
	tests := []struct {
		name string
		spec target.Spec
		err  string
	}{
		{"no URL", target.Spec{}, "want the base URL"},
		{"other scheme", target.Spec{URL: "ftp://host"}, "want the base URL"},
		{"password in the URL", target.Spec{URL: "http://me:pw@host"}, "user or password"},
		{"a program", target.Spec{URL: url, Binary: "x"}, "use the driver process"},
		{"an engine", target.Spec{URL: url, Engine: "mysql"}, "no effect"},
		{"CPUs", target.Spec{URL: url, CPUs: []int{0}}, "no effect"},
		{"instances", target.Spec{URL: url, Instances: 2}, "proxy"},
		{"never ready", target.Spec{
			Name:  "far",
			URL:   url,
			Ready: "/none",
		}, "external target far: waiting for " + url + "/none: no good answer within 100ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := (&external.Driver{ReadyTimeout: 100 * time.Millisecond}).Deploy(
				t.Context(),
				tt.spec,
			)
			failure.Says(t, err, tt.err)
			if err != nil && strings.Contains(err.Error(), "pw") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(external.Driver).Deploy(canceled, target.Spec{
		URL:   url,
		Ready: "/none",
	}); err == nil {
		t.Error("deployed with an ended context")
	}
}

// TestReadyTellsNoSecret: the address that does not get ready is named without its query.
func TestReadyTellsNoSecret(t *testing.T) {
	d := &external.Driver{ReadyTimeout: 200 * time.Millisecond}
	_, err := d.Deploy(t.Context(), target.Spec{URL: server(t), Ready: "/nothing?token=hush-hush"})
	failure.Says(t, err, "/nothing")
	failure.Hides(t, err, "hush-hush")
}

func TestSeveralServers(t *testing.T) {
	a, b := server(t), server(t)
	deploy := func(spec target.Spec) (target.Deployment, error) {
		spec.URL = a
		spec.URLs = []string{a + "/", b}
		spec.Ready = "/ping"
		return (&external.Driver{ReadyTimeout: 200 * time.Millisecond}).Deploy(t.Context(), spec)
	}
	for _, tt := range []struct{ pages, want []string }{
		{nil, nil},
		{[]string{"/metrics"}, []string{a + "/metrics", b + "/metrics"}},
		{[]string{"/m", "http://other/m"}, []string{a + "/m", "http://other/m"}},
	} {
		dep, err := deploy(target.Spec{MetricsURLs: tt.pages})
		failure.None(t, err)
		if got := dep.URLs(); !slices.Equal(got, []string{a, b}) || dep.URL() != a ||
			dep.Describe().Instances != 2 {
			t.Errorf("servers %v, %+v", got, dep.Describe())
		}
		if got := dep.MetricsURLs(); !slices.Equal(got, tt.want) {
			t.Errorf("metrics %v: %v, want %v", tt.pages, got, tt.want)
		}
	}
	b = "http://127.0.0.1:1"
	failure.Says(t, failure.Of(deploy(target.Spec{})), b)
}
