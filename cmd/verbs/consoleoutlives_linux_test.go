package verbs

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/browser"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// steering counts the controls of the page that change anything.
func steering(b *browser.Browser) (n int) {
	b.T.Helper()
	b.Eval(`[...document.querySelectorAll("a, button")].filter(e => /Steer|Start|Stop|storm|Set users/.test(e.textContent)).length`, &n)
	return n
}

// under waits for the run under way on the page, and returns its id.
func under(b *browser.Browser) (id string) {
	b.T.Helper()
	b.Until(`document.querySelector(".top nav a.live .light.green")`)
	b.Eval(`document.querySelector(".top nav a.live").hash.split("/")[2]`, &id)
	return id
}

// TestConsoleOutlivesServe kills serve while a run goes on. The run ends as if nothing had been, and the page, which
// anybody may see and nobody may steer with, follows the next serve by itself.
func TestConsoleOutlivesServe(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, fmt.Sprintf(consolePlan, "13s")+openGates, "run")
	s := serveConsole(t, root)
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	from := b.Go(s.url + "/")
	id := under(b)
	place(b, "#/live/"+id+"/now")
	untilMeasure(b, 4)
	if n := steering(b); n > 0 {
		t.Errorf("a viewer has %d controls that steer", n)
	}
	if status, answer, _ := s.ask("/api/live/"+id+"/stop", "{}"); status != http.StatusForbidden || !strings.Contains(answer, "operator") {
		t.Errorf("a viewer stops: %d %s", status, answer)
	}
	before := drawn(b)
	s.end(syscall.SIGKILL)
	b.Until(`document.querySelector(".state.stale")`)
	b.Says("The run goes on by itself; the page tries again.")
	s.again()
	b.Until(`document.querySelector(".state.live")`)
	sameHistory(t, "after serve was killed", before, drawn(b))
	b.Until(`document.querySelector(".state.ended")`)
	after := drawn(b)
	sameHistory(t, "when the run had ended", before, after)
	unproblematic(b, from, s)

	// A host that stalls may void the run in spite of open gates; it must not fail.
	if status := wait(t, cmd, 60*time.Second, output); status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("exit status %d\n%s", status, output)
	}
	r := s.run()
	if ph, ok := r.Manifest.Phase("measure"); !ok || ph.To-ph.From < 13*time.Second || r.Manifest.State != record.Sealed || r.Manifest.Exploratory != "" {
		t.Errorf("the run is %s, measured %+v, exploratory %q", r.Manifest.State, ph, r.Manifest.Exploratory)
	}
	if len(after) < 10 {
		t.Errorf("%d points were drawn of 14 s", len(after))
	}
}

// TestConsoleBehindTokens refuses strangers and wrong tokens, and shows a viewer a run that is
// killed.
func TestConsoleBehindTokens(t *testing.T) {
	t.Parallel()
	const viewer, operator = "viewer-token-of-at-least-32-characters", "operator-token-of-at-least-32-characters"
	cmd, root, output := startPlan(t, fmt.Sprintf(consolePlan, "120s")+openGates, "run")
	file := filepath.Join(root, "tokens")
	if err := os.WriteFile(file, []byte("viewer "+viewer+"\noperator "+operator+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveConsole(t, root, "-tokens", file)
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	from := b.Go(s.url + "/")
	b.Says("This console needs a token.")
	inspect(b, "login")
	try := func(token, says string) {
		enter(b, "Log in", "input", token)
		b.Click(`document.querySelector("form button")`)
		b.Says(says)
	}
	try("wrong", "the token is not known")
	try(viewer, "May this be believed?")
	id := under(b)
	if n := steering(b); n > 0 {
		t.Errorf("a viewer has %d controls that steer", n)
	}
	for _, view := range []string{"steer", "now"} {
		place(b, "#/live/"+id+"/"+view)
		b.Says("May this be believed?")
	}

	b.Eval(`window.diedAt = 0; new MutationObserver(() => { if (!window.diedAt && document.querySelector(".state.died")) window.diedAt = performance.now(); }).observe(document.body, {subtree: true, childList: true, attributes: true})`, nil)
	var killed, died float64
	b.Eval("performance.now()", &killed)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.Until("window.diedAt > 0")
	b.Eval("window.diedAt", &died)
	t.Logf("the page showed the run as died %.2f s after its process was killed", (died-killed)/1000)
	b.Says("Its process is gone and it was not sealed")
	_ = cmd.Wait() // it was killed
	if r := s.run(); r.Ended() || strings.Contains(output.String(), "tokens") {
		t.Errorf("a run that was killed is %s\n%s", r.Manifest.State, output)
	}
	place(b, "#/history")
	b.Until(fmt.Sprintf(`document.querySelector("a[href='#/run/%s/now']").closest("tr").innerText.includes("died")`, id))
	inspect(b, "history of a run that died")

	b.Click(`[...document.querySelectorAll("button")].find(e => e.textContent === "Log out")`)
	b.Says("This console needs a token.")
	for range 60 {
		if status, answer, _ := s.ask("/api/login", `{"token":"wrong"}`); status != http.StatusUnauthorized {
			t.Errorf("a wrong token: %d %s", status, answer)
		}
	}
	try(viewer, "Trend over releases")
	unproblematic(b, from, s)
	if status, answer, _ := s.ask("/api/live", "", "Authorization: Bearer "+operator); status != http.StatusOK {
		t.Errorf("a right token after many wrong ones: %d %s", status, answer)
	}
	noSecrets(t, filepath.Join(root, "store"), []string{viewer, operator})
}
