package verdict

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/plain"
)

// maxRows is the largest number of pairs that are shown before the middle ones are left out, so
// that a result fits a screen.
const maxRows = 24

// Text writes a result on one screen: the pairs with their differences, the arms, the change with
// its interval when the sample carries one, the warnings and the sentence.
func Text(w io.Writer, r Result) error {
	var b strings.Builder
	plain.Fprintf(
		&b,
		"%s%s, %s is better, margin %s (%s)\n",
		r.Name,
		after(" in ", r.Unit),
		r.Better,
		marginText(r.Endpoint),
		delta(r.Endpoint, r.Unscale(-r.Limit()))+" to "+delta(r.Endpoint, r.Unscale(r.Limit())),
	)
	if r.N > 0 {
		b.WriteByte('\n')
		writePairs(&b, r)
	}
	if r.Base.N > 0 {
		b.WriteByte('\n')
		writeArm(&b, r, r.Base)
		writeArm(&b, r, r.New)
	}
	if r.HasEffect() {
		plain.Fprintf(&b, "%-10s%s\n", "change", r.interval())
	} else if end := r.oneEnd(); end != "" {
		plain.Fprintf(&b, "%-10s%s (%s)\n", "change", end, pText(r.P))
	}
	if r.HasInterval() {
		plain.Fprintf(&b, "%-10s%s\n", "detail", r.detail())
	}
	for _, warning := range r.Warnings {
		plain.Fprintf(&b, "%-10s%s\n", "warning", warning.Text)
	}
	plain.Fprintf(&b, "\n%s\n", r.Sentence)
	_, err := io.WriteString(w, b.String())
	return err
}

func writePairs(b *strings.Builder, r Result) {
	rows := [][]string{{"pair", plain.Text(r.Base.Name), plain.Text(r.New.Name), "change"}}
	for i, d := range r.Deltas() {
		if hidden := r.N - maxRows; hidden > 0 && i >= maxRows/2 && i < r.N-maxRows/2 {
			if i == maxRows/2 {
				rows = append(rows, []string{"…", "", "", fmt.Sprintf("(%d more)", hidden)})
			}
			continue
		}
		p := r.Pairs[i]
		rows = append(rows, []string{
			strconv.Itoa(p.Block),
			value(p.Base, p.BaseCensored),
			value(p.New, p.NewCensored),
			r.deltaText(d),
		})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteString("   ")
			}
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
}

// deltaText writes the difference of a pair, or the bound that a censored value leaves.
func (r Result) deltaText(d PairDelta) string {
	switch {
	case d.Known():
		return delta(r.Endpoint, d.Lo)
	case !math.IsNaN(d.Hi):
		return "<= " + delta(r.Endpoint, d.Hi)
	case !math.IsNaN(d.Lo):
		return ">= " + delta(r.Endpoint, d.Lo)
	default:
		return "not known"
	}
}

// writeArm writes the mean of an arm; its interval only where the sample carries one.
func writeArm(b *strings.Builder, r Result, arm Summary) {
	what := "geometric mean"
	if r.Absolute {
		what = "mean"
	}
	text := estimate(arm.Mean)
	if arm.AtLeast {
		text = ">=" + text
	}
	if !math.IsNaN(arm.Lo) {
		text += fmt.Sprintf(" [%s %s]", estimate(arm.Lo), estimate(arm.Hi))
	}
	plain.Fprintf(
		b,
		"%-10s%s%s, %s of %s\n",
		arm.Name,
		text,
		after(" ", r.Unit),
		what,
		Count(arm.N, "run"),
	)
}

// interval writes the effect between the ends of the interval that decides:
// "[-12.10 % -10.02 % -7.89 %] (95 %, p = 0.0001)".
func (r Result) interval() string {
	if !r.HasInterval() {
		return delta(r.Endpoint, r.Effect)
	}
	from := ""
	if n := r.bounds(); n > 0 {
		from = fmt.Sprintf(
			", %d of %s only %s",
			n,
			Count(r.N, "pair"),
			plural(n, "a bound", "bounds"),
		)
	}
	lo, hi, level := r.Decisive()
	return fmt.Sprintf(
		"[%s %s %s] (%s, %s%s)",
		delta(r.Endpoint, lo),
		delta(r.Endpoint, r.Effect),
		delta(r.Endpoint, hi),
		LevelText(level),
		pText(r.P),
		from,
	)
}

// detail writes the numbers that the decision rests on besides its interval, the other one first.
func (r Result) detail() string {
	lo := r.Lo90
	hi := r.Hi90
	level := r.level90()
	if r.Kind == Same {
		lo, hi, level = r.Lo, r.Hi, r.level()
	}
	text := fmt.Sprintf(
		"%s interval [%s %s]; sign-flip %s",
		level,
		delta(r.Endpoint, lo),
		delta(r.Endpoint, hi),
		pText(r.SignFlipP),
	)
	if !math.IsNaN(r.MDE) {
		text += "; smallest change to be found " + size(r.Endpoint, r.MDE)
	}
	if r.Order != nil {
		text += fmt.Sprintf(
			"; second run of a pair %s, allowed for",
			delta(r.Endpoint, r.Order.Effect),
		)
	}
	if r.Look > 0 {
		text += fmt.Sprintf("; look %d of %d", r.Look, r.Looks)
	}
	return text
}

// Text writes the verdict of a database: its lead and a line per endpoint, of a cost a second one
// with what it means for the capacity.
func (v Verdict) Text(w io.Writer) error {
	var b strings.Builder
	plain.Fprintf(&b, "%s\n", v.Lead)
	width := 0
	for _, r := range v.Results {
		width = max(width, utf8.RuneCountInString(r.Name))
	}
	for _, r := range v.Results {
		line := "not known"
		if r.HasEffect() {
			line = r.interval()
		}
		plain.Fprintf(
			&b,
			"  %s%s  %-12s  %s\n",
			r.Name,
			strings.Repeat(" ", width-utf8.RuneCountInString(r.Name)),
			r.Kind,
			line,
		)
		if r.Implies != nil {
			plain.Fprintf(&b, "  %s  %s\n", strings.Repeat(" ", width), r.Implies.Sentence)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// value writes a measured number with six significant digits, but never fewer than its whole part.
func value(v float64, atLeast bool) string {
	if atLeast {
		return ">=" + digits(v, 6)
	}
	return digits(v, 6)
}

// estimate writes a computed number with four significant digits, but never fewer than its whole
// part.
func estimate(v float64) string { return digits(v, 4) }

func digits(v float64, significant int) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "not known"
	case a > 0 && a < 1e-4:
		return strconv.FormatFloat(v, 'g', significant, 64)
	case a < 1:
		return number(v, significant)
	default:
		return number(v, max(0, significant-len(strconv.FormatFloat(math.Trunc(a), 'f', 0, 64))))
	}
}

// after writes a unit behind a text; nothing without one.
func after(text, unit string) string {
	if unit == "" {
		return ""
	}
	return text + unit
}
