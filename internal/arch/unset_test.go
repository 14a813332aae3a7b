package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// options are the names of types that a caller fills in.
var options = regexp.MustCompile(`(Config|Options|Settings|Spec|Env)$`)

// seams are options that only tests set, with the reason why they are exported.
var seams = map[string]string{
	"probe.HostOptions.Proc": "tests of rig read a recorded /proc",
	"probe.HostOptions.Sys":  "and a recorded /sys",
}

// TestOptionsAreSet requires of each exported field of an option type that a program sets it, and of each key of a
// plan that a program reads it. A test is not a program.
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
	option, key bool  // of an option type; a key of plans
	set, read   bool  // by a program
	made        *bool // a program sets a field of the type; no program makes one that is only decoded
}

// loadFields reads the programs of all modules of the repository that link the main one, with their types.
func loadFields(t *testing.T) []*structField {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	workspace, patterns := "go 1.26.0\nuse "+root+"\n", []string{root + "/..."}
	mods, err := filepath.Glob(filepath.Join(root, "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mod := range mods {
		workspace += "use " + filepath.Dir(mod) + "\n"
		patterns = append(patterns, filepath.Dir(mod)+"/...")
	}
	file := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(file, []byte(workspace), 0o644); err != nil {
		t.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: root, Env: append(os.Environ(), "GOWORK="+file),
		Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedModule,
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[*types.Var]*structField{}
	for _, p := range pkgs {
		for _, err := range p.Errors {
			t.Fatal(err)
		}
		declared(p, root, fields)
	}
	for _, p := range pkgs {
		for _, f := range p.Syntax {
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

// declared adds the exported fields of a package's exported structs.
func declared(p *packages.Package, root string, fields map[*types.Var]*structField) {
	if p.Name == "main" || p.Module.Path != "plimsoll" {
		return
	}
	scope := p.Types.Scope()
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
			at := p.Fset.Position(v.Pos())
			at.Filename, _ = filepath.Rel(root, at.Filename)
			_, written := tag.Lookup("json")
			key := p.PkgPath == "plimsoll/plan" && tag.Get("yaml") != "" && tag.Get("yaml") != "-"
			fields[v] = &structField{
				at: fmt.Sprintf("%s:%d", at.Filename, at.Line), name: p.Name + "." + name + "." + v.Name(),
				option: options.MatchString(name) && !written, key: key, made: made,
			}
		}
	}
}

// used marks the fields that a file sets and reads.
func used(p *packages.Package, file *ast.File, fields map[*types.Var]*structField) {
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
			literal(p.TypesInfo, n, mark)
		case *ast.SelectorExpr:
			if sel := p.TypesInfo.Selections[n]; sel != nil && sel.Kind() == types.FieldVal {
				v := sel.Obj().(*types.Var)
				set, read := access(n, stack)
				if v.Pkg() == p.Types {
					set = set && !fallback(p.TypesInfo, v, n, stack)
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

// fallback reports whether a package gives a field of its own a default: depending on the field's value, or in a method of
// the options.
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

// planKeeps reports whether the nodes are in the part of package plan that reads, checks and writes plans.
func planKeeps(p *packages.Package, stack []ast.Node) bool {
	if p.PkgPath != "plimsoll/plan" {
		return false
	}
	for _, n := range stack {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
			typ := types.ExprString(f.Recv.List[0].Type)
			return typ == "*decoder" || typ == "*encoder" || typ == "decoder" || typ == "encoder" || f.Name.Name == "check"
		}
	}
	return false
}
