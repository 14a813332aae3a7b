package main

import (
	"fmt"
	"slices"
	"strings"

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
	n       int
	scores  map[string]int
	seconds []float64
	planted []float64 // of those with a size
}

// tally is of the outcomes that a filter accepts.
func (c curve) tally(accepts func(outcome) bool) tally {
	t := tally{scores: map[string]int{}}
	for _, o := range c.counted {
		if !accepts(o) {
			continue
		}
		t.n++
		t.scores[o.score()]++
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

// share is a score's share of the outcomes with its interval, in percent.
func (t tally) share(score string) (value, lo, hi float64) {
	iv := study.ShareInterval(t.scores[score], t.n, 0.95)
	return 100 * float64(t.scores[score]) / float64(max(t.n, 1)), 100 * iv.Lo, 100 * iv.Hi
}

func (t tally) shareText(score string) string {
	value, lo, hi := t.share(score)
	return fmt.Sprintf("%.0f [%.0f, %.0f]", value, lo, hi)
}

// times are the median and the longest wall time.
func (t tally) times() string {
	if t.n == 0 {
		return "– | –"
	}
	return clock(stats.Median(t.seconds)) + " | " + clock(slices.Max(t.seconds))
}

// hosts are in the order of the page.
var hosts = []string{study.Quiet, study.Neighbor}

const pageHead = `# The operating curve: how often a comparison is right

` + "```sh" + `
make curve CURVEFLAGS='-n 12'   # add twelve outcomes to this page; killed or stopped, it goes on when started again
` + "```" + `

Two builds of the reference chat server are compared as in continuous integration: ` + "`plimsoll compare -minutes %d`" + ` with
PostgreSQL, as a duet, with users and lengths that the program chooses ([plan.yaml](../curve/plan.yaml)). The new build has
nothing planted or a known difference; the host is quiet, or has a neighbor that takes 0 to 60 %% of the target's core in
random bursts. Every outcome is a line of [curve.jsonl](curve.jsonl) and a row below: none is left out or made again, but
for those that were interrupted. The order of the cells is fixed and balanced ([cell.go](../curve/cell.go)).

![Share of outcomes in which a difference was found, by its size](curve.svg)

The picture has the share that was found by the size that was planted, with intervals of 95 %%, and at 0 the false alarms.
`

// page is the page of the outcomes.
func (c curve) page() string {
	var b strings.Builder
	if len(c.counted) == 0 {
		fmt.Fprintf(&b, pageHead, 6)
		b.WriteString("\nNo outcome was measured yet.\n")
		return b.String()
	}
	first, last := c.counted[0], c.counted[len(c.counted)-1]
	fmt.Fprintf(&b, pageHead, last.Minutes)
	fmt.Fprintf(
		&b,
		"\n%d outcomes from %s to %s (UTC), commits %s to %s, on %s; %d were interrupted, and %d are of other settings and not counted.\n",
		len(
			c.counted,
		),
		first.At.Format("2006-01-02 15:04"),
		last.At.Format("2006-01-02 15:04"),
		first.Commit,
		last.Commit,
		last.Machine,
		len(c.interrupted),
		c.others,
	)
	c.alarms(&b)
	c.power(&b)
	c.every(&b)
	return b.String()
}

// alarms writes what became of builds that do not differ.
func (c curve) alarms(b *strings.Builder) {
	b.WriteString(
		"\n## Nothing planted\n\nA verdict of *worse* or *better* is a false alarm. Intervals are of 95 %, by Clopper and Pearson (Biometrika 26, 1934, 404).\n\n" +
			"| comparison | host | outcomes | same | undecided | no verdict | false alarms | **false alarms per 100** | median time | longest |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
	)
	row := func(what, host string, t tally) {
		fmt.Fprintf(
			b,
			"| %s | %s | %d | %d | %d | %d | %d | **%s** | %s |\n",
			what,
			host,
			t.n,
			t.scores[same],
			t.scores[undecided],
			t.scores[without],
			t.scores[alarm],
			t.shareText(alarm),
			t.times(),
		)
	}
	for _, k := range kinds {
		for _, h := range hosts {
			if k.nothing() {
				row(k.what, h, c.cell(k, h))
			}
		}
	}
	row("all", "both", c.tally(func(o outcome) bool { return kindOf(o.Kind).nothing() }))
}

// power writes what became of differences.
func (c curve) power(b *strings.Builder) {
	b.WriteString(
		"\n## Something planted\n\nA difference is *found* if each database is *worse*. Its size is measured against the base of the same comparison: the CPU\n" +
			"time that was built in, of the CPU time of all operations; or the wait, of p95(post), to which the timer adds up to 0.1 ms.\n\n" +
			"| difference | host | measured size | outcomes | undecided | missed | no verdict | **found, of 100** | median time | longest |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
	)
	for _, k := range kinds {
		for _, h := range hosts {
			t := c.cell(k, h)
			if k.nothing() || t.n == 0 {
				continue
			}
			size := "–"
			if len(t.planted) > 0 {
				size = fmt.Sprintf(
					"%.1f to %.1f %%",
					100*slices.Min(t.planted),
					100*slices.Max(t.planted),
				)
			}
			fmt.Fprintf(
				b,
				"| %s | %s | %s | %d | %d | %d | %d | **%s** | %s |\n",
				k.what,
				h,
				size,
				t.n,
				t.scores[undecided],
				t.scores[missed],
				t.scores[without],
				t.shareText(found),
				t.times(),
			)
		}
	}
	b.WriteString(
		"\nThe smallest size that was found in four of five outcomes or more, as was each larger one, of five outcomes at least:\n\n",
	)
	for _, by := range []string{byCPU, byWait} {
		for _, h := range hosts {
			fmt.Fprintf(b, "- %s, %s: %s\n", map[string]string{
				byCPU:  "CPU time in one operation",
				byWait: "p95(post)",
			}[by], h, c.smallest(by, h))
		}
	}
}

// smallest is the smallest size of a kind that is found in four of five outcomes.
func (c curve) smallest(by, host string) string {
	text := "not known yet"
	for _, k := range slices.Backward(kinds) {
		if k.by == by {
			switch t := c.cell(k, host); {
			case t.n < 5:
				return text
			case 5*t.scores[found] < 4*t.n:
				return strings.Replace(text, "not known yet", "none of these", 1)
			default:
				text = fmt.Sprintf("%g %%", 100*k.size)
			}
		}
	}
	return text
}

// every writes each outcome.
func (c curve) every(b *strings.Builder) {
	b.WriteString(
		"\n## Every outcome\n\nOthers are the share of all cores that other programs used before and during the comparison, there with the neighbor.\n\n" +
			"| slot | date (UTC) | commit | difference | host | others | time | outcome | primary endpoints (a change of 1 is 100 %, of errors a point) |\n|--:|---|---|---|---|---|--:|---|---|\n",
	)
	for _, o := range slices.Concat(c.counted, c.interrupted) {
		size := o.Kind
		if o.Planted > 0 {
			size += fmt.Sprintf(", measured %.1f %%", 100*o.Planted)
		}
		fmt.Fprintf(
			b,
			"| %d | %s | %s | %s | %s | %.1f %%, %.1f %% | %s | **%s** | %s |\n",
			o.Slot,
			o.At.Format("2006-01-02 15:04"),
			o.Commit,
			size,
			o.Host,
			100*o.Before,
			100*o.During,
			clock(o.Seconds),
			o.score(),
			o.words(),
		)
	}
}

// text is the outcome for people.
func (o outcome) text() string {
	return fmt.Sprintf(
		"slot %d, %s, %s: %s after %s, others used %.1f %% of the cores; %s",
		o.Slot,
		o.Kind,
		o.Host,
		o.score(),
		clock(o.Seconds),
		100*o.During,
		o.words(),
	)
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
