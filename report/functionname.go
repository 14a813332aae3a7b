package report

import (
	"regexp"
	"strings"
)

// versionRE matches the element of an import path that is a major version.
var versionRE = regexp.MustCompile(`^v[0-9]+\.`)

// shortFunction returns the name of a function without the path of its package and without the
// types of a generic instance: "sqlstore.(*PostStore).Save". Names of other languages than Go are
// shortened to the arguments that they begin with.
func shortFunction(name string) string {
	name = withoutTypes(name)
	name = strings.ReplaceAll(name, "%2e", ".")
	head, rest, _ := strings.Cut(name, "(") // a path in a receiver's type is not the package's
	path := strings.Split(head, "/")
	last := path[len(path)-1]
	if n := len(path); n > 1 && versionRE.MatchString(last) {
		_, symbol, _ := strings.Cut(last, ".")
		last = path[n-2] + "." + symbol
	}
	if rest != "" || strings.HasSuffix(name, "(") {
		last += "(" + rest
	}
	return last
}

// withoutTypes replaces each bracket of type arguments by [...].
func withoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for i, c := range name {
		switch {
		case c == '[' && i > 0: // the kernel's names begin with one
			if depth++; depth == 1 {
				b.WriteString("[...]")
			}
		case c == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}
