package rig

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/run/deploy"
	"plimsoll/target"
	"plimsoll/target/lab"
)

// serveFor is the variable that makes TestServeForOthers a server: "here", or the address that it hands requests to.
const serveFor = "PLIMSOLL_TEST_SERVE_FOR"

// TestServeForOthers is a server, and no test.
func TestServeForOthers(t *testing.T) {
	to := os.Getenv(serveFor)
	if to == "" {
		t.Skip("a program of other tests")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var h http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	if to != "here" {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		p := httputil.NewSingleHostReverseProxy(u)
		p.Transport = &http.Transport{DisableKeepAlives: true}
		h = p
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { _ = http.Serve(l, h) }()
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// serving starts a server of others, as a program of this name.
func serving(t *testing.T, name, to string) (at string, pid int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^TestServeForOthers$")
	cmd.Env = append(os.Environ(), serveFor+"="+to)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid
}

// localSession makes a session and a system of a server of others on this host, with the generator on the last core.
func localSession(t *testing.T, at, keys string) (*Session, *deploy.System) {
	t.Helper()
	cpus, err := lab.AllowedCPUs(0)
	if err != nil || len(cpus) < 2 {
		t.Skipf("this host has the CPUs %v, want two: %v", cpus, err)
	}
	p := parsed(t, fmt.Sprintf("{name: n, target: {driver: external, url: %q}, workload: {behavior: poster}, bounded: {users: 5}%s}", at, keys))
	dep := deployed(t, target.Spec{URL: at})
	s := &Session{Program: &Program{Resolver: deploy.Resolver{Env: func(string) string { return "" }, Secrets: new(plain.Secrets)}}, Plan: p,
		Progress: silent()}
	s.generator, s.targets = sides(nil, nil, cpus)
	return s, &deploy.System{Deployment: dep, Probes: p.Probes}
}

func noSample(string) (v float64, at time.Time, ok bool) { return v, at, false }

// A server of others on this host is the target's process, shares the host, and is kept off the generator's cores while
// it is measured, unless the plan places the generator itself.
func TestAServerOfOthersOnThisHost(t *testing.T) {
	at, pid := serving(t, "chatserver", "here")
	was, err := lab.AllowedCPUs(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		keys     string
		confined bool
		role     string
	}{
		{"", true, "app"},
		{", placement: {generator: [1]}", false, "app"},
		{fmt.Sprintf(", probes: [{kind: pid, role: worker, pid: %d}]", pid), true, "worker"},
	} {
		s, sys := localSession(t, at, tt.keys)
		if s.onOneHost(sys) || !s.besides(s.Plan) {
			t.Errorf("%s: before it was looked for: shared %v, besides %v", tt.keys, s.onOneHost(sys), s.besides(s.Plan))
		}
		if err := s.locate(t.Context(), sys, false); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, r := range sys.Roles() {
			if names = append(names, r.Name); !slices.Equal(r.PIDs(), []int{pid}) {
				t.Errorf("%s: role %s has the processes %v, want %d", tt.keys, r.Name, r.PIDs(), pid)
			}
		}
		now, err := lab.AllowedCPUs(pid)
		if err != nil {
			t.Fatal(err)
		}
		want := was
		if tt.confined {
			want = s.targets
		}
		if !slices.Equal(names, []string{tt.role}) || !s.onOneHost(sys) || !slices.Equal(now, want) || (len(s.coresOf(sys)) > 0) != tt.confined {
			t.Errorf("%s: roles %v, shared %v, on cores %v (want %v), the target's own %v", tt.keys, names, s.onOneHost(sys), now, want, s.coresOf(sys))
		}
		// The gates report the same cores as the manifest.
		gates := s.health(sys, noSample, clock.New(time.Now())).Health(1, 1)
		reason := map[bool]string{true: "no sample of plimsoll_cpu_steal_ratio", false: "share their cores"}[tt.confined]
		if why := gates["target_steal"].Why; !strings.Contains(why, reason) {
			t.Errorf("%s: target_steal: %q, want %q", tt.keys, why, reason)
		}
		reason = map[bool]string{true: "not all processes", false: "no cores of its own"}[tt.confined]
		if why := gates["others"].Why; !strings.Contains(why, reason) {
			t.Errorf("%s: others: %q, want %q", tt.keys, why, reason)
		}
		if text := s.placeText(localOf(sys)); !strings.Contains(text, fmt.Sprintf("chatserver %d (%s)", pid, tt.role)) || strings.Contains(text, "kept on") != tt.confined {
			t.Errorf("%s: %s", tt.keys, text)
		}
		if err := localOf(sys).End(); err != nil {
			t.Error(err)
		}
		if now, err := lab.AllowedCPUs(pid); err != nil || !slices.Equal(now, was) {
			t.Errorf("%s: afterwards on %v, %v; want %v", tt.keys, now, err, was)
		}
	}
}

// The server behind a proxy on this host is found by the connections of the proxy.
func TestAServerBehindAProxyOnThisHost(t *testing.T) {
	at, app := serving(t, "chatserver", "here")
	front, proxy := serving(t, "nginx", at)
	s, sys := localSession(t, front, "")
	if err := s.locate(t.Context(), sys, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = localOf(sys).End() })
	if l := localOf(sys); !slices.Equal(l.roles["proxy"], []int{proxy}) || !slices.Equal(l.roles["app"], []int{app}) {
		t.Errorf("found %v; want proxy %d, app %d", l.roles, proxy, app)
	}
	if err := s.locate(t.Context(), sys, true); err != nil || len(sys.Roles()) > 0 {
		t.Errorf("in a duet nothing is paused, and yet it is probed: %v, %v", sys.Roles(), err)
	}
}

// A server in this program, one elsewhere, and a tunnel have no processes here that could be told from the generator.
func TestNoServerOfOthersHere(t *testing.T) {
	own := answering(t)
	at, _ := serving(t, "ssh", "here")
	for _, tt := range []struct {
		at     string
		shared bool
	}{{own, true}, {at, false}} {
		s, sys := localSession(t, tt.at, "")
		if err := s.locate(t.Context(), sys, false); err != nil {
			t.Fatal(err)
		}
		if s.besides(s.Plan) || len(sys.Roles()) > 0 || s.onOneHost(sys) != tt.shared || s.coresOf(sys) != nil {
			t.Errorf("%s: %+v", tt.at, localOf(sys))
		}
	}
}
