package report

import (
	"io"
	"strings"
	"testing"
)

// TestCorrectionIsStated names the CPU time that was left out of a cost, from 1 % on.
func TestCorrectionIsStated(t *testing.T) {
	in := inTurns()
	for share, want := range map[float64]bool{0.004: false, 0.383: true} {
		r := &in.Arms[0].Verdict.Results[0]
		r.ByClock = [2]float64{0.006, share}
		d := From(in)
		text := string(render(t, func(w io.Writer) error { return FullMarkdown(w, d) }))
		note := "is left out, in each block by itself: " + r.Name + " 0.6 % of "
		if strings.Contains(text, note) != want || want && !strings.Contains(text, "38.3 % of ") {
			t.Errorf("with a share of %v the report contains %q: %v, want %v", share, note, !want, want)
		}
	}
}
