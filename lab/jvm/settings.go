package jvm

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// quote is a text as YAML has it, whatever characters are in it.
func quote(text string) string { return strconv.Quote(text) }

// settingsText is a file of settings, one a line in the order of their names: ours, with those that the caller wants laid over
// them. sep stands between name and value.
func settingsText(sep string, wanted, ours map[string]string) string {
	all := maps.Clone(ours)
	maps.Copy(all, wanted)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(name + sep + all[name] + "\n")
	}
	return b.String()
}
