package verbs

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/browser"
	"plimsoll/record"
)

// steering counts the controls of the page that change anything.
func steering(b *browser.Browser) (n int) {
	b.T.Helper()
	b.Eval(
		`[...document.querySelectorAll("a, button")].filter(e => /Steer|Start|Stop|storm|Set users/.test(e.textContent)).length`,
		&n,
	)
	return n
}

// under waits for the run under way on the page, and returns its id.
func under(b *browser.Browser) (id string) {
	b.T.Helper()
	b.Until(`document.querySelector(".top nav a.live .light.green")`)
	b.Eval(`document.querySelector(".top nav a.live").hash.split("/")[2]`, &id)
	return id
}

// TestConsoleOutlivesServe kills serve while a run goes on. The run ends as if nothing had been,
// and the page, which anybody may see and nobody may steer with, follows the next serve by itself.
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
	if status, answer, _ := s.ask("/api/live/"+id+"/stop", "{}"); status != http.StatusForbidden ||
		!strings.Contains(answer, "operator") {
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
	if status := wait(t, cmd, 60*time.Second, output); status != exit.OK && status != exit.Invalid {
		t.Fatalf("exit status %d\n%s", status, output)
	}
	r := s.run()
	if ph, ok := r.Manifest.Phase("measure"); !ok || ph.To-ph.From < 13*time.Second ||
		r.Manifest.State != record.Sealed ||
		r.Manifest.Exploratory != "" {
		t.Errorf(
			"the run is %s, measured %+v, exploratory %q",
			r.Manifest.State,
			ph,
			r.Manifest.Exploratory,
		)
	}
	if len(after) < 10 {
		t.Errorf("%d points were drawn of 14 s", len(after))
	}
}
