package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/judge/verdict"
)

// Given numbers have the forms of a comparison.
func TestJudgedGolden(t *testing.T) {
	d := judgedDocument()
	golden(t, "judged.comment.md", written(t, Comment, d))
	golden(t, "judged.csv", written(t, CSV, d))
	golden(t, "judged.md", written(t, Markdown, d))
}

// lively matches text that a forge would not show as plain text: links, mentions, references,
// images, elements, and formulas.
var lively = regexp.MustCompile(`(?i)\]\(|https?://|www\.\w|@\w|#\d|\bgh-\d|(^|[^\\])<[a-z/!?]|\$`)

// TestCommentIsInert fills every text of a document that others choose with markup that forges
// interpret.
func TestCommentIsInert(t *testing.T) {
	const bait = "`c` @everyone see http://evil.example/x www.evil.example fixes #12 GH-34 [x](javascript:1) ![i](http://evil.example/i.png) <img src=x onerror=y> <!-- --> $\\unicode{x}$ a|b \n\n# head\n- [ ] task me@evil.example"
	d := From(scenes()["full"].input())
	d.Name = bait
	d.Arms[0].Label, d.Arms[1].Label = bait, bait+"2"
	d.Warnings = []string{bait}
	d.Runs[0].ID, d.Runs[0].Valid = bait, false
	d.State.State = bait
	d.State.Complete = false
	d.Engines[0].Label = bait
	for i := range d.Verdicts {
		f := &d.Verdicts[i]
		f.Name = bait
		for k := range f.Verdict.Results {
			r := &f.Verdict.Results[k]
			r.Name = bait
			r.Reason = bait
			r.Unit = bait
		}
	}
	for i := range d.Limiters {
		for k := range d.Limiters[i].Named {
			d.Limiters[i].Named[k].Name = bait + fmt.Sprint(i)
		}
	}
	lines := strings.Split(written(t, Comment, d), "\n")
	if !strings.HasPrefix(lines[0], "<!-- plimsoll ") || strings.Count(lines[0], "-->") != 1 ||
		strings.Count(lines[0], "--") != 2 {
		t.Errorf("the marker is %q", lines[0])
	}
	columns := 0
	for _, line := range lines[1:] {
		// names stand in spans of code, where nothing is turned into anything
		if strings.HasPrefix(line, "### ") {
			if strings.Count(line, "``") != 4 ||
				!strings.HasPrefix(line, "### Performance: `` `c` ") {
				t.Errorf("the names are not in spans: %s", line)
			}
			continue
		}
		// The latter does not end a link.
		text := strings.ReplaceAll(strings.ReplaceAll(line, "<span>$</span>", ""), `\]`, "")
		if m := lively.FindString(text); m != "" {
			t.Errorf("%q in %s", m, line)
		}
		if strings.HasPrefix(line, "|") {
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if columns != 0 && n != columns {
				t.Errorf("a row has %d columns instead of %d: %s", n, columns, line)
			}
			columns = n
		} else if strings.HasPrefix(line, "#") {
			t.Errorf("a heading: %s", line)
		}
	}
	if columns == 0 {
		t.Error("there is no table")
	}
	for _, harmless := range []string{"p99(op) < 2s", "-12.8 % [-14.7, -10.9]", "cpu(app) < 85%"} {
		if got := inert(harmless, 100); got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

// TestCommentFits: a forge refuses a comment longer than 65,536 characters.
func TestCommentFits(t *testing.T) {
	for _, text := range []string{"wöw_*", "$"} { // a dollar sign takes most bytes
		commentFits(t, strings.Repeat("wöw_*", 4000), strings.Repeat(text, 4000))
	}
	has(t, written(t, Comment, Document{}), "**Nothing was judged.**")
}

// commentFits checks the comment on a document all of whose warnings, and all of whose other texts,
// are a long one.
func commentFits(t *testing.T, long, warning string) {
	t.Helper()
	d := From(scenes()["interrupted"].input())
	f := d.Verdicts[0]
	r := f.Verdict.Results[0]
	r.Name = long
	r.Kind = verdict.Inconclusive
	r.Reason = long
	f.Name, f.Verdict.Results = long, nil
	f.Verdict.Kind, f.Verdict.Indicative = verdict.Inconclusive, false
	for range 80 {
		f.Verdict.Results = append(f.Verdict.Results, r)
	}
	d.Verdicts, d.Warnings = nil, nil
	for range 90 {
		d.Verdicts = append(d.Verdicts, f)
		d.Warnings = append(d.Warnings, warning)
	}
	d.Name = long
	d.Engines[0].Label = long
	d.State.State = "x"
	for i := range d.Runs {
		d.Runs[i].ID, d.Runs[i].Valid = long, false
	}
	text := written(t, Comment, d)
	if len(text) > MaxComment || !utf8.ValidString(text) {
		t.Errorf("warnings of %.10q: %d bytes, want at most %d", warning, len(text), MaxComment)
	}
	has(
		t,
		text,
		"verdicts more\n",
		"Whole report: `report.html`",
		"more in the report",
		"Validity: ",
	)
}
