package source

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/judge/attribution"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
)

// A history is a repository that a test writes.
type history struct {
	Repository
	t *testing.T
}

// newHistory returns an empty repository on the branch main.
func newHistory(t *testing.T) history {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		failure.Lacks(t, "git", err)
	}
	h := history{Repository{Dir: t.TempDir()}, t}
	h.run("init", "--quiet", "--initial-branch=main")
	return h
}

func (h history) run(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "git", append([]string{"-C", h.Dir,
		"-c", "user.name=A Person", "-c", "user.email=a@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes a file and commits it, and returns the commit.
func (h history) commit(title, file, content string) string {
	h.t.Helper()
	path := filepath.Join(h.Dir, file)
	failure.None(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
	failure.None(h.t, os.WriteFile(path, []byte(content), 0o644))
	h.run("add", "--all")
	h.run("commit", "--quiet", "-m", title)
	return h.run("rev-parse", "HEAD")
}

const program = `package store

// Get gets.
func Get() int {
	x := 1
	return x
}

func Save() int {
	return 2
}
`

func TestSearch(t *testing.T) {
	h := newHistory(t)
	base := h.commit("begin", "app/store/store.go", program)
	slow := h.commit("store: get twice", "app/store/store.go",
		strings.Replace(program, "x := 1", "x := 1\n\tx += 0", 1))
	h.commit("store: save three", "app/store/store.go",
		strings.Replace(program, "return 2", "return 3", 1))
	h.commit("words", "a file.txt", "-- Get\n++ b/app/store/store.go\nfunc Get() {\n")
	a := attribution.Attribution{
		Findings: []attribution.FunctionChange{{Function: attribution.Function{
			Name: "example.com/chat/v8/app/store.Get",
			File: "/build/chat/app/store/store.go",
		}}},
		Parts: []attribution.CostPart{{Kind: attribution.PartFunction, Share: 0.5}},
	}
	got := h.Search(t.Context(), base, "main", a, nil)
	if got.Withheld != "" || got.Commits != 3 || len(got.Suspects) != 2 {
		t.Fatalf("%+v", got)
	}
	// The third commit takes the line out again; it changes less lines of Get, and both are named.
	ids := []string{got.Suspects[0].Commit, got.Suspects[1].Commit}
	if !slices.Contains(ids, slow) || got.Suspects[0].Reason != "changes store.Get, which is 50 % of the difference" {
		t.Errorf("%+v", got.Suspects)
	}
	for name, tt := range map[string]struct{ base, fresh, want string }{
		"no revision": {base, "nowhere", "has no revision nowhere"},
		"an option":   {"--all", "main", "is no revision"},
	} {
		if got := h.Search(t.Context(), tt.base, tt.fresh, a, nil); !strings.Contains(got.Withheld, tt.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	shallow := Repository{Dir: filepath.Join(t.TempDir(), "clone")}
	h.run("clone", "--quiet", "--depth=1", "file://"+h.Dir, shallow.Dir)
	if got := shallow.Search(t.Context(), "main~1", "main", a, nil); !strings.Contains(got.Withheld, "shallow clone") {
		t.Errorf("a shallow clone: %+v", got)
	}
	none := Repository{Dir: t.TempDir()}
	if got := none.Search(t.Context(), "a", "b", a, nil); !strings.Contains(got.Withheld, "no git repository") {
		t.Errorf("no repository: %+v", got)
	}
}

// TestParseLog: lines of a patch that look like its heads are lines.
func TestParseLog(t *testing.T) {
	got := parseLog([]byte("\x01abc a: title\n\ndiff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n" +
		"@@ -3 +3,2 @@ func f() {\n--- a/y.go\n+++ b/y.go\n+\x01def\n\\ No newline at end of file\n" +
		"diff --git \"a/\\001\" \"b/\\001\"\n--- \"a/\\001\"\n+++ \"b/\\001\"\n@@ -1 +0,0 @@\n-x\n"))
	want := suspects.Hunk{File: "x.go", Context: "func f() {",
		Removed: []string{"-- a/y.go"}, Added: []string{"++ b/y.go", "\x01def"}}
	if len(got) != 1 || len(got[0].Hunks) != 1 {
		t.Fatalf("%+v", got)
	}
	h := got[0].Hunks[0]
	if h.File != want.File || h.Context != want.Context || !slices.Equal(h.Removed, want.Removed) ||
		!slices.Equal(h.Added, want.Added) {
		t.Errorf("%+v", h)
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte("\x01abc t\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1 @@ g\n-a\n+b\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		lines := strings.Count(string(log), "\n") + 1
		for _, c := range parseLog(log) {
			for _, h := range c.Hunks {
				if lines -= len(h.Added) + len(h.Removed); h.File == "" || lines < 0 {
					t.Errorf("%+v", c)
				}
			}
		}
	})
}

func TestRange(t *testing.T) {
	h := newHistory(t)
	good := h.commit("one", "f", "1")
	h.run("checkout", "--quiet", "-b", "side")
	h.commit("side", "s", "1")
	h.run("checkout", "--quiet", "main")
	h.commit("two", "f", "2")
	h.run("merge", "--quiet", "--no-ff", "-m", "merge", "side")
	for merged, want := range map[bool]string{false: "one two merge", true: "one side two merge"} {
		commits, err := h.Range(t.Context(), good, "main", merged)
		failure.None(t, err)
		var titles []string
		for _, c := range commits {
			titles = append(titles, c.Title)
		}
		slices.Sort(titles[1 : len(titles)-1])
		if got := strings.Join(titles, " "); got != want {
			t.Errorf("merged %v: %q, want %q", merged, got, want)
		}
	}
	var bad plan.UsageError
	if _, err := h.Range(t.Context(), "side", "main~1", false); !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), good[:12]) {
		t.Errorf("another branch: %v", err)
	}
}

// TestCheckOut: the files of a commit, also where a work tree was left behind, and no hook is run.
func TestCheckOut(t *testing.T) {
	h := newHistory(t)
	first := h.commit("one", "f", "1")
	h.commit("two", "f", "2")
	hook := filepath.Join(h.Dir, ".git", "hooks", "post-checkout")
	failure.None(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+h.Dir+"/hooked'\n"), 0o755))
	dir := filepath.Join(t.TempDir(), "tree")
	for range 2 {
		remove, err := h.CheckOut(t.Context(), first, dir)
		failure.None(t, err)
		if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "1" {
			t.Errorf("%q, %v", b, err)
		}
		failure.None(t, os.RemoveAll(dir))
		defer remove()
	}
	if _, err := os.Stat(filepath.Join(h.Dir, "hooked")); err == nil {
		t.Error("a hook was run")
	}
}
