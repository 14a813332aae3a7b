package users

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/fleet/join"
)

// fleetFiles makes the keys of a fleet with these agents, and their token files.
func fleetFiles(t *testing.T, names ...string) (keys string, tokenFile func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	keys = filepath.Join(dir, "fleet.json")
	tokenFile = func(name string) string { return filepath.Join(dir, name+".nk") }
	for _, name := range names {
		if _, err := join.NewToken(files.OS{}, keys, tokenFile(name)); err != nil {
			t.Fatal(err)
		}
	}
	return keys, tokenFile
}

// opened opens a door on the loopback device until the end of the test.
func opened(t *testing.T, keyFile string) *join.Hall {
	t.Helper()
	hall, err := Door{Listen: "127.0.0.1:0", Keys: keyFile}.Open("v1", new(plain.Secrets), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hall.Close)
	return hall
}

// A roll without members, or without missing ones, has empty lists in JSON.
func TestEmptyListsOfARoll(t *testing.T) {
	keyFile, _ := fleetFiles(t, "a")
	roll, err := Door{Listen: "127.0.0.1:0", Keys: keyFile}.CallRoll(t.Context(), 1, "v1",
		new(plain.Secrets), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(roll)
	if want := `{"members":[],"missing":["agent a: it has not joined"]}`; err != nil ||
		string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

// The list of a fleet has the ratings.
func TestRollHasRatings(t *testing.T) {
	members := ratedMembers()
	members[1].Rating = nil
	var b bytes.Buffer
	if err := (Roll{Members: members}).Text(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"open files  rated users  clock ahead",
		"20000       3000         0s", "20000       -            0s"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %q:\n%s", i, want, b.String())
		}
	}
}
