package verbs

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/reference/refnull"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// fickle is the name of a server that is refnull until its users have posted often enough.
const fickle = "fickle"

// fickleMain serves as "fickle refnull -listen ADDRESS -posts N -then hang".
func fickleMain() {
	fs := flag.NewFlagSet(fickle, flag.ExitOnError)
	listen := fs.String("listen", "", "`address` to serve on")
	served := fs.Int64("posts", 0, "`number` of posts that are served")
	then := fs.String("then", "", "hang (posts are not answered), die or refuse")
	_ = fs.Parse(os.Args[2:]) // it exits
	if err := serveFickle(*listen, *served, *then); err != nil {
		fmt.Fprintln(os.Stderr, "fickle:", err)
		os.Exit(1)
	}
}

func serveFickle(listen string, served int64, then string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	null, err := refnull.New(refnull.Config{})
	if err != nil {
		return err
	}
	done := inBackground(func() error { return null.Run(ctx) })
	behind, err := url.Parse(null.URL())
	if err != nil {
		return err
	}
	forward := httputil.NewSingleHostReverseProxy(behind)
	var posts atomic.Int64
	server := &http.Server{Addr: listen, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		post := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/posts")
		if post {
			posts.Add(1)
		}
		over := posts.Load() > served
		switch {
		case over && then == "refuse":
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
		case over && then == "die":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case over && post:
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
		default:
			forward.ServeHTTP(w, r)
		}
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return <-done
}

// ficklePlan compares refnull with a fickle server, in turns by default. The users of one that hangs from its fifth
// post on wait for it longer than until the end.
const ficklePlan = `
name: fickle
seed: 7
target: {driver: refnull}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 4, ramp: 500ms, settle: 500ms, measure: 3s}
compare: {arms: {base: {}, new: {binary: "BINARY", args: [ARGS]}}, slice: 100ms, blocks: 1, retry: 0s}
` + openGates

// An arm that hangs, dies or refuses everything fails alone: the run of the other, which took turns with it, is valid
// and whole. There is no pair, so the comparison is invalid, and its report names the arm and the reason.
func TestAnArmOfADuetFailsAlone(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, args string
		want       []string // in the findings
	}{
		{"hangs", "-posts=4, -then=hang", []string{"not one operation ended in the measured phase"}},
		{"dies", "-posts=20, -then=die", []string{"app app-0: fickle ended: signal: killed"}},
		{"refuses", "-posts=4, -then=refuse", []string{"status 503", "the users of behavior poster succeeded in nothing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			binary := filepath.Join(bin, fickle)
			if err := os.Symlink(self, binary); err != nil {
				t.Fatal(err)
			}
			cmd, root, output := startPlan(t, strings.NewReplacer("BINARY", binary, "ARGS", tt.args).Replace(ficklePlan), "compare")
			if status := wait(t, cmd, 3*time.Minute, output); status != rig.ExitInvalid {
				t.Errorf("status %d, want %d: there is no pair", status, rig.ExitInvalid)
			}
			dir, c, runs := duetOf(t, root, output)
			base, fails := runs["base"], runs["new"]
			if c.State != record.Sealed || base == nil || fails == nil || len(c.Runs) != 2 {
				t.Fatalf("state %s, runs %+v\n%s", c.State, c.Runs, output)
			}
			if !base.Validity.Valid || record.CauseOf(base.Validity) != "" {
				t.Errorf("the other arm's run is not valid: %+v", base.Validity)
			}
			checkServed(t, base)
			if fails.Validity.Valid || record.CauseOf(fails.Validity) != record.ByTarget {
				t.Errorf("the arm's run is valid: %v, by %q: %+v", fails.Validity.Valid, record.CauseOf(fails.Validity), fails.Validity.Findings)
			}
			var texts []string
			for _, f := range fails.Validity.Findings {
				texts = append(texts, f.Text)
			}
			for _, want := range tt.want {
				if !strings.Contains(strings.Join(texts, "\n"), want) {
					t.Errorf("no finding has %q: %q", want, texts)
				}
			}
			report, err := os.ReadFile(filepath.Join(dir, "report-full.md"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"run " + fails.Manifest.ID + " was not valid", tt.want[len(tt.want)-1]} {
				if !strings.Contains(string(report), want) {
					t.Errorf("the report does not have %q", want)
				}
			}
			if said := output.String(); !strings.Contains(said, "new:   run "+fails.Manifest.ID+" is not valid: ") {
				t.Error("the arm was not named when its run had ended")
			}
			for _, never := range []string{"verdict: -=same", "verdict: -=better", "run " + base.Manifest.ID + " was not valid"} {
				if strings.Contains(string(report)+output.String(), never) {
					t.Errorf("there is %q", never)
				}
			}
			nothingLeft(t, root, cmd.Process.Pid, nil)
			if left := survivors(bin); len(left) > 0 {
				t.Errorf("the server is left: %v", left)
			}
			if t.Failed() {
				t.Log(output)
			}
		})
	}
}

// checkServed checks that every post of a run's measured phase was served, in every second of it.
func checkServed(t *testing.T, r *record.Run) {
	t.Helper()
	for _, p := range r.Manifest.Phases {
		if p.Name != "measure" {
			continue
		}
		for from := p.From; from < p.To; from += time.Second {
			ws, err := r.Merged(from, from+time.Second)
			if err != nil || ws["post"] == nil || ws["post"].Count() == 0 || ws["post"].Errors() > 0 {
				t.Errorf("posts of the second from %v: %+v, %v", from, ws["post"], err)
			}
		}
		return
	}
	t.Errorf("no measured phase in %+v", r.Manifest.Phases)
}
