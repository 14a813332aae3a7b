package verbs

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// http2Plan runs users of two processes against a server behind TLS. DIR has the certificate and a
// password.
const http2Plan = `
name: second
target: {driver: external, url: "URL", ready: /api/v4/system/ping, ca: "DIR/own.pem", http: h2}
placement: {processes: 2}
workload:
  behavior: mattermost
  pace: 0.05
  params: {channels: "4", memberships: "2", speed: "10", admin_password: "${FILE:DIR/password}"}
bounded: {users: 6, ramp: 200ms, settle: 0s, measure: 1s, slo: ["rate(errors) < 60%"]}
` + openGates

// TestHTTP2 runs a plan with target.http: h2: every request of the users is HTTP/2 and their
// WebSockets are HTTP/1.1. A server that does not speak it is named with the remedy.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	forward := nullProxy(t)
	var mu sync.Mutex
	seen := map[string]int{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() == "plimsoll" {
			mu.Lock()
			seen[fmt.Sprintf("HTTP/%d upgrade=%v", r.ProtoMajor, r.Header.Get("Upgrade") != "")]++
			mu.Unlock()
		}
		forward.ServeHTTP(w, r)
	})
	run := func(second bool) (status int, output string) {
		srv := httptest.NewUnstartedServer(handler)
		srv.EnableHTTP2 = second
		srv.StartTLS()
		defer srv.Close()
		dir := commandDir(t, nil)
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		failure.None(t, os.WriteFile(filepath.Join(dir, "own.pem"), cert, 0o600))
		cmd, _, out := startPlan(
			t,
			strings.NewReplacer("URL", srv.URL, "DIR", dir).Replace(http2Plan),
			"run",
		)
		status = wait(t, cmd, 3*time.Minute, out)
		return status, out.String()
	}
	_, output := run(true)
	mu.Lock()
	if !strings.Contains(output, ": sealed") || seen["HTTP/2 upgrade=false"] < 20 ||
		seen["HTTP/1 upgrade=true"] < 6 ||
		len(seen) != 2 {
		t.Errorf("requests %v\n%s", seen, output)
	}
	mu.Unlock()
	status, output := run(false)
	if status == 0 || !strings.Contains(output, "chose no HTTP/2 by ALPN: remove target.http") {
		t.Errorf("a server of HTTP/1.1: status %d\n%s", status, output)
	}
}
