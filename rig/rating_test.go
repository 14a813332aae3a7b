package rig

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/watch/probe"
)

// The rating of a host is the stored one of its hardware and settings; another is none, and nothing is made.
func TestRatingOfThisHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := t.TempDir()
	pr := &Program{Secrets: new(plain.Secrets)}
	progress := NewReporter(io.Discard, pr.Secrets, false)
	none := filepath.Join(root, "none")
	if r := pr.ratingOf(t.Context(), none, false, progress); r != nil {
		t.Errorf("without a store: %+v", r)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("an agent has made a store")
	}
	result := calibration.Result{Digest: "another", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), OpsPerSecond: 1, PacedOps: 450, OpsPerUserSecond: 0.05, KiBPerUser: 0.001, Users: 100, LimitedBy: "files"}
	if err := calibration.Save(root, result); err != nil {
		t.Fatal(err)
	}
	if r := pr.ratingOf(t.Context(), root, false, progress); r != nil {
		t.Errorf("of another host: %+v", r)
	}
	result.Digest = ratedAs(probe.Fingerprint())
	if err := calibration.Save(root, result); err != nil {
		t.Fatal(err)
	}
	r := pr.ratingOf(t.Context(), root, false, progress)
	if r == nil || *r != (join.Rating{Users: 9000, OpsPerSecond: 450, OpsPerUserSecond: 0.05, Date: result.Date}) {
		t.Errorf("of this host: %+v", r)
	}
}

// A rating is kept for all stores of a user; another build has none.
func TestRatingIsKeptForAllStores(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "not made yet"))
	digest := ratedAs(probe.Fingerprint())
	if !strings.HasSuffix(digest, "-"+ownBuild()) || ownBuild() == "unknown" {
		t.Errorf("%s is not of this build, %s", digest, ownBuild())
	}
	want := calibration.Result{Digest: digest, OpsPerSecond: 1, PacedOps: 1}
	if err := keepRating(t.TempDir(), want); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "another store")
	if r, known, err := keptRating(other, digest); !known || err != nil || r.Digest != digest {
		t.Errorf("in another store: %+v, %v, %v", r, known, err)
	}
	if _, known, err := keptRating(other, digest+"0"); known || err != nil {
		t.Errorf("of another build: %v, %v", known, err)
	}
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere") // which takes nothing
	if err := keepRating(other, want); err != nil {
		t.Errorf("a user without a cache: %v", err)
	}
	if _, known, err := keptRating(other, digest); !known || err != nil {
		t.Errorf("of the store alone: %v, %v", known, err)
	}
	if err := keepRating("/proc/nowhere", want); err == nil {
		t.Error("it is kept nowhere, and that is no error")
	}
}
