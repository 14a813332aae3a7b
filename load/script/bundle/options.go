package bundle

import (
	"strconv"
	"strings"

	"github.com/grafana/sobek/ast"
)

// Option returns the construct with the place of an option such as "options.scenarios.a.executor" in
// the source: that of the key, else of the nearest one around it that the script writes as a
// literal, else of no line.
func (b *Bundle) Option(path, remedy string) Construct {
	none := Construct{File: b.Name, Text: path, Remedy: remedy}
	tree, err := b.parse()
	if err != nil {
		return none
	}
	var at ast.Node
	var value ast.Expression
	visit(tree, func(n ast.Node) {
		if bind, ok := n.(*ast.Binding); ok && at == nil {
			if id, ok := bind.Target.(*ast.Identifier); ok && id.Name == "options" {
				at, value = id, bind.Initializer
			}
		}
	})
	if at == nil {
		return none
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(path, "options"), ".")
	for rest != "" {
		key, inner, after := step(value, rest)
		if key == nil {
			break
		}
		at, value, rest = key, inner, after
	}
	return placed(tree, at.Idx0(), path, remedy)
}

// step returns the key or item of a literal at which a path begins, its value and the path below it.
func step(value ast.Expression, path string) (ast.Node, ast.Expression, string) {
	switch value := value.(type) {
	case *ast.ObjectLiteral:
		for _, p := range value.Value {
			keyed, ok := p.(*ast.PropertyKeyed)
			if !ok {
				continue
			}
			name := ""
			switch key := keyed.Key.(type) {
			case *ast.StringLiteral:
				name = key.Value.String()
			case *ast.Identifier:
				name = key.Name.String()
			}
			if after, ok := strings.CutPrefix(path, name); ok && name != "" &&
				(after == "" || strings.ContainsRune(".[", rune(after[0]))) {
				return keyed.Key, keyed.Value, strings.TrimPrefix(after, ".")
			}
		}
	case *ast.ArrayLiteral:
		for i, item := range value.Value {
			if after, ok := strings.CutPrefix(path, "["+strconv.Itoa(i)+"]"); ok && item != nil {
				return item, item, strings.TrimPrefix(after, ".")
			}
		}
	}
	return nil, nil, path
}
