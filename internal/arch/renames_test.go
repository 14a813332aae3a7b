package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// renamesIn is the package that renames files for all others.
const renamesIn = "internal/files"

// renames finds files that are renamed elsewhere than where their content is synced before and
// their directory after.
func renames(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		for _, f := range t.packages[d].files {
			if f.test || d == renamesIn {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || !strings.HasPrefix(s.Sel.Name, "Rename") {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok &&
					slices.Contains([]string{"os", "syscall", "unix"}, x.Name) {
					bad = append(bad, fmt.Sprintf(
						"%s: %s.%s syncs nothing; want files.Replace or files.Settle",
						t.fset.Position(n.Pos()),
						x.Name,
						s.Sel.Name,
					))
				}
				return true
			})
		}
	}
	return bad
}
