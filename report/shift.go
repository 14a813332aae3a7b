package report

import (
	"math"
	"strings"

	"plimsoll/judge/verdict"
)

// shiftSections show where in the distributions of response times the arms differ.
func (d Document) shiftSections() []section {
	var out []section
	show := func(title, base, fresh string, f NamedVerdict) {
		if len(f.Shifts) == 0 {
			return
		}
		s := section{
			Level: 3,
			Title: title,
			Table: newTable(
				"Operation",
				"Quantile",
				"!Finding",
				">"+base,
				">"+fresh,
				">Shift [band]",
				"slower →",
			),
		}
		most := 0.0
		for _, x := range f.Shifts {
			s.Items.say(x.Sentence + ".")
			for _, p := range x.Points {
				most = max(most, ends(p))
			}
		}
		for _, x := range f.Shifts {
			for _, p := range x.Points {
				s.Table.add(
					x.Op,
					"p"+trim(fixed(100*p.P, 1)),
					shiftWord(p.Kind),
					sig(p.Base, 3)+" ms",
					sig(p.New, 3)+" ms",
					shiftText(p),
					shiftPicture(p, most),
				)
			}
		}
		if len(out) == 0 {
			s.Notes.say("Each quantile is one number per run; the shift is the mean over the blocks of new against base, and the band comes from how the blocks differ. It holds at all quantiles of an operation at once: " +
				"two equal builds leave it anywhere in at most one comparison of twenty. It says where to look and decides no verdict. " +
				"In the last column │ is no change and ● the shift, between the ends of its band.",
			)
		}
		out = append(out, s)
	}
	d.eachFinding("Where the response times shifted", show)
	return out
}

func shiftWord(k verdict.Kind) string {
	switch k {
	case verdict.Worse:
		return "slower"
	case verdict.Better:
		return "faster"
	default:
		return dash
	}
}

func shiftText(p verdict.ShiftPoint) string {
	if p.Lo == nil || p.Hi == nil {
		return percent(p.Effect)
	}
	return interval(p.Effect, *p.Lo, *p.Hi).text()
}

// ends returns the distance of a point and its band from no change; a band beyond 100 % is drawn
// cut off.
func ends(p verdict.ShiftPoint) float64 {
	far := max(p.Effect, -p.Effect)
	if p.Lo != nil && p.Hi != nil {
		far = max(far, *p.Hi, -*p.Hi, *p.Lo, -*p.Lo)
	}
	return min(far, 1)
}

// pictureHalf is the number of signs of a picture on each side of no change.
const pictureHalf = 10

// shiftPicture draws a point and its band in signs, most being the end of the scale on both sides:
// "··········│··├─●──┤····".
func shiftPicture(p verdict.ShiftPoint, most float64) string {
	signs := []rune(strings.Repeat("·", 2*pictureHalf+1))
	if !(most > 0) {
		signs[pictureHalf] = '●'
		return string(signs)
	}
	at := func(v float64) int {
		return min(max(pictureHalf+int(math.Round(v/most*pictureHalf)), 0), 2*pictureHalf)
	}
	if p.Lo != nil && p.Hi != nil {
		lo, hi := at(*p.Lo), at(*p.Hi)
		for i := lo; i <= hi; i++ {
			signs[i] = '─'
		}
		signs[lo], signs[hi] = '├', '┤'
	}
	signs[pictureHalf] = '│'
	signs[at(p.Effect)] = '●'
	return string(signs)
}
