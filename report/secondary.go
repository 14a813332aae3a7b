package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/judge/verdict"
)

// secondaryShown is the largest number of metrics without a finding in a report; JSON has all.
const secondaryShown = 20

// secondarySections shows the metrics beside the primary endpoints: findings in full, the others by
// their size of |t|.
func (d Document) secondarySections() []section {
	var out []section
	noted := false
	show := func(title, base, fresh string, n NamedVerdict) {
		f := n.Secondary
		if f == nil || f.Tested+len(f.Refused)+len(f.Appeared)+len(f.Vanished) == 0 {
			return
		}
		s := section{Level: 3, Title: title, Notes: []string{sentence(f.Sentence) + "."}}
		found := slices.Concat(f.Worsened, f.Improved)
		shown := f.Unclear[:min(len(f.Unclear), secondaryShown)]
		var far []string
		if len(found)+len(shown) > 0 {
			s.Table = newTable(
				"Metric",
				"!Finding",
				">"+base,
				">"+fresh,
				">Effect",
				">Floor",
				">q",
				">Pairs",
				">Calls "+base,
				">Calls "+fresh,
				">Adds",
			)
		}
		for _, m := range append(found, shown...) {
			s.Table.add(m.Name, finding(m.Kind), strings.TrimSpace(sig(m.Base, 3)+" "+m.Unit),
				strings.TrimSpace(sig(m.New, 3)+" "+m.Unit), interval(m.Effect, m.Lo, m.Hi).text(),
				trim(fixed(100*m.Floor, 1))+" %", qText(m.Q), m.N, callsText(m.BaseCalls),
				callsText(m.NewCalls), contribution(m))
			if len(m.Outliers) > 0 {
				far = append(far, m.Name+" ("+blockNames(m.Outliers)+")")
			}
		}
		if len(far) > 0 {
			s.Notes.say("Far from the other blocks (3.5 robust standard deviations), " +
				"named and not left out: " + list(far) + ".")
		}
		if rest := len(f.Unclear) - len(shown); rest > 0 {
			s.Notes.add("%s without a finding are left out here; the JSON report has them.",
				count(rest, "further metric", "further metrics"))
		}
		if len(f.Refused) > 0 && f.Tested > 0 {
			s.Notes.say(count(
				len(f.Refused),
				"metric was",
				"metrics were",
			) + " not tested; the JSON report says why.",
			)
		}
		if !noted {
			noted = true
			s.Notes.say("These say where to look and decide no verdict. A finding is a change beyond the floor (3 %, or 2 ms of an operation and 0.2 ms of a call to a store, whichever is more) at a false discovery rate of " +
				"10 % (q, Benjamini and Hochberg, on t tests with moderated variances). No finding does not mean no change. " +
				"Calls are those behind the number, per run. Adds: of a mean, the seconds per run that the new arm's calls took longer than at the base's mean, calls × difference.",
			)
		}
		out = append(out, s)
	}
	d.eachFinding("Further metrics", show)
	return out
}

// eachFinding calls show for the verdicts on the arms and then for those on the databases, with the
// title of their section and the labels of both sides.
func (d Document) eachFinding(title string, show func(title, base, fresh string, f NamedVerdict)) {
	for _, f := range d.Verdicts {
		show(d.titleOf(title, f), d.baseLabel(), d.armLabel(f.Arm), f)
	}
	for _, f := range d.Databases {
		show(d.titleBetween(title, f), d.Engines[0].Label, d.engineLabel(f.Engine), f)
	}
}

// titleOf is the title of a section about a verdict on an arm.
func (d Document) titleOf(title string, f NamedVerdict) string {
	if f.Engine != "" || len(d.Arms) > 2 {
		title += " - " + f.Name
	}
	return title
}

// titleBetween is the title of a section about a verdict on two databases.
func (d Document) titleBetween(title string, f NamedVerdict) string {
	return fmt.Sprintf("%s - %s against %s, %s", title, d.engineLabel(f.Engine), d.Engines[0].Label,
		d.armLabel(f.Arm))
}

func finding(k verdict.Kind) string {
	if k == verdict.Inconclusive {
		return dash
	}
	return string(k)
}

func qText(q float64) string {
	if math.IsNaN(q) {
		return dash
	}
	if q < 0.001 {
		return "< 0.001"
	}
	return fixed(q, 3)
}

// callsText writes a mean number of calls.
func callsText(n float64) string {
	if n == 0 {
		return dash
	}
	return fixed(n, 0)
}

func contribution(m verdict.Secondary) string {
	if m.Contribution == nil {
		return dash
	}
	return plus(*m.Contribution) + " s"
}

// blockNames names blocks: "block 3", "blocks 3 and 5".
func blockNames(blocks []int) string {
	return verb(len(blocks), "block", "blocks") + " " + list(textsOf(blocks, strconv.Itoa))
}
