package probe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/watch/series"
)

func TestStubStatus(t *testing.T) {
	const good = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630947 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n"
	const want = `nginx_connections_active{role="proxy"} 291
nginx_connections_accepted{role="proxy"} 1.6630948e+07
nginx_connections_handled{role="proxy"} 1.6630947e+07
nginx_http_requests_total{role="proxy"} 3.1070465e+07
nginx_connections_reading{role="proxy"} 6
nginx_connections_writing{role="proxy"} 179
nginx_connections_waiting{role="proxy"} 106
`
	for name, c := range map[string]struct{ in, want, err string }{
		"nginx":      {good, want, ""},
		"tengine":    {strings.Replace(strings.Replace(good, "requests\n", "requests request_time\n", 1), "31070465 ", "31070465 99 ", 1), want, ""},
		"html":       {"<html>Welcome to nginx!</html>", "", "no stub_status page"},
		"a word":     {strings.Replace(good, "179", "many", 1), "", "no stub_status page"},
		"cut off":    {good[:60], "", "no stub_status page"},
		"empty":      {"", "", "no stub_status page"},
		"other rows": {strings.Replace(good, "Writing", "Riding", 1), "", "no stub_status page"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprint(w, c.in)
				}),
			)
			defer srv.Close()
			n, err := NewNginx(srv.URL+"/status?key=geheim", series.Label{
				Name:  "role",
				Value: "proxy",
			})
			failure.None(t, err)
			defer n.Close()
			s, err := n.Sample(t.Context(), t0)
			if c.err == "" && err != nil ||
				c.err != "" &&
					(err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "geheim")) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if d := cmp.Diff(c.want, text(s)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A real nginx counts the connections and requests that are made to it.
func TestNginx(t *testing.T) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
		if _, err := os.Stat(path); err != nil {
			failure.Lacks(t, "nginx is not installed; scripts/setup.sh installs it")
		}
	}
	dir := t.TempDir()
	port, err := lab.FreePort()
	failure.None(t, err)
	conf := filepath.Join(dir, "nginx.conf")
	failure.None(
		t,
		os.WriteFile(
			conf,
			fmt.Appendf(nil, `daemon off; worker_processes 1; pid %[1]s/pid; error_log stderr;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server { listen 127.0.0.1:%[2]d; location /status { stub_status; } location / { return 204; } }
}`, dir, port),
			0o644,
		),
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	proc, err := lab.Start(ctx, lab.Spec{
		Name:    "nginx",
		Path:    path,
		Args:    []string{"-p", dir, "-c", conf, "-e", "stderr"},
		Dir:     dir,
		Journal: filepath.Join(dir, "journal"),
	})
	failure.None(t, err)
	defer func() { failure.None(t, proc.Stop(context.Background())) }()
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	n, err := NewNginx(base+"/status", series.Label{Name: "role", Value: "proxy"})
	failure.None(t, err)
	defer n.Close()
	var s []series.Sample
	for range 200 {
		if s, err = n.Sample(ctx, t0); err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, proc.Tail())
	}
	if !strings.HasPrefix(n.Server(), "nginx/") {
		t.Errorf("server %q", n.Server())
	}
	before := values(t, s)
	idle, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	failure.None(t, err)
	defer idle.Close()
	for range 10 {
		res, err := http.Get(base + "/")
		failure.None(t, err)
		res.Body.Close()
	}
	if s, err = n.Sample(ctx, at(1)); err != nil {
		t.Fatal(err)
	}
	after := values(t, s)
	if d := after[`nginx_http_requests_total{role="proxy"}`] - before[`nginx_http_requests_total{role="proxy"}`]; d != 11 {
		t.Errorf("%v requests, want 10 and the probe's own", d)
	}
	if after[`nginx_connections_active{role="proxy"}`] < 2 ||
		after[`nginx_connections_writing{role="proxy"}`] != 1 {
		t.Errorf("after:\n%s", text(s))
	}
	bad, err := NewNginx(base + "/other")
	failure.None(t, err)
	defer bad.Close()
	failure.Says(t, failure.Of(bad.Sample(ctx, t0)), "is stub_status switched on there")
}
