package report

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostSettings is the largest number of signs of an arm's settings in a title.
const mostSettings = 32

// settings returns the arguments and environment that each arm has and another has not, in the
// order of the arms; "" of an arm without such. It is nil where they do not tell the arms apart, or
// are too long for a title.
func (b *builder) settings() []string {
	if b.in.Plan == nil || b.in.Plan.Compare == nil {
		return nil
	}
	each, seen := make([][]string, len(b.c.Arms)), map[string]int{}
	for i, name := range b.c.Arms {
		a, _ := b.in.Plan.Compare.Arm(name)
		each[i] = slices.Clone(a.Args)
		for _, key := range slices.Sorted(maps.Keys(a.Env[""])) {
			each[i] = append(each[i], key+"="+a.Env[""][key])
		}
		slices.Sort(each[i])
		each[i] = slices.Compact(each[i])
		for _, s := range each[i] {
			seen[s]++
		}
	}
	out := make([]string, len(each))
	for i, all := range each {
		out[i] = strings.Join(slices.DeleteFunc(all, func(s string) bool {
			return seen[s] == len(each)
		}),
			" ")
	}
	sorted := slices.Sorted(slices.Values(out))
	if len(slices.Compact(sorted)) < len(out) ||
		slices.ContainsFunc(out,
			func(s string) bool { return utf8.RuneCountInString(s) > mostSettings }) {
		return nil
	}
	return out
}

// bySettings has arms that no versions distinguish go by their settings.
func (d *Document) bySettings(settings []string) {
	all := !slices.Contains(settings, "")
	for i, own := range settings {
		switch a := &d.Arms[i]; {
		case a.Label != a.Name:
		case all:
			a.Label = own
		default:
			a.Settings = own
		}
	}
}

// armTitles returns the arms as titles name them: by label and, where an arm has settings, by
// these.
func (d Document) armTitles() []string {
	return textsOf(d.Arms, func(a ArmLabel) string { return a.Label + inParens(a.Settings) })
}
