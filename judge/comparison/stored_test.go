package comparison

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/record"
)

func TestResumableRefuses(t *testing.T) {
	b := newBench(t)
	cut := b.compare(0)
	cut.State = record.Interrupted
	type program struct {
		plan        *plan.Plan
		tool, build string
	}
	change := func(f func(c *record.Comparison, by *program)) error {
		c := *cut
		c.Runs = slices.Clone(cut.Runs)
		by := program{parse(t), "v1", "sha256:b"}
		f(&c, &by)
		return Resumable(&c, by.plan, by.tool, by.build, b.load)
	}
	if err := change(func(*record.Comparison, *program) {}); err != nil {
		t.Fatal(err)
	}
	run := cut.Runs[3].Run
	manifest := filepath.Join(b.dir, run, record.ManifestFile)
	good, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		f          func(c *record.Comparison, by *program)
	}{
		{"complete", "is complete: there is nothing to resume", func(c *record.Comparison, _ *program) {
			c.State = record.Sealed
		}},
		{"another plan", "began with the plan sha256:", func(_ *record.Comparison, by *program) {
			by.plan.Seed = 99
		}},
		{"another version", "began with plimsoll v1, and this is v2: go on with that version", func(_ *record.Comparison, by *program) {
			by.tool = "v2"
		}},
		{"another build", "another build of plimsoll v1 (b, this is c)", func(_ *record.Comparison, by *program) {
			by.build = "sha256:c"
		}},
		{"other blocks", "blocks is 7, in its plan", func(c *record.Comparison, _ *program) {
			c.Blocks = 7
		}},
		{"a run that is gone", "cannot be read", func(c *record.Comparison, _ *program) {
			c.Runs[3].Run = "nobody"
		}},
		{"another digest", "is not what it was: its manifest has the digest", func(c *record.Comparison, _ *program) {
			c.Runs[3].Digest = "sha256:0"
		}},
		{"a changed manifest", "is not what it was", func(*record.Comparison, *program) {
			if err := os.WriteFile(manifest, append(slices.Clone(good), '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a changed file", "windows.hdr changed since it was sealed", func(*record.Comparison, *program) {
			if err := errors.Join(os.WriteFile(manifest, good, 0o600), os.WriteFile(filepath.Join(b.dir, run, record.WindowsFile), []byte("x"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		err := change(tt.f)
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "comparison c") {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}
