package rating

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/watch/probe"
)

// The rating of a host is the stored one of its hardware and settings; another is none, and nothing
// is made.
func TestRatingOfThisHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := t.TempDir()
	none := filepath.Join(root, "none")
	if r, known, err := Kept(none); known || err != nil {
		t.Errorf("without a store: %+v, %v", r, err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a store was made")
	}
	result := calibration.Result{
		Digest:           "another",
		Date:             time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		OpsPerSecond:     1,
		PacedOps:         450,
		OpsPerUserSecond: 0.05,
		KiBPerUser:       0.001,
		Users:            100,
		LimitedBy:        "files",
	}
	if err := calibration.Save(root, result); err != nil {
		t.Fatal(err)
	}
	if r, known, err := Kept(root); known || err != nil {
		t.Errorf("of another host: %+v, %v", r, err)
	}
	result.Digest = digestOf(probe.Fingerprint())
	if err := calibration.Save(root, result); err != nil {
		t.Fatal(err)
	}
	r, known, err := Kept(root)
	if !known || err != nil {
		t.Fatalf("of this host: %v", err)
	}
	if got, want := *OfHost(r), (join.Rating{
		Users:            9000,
		OpsPerSecond:     450,
		OpsPerUserSecond: 0.05,
		Date:             result.Date,
	}); got != want {
		t.Errorf("of this host: %+v, want %+v", got, want)
	}
}

// A rating is kept for all stores of a user; another build has none.
func TestRatingIsKeptForAllStores(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "not made yet"))
	digest := digestOf(probe.Fingerprint())
	if !strings.HasSuffix(digest, "-"+ownBuild()) || ownBuild() == "unknown" {
		t.Errorf("%s is not of this build, %s", digest, ownBuild())
	}
	want := calibration.Result{Digest: digest, OpsPerSecond: 1, PacedOps: 1}
	if err := keep(t.TempDir(), want); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "another store")
	if r, known, err := kept(other, digest); !known || err != nil || r.Digest != digest {
		t.Errorf("in another store: %+v, %v, %v", r, known, err)
	}
	if _, known, err := kept(other, digest+"0"); known || err != nil {
		t.Errorf("of another build: %v, %v", known, err)
	}
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere") // which takes nothing
	if err := keep(other, want); err != nil {
		t.Errorf("a user without a cache: %v", err)
	}
	if _, known, err := kept(other, digest); !known || err != nil {
		t.Errorf("of the store alone: %v, %v", known, err)
	}
	if err := keep("/proc/nowhere", want); err == nil {
		t.Error("it is kept nowhere, and that is no error")
	}
}
