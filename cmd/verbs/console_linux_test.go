package verbs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/browser"
	"plimsoll/internal/failure"
	"plimsoll/internal/program"
	"plimsoll/record"
	"plimsoll/record/store"
)

// consolePlan is a test of users who can take part in storms.
const consolePlan = `
name: steered
seed: 7
target: {driver: refnull}
workload: {behavior: mattermost, pace: 0.05, params: {channels: "4", memberships: "2", speed: "10"}}
bounded: {users: 24, ramp: 500ms, settle: 500ms, measure: %s}
`

// served is a plimsoll serve that a test may kill and start again.
type served struct {
	t      *testing.T
	root   string // of the test; its store is below
	args   []string
	url    string
	cmd    *exec.Cmd
	output *safeBuffer
}

// serveConsole starts the verb serve over the store below root, at a free port.
func serveConsole(t *testing.T, root string, args ...string) *served {
	t.Helper()
	s := &served{t: t, root: root, args: args}
	s.start("127.0.0.1:0")
	t.Cleanup(func() {
		s.end(syscall.SIGTERM)
		if begun, _ := filepath.Glob(filepath.Join(root, "store", "started", "*.log")); t.Failed() {
			for _, file := range begun {
				b, err := os.ReadFile(file)
				t.Logf("%s, %v", b, err)
			}
		}
		// what was started from the page is no child of the test
		for pid := range program.Survivors(root) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return s
}

func (s *served) start(address string) {
	s.t.Helper()
	args := append([]string{"-listen", address}, s.args...)
	s.cmd, s.output = launch(s.t, inStore(s.root, "serve", args...)...)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if m := regexp.MustCompile(`console: (http://\S+)`).FindStringSubmatch(s.output.String()); m != nil {
			s.url = m[1]
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("serve prints no address\n%s", s.output)
		}
	}
}

func (s *served) end(with syscall.Signal) {
	_ = s.cmd.Process.Signal(with)
	timer := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait() // by the signal
	timer.Stop()
}

// again starts it at the address that it had.
func (s *served) again() {
	s.t.Helper()
	s.start(strings.TrimPrefix(s.url, "http://"))
}

// ask sends a request with header lines, and returns status and body. A body makes it a POST.
func (s *served) ask(
	path, body string,
	header ...string,
) (status int, answer string, head http.Header) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// run opens the only run of the store.
func (s *served) run() *record.Run {
	s.t.Helper()
	r, _ := onlyRun(s.t, s.root)
	return r
}

// untilEnded waits until the runs of the store are so many, and sealed.
func (s *served) untilEnded(n int) {
	s.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		st, err := store.Open(filepath.Join(s.root, "store"))
		if err != nil {
			s.t.Fatal(err)
		}
		entries, _, err := st.List(s.t.Context())
		if err == nil && len(entries) == n &&
			!slices.ContainsFunc(entries, func(e store.Entry) bool {
				return e.State != record.Sealed && e.State != record.Interrupted
			}) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the runs do not end: %+v, %v", entries, err)
		}
	}
}

// plansIn writes a plan into a directory of its own below root.
func plansIn(t *testing.T, root, name, text string) (dir string) {
	t.Helper()
	dir = filepath.Join(root, "plans")
	failure.None(t, os.MkdirAll(dir, 0o755))
	writeText(t, filepath.Join(dir, name), text)
	return dir
}

// place goes to a view of the page that is open.
func place(b *browser.Browser, hash string) {
	b.T.Helper()
	b.Eval(fmt.Sprintf("location.hash = %q", hash), nil)
	b.Until(fmt.Sprintf("location.hash === %q", hash))
}

// enter sets a field of a form as a person does.
func enter(b *browser.Browser, form, field, text string) {
	b.T.Helper()
	b.Eval(
		fmt.Sprintf(
			`(() => { const e = document.querySelector("form[aria-label='%s'] %s"); e.value = %q; e.dispatchEvent(new Event(e.tagName === "SELECT" ? "change" : "input", {bubbles: true})); })()`,
			form,
			field,
			text,
		),
		nil,
	)
}

// begin starts a plan from the page and returns the run's id, once it is on the page.
func begin(b *browser.Browser, file, verb string) (id string) {
	b.T.Helper()
	place(b, "#/start")
	b.Until(fmt.Sprintf("[...document.querySelectorAll('option')].some(o => o.value === %q)", file))
	enter(b, "Start a plan", "label:nth-of-type(1) select", file)
	b.Until(`document.querySelector("form[aria-label='Start a plan'] label:nth-of-type(2) select")`)
	enter(b, "Start a plan", "label:nth-of-type(2) select", verb)
	b.Click(`document.querySelector("form[aria-label='Start a plan'] button")`)
	b.Says("has started")
	b.Until(`document.querySelector(".top nav a.live .light.green")`)
	b.Eval(`document.querySelector(".top nav a.live").hash.split("/")[2]`, &id)
	return id
}

// untilMeasure waits until a run on the page has been in its measured phase, at a second of its
// clock or later.
func untilMeasure(b *browser.Browser, second int) {
	b.T.Helper()
	b.Until(
		fmt.Sprintf(
			`Number(document.querySelector(".sub").innerText.match(/measure, (\d+) s in/)?.[1] ?? 0) >= %d`,
			second,
		),
	)
}

// drawn is what the charts show: a row for each point in time, in which each chart has a text for
// each of its lines. It is read as a person reads it, with the cursor, and at once, so that no
// frame comes between two points.
func drawn(b *browser.Browser) (rows map[string]map[string][]string) {
	b.T.Helper()
	b.Until(`document.querySelector("[data-chart] output").textContent !== "–"`) // it is drawn
	b.Eval(`(() => {
		const charts = [...document.querySelectorAll("[data-chart]")], plot = charts[0].querySelector(".plot");
		const press = key => plot.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
		const rows = {};
		press("Home");
		for (let n = 0; n < 4000; n++) {
			const at = charts[0].querySelector("time").textContent;
			if (at in rows) break;
			rows[at] = Object.fromEntries(charts.map(c => [c.dataset.chart, [...c.querySelectorAll(".key:not(.limit)")].map(k => k.textContent.trim())]));
			press("ArrowRight");
		}
		press("Escape");
		return rows;
	})()`, &rows)
	return rows
}

// sameHistory requires that what was drawn before is drawn after, to the last text.
func sameHistory(t *testing.T, when string, before, after map[string]map[string][]string) {
	t.Helper()
	if len(before) == 0 || len(after) < len(before) {
		t.Errorf("%s: %d points were drawn, now %d", when, len(before), len(after))
	}
	for at, row := range before {
		if !reflect.DeepEqual(after[at], row) {
			t.Errorf("%s: %s was drawn as %v, now as %v", when, at, row, after[at])
		}
	}
}

// inspect looks at the view that is open in two widths and both schemes.
func inspect(b *browser.Browser, name string) {
	b.T.Helper()
	b.Inspect(
		name,
		filepath.Join("..", "..", "console", "ui", "node_modules", "axe-core", "axe.min.js"),
		nil,
	)
	b.Look(1280, "light", "screen")
}

// unproblematic requires that the page has asked no other server, broken no policy and thrown
// nothing. Answers that the page shows as refused are none of its faults.
func unproblematic(b *browser.Browser, from int, s *served) {
	b.T.Helper()
	for _, p := range b.Problems(from, s.url+"/") {
		if !strings.HasPrefix(p, "log: Failed to load resource: ") {
			b.T.Error(p)
		}
	}
}
