package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/verdict"
)

// furtherShown is how many metrics without a finding a report lists; JSON has all.
const furtherShown = 20

// furtherSections shows the metrics beside the primary endpoints: findings in full, the others by their size of |t|.
func (d Document) furtherSections() []section {
	var out []section
	noted := false
	show := func(title, base, fresh string, f *verdict.Family) {
		if f == nil || f.Tested+len(f.Refused)+len(f.Appeared)+len(f.Vanished) == 0 {
			return
		}
		s := section{Level: 3, Title: title, Notes: []string{strings.ToUpper(f.Sentence[:1]) + f.Sentence[1:] + "."}}
		found := append(append([]verdict.Secondary{}, f.Worsened...), f.Improved...)
		shown := f.Unclear[:min(len(f.Unclear), furtherShown)]
		if len(found)+len(shown) > 0 {
			s.Table = newTable(1, "Metric", "Finding", ">"+base, ">"+fresh, ">Effect", ">Floor", ">q", ">Pairs")
		}
		for _, m := range append(found, shown...) {
			s.Table.add(m.Name, finding(m.Kind), sig(m.Base, 3)+" "+m.Unit, sig(m.New, 3)+" "+m.Unit, secondaryEffect(m),
				trim(fixed(100*m.Floor, 1))+" %", qText(m.Q), fmt.Sprint(m.N))
		}
		if rest := len(f.Unclear) - len(shown); rest > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s without a finding are left out here; the JSON report has them.", count(rest, "further metric", "further metrics")))
		}
		if len(f.Refused) > 0 && f.Tested > 0 {
			s.Notes = append(s.Notes, count(len(f.Refused), "metric was", "metrics were")+" not tested; the JSON report says why.")
		}
		if !noted {
			noted = true
			s.Notes = append(s.Notes, "These say where to look and decide no verdict. A finding is a change beyond the floor (3 % or 2 ms, whichever is more) at a false discovery rate of "+
				"10 % (q, Benjamini and Hochberg, on t tests with moderated variances). No finding does not mean no change.")
		}
		out = append(out, s)
	}
	for _, f := range d.Verdicts {
		title := "Further metrics"
		if f.Engine != "" || len(d.Arms) > 2 {
			title += " - " + f.Name
		}
		show(title, d.armLabel(baseName(d)), d.armLabel(f.Arm), f.Further)
	}
	for _, f := range d.Databases {
		title := fmt.Sprintf("Further metrics - %s against %s, %s", d.engineLabel(f.Engine), d.Engines[0].Label, d.armLabel(f.Arm))
		show(title, d.Engines[0].Label, d.engineLabel(f.Engine), f.Further)
	}
	return out
}

func finding(k verdict.Kind) string {
	if k == verdict.Inconclusive {
		return dash
	}
	return string(k)
}

func secondaryEffect(m verdict.Secondary) string {
	d := Delta{Value: Number(m.Effect), Lo: Number(m.Lo), Hi: Number(m.Hi)}
	return d.text()
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
