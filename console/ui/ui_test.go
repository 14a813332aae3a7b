package ui

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write dist anew")

// maxLines is the largest number of lines in the sources.
const maxLines = 4000

// bundle builds the page: a script and a style sheet, the same bytes on every host.
func bundle(t *testing.T) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(
		t.Context(),
		"node_modules/.bin/esbuild",
		"src/main.tsx",
		"--bundle",
		"--outfile="+filepath.Join(dir, "app.js"),
		"--format=esm",
		"--target=es2022",
		"--charset=utf8",
		"--legal-comments=inline",
		"--minify",
		"--jsx=automatic",
		"--jsx-import-source=preact",
		"--log-level=warning",
	)
	if said, err := build.CombinedOutput(); err != nil || len(said) > 0 {
		t.Fatalf("esbuild, which scripts/setup.sh installs with npm ci: %v\n%s", err, said)
	}
	page, err := os.ReadFile("src/index.html")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"index.html": page, "licenses.txt": nil}
	for _, name := range []string{"preact", "@preact/signals", "@preact/signals-core", "uplot"} {
		text, err := os.ReadFile(filepath.Join("node_modules", name, "LICENSE"))
		if err != nil {
			t.Fatal(err)
		}
		out["licenses.txt"] = fmt.Appendf(
			out["licenses.txt"],
			"%s\n\n%s\n\n",
			name,
			bytes.TrimSpace(text),
		)
	}
	for _, name := range []string{"app.js", "app.css"} {
		if out[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestPageIsCurrent builds the page from its sources and compares it with the committed files.
func TestPageIsCurrent(t *testing.T) {
	for name, want := range bundle(t) {
		file := filepath.Join("dist", name)
		if *update && !t.Failed() {
			if err := os.MkdirAll("dist", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf(
				"%s is not built from the sources of now; go test ./console/ui -run TestPageIsCurrent -update writes it (%v)",
				file,
				err,
			)
		}
	}
}

// TestSourcesStaySmall counts the lines of TypeScript.
func TestSourcesStaySmall(t *testing.T) {
	files, err := filepath.Glob("src/*.ts*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d sources: %v", len(files), err)
	}
	lines := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(text, []byte("\n"))
		if lines += n; n > 500 {
			t.Errorf("%s has %d lines, want at most 500", f, n)
		}
	}
	if lines > maxLines {
		t.Errorf("%d lines of TypeScript, want at most %d", lines, maxLines)
	}
}

var variable = regexp.MustCompile(`--[a-z]+[0-9]*:#[0-9a-f]{3,6}`)

// TestColorsOfTheReport compares the page's colors with the colors of reports, which must match.
func TestColorsOfTheReport(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), ": #", ":#")
	}
	page, theirs := read("src/page.css"), variable.FindAllString(read("../../report/page.css"), -1)
	if len(theirs) < 30 {
		t.Fatalf("the report has %d colors", len(theirs))
	}
	for _, v := range theirs {
		if !strings.Contains(page, v+";") {
			t.Errorf("the page lacks the report's color %s", v)
		}
	}
}

// TestNothingFromElsewhere looks for addresses of other hosts in the built files; namespaces of XML
// are none.
func TestNothingFromElsewhere(t *testing.T) {
	for _, name := range []string{"index.html", "app.js", "app.css"} {
		text, err := os.ReadFile(filepath.Join("dist", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^"'\s)]*`).FindAllString(string(text), -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") {
				t.Errorf("%s mentions %s", name, address)
			}
		}
	}
}
