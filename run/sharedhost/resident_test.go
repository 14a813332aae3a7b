package sharedhost

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/target/lab"
)

// serveFor is the variable that makes TestServeForOthers a server: "here", or the address that it
// hands requests to.
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

// splitHost returns the sides of this host, with the generator on its last core.
func splitHost(t *testing.T) Cores {
	t.Helper()
	cpus, err := lab.AllowedCPUs(0)
	if err != nil || len(cpus) < 2 {
		t.Skipf("this host has the CPUs %v, want two: %v", cpus, err)
	}
	return Cores{}.complete(cpus)
}

// server is a target of others at an address.
func server(at string) Clues { return Clues{URLs: []string{at}, URL: at} }

// found looks for a server of others on this host.
func found(t *testing.T, c Clues) *Resident {
	t.Helper()
	l := new(Resident)
	if _, err := l.Find(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return l
}

// A server of others on this host is the target's process, shares the host, and is kept off the
// generator's cores while it is measured, unless the plan places the generator itself.
func TestAServerOfOthersOnThisHost(t *testing.T) {
	at, pid := serving(t, "chatserver", "here")
	was, err := lab.AllowedCPUs(pid)
	if err != nil {
		t.Fatal(err)
	}
	cores := splitHost(t)
	if !Serves([]string{at}, false) {
		t.Error("before it was looked for, it is not seen")
	}
	for _, tt := range []struct {
		named map[string][]int
		move  bool
		role  string
	}{
		{nil, true, "app"},
		{nil, false, "app"},
		{map[string][]int{"worker": {pid}}, true, "worker"},
	} {
		c := server(at)
		c.Named = tt.named
		l := found(t, c)
		if !slices.Equal(l.Roles(), []string{tt.role}) ||
			!slices.Equal(l.PIDs(tt.role), []int{pid}) ||
			!l.Here() {
			t.Errorf("%+v: found %v", tt, l)
		}
		l.Confine(cores, tt.move)
		now, err := lab.AllowedCPUs(pid)
		if err != nil {
			t.Fatal(err)
		}
		want := was
		if tt.move {
			want = cores.Target
		}
		if !slices.Equal(now, want) || l.Apart() != tt.move {
			t.Errorf("%+v: on cores %v (want %v), apart: %v", tt, now, want, l.Apart())
		}
		text := l.Placement(cores)
		if !strings.Contains(text, fmt.Sprintf("chatserver %d (%s)", pid, tt.role)) ||
			strings.Contains(text, "kept on") != tt.move {
			t.Errorf("%+v: %s", tt, text)
		}
		if err := l.End(); err != nil {
			t.Error(err)
		}
		if now, err := lab.AllowedCPUs(pid); err != nil || !slices.Equal(now, was) {
			t.Errorf("%+v: afterwards on %v, %v; want %v", tt, now, err, was)
		}
	}
}

// The server behind a proxy on this host is found by the connections of the proxy.
func TestAServerBehindAProxyOnThisHost(t *testing.T) {
	at, app := serving(t, "chatserver", "here")
	front, proxy := serving(t, "nginx", at)
	if l := found(t, server(front)); !slices.Equal(l.PIDs("proxy"), []int{proxy}) ||
		!slices.Equal(l.PIDs("app"), []int{app}) {
		t.Errorf("found %v; want proxy %d, app %d", l, proxy, app)
	}
}

// A server in this program, and a tunnel to one elsewhere, have no processes here that could be
// told from the generator.
func TestNoServerOfOthersHere(t *testing.T) {
	own := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer own.Close()
	at, _ := serving(t, "ssh", "here")
	for _, tt := range []struct {
		at   string
		here bool
	}{{own.URL, true}, {at, false}} {
		l := found(t, server(tt.at))
		if Serves([]string{tt.at}, false) || len(l.Roles()) > 0 || l.Here() != tt.here ||
			l.Apart() {
			t.Errorf("%s: %+v", tt.at, l)
		}
	}
	if install := true; !Serves([]string{"http://127.0.0.1:1"}, install) {
		t.Error("a server that is yet to be installed on this host is not foreseen")
	}
}
