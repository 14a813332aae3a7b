package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The program that is built: a package that only the overlay has, and the packages of the server.
const (
	module     = "plimsoll"
	serverPath = "reference/refchat"
	mainPath   = "cmd/refchat"
)

// A source is the text of the server's files by their paths below the root of the repository.
type source map[string]string

// readSource reads the files that the server is built from.
func readSource(root string) (source, error) {
	s := source{}
	err := filepath.WalkDir(
		filepath.Join(root, serverPath),
		func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			s[filepath.ToSlash(name)] = string(text)
			return err
		},
	)
	return s, err
}

// A function is a function of the server that work can be added to.
type function struct {
	// name is that of its symbol behind the path of the package; a generic one has the type
	// arguments "...".
	name   string
	file   string
	at     int // the place behind the opening brace of its body
	called int // the index of its counter
}

// functions returns the functions of the server's package and the closures in them, by file and
// place.
func (s source) functions() (all []function, err error) {
	for _, file := range slices.Sorted(maps.Keys(s)) {
		if path.Dir(file) != serverPath || path.Ext(file) != ".go" {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, s[file], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Name.Name == "init" {
				continue
			}
			v := &visitor{fset: fset, file: file, name: symbol(fn), list: &all, infix: ".func"}
			v.add(v.name, fn.Body)
			ast.Walk(v, fn.Body)
		}
	}
	for i := range all {
		all[i].called = i
	}
	return all, nil
}

// symbol is the name of a declared function as the linker has it, behind the path of the package.
func symbol(fn *ast.FuncDecl) string {
	name := fn.Name.Name
	if fn.Type.TypeParams != nil {
		name += "[...]"
	}
	if fn.Recv == nil {
		return name
	}
	typ, pointer := fn.Recv.List[0].Type, false
	if star, ok := typ.(*ast.StarExpr); ok {
		typ, pointer = star.X, true
	}
	var recv string
	switch t := typ.(type) {
	case *ast.Ident:
		recv = t.Name
	case *ast.IndexExpr:
		recv = t.X.(*ast.Ident).Name + "[...]"
	case *ast.IndexListExpr:
		recv = t.X.(*ast.Ident).Name + "[...]"
	}
	if pointer {
		recv = "(*" + recv + ")"
	}
	return recv + "." + name
}

// A visitor finds the closures in a function, which it numbers as the compiler does: those of a
// declared function name.func1, name.func2; those of a closure name.func1.1.
type visitor struct {
	fset  *token.FileSet
	file  string
	name  string
	infix string
	n     int
	list  *[]function
}

func (v *visitor) add(name string, body *ast.BlockStmt) {
	*v.list = append(
		*v.list,
		function{name: name, file: v.file, at: v.fset.Position(body.Lbrace).Offset + 1},
	)
}

// Visit is of [ast.Visitor].
func (v *visitor) Visit(n ast.Node) ast.Visitor {
	lit, ok := n.(*ast.FuncLit)
	if !ok {
		return v
	}
	v.n++
	inner := &visitor{fset: v.fset, file: v.file, list: v.list, infix: "."}
	inner.name = fmt.Sprint(v.name, v.infix, v.n)
	inner.add(inner.name, lit.Body)
	ast.Walk(inner, lit.Body)
	return nil
}

// find returns the function with a name.
func (s source) find(name string) (f function, err error) {
	all, err := s.functions()
	i := slices.IndexFunc(all, func(f function) bool { return f.name == name })
	switch {
	case err != nil:
		return f, err
	case i < 0:
		return f, fmt.Errorf("the server has no function %s", name)
	}
	return all[i], nil
}

// An insertion is text at the beginning of a function.
type insertion struct {
	function
	text string
}

// insert puts statements at the beginning of functions, and formats their files.
func (s source) insert(list ...insertion) error {
	slices.SortFunc(
		list,
		func(a, b insertion) int { return b.at - a.at },
	) // the last of a file first
	changed := map[string]bool{}
	for _, in := range list {
		text := s[in.file]
		s[in.file] = text[:in.at] + "\n" + in.text + "\n" + text[in.at:]
		changed[in.file] = true
	}
	for file := range changed {
		text, err := format.Source([]byte(s[file]))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		s[file] = string(text)
	}
	return nil
}

// replace puts a text of a file in the place of another, which must be there once.
func (s source) replace(file, old, text string) error {
	file = path.Join(serverPath, file)
	if n := strings.Count(s[file], old); n != 1 {
		return fmt.Errorf("%s has %q %d times, want it once", file, old, n)
	}
	s[file] = strings.Replace(s[file], old, text, 1)
	return nil
}

// rename gives an identifier of the server's package another name, wherever it stands. The new
// name must not be there before.
func (s source) rename(old, name string) error {
	found := false
	for file, text := range s {
		if path.Dir(file) != serverPath || path.Ext(file) != ".go" {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(
			fset,
			file,
			text,
			parser.ParseComments|parser.SkipObjectResolution,
		)
		if err != nil {
			return err
		}
		var taken error
		ast.Inspect(tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				taken = fmt.Errorf("%s is taken in %s", name, file)
			} else if ok && id.Name == old {
				id.Name, found = name, true
			}
			return true
		})
		var b bytes.Buffer
		if err := errors.Join(taken, format.Node(&b, fset, tree)); err != nil {
			return err
		}
		s[file] = b.String()
	}
	if !found {
		return fmt.Errorf("the server has no %s", old)
	}
	return nil
}

// move gives the server's package and those below it another directory, and with it another path.
func (s source) move(to string) {
	for file, text := range maps.Clone(s) {
		delete(s, file)
		text = strings.ReplaceAll(text, `"`+module+"/"+serverPath, `"`+module+"/"+to)
		s[strings.Replace(file, serverPath, to, 1)] = text
	}
}

// version gives the module another path, as its next major version has.
func (s source) version(root, suffix string) error {
	for file, text := range s {
		s[file] = strings.ReplaceAll(text, `"`+module+"/", `"`+module+suffix+"/")
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	s["go.mod"] = strings.Replace(
		string(mod),
		"module "+module+"\n",
		"module "+module+suffix+"\n",
		1,
	)
	return nil
}
