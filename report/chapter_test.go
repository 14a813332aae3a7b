package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// TestChapters: a caller's paragraphs, tables and graphs stand in every form, escaped, and its graphs are pictures of
// their own.
func TestChapters(t *testing.T) {
	line := dialect.Curve{T: []float64{0, 1, 2}, V: []float64{5, 6, 7}}
	in := liveInput("")
	in.Chapters = []dialect.Supplement{{
		Title: "What was said before", Leads: []string{"A lead <b>."}, Notes: []string{"A paragraph with a | in it."},
		Tables: []dialect.TextTable{{Title: "A table", Head: []string{"Claim", ">Here"}, Rows: [][]string{{"one", "1.11 [1.0, 1.2]"}}, Notes: []string{"A note."}}},
		Charts: []dialect.Chart{
			{Name: "stories-a", Title: "Stories per minute, a", Unit: "1/min", Lines: []dialect.ChartLine{{Label: "client", Index: 0, Runs: []dialect.Curve{line, line}}, {Label: "server", Index: 1, Runs: []dialect.Curve{line}}, {Label: "nobody"}}},
			{Name: "nothing", Title: "Nothing", Lines: []dialect.ChartLine{{Label: "x"}}},
		},
	}}
	d := From(in)
	if len(d.Chapters) != 1 || len(d.Chapters[0].Graphs) != 1 {
		t.Fatalf("chapters %+v, want one with one graph", d.Chapters)
	}
	g := d.Graphs[d.Chapters[0].Graphs[0]]
	if g.File != "stories-a.png" || len(g.Arms) != 2 || g.Arms[0].N != 2 || !slices.Equal(g.Arms[1].Median, line.V) {
		t.Errorf("graph %+v", g)
	}
	var html, text, png bytes.Buffer
	if err := HTML(&html, d); err != nil {
		t.Fatal(err)
	}
	if err := FullMarkdown(&text, d); err != nil {
		t.Fatal(err)
	}
	has(t, html.String(), "What was said before", "A table", "1.11 [1.0, 1.2]", "A note.", "Stories per minute, a · measured phase", "A lead &lt;b&gt;.")
	has(t, text.String(), "## What was said before", "### A table", `A paragraph with a \| in it.`, "![stories-a](graphs/stories-a.png)", `- A lead \<b>.`)
	all := Graphs(d)
	if err := all[d.Chapters[0].Graphs[0]].PNG(&png); err != nil || png.Len() == 0 {
		t.Errorf("no picture: %v", err)
	}
}

// TestClientAndServer: both sides of an operation stand beside each other, and the difference of their means only
// where both saw the same requests.
func TestClientAndServer(t *testing.T) {
	window := func(n int, d time.Duration) *measure.Window {
		w := measure.NewWindow("")
		w.Classes[measure.OK] = uint64(n)
		w.Response.RecordN(d, uint32(n))
		return w
	}
	in := liveInput("")
	for i := range in.Runs {
		r := &in.Runs[i]
		r.Ops = map[string]*measure.Window{"story": window(1000, 3*time.Millisecond), "search": window(1000, 2*time.Millisecond), "setup_story": window(5, time.Second)}
		r.Server = map[string]*measure.Window{"story": window(1001, time.Millisecond), "search": window(500, time.Millisecond), "setup_story": window(5, time.Second), "other": window(1, time.Second)}
	}
	d := From(in)
	if len(d.Sides) == 0 {
		t.Fatal("no table")
	}
	seen := map[string]int{}
	for _, r := range d.Sides[0].Rows {
		seen[r.Name]++
		if r.Client.Count%1000 != 0 || r.Server.Mean != 1 {
			t.Errorf("row %+v", r)
		}
		switch r.Name {
		case "story":
			if r.Between != 2 || r.Client.P95 < 2.98 || r.Client.P95 > 3.02 {
				t.Errorf("story: %+v, want 2 ms between", r)
			}
		case "search":
			if r.Between.Known() {
				t.Errorf("search: %+v, want no difference of different requests", r)
			}
		}
	}
	if seen["story"] != len(d.Arms) || seen["search"] != len(d.Arms) || len(seen) != 2 {
		t.Errorf("rows of %v, want story and search of each arm", seen)
	}
	var text bytes.Buffer
	if err := FullMarkdown(&text, d); err != nil || !strings.Contains(text.String(), "### Client and server") {
		t.Errorf("%v: the Markdown has no such table", err)
	}
}

// TestRowsOfTheStores are added up over the runs of an arm, and deviations are listed.
func TestRowsOfTheStores(t *testing.T) {
	in := liveInput("")
	for i := range in.Runs {
		if u := in.Runs[i].Users; u != nil && u.Audit != nil {
			u.Audit.Rows = append(u.Audit.Rows, rowCount("database", 10, 12, 11), rowCount("wide", 5, 5, 4))
		}
	}
	d := From(in)
	text := written(t, FullMarkdown, d)
	_, after, ok := strings.Cut(text, "### Rows in the stores")
	if !ok {
		t.Fatal("no table of rows")
	}
	right := strings.Contains(after, "| yes ") && strings.Contains(after, "| no ")
	if !right {
		t.Errorf("the table does not say what is as expected:\n%.900s", after)
	}
	var runs int64
	for _, r := range in.Runs {
		if r.Cell.Arm == d.Users[0].Arm && r.Cell.Engine == d.Users[0].Engine && r.Users != nil && r.Cell.Valid && !r.Cell.Pilot && !r.Cell.Dropped {
			runs++
		}
	}
	if got := d.Users[0].Audit.Rows[0]; got.Least != 10*runs || got.Most != 12*runs || got.Actual != 11*runs || runs < 2 {
		t.Errorf("%+v over %d runs", got, runs)
	}
}

func rowCount(store string, least, most, actual int64) workload.RowCount {
	return workload.RowCount{Store: store, What: "things", Least: least, Most: most, Actual: actual}
}
