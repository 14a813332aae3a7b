package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// groups are folders whose subfolders are rooms; any other folder of the root is one room.
var groups = []string{"cmd", "dialect", "internal", "judge", "load", "reference", "run", "target", "watch"}

// flow are the packages that a run passes through, in its order: a reader learns each from an example that runs.
var flow = []string{
	"plan", "judge/stats", "judge/verdict", "judge/comparison", "run/trial", "run/capacity", "run/record", "run/store",
	"load/engine", "load/measure", "report",
}

// outside are folders that are no part of the product: servers to be measured, and programs that measure this one.
var outside = []string{"reference", "bench"}

// skipped are directories that building and running leave behind.
var skipped = []string{"bin", "runs", "node_modules"}

const (
	columns = 120 // of a line
	longest = 10  // entries in each list
)

// A house is a measured tree.
type house struct {
	rooms     map[string]*room
	files     []entry // Go files by lines
	functions []entry // functions by lines
	lines     []entry // lines over columns, by columns
	golden    []entry // files below a testdata directory, by bytes
	bytes     int64   // of all golden files
	comments  prose
	markdown  prose
	examples  map[string]bool // packages with an example that runs
	packages  map[string]bool
}

// A room counts the Go of one folder, or of one subfolder of a group.
type room struct {
	name                        string
	files, lines, tests, remark int // files and remarks (lines of comment) without tests
	all, over                   int // lines with tests; those over columns
}

// An entry is a line of a list.
type entry struct {
	place string
	n     int
}

// roomOf returns the room of a directory.
func roomOf(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	if len(parts) > 1 && slices.Contains(groups, parts[0]) {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// read measures the tree.
func read(fsys fs.FS) (*house, error) {
	h := &house{rooms: map[string]*room{}, examples: map[string]bool{}, packages: map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || slices.Contains(skipped, base) || name == "internal/deps") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.Contains("/"+name, "/testdata/") {
			info, err := d.Info()
			if err != nil {
				return err
			}
			h.golden = append(h.golden, entry{name, int(info.Size())})
			h.bytes += info.Size()
			return nil
		}
		switch path.Ext(name) {
		case ".go":
			src, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			return h.goFile(name, src)
		case ".md":
			src, err := fs.ReadFile(fsys, name)
			h.markdown.add(words(string(src)))
			return err
		}
		return nil
	})
	for _, list := range [][]entry{h.files, h.functions, h.lines, h.golden} {
		slices.SortStableFunc(list, func(a, b entry) int { return cmp.Or(b.n-a.n, strings.Compare(a.place, b.place)) })
	}
	return h, err
}

func (h *house) goFile(name string, src []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	dir, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	h.packages[dir] = true
	r := h.rooms[roomOf(dir)]
	if r == nil {
		r = &room{name: roomOf(dir)}
		h.rooms[r.name] = r
	}
	n := bytes.Count(src, []byte("\n"))
	r.all += n
	if test {
		r.tests += n
	} else {
		r.files++
		r.lines += n
		r.remark += remarks(fset, file, src)
	}
	h.files = append(h.files, entry{name, n})
	for i, line := range strings.Split(string(src), "\n") {
		if c := utf8.RuneCountInString(line); c > columns {
			r.over++
			h.lines = append(h.lines, entry{fmt.Sprintf("%s:%d", name, i+1), c})
		}
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			from, to := fset.Position(d.Pos()).Line, fset.Position(d.End()).Line
			h.functions = append(h.functions, entry{fmt.Sprintf("%s:%d %s", name, from, d.Name.Name), to - from + 1})
		}
	}
	for _, group := range file.Comments {
		h.comments.add(spoken(group))
	}
	if test {
		for _, e := range doc.Examples(file) {
			if e.Output != "" || e.EmptyOutput {
				h.examples[dir] = true
			}
		}
	}
	return nil
}

// remarks counts the lines that hold a comment and nothing else.
func remarks(fset *token.FileSet, file *ast.File, src []byte) (n int) {
	lines := bytes.Split(src, []byte("\n"))
	for _, group := range file.Comments {
		for _, c := range group.List {
			from, to := fset.Position(c.Pos()), fset.Position(c.End())
			if before := lines[from.Line-1][:from.Column-1]; len(bytes.TrimSpace(before)) == 0 {
				n += to.Line - from.Line + 1
			}
		}
	}
	return n
}

// spoken returns the text of a comment without directives and without the code that it indents.
func spoken(group *ast.CommentGroup) string {
	var text strings.Builder
	for line := range strings.Lines(group.Text()) {
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") {
			line = "\n"
		}
		text.WriteString(line)
	}
	return text.String()
}
