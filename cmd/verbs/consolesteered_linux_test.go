package verbs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/browser"
	"plimsoll/internal/failure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// TestConsoleSteersARun has an operator log in, start a run from the page, watch it, change its
// users, inject a storm, reload and stop it: the charts are the run's, the run is exploratory and
// not valid, and no token is in the store.
func TestConsoleSteersARun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const token = "operator-token-of-at-least-32-characters"
	file := filepath.Join(root, "tokens")
	writeText(t, file, "operator "+token+"\n")
	s := serveConsole(
		t,
		root,
		"-tokens",
		file,
		"-plans",
		plansIn(t, root, "steered.yaml", fmt.Sprintf(consolePlan, "120s")+openGates),
	)
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	from := b.Go(s.url + "/")
	b.Says("This console needs a token.")
	enter(b, "Log in", "input", token)
	b.Click(`document.querySelector("form button")`)
	b.Says("Nothing runs now")
	id := begin(b, "steered.yaml", "run")
	view := func(name string) { place(b, "#/live/"+id+"/"+name) }

	view("now")
	untilMeasure(b, 4)
	early := drawn(b)
	untilMeasure(b, 7)
	later := drawn(b)
	if len(later) < len(early)+2 || len(later) < 6 {
		t.Errorf("%d points were drawn after 4 s, %d after 7 s", len(early), len(later))
	}
	sameHistory(t, "as time goes on", early, later)

	view("steer")
	enter(b, "Set users", "label:nth-of-type(1) input", "500")
	b.Click(`document.querySelector("form[aria-label='Set users'] button")`)
	b.Says("500 users: want 0 to 24, the users that have accounts")
	enter(b, "Set users", "label:nth-of-type(1) input", "8")
	enter(b, "Set users", "label:nth-of-type(2) input", "1")
	b.Click(`document.querySelector("form[aria-label='Set users'] button")`)
	b.Says("8 users are wanted from the next tick on.")
	view("now")
	b.Until(
		`document.querySelector(".figures").innerText.replace(/\s+/g, " ").includes("8 of 8 wanted")`,
	)
	b.Says("exploratory (users were set to 8 by hand)")
	view("steer")
	enter(b, "Inject a storm", "label:nth-of-type(1) select", "reconnect")
	enter(b, "Inject a storm", "label:nth-of-type(2) input", "50")
	enter(b, "Inject a storm", "label:nth-of-type(3) input", "1")
	b.Click(`document.querySelector("form[aria-label='Inject a storm'] button")`)
	b.Says("The storm reconnect begins with the next tick.")
	view("log")
	b.Says("a storm reconnect of 50 % of the users was injected by hand")

	view("now")
	b.Until(`document.querySelectorAll("[data-chart]").length >= 4`)
	before := drawn(b)
	b.Reload()
	b.Until(
		`document.querySelector(".state.live") && document.querySelectorAll("[data-chart] time").length >= 4`,
	)
	sameHistory(t, "after a reload", before, drawn(b))

	for name, text := range map[string]string{
		"operations": "p99",
		"errors":     "Errors",
		"log":        "by hand",
		"agents":     "this process",
		"rules":      "rate(errors)",
		"limiter":    "imiter",
		"steer":      "Set users",
		"now":        "May this be believed?",
	} {
		view(name)
		b.Says(text)
		inspect(b, name)
	}

	view("steer")
	for range 2 { // it asks once more
		b.Click(`document.querySelector("section[aria-label=Stop] button.danger")`)
	}
	b.Until(`document.querySelector(".state.interrupted")`)
	b.Says("stopped by hand in the console")
	s.untilEnded(1)
	place(b, "#/history")
	b.Until(fmt.Sprintf(`document.querySelector("a[href='#/run/%s/now']")`, id))
	inspect(b, "history")
	b.Click(fmt.Sprintf(`document.querySelector("a[href='#/run/%s/now']")`, id))
	b.Says("This run is exploratory (users were set to 8 by hand)")
	inspect(b, "stored run")
	unproblematic(b, from, s)
	checkSteered(t, s, before)
	noSecrets(t, filepath.Join(root, "store"), []string{token})
}

// checkSteered requires that the stored run says how it was steered, and that the charts have shown
// its readings.
func checkSteered(t *testing.T, s *served, rows map[string]map[string][]string) {
	t.Helper()
	r, events := onlyRun(t, s.root)
	if m := r.Manifest; m.State != record.Interrupted ||
		m.Exploratory != "users were set to 8 by hand" ||
		m.Why != "stopped by hand in the console" ||
		r.Validity.Valid {
		t.Errorf(
			"the run is %s (%s), exploratory %q, valid %v",
			m.State,
			m.Why,
			m.Exploratory,
			r.Validity.Valid,
		)
	}
	if !slices.ContainsFunc(r.Validity.Findings, func(f record.Finding) bool {
		return f.Gate == record.HandGate && f.Level == record.Red
	}) {
		t.Errorf("no finding has the hand that steered it: %+v", r.Validity.Findings)
	}
	storms, seen := 0, map[int]bool{}
	for _, e := range events {
		if e.Kind == "storm" || strings.HasPrefix(e.Kind, "storm") {
			storms++
		}
		row := rows[fmt.Sprintf("at %d s", int(e.At.Seconds()))]
		if e.Kind != "users" || row == nil {
			continue
		}
		seen[e.Users] = true
		if got, want := row["Users"], fmt.Sprintf("active %d", e.Users); !slices.Contains(
			got,
			want,
		) {
			t.Errorf("at %v the chart has %v, and the run %s", e.At, got, want)
		}
		m, err := r.Merged(e.At-time.Second, e.At)
		failure.None(t, err)
		ops := uint64(0)
		for name, w := range m {
			if workload.Steady(name) {
				ops += w.Count()
			}
		}
		if got, want := row["Operations"], fmt.Sprintf("operations %d", ops); !slices.Equal(
			got,
			[]string{want},
		) {
			t.Errorf("at %v the chart has %v, and the run %s", e.At, got, want)
		}
	}
	if storms == 0 || !seen[24] || !seen[8] {
		t.Errorf("%d storms, users %v", storms, seen)
	}
}
