package plans

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/reference"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/reference/refchat"
)

// chatSecret is the password of the administrator of the server that mistakes are made with.
const chatSecret = "Aa1!of-the-preflight"

// A mistaken holds a plan with one mistake.
type mistaken struct {
	name, plan string
	env        map[string]string // beside the administrator's password
	want       string            // of the line that names the mistake
}

// lookedAt carries out plan check -online on a plan.
func lookedAt(
	t *testing.T,
	src string,
	env map[string]string,
) (status int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	write(t, file, src)
	all := map[string]string{"PLIMSOLL_ADMIN_PASSWORD": chatSecret}
	maps.Copy(all, env)
	status, stdout, stderr = verbtest.Surroundings{Env: all}.Run(t, Plan, "check", "-online", file)
	if strings.Contains(stdout+stderr, chatSecret) {
		t.Error("the password was printed")
	}
	return status, stdout, stderr
}

// serverOf starts a server of the test.
func serverOf(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// proxyTo hands requests on to a server.
func proxyTo(t *testing.T, to string) *httputil.ReverseProxy {
	t.Helper()
	back, err := url.Parse(to)
	failure.None(t, err)
	return httputil.NewSingleHostReverseProxy(back)
}

// certified starts a server with a certificate for a name, which ends at a time, and returns its
// port and the certificate's file.
func certified(t *testing.T, name string, until time.Time) (port, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	failure.None(t, err)
	own := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		NotBefore:             until.Add(-24 * time.Hour),
		NotAfter:              until,
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	failure.None(t, err)
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{
		Certificate: [][]byte{der},
		PrivateKey:  key,
	}}}
	// clients that do not trust it
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, port, err = net.SplitHostPort(srv.Listener.Addr().String())
	failure.None(t, err)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return port, ca
}

// closedPort returns an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	defer l.Close()
	return l.Addr().String()
}

