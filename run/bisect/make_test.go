package bisect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/internal/plain"
)

func TestSplitCommand(t *testing.T) {
	words, err := SplitCommand(" ./build  {commit} {dir} ")
	if err != nil || strings.Join(words, ",") != "./build,{commit},{dir}" {
		t.Errorf("%q, %v", words, err)
	}
	for text, want := range map[string]string{
		"":                                 "-build is missing",
		"make {dir}":                       "every commit would give the same build",
		"./build {commit}":                 "want either {dir}",
		"./build {commit} {dir} {program}": "want either {dir}",
	} {
		failure.Says(t, failure.Of(SplitCommand(text)), want)
	}
}

// script writes a program of a shell, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "build")
	failure.None(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

// TestMake: a build is made once, again after it was cut, and one that fails says why without a
// secret.
func TestMake(t *testing.T) {
	t.Setenv("THE_TOKEN", "swordfish-9876")
	t.Setenv("PLIMSOLL_ADMIN_PASSWORD", "x")
	count := filepath.Join(t.TempDir(), "count")
	secrets := new(plain.Secrets)
	secrets.Add("swordfish-9876")
	path := script(t, `echo made >> `+count+`
echo "$1" > "$2/release"; env >> "$2/release"; echo swordfish-9876
[ "$1" != bad ] || { echo no compiler >&2; exit 3; }
[ "$1" != empty ] || rm "$2/release"
`)
	m := &BuildMaker{Command: []string{path, "{commit}", "{dir}"}, Root: t.TempDir(), Limit: time.Minute, Secrets: secrets}
	var dir string
	for range 2 {
		var err error
		dir, err = m.Make(t.Context(), Build{Name: "abc"})
		failure.None(t, err)
	}
	release, err := os.ReadFile(filepath.Join(dir, "release"))
	made, _ := os.ReadFile(count)
	if err != nil || !strings.HasPrefix(string(release), "abc\n") || string(made) != "made\n" ||
		strings.Contains(string(release), "PLIMSOLL_") || strings.Contains(string(release), "swordfish") {
		t.Errorf("%q, made %q, %v", release, made, err)
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "build.log"))
	if err != nil || string(log) != plain.Redacted+"\n" {
		t.Errorf("log %q, %v", log, err)
	}
	// A build without the mark was cut.
	failure.None(t, os.Remove(filepath.Join(filepath.Dir(dir), "made")))
	failure.None(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o644))
	failure.None(t, failure.Of(m.Make(t.Context(), Build{Name: "abc"})))
	failure.Gone(t, filepath.Join(dir, "half"))

	for name, want := range map[string]string{"bad": "no compiler", "empty": "empty {dir}"} {
		_, err := m.Make(t.Context(), Build{Name: name})
		if !errors.Is(err, ErrMake) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMakeAProgram: {program} is a file, which has to be executable.
func TestMakeAProgram(t *testing.T) {
	m := &BuildMaker{Root: t.TempDir(), Limit: time.Minute}
	m.Command = []string{script(t, `cp "$0" "$2"`), "{commit}", "{program}"}
	if program, err := m.Make(t.Context(), Build{Name: "abc"}); err != nil || !filepath.IsAbs(program) {
		t.Errorf("%q, %v", program, err)
	}
	m.Command = []string{script(t, `echo > "$2"`), "{commit}", "{program}"}
	failure.Says(t, failure.Of(m.Make(t.Context(), Build{Name: "abc"})), "is not executable")
	m.Command = []string{script(t, ``), "{commit}", "{program}"}
	failure.Says(t, failure.Of(m.Make(t.Context(), Build{Name: "abc"})), "left no {program}")
	m.Command, m.Limit = []string{script(t, `exec sleep 60`), "{commit}", "{program}"}, 50*time.Millisecond
	failure.Says(t, failure.Of(m.Make(t.Context(), Build{Name: "abc"})), "not done within 50ms", "-build-limit")
}
