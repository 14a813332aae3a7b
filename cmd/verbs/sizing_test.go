package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/judge/sizing"
	"plimsoll/record"
	"plimsoll/report"
)

// runSizing runs the verb with a plan in a fresh store and returns its report, output and status.
func runSizing(t *testing.T, text string, env ...string) (report.SizingPart, string, int, string) {
	t.Helper()
	cmd, root, output := startPlanWith(t, env, text, "sizing")
	status := wait(t, cmd, 120*time.Second, output)
	nobodySurvives(t, root)
	var d report.SizingPart
	files, _ := filepath.Glob(filepath.Join(root, "store", "sizings", "*", "report.json"))
	if len(files) != 1 {
		return d, output.String(), status, root
	}
	b, err := os.ReadFile(files[0])
	failure.None(t, err)
	failure.None(t, json.Unmarshal(b, &d))
	return d, output.String(), status, root
}

// Three small steps on the reference server and PostgreSQL give the table: the measurements are in
// it, a step that the machine spoiled carries no grade, and the stored runs give the same report
// again.
func TestSizingOnRefchat(t *testing.T) {
	t.Parallel()
	d, output, status, root := runSizing(t, `
name: ladder
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster, pace: 0.02}
sizing: {steps: [5, 10, 20], ramp: 20/s, settle: 1s, hold: 8s, offer: box}
prices:
  - {name: box, vcpu: 1, memory: 4GB, price: 6, currency: EUR}
  - {name: bigger, vcpu: 2, memory: 8GB, price: 12, currency: EUR}
setup: {stack: refchat}
`+openGates)
	if status != exit.OK && status != exit.Invalid || len(d.Steps) != 3 || !d.Complete {
		t.Fatalf("status %d, %d steps\n%s", status, len(d.Steps), output)
	}
	graded := 0
	for i, s := range d.Steps {
		if s.Users != []int{5, 10, 20}[i] || s.Count < 100 || s.P50 <= 0 || s.P99 < s.P95 ||
			s.Max < s.P99 ||
			s.Failures != 0 {
			t.Errorf("%+v", s)
		}
		if cpu, ok := s.TotalCPU(); !ok || cpu <= 0 || len(s.CPU) != 2 {
			t.Errorf("CPU of %d users: %v", s.Users, s.CPU)
		}
		if mem, ok := s.TotalMemory(); !ok || mem < 10<<20 || len(s.Memory) != 2 {
			t.Errorf("memory of %d users: %v", s.Users, s.Memory)
		}
		if (s.Grade != "") != s.Valid {
			t.Errorf("%d users: valid %v, grade %q (%s)", s.Users, s.Valid, s.Grade, s.Rule)
		}
		if s.Grade != "" {
			graded++
		}
	}
	if (status == exit.OK) != (graded == 3) || graded == 0 {
		t.Errorf("status %d with %d grades", status, graded)
	}
	if n := strings.Count(output, "resetting"); n != 1 {
		t.Errorf("%d resets, want one before the first step", n)
	}
	for _, want := range []string{"Performance test results: box · complete · 3 steps\n", "\nbottleneck ", "\ncost ", " Grade\n"} {
		if !strings.Contains(output, want) {
			t.Errorf("the screen lacks %q in\n%s", want, output)
		}
	}
	forms, _ := filepath.Glob(filepath.Join(root, "store", "sizings", "*", "report.md"))
	markdown, err := os.ReadFile(forms[0])
	failure.None(t, err)
	for _, want := range []string{"# Performance test results: box", "| Concurrent users |", "## Recommended capacity", "## Cost", "PostgreSQL"} {
		if !strings.Contains(string(markdown), want) {
			t.Errorf("the report lacks %q in\n%s", want, markdown)
		}
	}
	st := storeOf(t, root)
	entries, _, err := st.List(context.Background())
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d runs, %v", len(entries), err)
	}
	for _, e := range entries { // the steps have the users of their labels
		r, err := st.Run(e.ID)
		failure.None(t, err)
		step := d.Steps[slices.IndexFunc(d.Steps, func(s sizing.Step) bool {
			return s.Run == e.ID
		})]
		if ph, ok := r.Manifest.Phase("measure"); !ok || ph.Users != step.Users {
			t.Errorf("run %s has phases %+v, want %d users", e.ID, r.Manifest.Phases, step.Users)
		}
	}
	z, err := st.Sizing(entries[0].Comparison)
	if err != nil || z.State != record.Sealed || len(z.Steps) != 3 || z.Engine != "postgresql" {
		t.Errorf("%+v, %v", z, err)
	}
	again, out := launch(t, inStore(root, "report", "-json", entries[0].Comparison)...)
	if got := wait(t, again, 2*time.Minute, out); got != status {
		t.Errorf("report: status %d, sizing ended with %d\n%s", got, status, out.String())
	}
	var same report.SizingPart
	if err := json.NewDecoder(strings.NewReader(out.String())).Decode(&same); err != nil ||
		fmt.Sprint(same.Comfortable, same.Bottleneck) != fmt.Sprint(d.Comfortable, d.Bottleneck) {
		t.Errorf("%+v, %v", same, err)
	}
	// A run that was changed afterwards is not believed.
	manifest := filepath.Join(root, "store", "runs", entries[0].ID, record.ManifestFile)
	if b, err := os.ReadFile(manifest); err != nil ||
		os.WriteFile(manifest, append(b, '\n'), 0o644) != nil {
		t.Fatal(err)
	}
	if changed, err := catalog().Sizing(t.Context(), z, st.Run); err != nil ||
		changed.Sizing.Steps[0].Valid ||
		changed.Sizing.Steps[0].Grade != "" {
		t.Errorf("%+v, %v", changed.Sizing.Steps, err)
	}
}