// Each mistake of a first user is found before anything is started, at its place in the plan and
// with a remedy.
func TestMistakesOfAFirstUser(t *testing.T) {
	chat := reference.Start(t, plan.PostgreSQL, refchat.Config{AdminPassword: chatSecret})
	dir := t.TempDir()
	noFile := filepath.Join(dir, "absent")
	accounts := filepath.Join(dir, "users.csv")
	write(t, accounts, "login,password\nnobody,Wrong-1!\nno-one,Wrong-2!\n")
	notFound := serverOf(t, http.NotFound)
	behind := proxyTo(t, chat)
	flat := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Upgrade")
		r.Header.Del("Connection")
		behind.ServeHTTP(w, r)
	})
	full := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v4/config" {
			behind.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ServiceSettings":{},"TeamSettings":{"MaxUsersPerTeam":50}}`)
	})
	private, _ := certified(t, "localhost", time.Now().Add(time.Hour))
	closed := closedPort(t)

	external := func(at, more string) string {
		return "name: t\ntarget:\n  driver: external\n  url: " + at + "\n" + more +
			"workload: {behavior: mattermost}\nbounded: {users: 5, ramp: 0s, settle: 0s, measure: 5s}\n"
	}
	poster := func(slo string) string {
		return strings.NewReplacer("behavior: mattermost", "behavior: poster", "measure: 5s}", "measure: 5s, slo: ["+slo+"]}").
			Replace(external(chat, ""))
	}
	const tests = "workload: {behavior: poster}\nbounded: {users: 5, ramp: 0s, settle: 0s, measure: 5s}\n"
	arms := func(base, fresh string) string {
		return "name: t\ntarget: {driver: refchat}\ndatabase: {engine: postgresql}\n" + tests +
			"compare:\n  blocks: 1\n  arms:\n    base: " + base + "\n    new: " + fresh + "\n"
	}
	for _, tt := range []mistaken{
		{"a build of an arm", arms("{}", "{binary: "+noFile+"}"), nil, "10:19: compare.arms.new.binary: " + noFile + " is not there; build it"},
		{"a directory of a release", "name: t\ntarget: {driver: process, command: [bin/chat]}\n" + tests + "compare: {blocks: 1, arms: {base: {binary: " + dir + "}, new: {binary: " + noFile + "}}}\n", nil,
			"compare.arms.new.binary: " + noFile + " is not there"},
		{"the program in it", "name: t\ntarget: {driver: process, command: [bin/chat]}\n" + tests + "compare: {blocks: 1, arms: {base: {binary: " + dir + "}, new: {binary: " + noFile + "}}}\n", nil,
			"compare.arms.base.binary: the program " + dir + "/bin/chat is not there; build it"},
		{"a command", "name: t\ntarget: {driver: process, command: [no-such-chatserver]}\n" + tests, nil,
			"2:37: target.command[0]: there is no program no-such-chatserver in PATH; install it"},
		{"a variable", "name: t\ntarget:\n  driver: refchat\n  env: {LICENSE: \"${ENV:NO_LICENSE}\"}\ndatabase: {engine: postgresql}\n" + tests, nil,
			"4:18: target.env.LICENSE: expanding ${ENV:NO_LICENSE}: the environment variable NO_LICENSE is not set; set it where plimsoll runs"},
		{"no password", external(chat, ""), map[string]string{"PLIMSOLL_ADMIN_PASSWORD": ""},
			"workload.params.admin_password: no secret is given, and an administrator makes the team, the channels and the users' accounts; set PLIMSOLL_ADMIN_PASSWORD or PLIMSOLL_ADMIN_TOKEN"},
		{"a wrong password", external(chat, ""), map[string]string{"PLIMSOLL_ADMIN_PASSWORD": "Wrong-1!"},
			"workload.params.admin_password: the server at " + chat + " does not let the administrator sysadmin in"},
		{"accounts that are not there", strings.Replace(external(chat, ""), "mattermost}", "mattermost, users_file: "+noFile+"}", 1), nil, "5:46: workload.users_file: open " + noFile},
		{"too few accounts", strings.Replace(external(chat, ""), "mattermost}", "mattermost, users_file: "+dir+"/users.csv}", 1), nil, "is the end, after 2 accounts; bounded.users needs 5"},
		{"an account that is refused", strings.NewReplacer("mattermost}", "mattermost, users_file: "+dir+"/users.csv}", "users: 5", "users: 2").Replace(external(chat, "")), nil,
			"workload.users_file: the server at " + chat + " does not let the account of users.csv:2 in"},
		{"an authority", external("https://localhost:"+private, "  ca: "+noFile+"\n"), nil, "5:7: target.ca: open " + noFile},
		{"a private authority", external("https://localhost:"+private, ""), nil, "4:8: target.url: https://localhost:" + private + ": a private authority signed the certificate; name the file"},
		{"a port without TLS", external(strings.Replace(chat, "http:", "https:", 1), ""), nil, "the port speaks no TLS; write the address with http://"},
		{"a port with TLS", external("http://localhost:"+private, ""), nil, "it may be that the port speaks TLS: write the address with https://"},
		{"a name", external("http://chat.invalid", ""), nil, "4:8: target.url: http://chat.invalid: the name chat.invalid has no address"},
		{"nothing there", external("http://"+closed, ""), nil, "4:8: target.url: http://" + closed + ": nothing listens there"},
		{"another server", external(notFound, ""), nil, "4:8: target.url: " + notFound + "/api/v4/system/ping answers 404 Not Found; it is another kind of server"},
		{"a wrong page", external(chat, "  ready: /healthz\n"), nil, "5:10: target.ready: " + chat + "/healthz answers 404 Not Found; name a page that answers 200"},
		{"no Upgrade", external(flat, ""), nil, "4:8: target.url: users of the behavior mattermost need a WebSocket"},
		{"a full team", strings.Replace(external(full, ""), "users: 5", "users: 300", 1), nil, "target: the server's TeamSettings.MaxUsersPerTeam is 50: a run of 300 users stops when they join the team; set it to 302"},
		{"another version", external(chat, "  version: \"9.11\"\n  verify: {version: from-api}\n"), nil, "5:12: target.version: the server at " + chat + " reports the version 11.0.0"},
		{"no metrics", external(chat, "  metrics_url: http://"+closed+"/metrics\n"), nil, "5:16: target.metrics_url: the page of metrics of server 1 cannot be read"},
		{"no Prometheus", external(chat, "") + "metrics: {prometheus: \"http://" + closed + "\", labels: {app: 'job=\"chat\"'}}\n", nil, "metrics.prometheus: "},
		{"no process", external(chat, "") + "probes: [{kind: pid, role: db, pid: 4194999}]\n", nil, "probes[0].pid: there is no process 4194999"},
		{"a dataset", "name: t\ntarget: {driver: refchat, dataset: " + noFile + "}\ndatabase: {engine: postgresql}\n" + tests, nil, "2:36: target.dataset: dataset " + noFile + ": neither a preset"},
		{"a port that is taken", "name: t\ntarget: {driver: process, command: [sleep, \"60\"], url: \"" + chat + "\"}\n" + tests, nil, "target.url: port "},
		{"a core", "name: t\ntarget: {driver: refchat}\nplacement: {generator: [4000]}\ndatabase: {engine: postgresql}\n" + tests, nil, "placement.generator: there is no CPU 4000"},
		{"no agents", external(chat, "") + "placement: {agents: 3}\n", nil, "placement.agents: no agent is known: there is no key file"},
		{"a small disk", strings.Replace("name: t\ntarget: {driver: refchat}\ndatabase: {engine: postgresql}\n"+tests, "measure: 5s", "measure: 5s, until: disk=16TiB", 1), nil,
			"GB are needed; make room, or name a place on another disk"},
		{"nobody listens", poster(`"p95(delivery) < 1s"`), nil, "6:62: bounded.slo[0]: nobody listens: users of the behavior poster keep no WebSocket"},
		{"nobody does it", poster(`"p95(post) < 1s", "p99(get_thread) < 1s"`), nil, "bounded.slo[1]: users of the behavior poster never do get_thread, so the rule would have no data; they do post, upload"},
		{"a plan of another version", external(chat, "  warmup: 3s\n"), nil, "5:3: target.warmup: unknown key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := lookedAt(t, tt.plan, tt.env)
			if status != exit.Usage || out != "" || !strings.Contains(errs, tt.want) {
				t.Errorf("status %d, stdout %q, stderr\n%s\nwant %q", status, out, errs, tt.want)
			}
		})
	}
}

