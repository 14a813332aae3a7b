package verbs

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/browser"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// comparedPlan has one block, which is made again once.
const comparedPlan = `
name: compared
seed: 7
target: {driver: refnull}
workload: {behavior: mattermost, pace: 0.05, params: {channels: "4", memberships: "2", speed: "10"}}
bounded: {users: 10, ramp: 300ms, settle: 300ms, measure: 4s}
compare: {arms: {base: {}, new: {}}, mode: sequence, blocks: 1, retry: 2s}
`

// TestConsoleOfAComparison starts a comparison from the page and steers one of its runs: the run gets no verdict, and
// its block is made again. Its report opens from the history, in a frame that is cut off from the page.
func TestConsoleOfAComparison(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := serveConsole(t, root, "-steer", "-plans", plans(t, root, "compared.yaml", comparedPlan+openGates))
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	from := b.Go(s.url + "/")
	id := begin(b, "compared.yaml", "compare")
	place(b, "#/live/"+id+"/now")
	const one = `document.querySelector("main .panel a[href^='#/live/']")`
	b.Until(one)
	steered := ""
	b.Eval(one+`.hash.split("/")[2]`, &steered)
	place(b, "#/live/"+steered+"/steer")
	b.Until(`document.querySelector("form[aria-label='Set users'] input")`)
	b.Until(`/(ramp|settle|measure), \d+ s in/.test(document.querySelector(".sub").innerText)`)
	enter(b, "Set users", "label:nth-of-type(1) input", "5")
	b.Click(`document.querySelector("form[aria-label='Set users'] button")`)
	b.Says("5 users are wanted from the next tick on.")
	place(b, "#/live/"+id+"/now")
	b.Says("Still possible")
	inspect(b, "comparison under way")
	b.Says("of block 1 of 1 (again)")
	b.Says("3 runs")
	b.Until(`document.querySelector(".state.ended") && [...document.querySelectorAll(".documents button")].some(e => e.textContent === "Report")`)
	b.Says("1 of 1 block judged")

	place(b, "#/history")
	b.Until(fmt.Sprintf(`document.querySelector("a[href='#/comparison/%s/now']")`, id))
	b.Click(fmt.Sprintf(`document.querySelector("a[href='#/comparison/%s/now']")`, id))
	b.Until(`[...document.querySelectorAll(".documents button")].some(e => e.textContent === "Report")`)
	inspect(b, "stored comparison")
	b.Click(`[...document.querySelectorAll(".documents button")].find(e => e.textContent === "Report")`)
	b.Until(`document.querySelector("iframe").sandbox.value === "allow-scripts" && performance.getEntriesByType("resource").some(e => e.name.endsWith("/report.html") && e.responseEnd > 0)`)
	apart, href := false, ""
	b.Eval(`new Promise(done => setTimeout(() => done(document.querySelector("iframe").contentDocument === null), 300))`, &apart)
	b.Eval(`new URL(document.querySelector("iframe").src).pathname`, &href)
	status, report, head := s.ask(href, "")
	if !apart || status != http.StatusOK || !strings.HasPrefix(head.Get("Content-Security-Policy"), "sandbox allow-scripts;") || !strings.Contains(report, "compared") {
		t.Errorf("the report: apart %v, %d, policy %q, %.200s", apart, status, head.Get("Content-Security-Policy"), report)
	}
	unproblematic(b, from, s)
	checkComparedAgain(t, s, id, steered)
}

// checkComparedAgain requires that a run that was steered counts for nothing.
func checkComparedAgain(t *testing.T, s *served, id, steered string) {
	t.Helper()
	st, err := store.Open(filepath.Join(s.root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.Runs, func(r record.ComparisonRun) bool { return r.Run == steered })
	if i < 0 {
		t.Fatalf("%s is none of %+v", steered, c.Runs)
	}
	r, err := st.Run(steered)
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, r := range c.Runs {
		if r.Valid && !r.Dropped && !r.Pilot {
			counted++
		}
	}
	if r.Validity.Valid || r.Manifest.Exploratory == "" || c.Runs[i].Valid || counted != 2 {
		t.Errorf("exploratory %q, valid %v; in the comparison %+v, with %d runs that count", r.Manifest.Exploratory, r.Validity.Valid, c.Runs[i], counted)
	}
}
