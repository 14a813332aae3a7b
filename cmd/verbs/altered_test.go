package verbs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/rig"
	"plimsoll/run/record"
)

// A run of a stored comparison that has been altered since it was recorded is not judged, by any
// verb.
func TestAlteredRunIsNotJudged(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := st.Run(c.Runs[2].Run)
	if err != nil {
		t.Fatal(err)
	}
	half := func(b []byte) []byte { return b[:len(b)/2] }
	for _, test := range []struct {
		name, file string
		alter      func([]byte) []byte
	}{
		{"truncated", record.WindowsFile, half},
		{"without its last byte", record.WindowsFile, func(b []byte) []byte { return b[:len(b)-1] }},
		{"another capacity", record.ManifestFile, func(b []byte) []byte { return regexp.MustCompile(`"users": `).ReplaceAll(b, []byte(`"users": 1`)) }},
		{"other events", record.EventsFile, half},
		{"half a manifest", record.ManifestFile, half},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(r.Dir, test.file)
			was, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put := func(b []byte) {
				t.Helper()
				if err := os.Remove(path); err != nil { // other runs have the same file
					t.Fatal(err)
				}
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			put(test.alter(bytes.Clone(was)))
			defer put(was)
			for _, args := range [][]string{{"report", id}, {"judge", id}, {"report", "trend", id}} {
				status, _, errOut := inStore(t, root, args...)
				if status != rig.ExitUsage || !strings.Contains(errOut, r.Manifest.ID) {
					t.Errorf("%s: status %d, want %d: %q", args, status, rig.ExitUsage, errOut)
				}
			}
		})
	}
}
