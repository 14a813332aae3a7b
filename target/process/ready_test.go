package process_test

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/process"
)

// TestStateOfAReadyAddressWithVariables: a ready address of its own has the port of each instance
// in the state file, and a reference to a secret stays one.
func TestStateOfAReadyAddressWithVariables(t *testing.T) {
	s := spec(t.TempDir(), "")
	s.Instances, s.Ready = 2, "http://127.0.0.1:${PORT}/ready"
	ctx, dep := deploy(t, process.Config{}, s)
	failure.None(t, target.Save(s.Dir, dep, s.Ready, time.Now()))
	saved, err := target.Load(s.Dir)
	failure.None(t, err)
	if want := []string{dep.URLs()[0] + "/ready", dep.URLs()[1] + "/ready"}; !slices.Equal(
		saved.Ready,
		want,
	) {
		t.Errorf("ready addresses %q, want %q", saved.Ready, want)
	}
	if st := saved.Status(ctx, nil); !st.Ready {
		t.Errorf("not ready: %s", st.Why)
	}
	got := dep.(interface{ ReadyURLs(ref string) []string }).ReadyURLs("/$$/${INDEX}?key=${ENV:KEY}")
	if want := []string{dep.URLs()[0] + "/$/0?key=${ENV:KEY}", dep.URLs()[1] + "/$/1?key=${ENV:KEY}"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("ready addresses %q, want %q", got, want)
	}
}