// A proxy that shows posts a challenge page is named, and its answers get no grade. Address,
// channel and token come from the environment.
func TestSizingBehindAProxy(t *testing.T) {
	t.Parallel()
	proxy := beforeNull(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/posts") {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<title>Just a moment...</title>")
			return
		}
		forward.ServeHTTP(w, r)
	})
	const text = `
name: behind
target: {driver: external, url: "${ENV:TEST_URL}", ready: /api/v4/system/ping}
workload: {behavior: poster, pace: 0.02, params: {channel: "${ENV:TEST_CHANNEL}", bot_token: "${ENV:TEST_TOKEN}"}}
sizing: {steps: [10], ramp: 20/s, settle: 0s, hold: 2s}
`
	if _, output, status, _ := runSizing(t, text); status != exit.Usage ||
		!strings.Contains(output, "TEST_URL is not set") {
		t.Errorf("without the environment: status %d\n%s", status, output)
	}
	d, output, status, _ := runSizing(
		t,
		text,
		"TEST_URL="+proxy,
		"TEST_CHANNEL=channelchannelchannel12345",
		"TEST_TOKEN=tokentokentokentokentoken1",
	)
	if status != exit.Invalid || len(d.Steps) != 1 {
		t.Fatalf("status %d\n%s", status, output)
	}
	step := d.Steps[0]
	if step.Grade != "" || step.Failures < 0.5 || len(step.Proxy) == 0 ||
		!strings.Contains(step.Proxy[0], "challenge page of a proxy") {
		t.Errorf("%+v", step)
	}
	if d.Bottleneck.Name != sizing.ProxyBound ||
		!strings.Contains(output, "allow this host's address at the proxy") {
		t.Errorf("%+v\n%s", d.Bottleneck, output)
	}
	if strings.Contains(output, "tokentoken") {
		t.Error("the token was printed")
	}
}

// An interrupted ladder leaves a report of its measurements, which states that it is not complete.
func TestInterruptedSizing(t *testing.T) {
	t.Parallel()
	const text = "name: cut\ntarget: {driver: refnull}\nworkload: {behavior: poster, pace: 0.02}\nsizing: {steps: [5, 10], ramp: 20/s, settle: 0s, hold: 3s}\n"
	cmd, root, output := startPlan(t, text, "sizing")
	until(t, output, "step 2/2")
	failure.None(t, cmd.Process.Signal(os.Interrupt))
	if status := wait(t, cmd, 2*time.Minute, output); status != 130 {
		t.Errorf("status %d\n%s", status, output.String())
	}
	nobodySurvives(t, root)
	files, _ := filepath.Glob(filepath.Join(root, "store", "sizings", "*", "report.md"))
	if len(files) != 1 {
		t.Fatalf("%d reports\n%s", len(files), output.String())
	}
	b, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(b), "**Not complete**: interrupted by SIGINT") ||
		!strings.Contains(string(b), "\n|                5 |") {
		t.Errorf("%v in\n%s", err, b)
	}
}
