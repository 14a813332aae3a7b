package arch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// options are the names of types that a caller fills in.
var options = regexp.MustCompile(`(Config|Options|Settings|Spec|Env)$`)

// seams are options that only tests set, with the reason why they are exported.
var seams = map[string]string{
	"probe.HostOptions.Proc": "tests of run/session read a recorded /proc",
	"probe.HostOptions.Sys":  "and a recorded /sys",
}

// TestOptionsAreSet requires of each exported field of an option type that a program sets it, and
// of each key of a plan that a program reads it. A test is not a program.
func TestOptionsAreSet(t *testing.T) {
	fields := loadFields(t)
	for _, f := range fields {
		switch {
		case f.key && !f.read:
			t.Errorf("%s: no program reads the plan's key %s; remove it", f.at, f.name)
		case f.set && seams[f.name] != "":
			t.Errorf("%s: a program sets %s; remove it from the seams", f.at, f.name)
		case f.option && *f.made && !f.set && seams[f.name] == "":
			t.Errorf("%s: no program sets %s; remove it, and what it switches", f.at, f.name)
		}
	}
}

// A structField is an exported field of an exported struct.
type structField struct {
	at, name    string
	option, key bool // of an option type; a key of plans
	set, read   bool // by a program
	// a program sets a field of the type; no program makes one that is only decoded
	made *bool
}

// A checkedPackage is a package of the repository with its types.
type checkedPackage struct {
	module string
	fset   *token.FileSet
	files  []*ast.File
	types  *types.Package
	info   *types.Info
}

// loadFields reads the programs of all modules of the repository that link the main one, with their
// types.
func loadFields(t *testing.T) []*structField {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pkgs := loadPackages(t, root)
	fields := map[*types.Var]*structField{}
	for _, p := range pkgs {
		declared(p, root, fields)
	}
	for _, p := range pkgs {
		for _, f := range p.files {
			used(p, f, fields)
		}
	}
	var out []*structField
	for _, f := range fields {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *structField) int { return strings.Compare(a.at, b.at) })
	if len(out) < 500 {
		t.Fatalf("only %d fields were found: the rule would hold for nothing", len(out))
	}
	return out
}

// loadPackages reads the packages of all modules of the repository as one workspace, and checks
// their types. What they import from elsewhere is read as the compiler left it.
func loadPackages(t *testing.T, root string) (pkgs []*checkedPackage) {
	t.Helper()
	workspace := "go 1.26.0\nuse " + root + "\n"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,GoFiles,Export,Module", root+"/...")
	mods, err := filepath.Glob(filepath.Join(root, "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mod := range mods {
		workspace += "use " + filepath.Dir(mod) + "\n"
		list.Args = append(list.Args, filepath.Dir(mod)+"/...")
	}
	file := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(file, []byte(workspace), 0o644); err != nil {
		t.Fatal(err)
	}
	list.Dir, list.Env = root, append(os.Environ(), "GOWORK="+file)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	fset := token.NewFileSet()
	from := imports{ours: map[string]*types.Package{}, exports: map[string]string{}}
	from.others = importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(from.exports[path])
	})
	// imported packages come before those that import them
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var l struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
			Module                  *struct {
				Path string
				Main bool
			}
		}
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if l.Module == nil || !l.Module.Main {
			from.exports[l.ImportPath] = l.Export
			continue
		}
		p := &checkedPackage{module: l.Module.Path, fset: fset, info: &types.Info{
			Types:      map[ast.Expr]types.TypeAndValue{},
			Defs:       map[*ast.Ident]types.Object{},
			Uses:       map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		}}
		for _, name := range l.GoFiles {
			f, err := parser.ParseFile(
				fset,
				filepath.Join(l.Dir, name),
				nil,
				parser.SkipObjectResolution,
			)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, f)
		}
		if p.types, err = (&types.Config{Importer: from}).Check(l.ImportPath, fset, p.files, p.info); err != nil {
			t.Fatal(err)
		}
		from.ours[l.ImportPath] = p.types
		pkgs = append(pkgs, p)
	}
	return pkgs
}

// imports are the packages that the repository's import: its own, which have been checked, and
// others, whose exports are in files.
type imports struct {
	ours    map[string]*types.Package
	exports map[string]string
	others  types.Importer
}

func (i imports) Import(path string) (*types.Package, error) {
	if p := i.ours[path]; p != nil {
		return p, nil
	}
	return i.others.Import(path)
}

