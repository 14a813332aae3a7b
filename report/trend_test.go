package report

import (
	"bytes"
	"encoding/csv"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
)

func TestTrendGolden(t *testing.T) {
	d := FromReleases(releaseScene())
	golden(t, "trend.md", written(t, Markdown, d))
	golden(t, "trend.csv", written(t, CSV, d))
	golden(t, "trend.json", written(t, JSON, d))
	golden(t, "trend.svg", render(t, TrendGraphs(d)[1].SVG))
}

// TestTrendAlarm: a change that one comparison shows names the comparison that would confirm it,
// and is an alarm with it.
func TestTrendAlarm(t *testing.T) {
	all := releaseScene()[:4]
	one := FromReleases(all)
	if c := one.Trend.Databases[0].Chains[0].Changes; len(c) != 1 || c[0].Alarm || c[0].InRow != 1 {
		t.Fatalf("changes %+v", c)
	}
	has(
		t,
		written(t, Markdown, one),
		"No alarm yet: that takes 2 comparisons in a row which show it; compare v10.2 or an earlier release with v10.3 or a later one.",
	)
	again := all[1]
	again.Comparison = "c-6"
	again.New = "v10.4"
	again.Time = time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC)
	two := FromReleases(append(all, again))
	if c := two.Trend.Databases[0].Chains[0].Changes; len(c) != 1 || !c[0].Alarm ||
		c[0].InRow != 2 {
		t.Fatalf("changes %+v", c)
	}
	has(t, written(t, Markdown, two), "ALARM: 2 comparisons in a row show it.", ", alarm |")
	has(t, written(t, CSV, two), ",true\n")

	var b bytes.Buffer
	if err := OtavaCSV(&b, two.Trend.Databases[0]); err == nil ||
		!strings.Contains(err.Error(), "comparison c-1 has no time") {
		t.Errorf("without times: %v", err)
	}
	b.Reset()
	two.Trend.Databases[0].Links = two.Trend.Databases[0].Links[4:]
	if err := OtavaCSV(&b, two.Trend.Databases[0]); err != nil ||
		b.String() != "time,comparison,base,release,difference,base_users,new_users\n"+
			"2026-01-30T00:00:00Z,c-6,v10.2,v10.4,-9.9401,1034.845276,931.980623\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestTrendNeverCrossesHosts: the same ratios on a host of ten times the size give the same trend.
func TestTrendNeverCrossesHosts(t *testing.T) {
	one := releaseScene()
	other := releaseScene()
	for i := range other {
		for k := range other[i].Pairs {
			p := &other[i].Pairs[k]
			p.Base, p.New = p.Base*math.Pow(10, float64(i%3)), p.New*math.Pow(10, float64(i%3))
		}
	}
	a, b := FromReleases(one), FromReleases(other)
	for i := range a.Trend.Databases {
		for k, c := range a.Trend.Databases[i].Chains {
			for j, r := range c.Releases {
				if got := b.Trend.Databases[i].Chains[k].Releases[j].Against; math.Abs(
					float64(got.Value-r.Against.Value),
				) > 1e-9 {
					t.Errorf(
						"%s: %v on one host, %v on hosts of other sizes",
						r.Release,
						r.Against,
						got,
					)
				}
			}
			if len(c.Changes) != len(b.Trend.Databases[i].Chains[k].Changes) {
				t.Error("another number of changes")
			}
		}
	}
}

// TestTrendLeavesOutWithheld: the pairs of a comparison that withheld its verdict do not show all
// of the new release, so their ratio joins nothing.
func TestTrendLeavesOutWithheld(t *testing.T) {
	all := releaseScene()
	all[1].Withheld = "v10.3 has more unstable searches than v10.2 (2, 0)"
	d := FromReleases(all)
	pg := d.Trend.Databases[0]
	if len(pg.LeftOut) != 2 || pg.LeftOut[0].Name != "c-2" || len(pg.Links) != 3 ||
		len(pg.Chains) != 2 {
		t.Fatalf(
			"left out %+v; %d comparisons, %d chains",
			pg.LeftOut,
			len(pg.Links),
			len(pg.Chains),
		)
	}
	if text := strings.Join(d.Trend.Warnings, "\n"); !strings.Contains(text, "c-2 is left out") ||
		!strings.Contains(text, all[1].Withheld) {
		t.Errorf("warnings:\n%s", text)
	}
}

func TestTrendFindings(t *testing.T) {
	d := FromReleases(releaseScene())
	pg, my := d.Trend.Databases[0], d.Trend.Databases[1]
	if len(pg.LeftOut) != 1 || len(pg.Chains) != 1 || len(my.Chains) != 2 {
		t.Fatalf("left out %v; %d and %d chains", pg.LeftOut, len(pg.Chains), len(my.Chains))
	}
	c := pg.Chains[0]
	if len(c.Changes) != 1 || c.Changes[0].Release != "v10.3" || c.Changes[0].Before != "v10.2" ||
		math.Abs(float64(c.Changes[0].Shift.Value)+0.1) > 0.01 ||
		c.Places != 4 {
		t.Errorf("changes %+v at %d places", c.Changes, c.Places)
	}
	// The names of a base that is new to the chain stand right before its release, in any order of
	// the comparisons.
	late := FromReleases([]ReleasePair{releaseScene()[1], releaseScene()[0]}).Trend.Databases[0].Chains[0]
	var names []string
	for _, r := range late.Releases {
		names = append(names, r.Release)
	}
	if strings.Join(names, " ") != "v10.1 v10.2 v10.3" {
		t.Errorf("the order is %v", names)
	}
}

func TestTrendForms(t *testing.T) {
	for name, all := range map[string][]ReleasePair{
		"two databases": releaseScene(),
		"nothing":       nil,
		"one":           releaseScene()[:1],
		"nasty": {{
			Comparison: nasty,
			Host:       nasty,
			Base:       nasty,
			New:        "v2",
			Database:   nasty,
			Pairs:      []verdict.Pair{{Block: 1, Base: 1, New: 2}},
		}},
	} {
		d := FromReleases(all)
		for i, g := range TrendGraphs(d) {
			m, err := png.Decode(bytes.NewReader(render(t, g.PNG)))
			if err != nil {
				t.Fatal(err)
			}
			if blue := pixels(m, 0); blue < 100 {
				t.Errorf("%s: picture %d has %d blue pixels", name, i, blue)
			}
			if strings.ContainsAny(g.File, "/\\ .<") {
				t.Errorf("%s: the file is called %s", name, g.File)
			}
		}
		checkClosed(t, name, written(t, HTML, d))
		rows, err := csv.NewReader(strings.NewReader(written(t, CSV, d))).ReadAll()
		if err != nil || name == "two databases" && len(rows) != 1+5+7 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		var back TrendPart
		if readBack(t, d, &back); len(back.Databases) != len(d.Trend.Databases) {
			t.Errorf("%s: %+v", name, back)
		}
	}
}
