package report

import (
	"slices"
	"strings"

	"plimsoll/load/workload"
)

// mixWarnings name the actions that one arm's server cannot do and the base's can, or the reverse:
// the users of the one do the other actions more often, so the difference of the arms is not of the
// same work.
func (d *Document) mixWarnings() []string {
	if len(d.Arms) == 0 {
		return nil
	}
	var out prose
	for _, u := range d.Users {
		i := slices.IndexFunc(d.Users,
			func(b UsersOf) bool { return b.Arm == d.Arms[0].Name && b.Engine == u.Engine })
		if i < 0 || u.Arm == d.Arms[0].Name {
			continue
		}
		base := d.Users[i]
		for _, side := range [][2]UsersOf{{base, u}, {u, base}} {
			if missing := lacking(side[0], side[1]); missing != "" {
				out.add(
					"the arms did different mixes: %s cannot %s, and its users did the other actions more often",
					d.userLabel(side[0]),
					missing,
				)
			}
		}
	}
	return out
}

// lacking names the actions that u's server cannot do and other's can, with the reasons.
func lacking(u, other UsersOf) string {
	able := map[string]bool{}
	for _, m := range other.Mixes {
		for _, a := range m.Actions {
			able[a.Name] = able[a.Name] || a.Absent == ""
		}
	}
	var texts []string
	for _, m := range u.Mixes {
		m.Actions = slices.DeleteFunc(slices.Clone(m.Actions),
			func(a workload.MixAction) bool { return !able[a.Name] })
		if t := absences(m); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, ", ")
}

func absences(m workload.Mix) string {
	var texts prose
	for _, a := range m.Actions {
		if a.Absent != "" {
			texts.add("%s (%s)", a.Name, a.Absent)
		}
	}
	return strings.Join(texts, ", ")
}
