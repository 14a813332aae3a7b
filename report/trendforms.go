package report

import (
	"cmp"
	"fmt"
)

// top begins the report.
func (d *TrendPart) top() sheet {
	s := sheet{title: trendTitle, leads: d.lines(), list: true, warnings: d.Warnings}
	s.footer = "Made by plimsoll from stored comparisons or published numbers."
	if len(d.Databases) == 0 {
		s.alerts = append(s.alerts, alert{"There is no comparison.", ""})
	}
	return s
}

// trendSections refer to the pictures of [TrendGraphs] as graphs/<file>; the caller puts them
// there.
func (d Document) trendSections() []section {
	var out []section
	graphs := TrendGraphs(d)
	for i, db := range d.Trend.Databases {
		out = append(out,
			section{Level: 2, Title: cmp.Or(db.Database, "Releases"), Drawing: &graphs[i]})
		for k, c := range db.Chains {
			title := "Releases"
			if len(db.Chains) > 1 {
				title = fmt.Sprintf("Releases, chain %d", k+1)
			}
			out = append(out, c.table().section(title)...)
		}
		out = append(out, db.comparisons().section("Comparisons")...)
	}
	return append(out, section{Level: 2, Title: "How to read this", Notes: d.Trend.readingNotes()})
}

// table lists the releases of a chain.
func (c TrendChain) table() *table {
	t := newTable("Release", ">Against "+c.Releases[0].Release, ">Comparisons", "Change")
	for j, r := range c.Releases {
		against := "reference"
		if j > 0 {
			against = r.Against.text()
		}
		t.add(r.Release, against, r.Comparisons, c.changeAt(r.Release))
	}
	return t
}

// changeAt returns the change that begins with a release as text; empty without one.
func (c TrendChain) changeAt(release string) string {
	text := ""
	for _, x := range c.Changes {
		if x.Release != release {
			continue
		}
		text = fmt.Sprintf("%s, p %s", x.Shift.text(), equals(qText(float64(x.P))))
		if x.Alarm {
			text += ", alarm"
		}
	}
	return text
}

// comparisons lists the comparisons of a database.
func (db TrendDatabase) comparisons() *table {
	t := newTable("Comparison", "Base", "New", ">Users, base", ">Users, new", ">Delta",
		">Pairs", "Host")
	for _, l := range db.Links {
		t.add(
			l.Comparison,
			l.Base,
			l.New,
			fixed(l.BaseUsers, 0),
			fixed(l.NewUsers, 0),
			l.Effect.text(),
			l.Pairs,
			orDash(l.Host),
		)
	}
	return t
}

// readingNotes explain the tables, and what they assume.
func (d *TrendPart) readingNotes() []string {
	return []string{
		"A release is placed by the ratio of supported users within each comparison, where it " +
			"ran block by block beside another. Ratios are multiplied along a chain; users of " +
			"different comparisons, which were measured on other days and often on other " +
			"machines, are never set against each other. What is assumed is that a ratio of two " +
			"releases is the same on both machines.",
		"Intervals are of " + trim(fixed(100*d.Level, 1)) + " % and grow along a chain, because " +
			"errors add up. Comparisons with fewer than three pairs give no interval, with fewer " +
			"than six no change.",
		"A change is a release from which on the level is another: binary segmentation with t " +
			"tests, p-values adjusted (Bonferroni) for all places of the chain, so that a chain " +
			"of equal releases gets one in at most " + trim(fixed(100*d.Alpha, 1)) +
			" % of all cases (docs/method/statistics.md). A slow decline of many small steps " +
			"need not have any: look at the last release against the first. It is an alarm when " +
			"two comparisons in a row that reach across it show it, each by itself.",
	}
}
