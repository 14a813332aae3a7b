package bundle

import (
	"maps"
	"math/big"
	"reflect"
	"slices"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/token"
)

// visit calls f with every node below n, n first. The parser has no walker of its own.
func visit(n ast.Node, f func(ast.Node)) { descend(reflect.ValueOf(n), f) }

func descend(v reflect.Value, f func(ast.Node)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			descend(v.Elem(), f)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*file.File]() {
			return
		}
		if n, ok := reflect.TypeAssert[ast.Node](v); ok {
			f(n)
		}
		descend(v.Elem(), f)
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Struct:
			for i := range v.Len() {
				descend(v.Index(i), f)
			}
		default: // no nodes
		}
	case reflect.Struct:
		t := v.Type()
		for i := range v.NumField() {
			// Declarations stand in the body, too.
			if t.Field(i).IsExported() && t.Field(i).Name != "DeclarationList" {
				descend(v.Field(i), f)
			}
		}
	default: // no nodes
	}
}

// placed returns the construct with the place of a node.
func placed(tree *ast.Program, at file.Idx, text, remedy string) Construct {
	// The parser's columns count from 1 where those of the map count from 0.
	off := int(at) - tree.File.Base()
	if src := tree.File.Source(); off > 0 && off <= len(src) && src[off-1] != '\n' {
		off--
	}
	p := tree.File.Position(off)
	return Construct{File: p.Filename, Line: p.Line, Col: p.Column + 1, Text: text, Remedy: remedy}
}

// environment returns the names that the code reads of __ENV, the uses of it that name nothing, and
// BigInts.
func environment(tree *ast.Program) (names []string, wrong []Construct) {
	set := map[string]bool{}
	known := map[*ast.Identifier]bool{} // uses of __ENV with a name
	is := func(e ast.Expression) *ast.Identifier {
		if chain, ok := e.(*ast.Optional); ok {
			e = chain.Expression
		}
		if id, ok := e.(*ast.Identifier); ok && id.Name == "__ENV" {
			return id
		}
		return nil
	}
	literal := func(id *ast.Identifier, e ast.Expression) {
		if text, ok := e.(*ast.StringLiteral); ok {
			known[id], set[text.Value.String()] = true, true
		}
	}
	visit(tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.DotExpression:
			if id := is(n.Left); id != nil {
				known[id], set[n.Identifier.Name.String()] = true, true
			}
		case *ast.BracketExpression:
			if id := is(n.Left); id != nil {
				literal(id, n.Member)
			}
		case *ast.BinaryExpression:
			if id := is(n.Right); id != nil && n.Operator == token.IN {
				literal(id, n.Left)
			}
		case *ast.UnaryExpression:
			if id := is(n.Operand); id != nil && n.Operator == token.TYPEOF {
				known[id] = true
			}
		case *ast.Binding:
			if id := is(n.Initializer); id != nil {
				if fields, ok := keys(n.Target); ok {
					known[id] = true
					for _, name := range fields {
						set[name] = true
					}
				}
			}
		case *ast.Identifier:
			if n.Name == "__ENV" && !known[n] {
				wrong = append(wrong, placed(tree, n.Idx, "use of __ENV without a name",
					"write __ENV.NAME for each variable: agents get those that the script names"))
			}
		case *ast.NumberLiteral:
			if _, ok := n.Value.(*big.Int); ok {
				wrong = append(wrong, placed(tree, n.Idx, "BigInt "+clip(n.Literal),
					"one operation could take hours and cannot be interrupted; write digits as a string"))
			}
		case *ast.PropertyShort:
			if n.Name.Name == "__ENV" {
				wrong = append(wrong, placed(tree, n.Name.Idx, "use of __ENV without a name",
					"write __ENV.NAME for each variable: agents get those that the script names"))
			}
		}
	})
	return slices.Sorted(maps.Keys(set)), wrong
}

// keys returns the names of a pattern such as {A, B: b = 1}, and whether all of them are known.
func keys(target ast.BindingTarget) ([]string, bool) {
	p, ok := target.(*ast.ObjectPattern)
	if !ok || p.Rest != nil {
		return nil, false
	}
	var names []string
	for _, prop := range p.Properties {
		switch prop := prop.(type) {
		case *ast.PropertyShort:
			names = append(names, prop.Name.Name.String())
		case *ast.PropertyKeyed:
			key, ok := prop.Key.(*ast.StringLiteral)
			if !ok || prop.Computed {
				return nil, false
			}
			names = append(names, key.Value.String())
		}
	}
	return names, true
}
