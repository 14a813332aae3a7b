package rig

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/target/lab"
)

// TestStateIsRemovedByTheCommandThatMadeIt: a finished command removes the state directories that it made, and no
// other: neither one that was there before, nor one of another comparison.
func TestStateIsRemovedByTheCommandThatMadeIt(t *testing.T) {
	here, err := lab.Mark()
	if err != nil {
		t.Fatal(err)
	}
	const gone = "plimsoll-2147483647-1" // no process has this number
	for _, tt := range []struct {
		name, comparison string
		before           map[string]string // directories that are there, with the comparison that made them
		left             []string
	}{
		{"all was made", "", nil, nil},
		{"one was there", "", map[string]string{"new-mysql": ""}, []string{"new-mysql"}},
		{"another one is there", "c-1", map[string]string{"kept": ""}, []string{"kept"}},
		{"resumed", "c-1", map[string]string{"base-mysql": "c-1", "new-mysql": "c-1"}, nil},
		{"of another comparison", "c-1", map[string]string{"new-mysql": "c-2\n" + here}, []string{"new-mysql"}},
		{"of an older version's comparison", "c-1", map[string]string{"new-mysql": "c-2"}, []string{"new-mysql"}},
		{"of a comparison that was killed", "c-1", map[string]string{"base-mysql": "c-2\n" + gone, "new-mysql": "c-2\n" + gone}, nil},
		{"of a run that was killed", "", map[string]string{"base-mysql": "\n" + gone, "new-mysql": "\n" + gone}, nil},
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
			f := &Deployments{dir: root, s: &Session{Progress: NewReporter(os.Stderr, nil, false)}}
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

// A state that was to be kept is no other command's to remove, and one that was not is marked for the next.
func TestStateIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "base")
	for _, keep := range []bool{false, true} {
		f := &Deployments{dir: filepath.Dir(dir), Passing: !keep}
		if err := f.claim(dir, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, stateOwner)); (err == nil) != f.Passing {
			t.Errorf("keep %v: %v", keep, err)
		}
		if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
			t.Fatal(err)
		}
	}
	f := &Deployments{dir: filepath.Dir(dir)}
	if err := f.claim(dir, "c-1"); err != nil {
		t.Fatal(err)
	}
	f.Keep()
	f.Clear()
	if _, err := os.Stat(filepath.Join(dir, stateOwner)); !os.IsNotExist(err) {
		t.Errorf("a kept state has its mark: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a kept state: %v", err)
	}
}