// declared adds the exported fields of a package's exported structs.
func declared(p *checkedPackage, root string, fields map[*types.Var]*structField) {
	if p.types.Name() == "main" || p.module != "plimsoll" {
		return
	}
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		typ, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || !typ.Exported() || typ.IsAlias() {
			continue
		}
		s, ok := typ.Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		made := new(bool)
		for i := range s.NumFields() {
			v, tag := s.Field(i), reflect.StructTag(s.Tag(i))
			if !v.Exported() || v.Embedded() {
				continue
			}
			at := p.fset.Position(v.Pos())
			at.Filename, _ = filepath.Rel(root, at.Filename)
			_, written := tag.Lookup("json")
			key := p.types.Path() == "plimsoll/plan" && tag.Get("yaml") != "" &&
				tag.Get("yaml") != "-"
			fields[v] = &structField{
				at:     fmt.Sprintf("%s:%d", at.Filename, at.Line),
				name:   p.types.Name() + "." + name + "." + v.Name(),
				option: options.MatchString(name) && !written,
				key:    key,
				made:   made,
			}
		}
	}
}

// used marks the fields that a file sets and reads.
func used(p *checkedPackage, file *ast.File, fields map[*types.Var]*structField) {
	var stack []ast.Node
	mark := func(v *types.Var, set, read bool) {
		if f := fields[v.Origin()]; f != nil {
			f.set = f.set || set
			*f.made = *f.made || set
			f.read = f.read || read
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		switch n := n.(type) {
		case *ast.CompositeLit:
			literal(p.info, n, mark)
		case *ast.SelectorExpr:
			if sel := p.info.Selections[n]; sel != nil && sel.Kind() == types.FieldVal {
				v := sel.Obj().(*types.Var)
				set, read := access(n, stack)
				if v.Pkg() == p.types {
					set = set && !fallback(p.info, v, n, stack)
					read = read && !planKeeps(p, stack)
				}
				mark(v, set, read)
			}
		}
		stack = append(stack, n)
		return true
	})
}

// literal marks the fields that a literal sets.
func literal(info *types.Info, lit *ast.CompositeLit, mark func(v *types.Var, set, read bool)) {
	typ := info.TypeOf(lit)
	if ptr, ok := typ.Underlying().(*types.Pointer); ok {
		typ = ptr.Elem()
	}
	s, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		v := s.Field(min(i, s.NumFields()-1))
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			v = info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
		}
		mark(v, true, false)
	}
}

// access reports whether a selected field is set, read or both, by the nodes around it.
func access(sel ast.Expr, stack []ast.Node) (set, read bool) {
	whole := true // not only a part of the field
	for _, around := range slices.Backward(stack) {
		switch n := around.(type) {
		case *ast.AssignStmt:
			if slices.Contains(n.Lhs, sel) {
				return true, !whole
			}
			return false, true
		case *ast.IncDecStmt:
			return true, false
		case *ast.UnaryExpr:
			return n.Op == token.AND, true
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr, *ast.ParenExpr:
			if x, ok := n.(*ast.IndexExpr); ok && x.Index == sel {
				return false, true
			}
			sel, whole = n.(ast.Expr), false
		default:
			return false, true
		}
	}
	return false, true
}

// fallback reports whether a package gives one of its fields a default: depending on the field's
// value, or in a method of the options.
func fallback(info *types.Info, v *types.Var, sel *ast.SelectorExpr, stack []ast.Node) bool {
	var root types.Object // the value that has the field
	if id, ok := sel.X.(*ast.Ident); ok {
		root = info.Uses[id]
	}
	mentions := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && info.Uses[x.Sel] == v {
				found = true
			}
			return !found
		})
		return found
	}
	for _, n := range stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && len(n.Recv.List[0].Names) > 0 && info.Defs[n.Recv.List[0].Names[0]] == root {
				return true
			}
		case *ast.IfStmt:
			if mentions(n.Cond) {
				return true
			}
		case *ast.AssignStmt:
			if slices.ContainsFunc(n.Rhs, func(x ast.Expr) bool { return mentions(x) }) {
				return true
			}
		}
	}
	return false
}

// planKeeps reports whether the nodes are in the part of package plan that reads, checks and writes
// plans.
func planKeeps(p *checkedPackage, stack []ast.Node) bool {
	if p.types.Path() != "plimsoll/plan" {
		return false
	}
	for _, n := range stack {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
			typ := types.ExprString(f.Recv.List[0].Type)
			return typ == "*decoder" || typ == "*encoder" || typ == "decoder" || typ == "encoder" ||
				f.Name.Name == "check"
		}
	}
	return false
}