// The authority of a plan is that of the whole process: such plans have a process of their own.
func TestCertificatesOfATarget(t *testing.T) {
	const given = "CERTIFIED_PLAN"
	if file := os.Getenv(given); file != "" {
		by := verbtest.Surroundings{Env: map[string]string{"PLIMSOLL_ADMIN_PASSWORD": chatSecret}}
		status, _, errs := by.Run(t, Plan, "check", "-online", file)
		fmt.Println("status", status, errs)
		return
	}
	for _, tt := range []struct {
		name, host string
		until      time.Duration
		want       string
	}{
		{"expired", "localhost", -time.Hour, "the certificate is not valid at present"},
		{"another name", "chat.example.com", time.Hour, "the certificate is not one of localhost"},
		{"trusted", "localhost", time.Hour, "/api/v4/system/ping answers 404 Not Found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			port, ca := certified(t, tt.host, time.Now().Add(tt.until))
			file := filepath.Join(t.TempDir(), "plan.yaml")
			write(t, file, "name: t\ntarget: {driver: external, url: \"https://localhost:"+port+"\", ca: "+ca+"}\n"+
				"workload: {behavior: mattermost}\nbounded: {users: 5}\n")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCertificatesOfATarget$")
			cmd.Env = append(os.Environ(), given+"="+file)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), fmt.Sprint("status ", exit.Usage)) ||
				!strings.Contains(string(out), tt.want) {
				t.Errorf("%v\n%s\nwant %q", err, out, tt.want)
			}
		})
	}
}

// A good server is asked a few times and keeps nothing: the session of the login has ended.
func TestPreflightLeavesNothing(t *testing.T) {
	chat := reference.Start(t, plan.PostgreSQL, refchat.Config{AdminPassword: chatSecret})
	var mu sync.Mutex
	var asked []string
	behind := proxyTo(t, chat)
	at := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		behind.ServeHTTP(w, r)
	})
	status, out, errs := lookedAt(t, "name: t\ntarget: {driver: external, url: \""+at+"\"}\n"+
		"workload: {behavior: mattermost}\nbounded: {users: 5}\n", nil)
	if status != exit.OK ||
		!strings.Contains(out, "this host and the plan's addresses can carry it out (checked in ") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	mu.Lock()
	defer mu.Unlock()
	logins, logouts := 0, 0
	for _, call := range asked {
		switch {
		case call == "POST /api/v4/users/login":
			logins++
		case call == "POST /api/v4/users/logout":
			logouts++
		case !strings.HasPrefix(call, "GET ") && call != "POST /api/v4/users/usernames":
			t.Errorf("it writes: %s", call)
		}
	}
	if len(asked) > 12 || logins != 1 || logouts != 1 {
		t.Errorf("%d requests, %d logins, %d logouts: %q", len(asked), logins, logouts, asked)
	}
}
