package read

import (
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
)

// A ladder whose target lost acknowledged messages is not good, whatever its grades: those of a
// step, of one that was repeated and of the first search count. One of these that is gone is named.
func TestSizingThatLostMessages(t *testing.T) {
	const text = "name: n\ntarget: {driver: refnull}\nworkload: {behavior: poster}\nunbounded: {max_users: 90}\nsizing: {steps: [50, 60]}\n"
	p, err := new(app.App).Known().Parse([]byte(text))
	failure.None(t, err)
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
	first := storetest.Put(t, st, storetest.StoredRun{ID: "first", Slower: 1, Series: true})
	last := storetest.Put(t, st, storetest.StoredRun{ID: "step", Slower: 1, Series: true, Lost: 3})
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
	failure.None(t, st.SaveSizing(z))
	const gone = "it is not known whether the target lost messages that it had acknowledged (first search, run search): "
	told := func(texts ...string) {
		t.Helper()
		status, out, errOut := verbtest.Run(t, Report, "-store", root, "z1")
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
