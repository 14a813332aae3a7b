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
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/program"
	"plimsoll/judge/sizing"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
	"plimsoll/report"
	"plimsoll/run/session"
)

// A system that stands by itself is made for the users of its plan's test, also when that is a
// ladder alone.
func TestUpForEachTest(t *testing.T) {
	for _, tt := range []struct {
		tests string
		users int
	}{
		{"bounded: {users: 7}\nunbounded: {max_users: 50}\nsizing: {steps: [3, 9]}\n", 7},
		{"unbounded: {max_users: 50}\n", 50},
		{"unbounded: {max_users: 50}\nsizing: {hold: 1s}\n", 50},
		{"sizing: {steps: [3, 9]}\n", 9},
		{"sizing: {steps: [3, 9]}\ncompare: {arms: {base: {}, new: {}}}\n", 9},
	} {
		p, err := known().Parse([]byte("name: up\ntarget: {driver: refnull}\nworkload: {behavior: poster}\n" + tt.tests))
		if err != nil {
			t.Fatal(err)
		}
		p, pt := new(app.App).Program().UpFor(p)
		if p, err = new(app.App).Program().Narrow(p, &pt, 0); err != nil {
			t.Errorf("%s: %v", tt.tests, err)
			continue
		}
		if got := (&session.Session{Plan: p}).Users(pt); got != tt.users {
			t.Errorf("%s: made for %d users, want %d", tt.tests, got, tt.users)
		}
	}
}

// runSizing runs the verb with a plan in a fresh store and returns its report, output and status.
func runSizing(t *testing.T, text string, env ...string) (report.SizingPart, string, int, string) {
	t.Helper()
	cmd, root, output := startPlanWith(t, env, text, "sizing")
	status := wait(t, cmd, 120*time.Second, output)
	if left := program.Survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
	var d report.SizingPart
	files, _ := filepath.Glob(filepath.Join(root, "store", "sizings", "*", "report.json"))
	if len(files) != 1 {
		return d, output.String(), status, root
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Performance test results: box", "| Concurrent users |", "## Recommended capacity", "## Cost", "PostgreSQL"} {
		if !strings.Contains(string(markdown), want) {
			t.Errorf("the report lacks %q in\n%s", want, markdown)
		}
	}
	st := storetest.At(t, filepath.Join(root, "store"))
	entries, _, err := st.List(context.Background())
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d runs, %v", len(entries), err)
	}
	for _, e := range entries { // the steps have the users of their labels
		r, err := st.Run(e.ID)
		if err != nil {
			t.Fatal(err)
		}
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
	path, _ := program.Build()
	again, out := command(
		path,
		"report",
		"-json",
		"-store",
		filepath.Join(root, "store"),
		entries[0].Comparison,
	)
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
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
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, cmd, 2*time.Minute, output); status != 130 {
		t.Errorf("status %d\n%s", status, output.String())
	}
	if left := program.Survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
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

// A ladder whose target lost acknowledged messages is not good, whatever its grades: those of a
// step, of one that was repeated and of the first search count. One of these that is gone is named.
func TestSizingThatLostMessages(t *testing.T) {
	const text = "name: n\ntarget: {driver: refnull}\nworkload: {behavior: poster}\nunbounded: {max_users: 90}\nsizing: {steps: [50, 60]}\n"
	p, err := known().Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	st := storetest.At(t, root)
	z := &record.Sizing{
		ID:         "z1",
		Name:       p.Name,
		Plan:       p.String(),
		PlanDigest: p.Digest(),
		State:      record.Sealed,
		Planned:    []int{50, 60},
		Search:     "search",
	}
	first, last := storetest.Put(t, st, storetest.StoredRun{
		ID:     "first",
		Slower: 1,
		Series: true,
	}), storetest.Put(t, st, storetest.StoredRun{ID: "step", Slower: 1, Series: true, Lost: 3})
	repeated := storetest.Put(t, st, storetest.StoredRun{
		ID:      "repeated",
		Slower:  1,
		Invalid: true,
		Lost:    5,
	})
	z.Steps = []record.SizingStep{{
		Users:  50,
		Run:    "first",
		Digest: first,
	}, {Users: 60, Run: "step", Digest: last}}
	z.Repeated = []record.SizingStep{{Users: 60, Run: "repeated", Digest: repeated}}
	if err := st.SaveSizing(z); err != nil {
		t.Fatal(err)
	}
	const gone = "it is not known whether the target lost messages that it had acknowledged (first search, run search): "
	told := func(texts ...string) {
		t.Helper()
		status, out, errOut := inStore(t, root, "report", "z1")
		for _, text := range append(texts, "(60 users, run step): 3 of 90 cannot be read", "(60 users, run repeated): 5 of 90 cannot be read") {
			if !strings.Contains(errOut, text) ||
				!strings.Contains(strings.Join(strings.Fields(out), " "), text) {
				t.Errorf("%q is not in %q or\n%s", text, errOut, out)
			}
		}
		if status != exit.SLO {
			t.Errorf("status %d, want %d", status, exit.SLO)
		}
	}
	told(gone)
	storetest.Put(t, st, storetest.StoredRun{ID: "search", Slower: 1, Lost: 6})
	told("(first search, run search): 6 of 90 cannot be read")
}
