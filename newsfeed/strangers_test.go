package newsfeed_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestServerAndClientShareNoCode: shared code would share its mistakes with the measurement.
func TestServerAndClientShareNoCode(t *testing.T) {
	for dir, may := range map[string]func(imported string) bool{
		"server": func(string) bool { return false },
		"perf":   func(imported string) bool { return imported == "plimsoll/newsfeed/server" },
		".": func(imported string) bool {
			of, ours := strings.CutPrefix(imported, "plimsoll/newsfeed/")
			return !ours || of == "study"
		},
		"study": func(imported string) bool {
			return !strings.HasPrefix(imported, "plimsoll/newsfeed")
		},
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range parsed.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(imported, "plimsoll/") && !may(imported) {
					t.Errorf("%s imports %s", file, imported)
				}
			}
		}
	}
}
