package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/target/lab"
)

// at returns deployments with their states below a directory.
func at(dir string) *Deployments {
	f := New(Config{Progress: nobody{}})
	f.dir = dir
	return f
}

// TestStateIsRemovedByTheCommandThatMadeIt: a finished command removes the state directories that
// it made, and no other: neither one that was there before, nor one of another comparison.
func TestStateIsRemovedByTheCommandThatMadeIt(t *testing.T) {
	here, err := lab.Mark()
	if err != nil {
		t.Fatal(err)
	}
	const gone = "plimsoll-2147483647-1" // no process has this number
	for _, tt := range []struct {
		name, comparison string
		// directories that are there, with the comparison that made them
		before map[string]string
		left   []string
	}{
		{"all was made", "", nil, nil},
		{"one was there", "", map[string]string{"new-mysql": ""}, []string{"new-mysql"}},
		{"another one is there", "c-1", map[string]string{"kept": ""}, []string{"kept"}},
		{"resumed", "c-1", map[string]string{"base-mysql": "c-1", "new-mysql": "c-1"}, nil},
		{"of another comparison", "c-1", map[string]string{"new-mysql": "c-2\n" + here}, []string{"new-mysql"}},
		{"of an older version's comparison", "c-1", map[string]string{"new-mysql": "c-2"}, []string{"new-mysql"}},
		{"of a comparison that was killed", "c-1", map[string]string{
			"base-mysql": "c-2\n" + gone,
			"new-mysql":  "c-2\n" + gone,
		}, nil},
		{"of a run that was killed", "", map[string]string{
			"base-mysql": "\n" + gone,
			"new-mysql":  "\n" + gone,
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "state")
			put := func(dir, file, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for dir, comparison := range tt.before {
				put(dir, "data", "of someone")
				if comparison != "" {
					put(dir, stateOwner, comparison+"\n")
				}
			}
			f := at(root)
			for _, key := range []string{"base-mysql", "new-mysql"} {
				if err := f.claim(filepath.Join(root, key), tt.comparison); err != nil {
					t.Fatal(err)
				}
				put(key, "data", "of the server")
			}
			f.Clear()
			entries, err := os.ReadDir(root)
			if len(tt.left) == 0 && len(tt.before) == 0 {
				if !os.IsNotExist(err) {
					t.Errorf("the directory of states is there: %v, %v", entries, err)
				}
				return
			}
			var left []string
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if len(left) != len(tt.left) || len(left) > 0 && left[0] != tt.left[0] {
				t.Errorf("left: %v, want %v", left, tt.left)
			}
		})
	}
}

// TestKeptStateStays: no later command removes a kept state, whichever command made its directory
// first, even if the command that keeps it is killed.
func TestKeptStateStays(t *testing.T) {
	const gone = "plimsoll-2147483647-1" // no process has this number
	for _, of := range []string{"", "c-1"} {
		for before, owner := range map[string]string{
			"nothing":                      "",
			"a run that was killed":        "\n" + gone + "\n",
			"a comparison that was killed": "c-2\n" + gone + "\n",
			"the same comparison":          "c-1\n" + gone + "\n",
		} {
			t.Run(of+" after "+before, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "state", "base")
				mark, data := filepath.Join(dir, stateOwner), filepath.Join(dir, "data")
				if owner != "" {
					if err := os.MkdirAll(dir, 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(mark, []byte(owner), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, kept := range []bool{true, false, false} {
					f := at(filepath.Dir(dir))
					f.Kept = kept
					if err := f.claim(dir, of); err != nil {
						t.Fatal(err)
					}
					if kept {
						if err := os.WriteFile(data, nil, 0o600); err != nil {
							t.Fatal(err)
						}
					} else {
						f.Clear()
					}
					if b, err := os.ReadFile(mark); err == nil { // the program ends
						here, _ := lab.Mark()
						if err := os.WriteFile(mark, []byte(strings.Replace(string(b), here, gone, 1)), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					if _, err := os.Stat(data); err != nil {
						t.Fatalf("kept %v: %v", kept, err)
					}
				}
			})
		}
	}
}

// A state that is not to stay is marked, so that a later command removes what one that was killed
// has left.
func TestPassingStateIsMarked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "base")
	f := at(filepath.Dir(dir))
	if err := f.claim(dir, ""); err != nil {
		t.Fatal(err)
	}
	here, err := lab.Mark()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, stateOwner)); err != nil ||
		string(b) != "\n"+here+"\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// The data of a server whose user cannot reach the store lie in a directory elsewhere, which goes
// with the state; one that a program under test has linked in the same way is not the state's.
func TestStateElsewhereIsRemoved(t *testing.T) {
	root := t.TempDir()
	f := at(filepath.Join(root, "state"))
	dir := filepath.Join(f.dir, "base-mysql")
	if err := f.claim(dir, ""); err != nil {
		t.Fatal(err)
	}
	for at, of := range map[string]string{
		"mysql":   filepath.Join(dir, "mysql"),
		"uploads": "/nowhere",
	} {
		other := filepath.Join(root, "of-"+at)
		if err := errors.Join(os.Mkdir(filepath.Join(dir, at), 0o755), os.Mkdir(other, 0o755), os.Symlink(other, filepath.Join(dir, at, "elsewhere")),
			os.WriteFile(filepath.Join(other, "stands-for"), []byte(of), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f.Clear()
	left, err := filepath.Glob(filepath.Join(root, "*"))
	if want := []string{filepath.Join(root, "of-uploads")}; err != nil ||
		!slices.Equal(left, want) {
		t.Errorf("left: %v, %v; want %v", left, err, want)
	}
}
