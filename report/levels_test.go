package report

import (
	"testing"

	"plimsoll/judge/verdict"
)

// TestLevelsAreReported prints the two parts of the spread where a duet knows them.
func TestLevelsAreReported(t *testing.T) {
	in := inTurns()
	d := From(in)
	if texts := d.levelTexts(); texts != nil {
		t.Errorf("without levels: %q", texts)
	}
	r := &in.Arms[0].Verdict.Results[0]
	r.Levels = &verdict.Levels{Blocks: 6, Measure: 12, Within: 0.009, Between: 0.014, MDE: 0.0262, Longer: 0.0241, More: 0.0153}
	d = From(in)
	for _, text := range []string{written(t, FullMarkdown, d), reported(t, HTML, d)} {
		want := r.Name + ": the difference varies by 0.9 % (sd) inside a block of 12 s, and by 1.4 % between deployments. 6 blocks find 2.6 %; " +
			"with twice the measured time they would find 2.4 %, and twice as many blocks 1.5 %."
		has(t, text, want)
	}
	var stored struct {
		Verdicts []struct {
			Verdict struct {
				Results []struct {
					Levels *struct {
						Between float64 `json:"sd_between"`
					}
				}
			}
		}
	}
	readBack(t, d, &stored)
	if l := stored.Verdicts[0].Verdict.Results[0].Levels; l == nil || l.Between != 0.014 {
		t.Errorf("report.json has %+v", l)
	}
}
