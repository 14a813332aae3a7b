package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/verdict"
)

// The causes of warnings that several places name.
const (
	causeIncomplete  = "incomplete"
	causeLost        = "lost messages"
	causeUnlike      = "arms with different mixes"
	causeFew         = "too few blocks"
	causeEnvironment = string(verdict.BusyHost)
	causeMix         = string(verdict.LostOps)
	causeDelivery    = "deliveries"
	causeFindings    = "findings"
	causeVoided      = "voided blocks"
	causeNumbers     = string(verdict.OddNumbers)
	causeSearch      = "searches"
	causeTime        = "time"
)

// A cause is a cause of warnings: what sums up several of them, which are about %s, and what to do
// about it. A harmless one asks for nothing where it could not change a verdict.
type cause struct {
	name, text, action string
	harmless           bool
}

// causes lists all causes, the most important first.
var causes = []cause{
	{causeIncomplete, "", "resume it by plimsoll compare -resume", false},
	{causeLost, "", "find out why before anything is released", false},
	{causeUnlike, "", "", false},
	{causeFew, "", "repeat it, with six blocks or more", false},
	{causeEnvironment, "", "repeat it on a quiet host", false},
	{string(verdict.MissingPairs), "pairs are missing or were added (%s)",
		"repair the cause that Validity names, and repeat it", false},
	{string(verdict.FarPairs), "single pairs are far from the others (%s)",
		"see Validity for what happened in these blocks, and repeat it", true},
	{string(verdict.FailedArm), "runs failed by the target's doing (%s)",
		"read the server's log of these runs", false},
	{
		causeMix,
		"",
		"give both arms the same mix: leave out the actions that one of them lacks",
		false,
	},
	{causeDelivery, "", "see Messages before a release", false},
	{string(verdict.OnlyBounds),
		"some pairs are only bounds, because searches ended at limits of their own (%s)",
		"raise unbounded.max_users or its time, so that the searches end with numbers", false},
	{string(verdict.RunOrder), "the order of the runs had an effect (%s)",
		"repeat it with an even number of blocks", true},
	{causeFindings, "", "see Validity for the gate, and repeat it", true},
	{causeVoided, "%s were voided, because runs were not valid",
		"repair the cause that Validity names, and repeat it", true},
	{string(verdict.UnlikeSpread), "the runs of one arm vary more than those of the other (%s)", "",
		false},
	{causeNumbers, "the numbers look odd (%s)", "", false},
	{causeSearch, "", "", false},
	{causeTime, "", "", false},
}

// of returns the cause of the group, and its rank.
func (g WarningGroup) of() (rank int, c cause) {
	rank = slices.IndexFunc(causes, func(c cause) bool { return c.name == g.Cause })
	return rank, causes[rank]
}

// A notice is one warning with its cause. About names the endpoints of a result; it is empty for
// others.
type notice struct {
	cause, text string
	about       []string
	changes     bool
}

// groups joins notices by cause and ranks them: groups that could change a verdict first, then in
// the order of the causes.
func groups(notices []notice) []WarningGroup {
	var out []WarningGroup
	var about [][]string // as out
	for _, n := range notices {
		i := slices.IndexFunc(out,
			func(g WarningGroup) bool { return g.Cause == n.cause && g.Changes == n.changes })
		if i < 0 {
			i = len(out)
			out = append(out, WarningGroup{Cause: n.cause, Changes: n.changes})
			about = append(about, nil)
		}
		out[i].Warnings = append(out[i].Warnings, n.text)
		for _, a := range n.about {
			if !slices.Contains(about[i], a) {
				about[i] = append(about[i], a)
			}
		}
	}
	for i := range out {
		g := &out[i]
		_, c := g.of()
		switch {
		case len(g.Warnings) == 1:
			g.Text = g.Warnings[0]
		case c.text != "" && len(about[i]) > 0:
			g.Text = fmt.Sprintf(c.text, strings.Join(about[i], "; "))
		default:
			g.Text = fmt.Sprintf("%s; and %s of this kind", g.Warnings[0],
				count(len(g.Warnings)-1, "more warning", "more warnings"))
		}
		if g.Changes || !c.harmless {
			g.Action = c.action
		}
	}
	slices.SortStableFunc(out, func(a, b WarningGroup) int {
		if a.Changes != b.Changes {
			if a.Changes {
				return -1
			}
			return 1
		}
		x, _ := a.of()
		y, _ := b.of()
		return cmp.Compare(x, y)
	})
	return out
}

// noticesOf are the warnings of verdicts: each text once, followed by the endpoints that it is
// about.
func noticesOf(all []NamedVerdict) []notice {
	var out []notice
	index := map[string]int{}
	of := map[string]string{} // the verdict that a text was last about
	for _, j := range all {
		for i, r := range j.Verdict.Results {
			for _, w := range r.Warnings {
				at, seen := index[w.Text]
				if !seen {
					at = len(out)
					index[w.Text] = at
					out = append(out, notice{cause: causeOf(w), text: w.Text + " ("})
				}
				n, name := &out[at], strings.TrimSpace(j.Name+" "+r.Name)
				switch {
				case !seen:
					n.text += name
				case of[w.Text] == j.Name:
					n.text += ", " + r.Name
				default:
					n.text += "; " + name
				}
				of[w.Text] = j.Name
				n.about = append(n.about, name)
				n.changes = n.changes || changedBy(j.Verdict, i, w)
			}
		}
	}
	for i := range out {
		out[i].text += ")"
	}
	return out
}

// changedBy reports whether the subject of a warning of the i-th result could change the verdict.
// An effect of the order that the comparison allows for changes nothing.
func changedBy(v verdict.Verdict, i int, w verdict.Warning) bool {
	switch w.Code {
	case verdict.FarPairs:
		return changesVerdict(v, i, w.Without)
	case verdict.MissingPairs, verdict.UntoldOrder:
		return true
	default:
		return false
	}
}

// causeOf returns the cause of a result's warning; most codes are called as their cause.
func causeOf(w verdict.Warning) string {
	switch w.Code {
	case verdict.NoSpread, "":
		return causeNumbers
	case verdict.UntoldOrder:
		return string(verdict.RunOrder)
	default:
		return string(w.Code)
	}
}

// changesVerdict reports whether a verdict would be another one if its i-th result were of another
// kind.
func changesVerdict(v verdict.Verdict, i int, other verdict.Kind) bool {
	kinds := make([]verdict.Kind, len(v.Results))
	for k, r := range v.Results {
		kinds[k] = r.Kind
	}
	kinds[i] = other
	for _, k := range []verdict.Kind{verdict.Worse, verdict.Inconclusive, verdict.Better, verdict.Same} {
		if slices.Contains(kinds, k) {
			return k != v.Kind && v.Kind != verdict.Invalid
		}
	}
	return false
}

func resultNames(results []verdict.Result) []string {
	return textsOf(results, func(r verdict.Result) string { return r.Name })
}
