package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/judge/verdict"
)

// mostFront is the largest number of warning groups, and of actions, on the first screen.
const mostFront = 3

// A WarningGroup holds the warnings of one cause. Changes reports whether the cause could change a
// verdict; such groups stand before the others. Text is one sentence for all of them. Action is the
// remedy; groups without one are left to the details.
type WarningGroup struct {
	Cause    string   `json:"cause"`
	Changes  bool     `json:"could_change_verdict"`
	Text     string   `json:"text"`
	Action   string   `json:"action,omitempty"`
	Warnings []string `json:"warnings"`
}

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

// urgent returns the groups of a first screen: the highest ranks that name an action, as sentences
// with it.
func urgent(all []WarningGroup) []WarningGroup {
	var out []WarningGroup
	for _, g := range all {
		if g.Action != "" && len(out) < mostFront {
			g.Text += "; " + g.Action
			out = append(out, g)
		}
	}
	return out
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
	about := map[string][]string{}
	key := func(n notice) string { return fmt.Sprint(n.cause, n.changes) }
	for _, n := range notices {
		i := slices.IndexFunc(out,
			func(g WarningGroup) bool { return g.Cause == n.cause && g.Changes == n.changes })
		if i < 0 {
			i = len(out)
			out = append(out, WarningGroup{Cause: n.cause, Changes: n.changes})
		}
		out[i].Warnings = append(out[i].Warnings, n.text)
		for _, a := range n.about {
			if !slices.Contains(about[key(n)], a) {
				about[key(n)] = append(about[key(n)], a)
			}
		}
	}
	for i := range out {
		g := &out[i]
		names := about[key(notice{cause: g.Cause, changes: g.Changes})]
		_, c := g.of()
		switch {
		case len(g.Warnings) == 1:
			g.Text = g.Warnings[0]
		case c.text != "" && len(names) > 0:
			g.Text = fmt.Sprintf(c.text, strings.Join(names, "; "))
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
func noticesOf(all []judgedAs) []notice {
	var out []notice
	index := map[string]int{}
	of := map[string]string{} // the verdict that a text was last about
	for _, j := range all {
		for i, r := range j.verdict.Results {
			for _, w := range r.Warnings {
				at, seen := index[w.Text]
				if !seen {
					at = len(out)
					index[w.Text] = at
					out = append(out, notice{cause: causeOf(w), text: w.Text + " ("})
				}
				n := &out[at]
				switch {
				case !seen:
					n.text += strings.TrimSpace(j.name + " " + r.Name)
				case of[w.Text] == j.name:
					n.text += ", " + r.Name
				default:
					n.text += "; " + strings.TrimSpace(j.name+" "+r.Name)
				}
				of[w.Text] = j.name
				n.about = append(n.about, strings.TrimSpace(j.name+" "+r.Name))
				n.changes = n.changes || changedBy(j.verdict, i, w)
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

// A front is the first screen of a report.
type front struct {
	verdicts []frontVerdict
	answer   Answer
	limits   []string // limiters of the arms, one line for each database
	groups   []WarningGroup
	warnings int // how many there are in all
	next     []string
	raw      bool // next is a person's own words
}

// A frontVerdict is the verdict on one database.
type frontVerdict struct {
	kind, text string
	why        []string // where its differences come from
}

// front returns the first screen of a comparison's report.
func (d Document) front() *front {
	f := front{answer: d.Answer(), limits: d.limitLines(), groups: d.WarningGroups,
		warnings: len(d.Warnings), raw: !d.DraftedActions}
	for _, v := range d.Verdicts {
		f.verdicts = append(f.verdicts,
			frontVerdict{kindText(v.Verdict.Kind, v.Verdict.Indicative), oneSentence(d, v),
				d.WhyLines(v)})
	}
	f.next = d.Actions[:min(len(d.Actions), mostFront)]
	return &f
}

// shown are the groups of the first screen.
func (f *front) shown() []WarningGroup { return urgent(f.groups) }

// mostNamed is the largest number of endpoints that the sentence of a verdict names with their
// sizes.
const mostNamed = 3

// oneSentence is the verdict of one finding in one sentence: the endpoints that changed most
// against their margins with their sizes, the others by name. The picture below it has all of them.
// It has no period at its end.
func oneSentence(d Document, f NamedVerdict) string {
	v := f.Verdict
	name := d.on(f.Engine)
	base, fresh := d.baseLabel(), d.armLabel(f.Arm)
	switch {
	case len(v.Results) == 0 || v.Indicative || v.Kind == verdict.Invalid:
		return headlineOf(d, f, "")
	case v.Kind == verdict.Same:
		text := fmt.Sprintf("%s%s is the same as %s within the margins of %s", name, fresh, base,
			list(resultNames(v.Results)))
		if open := v.LeftOpen(); open != "" {
			text += "; " + open
		}
		return text
	}
	found := ofKind(v, v.Kind)
	slices.SortStableFunc(found,
		func(a, b verdict.Result) int { return -cmp.Compare(excess(a), excess(b)) })
	some := found[:min(len(found), mostNamed)]
	text := effects(some)
	if v.Kind == verdict.Inconclusive {
		name = d.whose(f)
		text = reasons(some)
	}
	if rest := found[len(some):]; len(rest) > 0 {
		text += "; also " + list(resultNames(rest))
	}
	if on := v.StandsOn(); on != "" {
		text += "; " + on
	}
	if v.Kind == verdict.Inconclusive {
		return name + "inconclusive: " + text
	}
	return fmt.Sprintf("%s%s is %s than %s: %s", name, fresh, v.Kind, base, text)
}

func resultNames(results []verdict.Result) []string {
	names := make([]string, len(results))
	for i, r := range results {
		names[i] = r.Name
	}
	return names
}

// excess returns the size of an effect in margins.
func excess(r verdict.Result) float64 {
	e := r.Effect
	if !r.Absolute {
		e = math.Log1p(e) / math.Log1p(r.Margin) * r.Margin
	}
	if !known(e) || !(r.Margin > 0) {
		return 0
	}
	return math.Abs(e) / r.Margin
}
