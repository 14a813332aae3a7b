package plimsoll_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStrangersNeedNoMore holds the news feed, which is a module of its own, and the programs among
// the examples to the packages that the root's comment names.
func TestStrangersNeedNoMore(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "# For programs of others")
	list, _, _ = strings.Cut(list, "\n// # ")
	may := map[string]bool{"plimsoll": true}
	for _, m := range regexp.MustCompile(`(?m)^//   - ([a-z/]+): `).FindAllStringSubmatch(list, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("the list has %v", err)
		}
		may["plimsoll/"+m[1]] = true
	}
	used := map[string]bool{}
	for _, root := range []string{"newsfeed", "examples"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range f.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				ours := imported == "plimsoll" || strings.HasPrefix(imported, "plimsoll/")
				dialect := strings.HasPrefix(imported, "plimsoll/dialect/") // of [dialect] in the list
				if ours && !dialect && !strings.HasPrefix(imported, "plimsoll/newsfeed") {
					used[imported] = true
					if !may[imported] {
						t.Errorf("%s imports %s, which doc.go does not name", path, imported)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range may {
		if !used[name] {
			t.Errorf("doc.go names %s, which no program of others needs", name)
		}
	}
}
