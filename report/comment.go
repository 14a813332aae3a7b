package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"plimsoll/internal/plain"
)

// MaxComment is the largest size of a [Comment] in bytes. Forges take 65,536 characters.
const MaxComment = 60_000

// Limits of the texts in a comment, in signs.
const (
	commentLine = 700
	commentCell = 160
)

// Comment writes the document as a comment on a pull request, in GitHub's dialect of Markdown and
// of at most [MaxComment] bytes: a line for each verdict, which begins with the limiters where they
// differ, the primary endpoints, the validity of the runs, and where the whole report is. It begins
// with an HTML comment that names the comparison's plan, so that a program can find and replace the
// comment of an earlier run. No text of a plan or a server becomes markup, a link, a mention or a
// reference to an issue.
func Comment(w io.Writer, d Document) error {
	last := commentEnd(d)
	c := comment{left: MaxComment - 200 - len(last)} // for how much was left out, and the end
	labels := textsOf(d.armTitles(), func(title string) string { return code(short(title, 80)) })
	c.line("<!-- plimsoll " + markerRE.ReplaceAllString(short(d.Name, 80), "_") + " -->")
	c.line("### Performance: " + strings.Join(labels, " vs "))
	c.line("")
	if !d.State.Complete {
		missing := d.State.missing(stateWord(d.State.State))
		c.line("**Not complete**: " + inert(missing, commentLine) + ".")
		c.line("")
	}
	if len(d.Verdicts) == 0 {
		c.line("**Nothing was judged.**")
	}
	for i, f := range d.Verdicts {
		if !c.line(fmt.Sprintf("- **%s** · %s",
			strings.ToUpper(kindText(f.Verdict.Kind, f.Verdict.Indicative)),
			inert(headline(d, f), commentLine))) {
			c.end(fmt.Sprintf("- and %s more", count(len(d.Verdicts)-i, "verdict", "verdicts")))
			break
		}
		for _, t := range append(d.WhyLines(f), impliedComments(f)...) {
			c.line("  - " + inert(t, commentLine))
		}
	}
	c.line("")
	c.endpoints(d)
	_, err := io.WriteString(w, c.b.String()+last)
	return err
}

// commentEnd returns the part of a comment that is never left out: the validity of the runs, the
// first warnings, and where the whole report is.
func commentEnd(d Document) string {
	var c comment
	if len(d.Runs) > 0 {
		c.end(fmt.Sprintf(
			"Validity: %s; %s.",
			inert(validityText(d), commentLine),
			d.State.judgedText(),
		))
		c.end("")
	}
	urgent := urgent(d.WarningGroups)
	switch n := len(d.Warnings); {
	case n > 0 && len(urgent) == 0:
		c.end(fmt.Sprintf("%s in the report, none to act on.", count(n, "warning", "warnings")))
		c.end("")
	case n > 0:
		c.end(fmt.Sprintf("%s:", count(n, "warning", "warnings")))
		for _, g := range urgent {
			n -= len(g.Warnings)
			c.end("- " + inert(g.Text, 300))
		}
		if n > 0 {
			c.end(fmt.Sprintf("- %d more in the report", n))
		}
		c.end("")
	}
	full := ""
	if len(d.Runs) > 0 { // of numbers that were given, report.md has everything
		full = " `" + FullFile + "`,"
	}
	c.end(
		"Whole report: `report.html`, `report.md`," + full + " `report.json`; for machines `report.csv`, `pairs.csv`, `junit.xml`.",
	)
	return c.b.String()
}

// markerRE matches characters that the marker of a comment cannot hold.
var markerRE = regexp.MustCompile(`[^A-Za-z0-9._]+`)

type comment struct {
	b    strings.Builder
	left int // bytes for lines that may be left out
}

// line writes a line if there is room.
func (c *comment) line(text string) bool {
	if len(text)+1 > c.left {
		return false
	}
	c.left -= len(text) + 1
	c.end(text)
	return true
}

// end writes a line for which room is kept.
func (c *comment) end(text string) { c.b.WriteString(text + "\n") }

func (c *comment) endpoints(d Document) {
	total := 0
	for _, f := range d.Verdicts {
		total += len(f.Verdict.Results)
	}
	if total == 0 {
		return
	}
	several := len(d.Verdicts) > 1 || d.Verdicts[0].Engine != ""
	tableOf := func(f NamedVerdict) *table {
		return d.State.endpointTable(f, "Base", "New").without("Needed").without("Why")
	}
	head := tableOf(NamedVerdict{}).Head
	rule := "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
	if several {
		head, rule = append([]string{"Test"}, head...), "| --- "+rule
	}
	if !c.line("| "+strings.Join(head, " | ")+" |") || !c.line(rule) {
		return
	}
	shown := 0
	for _, f := range d.Verdicts {
		for _, cells := range tableOf(f).Rows {
			if several {
				cells = append([]string{f.Name}, cells...)
			}
			for i, cell := range cells {
				cells[i] = inert(cell, commentCell)
			}
			if !c.line("| " + strings.Join(cells, " | ") + " |") {
				c.end("")
				c.end(fmt.Sprintf(
					"%s of %d left out here.",
					count(total-shown, "endpoint", "endpoints"),
					total,
				))
				c.end("")
				return
			}
			shown++
		}
	}
	c.line("")
}

// inert writes at most the first most signs of a text so that a forge shows them literally: no
// markup, no address that becomes a link, no mention of a person, no reference to an issue, no
// formula. A zero-width space breaks each of them.
func inert(s string, most int) string {
	s = linkRE.ReplaceAllString(md(short(plain.OneLine(s), most)), "$1$3\u200b$2$4")
	return strings.ReplaceAll(s, "$", "<span>$</span>")
}

// linkRE matches the beginnings of texts that forges turn into links: @name, #12, GH-12, scheme://,
// www., and mail addresses with them.
var linkRE = regexp.MustCompile(`(?i)([@#])(\w)|(\bGH|:|\bwww)(-\d|//|\.)`)
