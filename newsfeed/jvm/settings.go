package jvm

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// quote returns a text as a quoted YAML scalar.
func quote(text string) string { return strconv.Quote(text) }

// settingsText is a file of settings, one a line in the order of their names: ours, overridden by
// those of the caller. sep stands between name and value.
func settingsText(sep string, wanted, ours map[string]string) string {
	all := maps.Clone(ours)
	maps.Copy(all, wanted)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(name + sep + all[name] + "\n")
	}
	return b.String()
}
