package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "plimsoll"

// A tree is the repository as the rules see it.
type tree struct {
	fset     *token.FileSet
	packages map[string]*pkg     // by directory; the root is "."
	modules  []string            // directories of other modules, whose packages are none of ours
	texts    map[string][]byte   // Markdown, YAML, shell and make files, by path
	paths    map[string]bool     // every file and directory
	tests    map[string][]string // directories of the tests, of all modules, that go test can run by name
	debts    map[string]map[string]int
}

// A pkg is one directory with Go files.
type pkg struct {
	dir   string
	name  string // of the files that are not tests; empty if there are none
	files []*file
	// exported holds "Name" and "Type.Method" of the files that are not tests.
	exported map[string]bool
}

type file struct {
	path  string
	test  bool
	src   []byte
	ast   *ast.File
	lines int
}

// skipped are directories that are not part of the repository: output of builds and runs.
var skipped = []string{"bin", "runs", "node_modules", "testdata", "internal/deps"}

// load reads the tree. Files of Go that do not parse are errors.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{
		fset:     token.NewFileSet(),
		packages: map[string]*pkg{},
		texts:    map[string][]byte{},
		paths:    map[string]bool{},
		tests:    map[string][]string{},
	}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		t.paths[name] = true
		base := path.Base(name)
		if d.IsDir() {
			if name != "." &&
				(strings.HasPrefix(base, ".") && base != ".ci" || slices.Contains(skipped, base) || slices.Contains(skipped, name)) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); name != "." && err == nil {
				t.modules = append(t.modules, name+"/")
			}
			return nil
		}
		switch {
		case strings.HasSuffix(name, ".go") && slices.ContainsFunc(t.modules, func(m string) bool {
			return strings.HasPrefix(name, m)
		}):
			if !strings.HasSuffix(name, "_test.go") {
				return nil
			}
			parsed, _, err := t.parse(fsys, name)
			if err == nil {
				t.addTests(path.Dir(name), parsed)
			}
			return err
		case strings.HasSuffix(name, ".go"):
			return t.add(fsys, name)
		case slices.Contains([]string{".md", ".yaml", ".yml", ".sh"}, path.Ext(name)),
			base == "Makefile",
			path.Dir(name) == ".ci":
			src, err := fs.ReadFile(fsys, name)
			t.texts[name] = src
			return err
		case name == debtsFile:
			src, err := fs.ReadFile(fsys, name)
			if err == nil {
				t.debts, err = parseDebts(src)
			}
			return err
		}
		return nil
	})
	return t, err
}

func (t *tree) parse(fsys fs.FS, name string) (parsed *ast.File, src []byte, err error) {
	if src, err = fs.ReadFile(fsys, name); err != nil {
		return nil, nil, err
	}
	parsed, err = parser.ParseFile(
		t.fset,
		name,
		src,
		parser.ParseComments|parser.SkipObjectResolution,
	)
	if err != nil {
		err = fmt.Errorf("reading the tree: %w", err)
	}
	return parsed, src, err
}

func (t *tree) add(fsys fs.FS, name string) error {
	parsed, src, err := t.parse(fsys, name)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	p := t.packages[dir]
	if p == nil {
		p = &pkg{dir: dir, exported: map[string]bool{}}
		t.packages[dir] = p
	}
	f := &file{
		path:  name,
		test:  strings.HasSuffix(name, "_test.go"),
		src:   src,
		ast:   parsed,
		lines: bytes.Count(src, []byte("\n")),
	}
	p.files = append(p.files, f)
	if !f.test {
		p.name = parsed.Name.Name
		export(p.exported, parsed)
		return nil
	}
	t.addTests(path.Dir(name), parsed)
	return nil
}

// addTests adds the functions of a file of tests in a directory.
func (t *tree) addTests(dir string, parsed *ast.File) {
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil {
			t.tests[d.Name.Name] = append(t.tests[d.Name.Name], dir)
		}
	}
}

// export adds the names that a file declares: exported ones, methods as "Type.Method", fields as
// "Type.Field".
func export(names map[string]bool, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
					var fields *ast.FieldList
					switch typ := s.Type.(type) {
					case *ast.StructType:
						fields = typ.Fields
					case *ast.InterfaceType:
						fields = typ.Methods
					}
					if fields != nil {
						for _, field := range fields.List {
							for _, n := range field.Names {
								names[s.Name.Name+"."+n.Name] = true
							}
						}
					}
				}
			}
		}
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

// dirs returns the directories with Go files in order.
func (t *tree) dirs() []string {
	var all []string
	for d := range t.packages {
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

// sorted returns the keys of texts in order.
func (t *tree) sorted() []string {
	var all []string
	for n := range t.texts {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// imports returns the import paths of a file.
func (f *file) imports() []string {
	var all []string
	for _, s := range f.ast.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// ours returns the directory of an import of this module and whether it is one.
func ours(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}
