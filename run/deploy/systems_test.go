package deploy

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/failure"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/target/lab"
	"plimsoll/target/lab/nginx"
)

// TestMain serves HTTP when a deployment starts this program with an address.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		//nolint:gosec // it ends with the test
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[2], empty))
		os.Exit(1)
	}
	os.Exit(m.Run())
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

// deploymentsOf returns deployments of a plan. provision is called where users are provisioned.
func deploymentsOf(t *testing.T, d *dialect.Dialect, text string,
	provision func(users int)) *Deployments {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Resolver: Resolver{
			Env:      func(string) string { return "" },
			Secrets:  new(plain.Secrets),
			Dialects: dialect.Set{d},
		},
		Plan:     p,
		Root:     t.TempDir(),
		Progress: nobody{},
		Admit:    func(context.Context, string, []engine.Part, int) error { return nil },
		Provision: func(_ context.Context, _ workload.Env, _ []engine.Part, users int) error {
			provision(users)
			return nil
		},
		Survey: func(context.Context, *System) error { return nil },
	})
}

// answers reports whether a server accepts requests.
func answers(t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return true
}

// A system is deployed when it is first needed, halted and reset between runs, and gone with its
// files at the end. A program that is killed during a run is seen.
func TestLifeOfASystem(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	provisioned := 0
	f := deploymentsOf(t, plainDialect(), fmt.Sprintf(`{name: n, workload: {behavior: b},
target: {driver: process, command: [%q, serve, "${HOSTPORT}"]}, bounded: {users: 5}}`, exe),
		func(users int) { provisioned += users })
	defer f.Close()
	sys, err := f.System(t.Context(), Need{Users: 5})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.System(t.Context(), Need{Users: 5}); err != nil || again != sys {
		t.Errorf("needed again, it is another system: %v", err)
	}
	if provisioned != 5 || !answers(t, sys.Deployment.URL()) || !files.IsDir(sys.Dir) {
		t.Errorf("%d users are provisioned at %s, files in %s",
			provisioned, sys.Deployment.URL(), sys.Dir)
	}
	seen := make(chan lab.Crash, 10)
	watch := sys.WatchCrashes(func(c lab.Crash) { seen <- c })
	if err := syscall.Kill(sys.Deployment.PIDs()["app"][0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if c := <-seen; c.Role != "app" {
		t.Errorf("the server was killed, and %v was seen", c)
	}
	if kept, _, _ := watch.End(); len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
	if err := sys.Reset(t.Context()); err != nil || !answers(t, sys.Deployment.URL()) {
		t.Errorf("after a reset: %v", err)
	}
	if err := sys.Halt(t.Context()); err != nil || answers(t, sys.Deployment.URL()) {
		t.Errorf("after a halt: %v", err)
	}
	f.Close()
	f.Clear()
	if left, err := os.ReadDir(f.Root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The replica and the proxy of a topology are followed as the server is.
func TestKilledPartsOfATopology(t *testing.T) {
	if _, err := nginx.Find(); err != nil {
		failure.Lacks(t, err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := deploymentsOf(t, plainDialect(), fmt.Sprintf(`{name: n, workload: {behavior: b},
target: {driver: process, command: [%q, serve, "${HOSTPORT}"], topology: {proxy: nginx, replicas: 1}},
database: {engine: postgresql}, bounded: {users: 5}}`, exe), func(int) {})
	defer f.Clear()
	defer f.Close()
	sys, err := f.System(t.Context(), Need{Engine: plan.PostgreSQL, Users: 5})
	if err != nil {
		t.Fatal(err)
	}
	if sys.Proxy() == nil || len(sys.ReplicaDSNs()) != 1 || sys.DSN() == "" {
		t.Errorf("proxy %v, replicas %d", sys.Proxy(), len(sys.ReplicaDSNs()))
	}
	seen := make(chan lab.Crash, 10)
	watch := sys.WatchCrashes(func(c lab.Crash) { seen <- c })
	defer watch.End()
	want := map[string]bool{}
	for _, role := range []string{"replica", "proxy"} {
		want[role] = true
		if err := syscall.Kill(sys.Deployment.PIDs()[role][0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for len(want) > 0 {
		delete(want, (<-seen).Role)
	}
}

// An arm is installed when its turn comes and another one is there, its state is put back before
// each run, and a state that differs from the first run's is found.
func TestPreparation(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return strings.TrimSpace(string(b))
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("users", "0")
	d := plainDialect()
	d.Release = func(context.Context, workload.Env) ([]string, error) {
		return []string{read("version")}, nil
	}
	d.Objects = func(context.Context, workload.Env) (map[string]int64, error) {
		var users, posts int64
		_, err := fmt.Sscan(read("users")+" "+read("posts"), &users, &posts)
		return map[string]int64{"users": users, "channels": 5, "posts": posts}, err
	}
	f := deploymentsOf(t, d, fmt.Sprintf(`{name: n, workload: {behavior: b}, bounded: {users: 9},
target: {driver: external, url: %q, timeouts: {ready: 20s}, env: {HERE: %q},
  install: [/bin/sh, -c, 'echo "$PLIMSOLL_ARM" >> $HERE/calls; echo "$PLIMSOLL_VERSION" > $HERE/version'],
  reset: [/bin/sh, -c, 'echo 3 > $HERE/users; cat $HERE/dump > $HERE/posts; echo restored']},
compare: {arms: {base: {version: "11.0"}, new: {version: "11.1"}}}}`, answering(t), dir),
		func(users int) { write("users", fmt.Sprint(users)) })
	defer f.Close()
	prepare := func(arm string) (*System, string, error) {
		t.Helper()
		sys, err := f.System(t.Context(), Need{Arm: arm, Comparison: "c", Users: 9})
		if err != nil {
			t.Fatal(err)
		}
		out, err := sys.Installation.Prepare(t.Context(), Preparation{Progress: nobody{}})
		return sys, string(out), err
	}
	write("dump", "7")
	for _, arm := range []string{"base", "new", "new", "base"} {
		sys, out, err := prepare(arm)
		if err != nil {
			t.Fatalf("%s: %v\n%s", arm, err, out)
		}
		sys.Installation.Succeeded()
		facts := sys.Deployment.Describe()
		if facts.Version != map[string]string{"base": "11.0", "new": "11.1"}[arm] ||
			facts.Settings[stateFact] != "3 users, 5 channels, 7 posts" ||
			facts.Objects["posts"] != 7 ||
			facts.Settings[usersFact] != "made again after the reset (6)" {
			t.Errorf("%s: %+v", arm, facts)
		}
		if !strings.Contains(out, "restored") {
			t.Errorf("the output of the commands is %q", out)
		}
	}
	if got := strings.Fields(read("calls")); strings.Join(got, " ") != "base new base" {
		t.Errorf("installed: %v", got)
	}
	write("dump", "8")
	sys, _, err := prepare("new")
	if err == nil || !strings.Contains(err.Error(), "has 8 posts, where the first run found 7 ±0") {
		t.Errorf("one post more: %v", err)
	}
	if blame := sys.Installation.Failed(err); blame != (Blame{InARow: 1}) {
		t.Errorf("one post more: %+v", blame)
	}
}

// What a plan's references lead to is used, and one that leads nowhere has its key in the error.
func TestReferencesOfATarget(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(secret, []byte("http://me:hunter2@127.0.0.1:8065\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Resolver{Env: func(string) string { return "" }, Secrets: new(plain.Secrets)}
	target, err := r.Resolve(
		plan.Target{URL: plan.Addresses{"${FILE:" + secret + "}"}},
		plan.Workload{},
	)
	if err != nil || target.URL.First() != "http://me:hunter2@127.0.0.1:8065" {
		t.Errorf("%v, %v", target.URL, err)
	}
	if text := r.Secrets.Redact("it is hunter2"); strings.Contains(text, "hunter2") {
		t.Errorf("the password is shown: %s", text)
	}
	_, err = r.Resolve(plan.Target{Ready: "${ENV:NONE}"}, plan.Workload{})
	if err == nil || !strings.Contains(err.Error(), "target.ready: ") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
