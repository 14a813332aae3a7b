package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"plimsoll/stats"
	"plimsoll/studies/study"
)

// A curve is the outcomes of one setting, the last that was measured.
type curve struct {
	counted, interrupted []outcome
	others               int // of other settings
}

func curveOf(all []outcome) (c curve) {
	if len(all) == 0 {
		return c
	}
	c.counted = of(all, all[len(all)-1].Setting)
	c.interrupted = slices.DeleteFunc(slices.Clone(all), func(o outcome) bool {
		return !o.Interrupted
	})
	c.others = len(all) - len(c.counted) - len(c.interrupted)
	return c
}

// A tally sums up outcomes.
type tally struct {
	N       int
	Scores  map[string]int
	seconds []float64
	planted []float64 // of those with a size
}

// tally is of the outcomes that a filter accepts.
func (c curve) tally(accepts func(outcome) bool) tally {
	t := tally{Scores: map[string]int{}}
	for _, o := range c.counted {
		if !accepts(o) {
			continue
		}
		t.N++
		t.Scores[o.score()]++
		t.seconds = append(t.seconds, o.Seconds)
		if o.Planted > 0 {
			t.planted = append(t.planted, o.Planted)
		}
	}
	return t
}

func (c curve) cell(k kind, host string) tally {
	return c.tally(func(o outcome) bool { return o.Kind == k.name && o.Host == host })
}

// Times are the median and the longest wall time.
func (t tally) Times() string {
	if t.N == 0 {
		return "– | –"
	}
	return clock(stats.Median(t.seconds)) + " | " + clock(slices.Max(t.seconds))
}

// Size is the range of the sizes that were planted.
func (t tally) Size() string {
	if len(t.planted) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f to %.1f %%", 100*slices.Min(t.planted), 100*slices.Max(t.planted))
}

// Share is a score's share of the outcomes with its interval, in percent.
func (t tally) Share(score string) string { return study.ShareText(t.Scores[score], t.N) }

// hosts are in the order of the page.
var hosts = []string{study.Quiet, study.Neighbor}

// A row is a tally of a kind of difference and a kind of host.
type row struct {
	What, Host string
	tally
}

// rows are those of kinds with something planted, or with nothing.
func (c curve) rows(nothing bool) (all []row) {
	for _, k := range kinds {
		for _, h := range hosts {
			if k.nothing() == nothing {
				all = append(all, row{k.what, h, c.cell(k, h)})
			}
		}
	}
	return all
}

//go:embed page.tmpl
var pageText string

// page is the page of the outcomes.
func (c curve) page() string {
	first, last := outcome{}, outcome{Minutes: 6}
	if n := len(c.counted); n > 0 {
		first, last = c.counted[0], c.counted[n-1]
	}
	none := c.tally(func(o outcome) bool { return kindOf(o.Kind).nothing() })
	return study.Render(pageText, template.FuncMap{
		"clock": clock, "smallest": c.smallest, "score": outcome.score, "words": outcome.words,
	}, map[string]any{
		"First": first, "Last": last, "Counted": len(c.counted), "Hosts": hosts,
		"Machines":    study.Machines(c.counted, outcome.machine),
		"Interrupted": len(c.interrupted), "Others": c.others, "Every": slices.Concat(c.counted, c.interrupted),
		"None": append(c.rows(true), row{"all", "both", none}), "Planted": c.rows(false),
		"By": map[string]string{byCPU: "CPU time in one operation", byWait: "p95(post)"},
	})
}

// smallest is the smallest size of a kind that is found in four of five outcomes.
func (c curve) smallest(by, host string) string {
	text := "not known yet"
	for _, k := range slices.Backward(kinds) {
		if k.by == by {
			switch t := c.cell(k, host); {
			case t.N < 5:
				return text
			case 5*t.Scores[found] < 4*t.N:
				return strings.Replace(text, "not known yet", "none of these", 1)
			default:
				text = fmt.Sprintf("%g %%", 100*k.size)
			}
		}
	}
	return text
}

// text is the outcome for people.
func (o outcome) text() string {
	return fmt.Sprintf("slot %d, %s, %s: %s after %s, others used %.1f %% of the cores; %s",
		o.Slot, o.Kind, o.Host, o.score(), clock(o.Seconds), 100*o.During, o.words())
}

// words are the primary endpoints, or the reason why there are none.
func (o outcome) words() (text string) {
	for _, e := range o.Endpoints {
		text += fmt.Sprintf("%s %+.3f %s; ", e.Name, e.Effect, e.Kind)
	}
	return strings.Trim(text+strings.ReplaceAll(o.Problem, "|", "¦"), "; ")
}

// clock writes seconds as 8 min 05 s.
func clock(s float64) string { return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60) }
