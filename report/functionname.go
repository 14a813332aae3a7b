package report

import (
	"regexp"
	"strings"

	"plimsoll/judge/attribution/names"
)

// versionRE matches the element of an import path that is a major version.
var versionRE = regexp.MustCompile(`^v[0-9]+\.`)

// shortFunction returns the name of a function without the path of its package and without the
// types of a generic instance: "sqlstore.(*PostStore).Save". Names of other languages than Go are
// shortened to the arguments that they begin with.
func shortFunction(name string) string {
	name = names.WithoutArguments(name)
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
