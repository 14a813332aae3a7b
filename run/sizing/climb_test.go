package sizing

import (
	"testing"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/session"
	"plimsoll/run/session/sessiontest"
)

// TestClimb carries out two steps on a server that is up already: each has a run, in their order,
// and the record names them with their digests.
func TestClimb(t *testing.T) {
	p, err := plan.Parse(
		[]byte("name: steps\ntarget: {driver: external, url: \"" + sessiontest.Serving(t) + "\"}\n" +
			"workload: {behavior: getter}\nsizing: {steps: [1, 3], ramp: 30/s, settle: 0s, hold: 1s}\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	s := sessiontest.New(t, p, "", "sizing")
	deployed := s.NewDeployments()
	defer deployed.Close()
	z := &record.Sizing{ID: "z", State: record.Running, Planned: p.Sizing.Steps}
	l := &Ladder{Session: s, Plan: p, Part: session.RunPart{Comparison: z.ID}, Record: z}
	if err := l.Climb(t.Context(), deployed); err != nil {
		t.Fatal(err)
	}
	stored, err := s.Store.Sizing(z.ID)
	if err != nil || len(stored.Steps) != 2 {
		t.Fatalf("%+v, %v", stored, err)
	}
	for i, step := range stored.Steps {
		r, err := s.Store.Run(step.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, measured := r.Manifest.Phase("measure"); step.Users != p.Sizing.Steps[i] || r.Manifest.Order != i+1 ||
			r.Manifest.Comparison != z.ID || step.Digest == "" ||
			!measured {
			t.Errorf("step %d: %+v, run %+v", i+1, step, r.Manifest)
		}
	}
}
