package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"plimsoll/judge/limiter"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// nasty is a name that tries to get out of every form.
const nasty = "\"'><script>alert(1)</script><img src=x onerror=alert(1)> | `a` **b** [x](javascript:alert(1)) &lt; <!-- \n# head\x1b[31m\u202e"

// scenes are the situations that a reader can meet.
func scenes() map[string]scene {
	small := full()
	small.seconds, small.graphs = 12, small.graphs[:2]

	aa := small
	aa.capacity = map[string]float64{
		"postgresql/base": 1320,
		"postgresql/new":  1320,
		"mysql/base":      1240,
		"mysql/new":       1240,
	}
	aa.slower = nil

	one := small
	one.blocks = 1

	interrupted := small
	interrupted.stopAfter = 15
	interrupted.invalid = func(block, order int) bool { return block == 2 && order == 3 }

	censored := small
	censored.atLeast = func(_, arm string, block int) bool { return arm == "base" || block == 3 }

	search := small
	search.bounded, search.plan = false, nil

	plateau := small
	plateau.unbounded = false

	external := small
	external.engines = []string{""}
	external.names = nil
	external.plan = nil
	external.capacity = map[string]float64{"/base": 900, "/new": 905}
	external.slower = nil

	hostile := small
	hostile.hostile = nasty
	hostile.engines = []string{"postgresql"}
	hostile.names = map[string]string{"postgresql": "Postgre" + nasty}
	hostile.arms = []string{"base" + nasty, "new" + nasty}
	hostile.capacity = map[string]float64{
		"postgresql/" + hostile.arms[0]: 1000,
		"postgresql/" + hostile.arms[1]: 990,
	}
	hostile.invalid = func(block, order int) bool { return block == 1 && order == 1 }

	invalid := small
	invalid.blocks = 2
	invalid.invalid = func(_, order int) bool { return order == 2 }

	hostile.further, external.further = true, true
	whole := small
	whole.further = true
	rich := whole
	rich.rich = true

	three := small
	three.arms = []string{"base", "new", "tuned"}
	three.engines = []string{"postgresql"}
	three.capacity = map[string]float64{
		"postgresql/base":  1320,
		"postgresql/new":   1150,
		"postgresql/tuned": 1500,
	}
	return map[string]scene{
		"full":           whole,
		"rich":           rich,
		"aa":             aa,
		"one-block":      one,
		"interrupted":    interrupted,
		"censored":       censored,
		"unbounded-only": search,
		"external":       external,
		"hostile":        hostile,
		"three-arms":     three,
		"invalid":        invalid,
		"bounded-only":   plateau,
	}
}

// wholeScenes are the scenes with a golden file of each form; the others have the brief report
// alone.
var wholeScenes = map[string]bool{"rich": true, "interrupted": true}

func golden[S string | []byte](t *testing.T, name string, text S) {
	t.Helper()
	file, got := filepath.Join("testdata", name+".golden"), []byte(text)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf(
			"%s differs from line %d on (rewrite with -update and read the diff)",
			file,
			firstDifference(got, want),
		)
	}
}

func firstDifference(a, b []byte) int {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return i + 1
		}
	}
	return min(len(x), len(y)) + 1
}

func render(t *testing.T, f func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// written is a form of a document.
func written[D any](t *testing.T, form func(io.Writer, D) error, d D) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return form(w, d) }))
}

// evaluated is an evaluation of a rule.
func evaluated(at time.Duration, phase, rule string, value, limit float64) record.Event {
	return record.Event{At: at, Kind: "slo", Phase: phase, Rule: rule, Value: value, Limit: limit}
}

// ofBase is the input of runs of one arm without a database, a block each.
func ofBase(runs ...RunData) Input {
	c := &record.Comparison{Arms: []string{"base"}, Engines: []string{""}, Blocks: len(runs)}
	for _, r := range runs {
		c.Runs = append(c.Runs, r.Cell)
	}
	return Input{Comparison: c, Runs: runs}
}

func screenText(t *testing.T, d Document, width int) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return Screen(w, d, width) }))
}

// readBack reads the JSON form of a report.
func readBack(t *testing.T, d Document, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(written(t, JSON, d)), into); err != nil {
		t.Fatal(err)
	}
}

// has holds that a text contains others.
func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the text lacks %q:\n%.3000s", w, text)
		}
	}
}

// bare is a page without style, script and policy.
func bare(page string) string {
	return strings.NewReplacer(pageStyle, "", pageScript, "", policy(), "").Replace(page)
}

func TestGolden(t *testing.T) {
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			d := From(s.input())
			brief := written(t, Markdown, d)
			golden(t, name+".md", brief)
			if n := strings.Count(brief, "\n"); n > 250 {
				t.Errorf("report.md has %d lines, want 250 at most", n)
			}
			if !wholeScenes[name] {
				return
			}
			golden(t, name+".txt", screenText(t, d, 100))
			golden(t, name+".svg", render(t, Graphs(d)[0].SVG))
			golden(t, name+".full.md", written(t, FullMarkdown, d))
			golden(t, name+".answer.svg", render(t, d.Answer().SVG))
			golden(t, name+".comment.md", written(t, Comment, d))
			golden(t, name+".junit.xml", written(t, JUnit, d))
			golden(t, name+".csv", written(t, CSV, d))
			graphs := d.Graphs[:1:1] // one is enough to see their form
			for _, c := range d.Chapters {
				graphs, c.Graphs[0] = append(graphs, d.Graphs[c.Graphs[0]]), len(graphs)
			}
			d.Graphs = graphs
			golden(t, name+".html", bare(written(t, HTML, d)))
			var indented bytes.Buffer
			if err := json.Indent(&indented, []byte(written(t, JSON, d)), "", " "); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", indented.Bytes())
		})
	}
}

// TestSameInputSameBytes draws every form twice from inputs that were made twice: nothing may
// depend on the order of a map.
func TestSameInputSameBytes(t *testing.T) {
	for name := range wholeScenes {
		forms := func() string {
			d := From(scenes()[name].input())
			return written(t, Markdown, d) + written(t, FullMarkdown, d) +
				string(render(t, d.Answer().SVG)) + written(t, HTML, d) + written(t, JSON, d)
		}
		first := forms()
		for range 3 {
			if first != forms() {
				t.Fatalf("%s: the second report differs from the first", name)
			}
		}
	}
}

// TestJSONReadsBack reads a document back and writes it again.
func TestJSONReadsBack(t *testing.T) {
	for name, s := range scenes() {
		if s.rich { // JSON lacks the words for typical(op)
			continue
		}
		d := From(s.input())
		var again Document
		readBack(t, d, &again)
		if written(t, JSON, d) != written(t, JSON, again) {
			t.Errorf("%s: the document changes when it is read back", name)
		}
		if written(t, FullMarkdown, d) != written(t, FullMarkdown, again) ||
			written(t, Markdown, d) != written(t, Markdown, again) {
			t.Errorf("%s: the document that was read back makes another report", name)
		}
	}
}

func TestScreenFits(t *testing.T) {
	for name, s := range scenes() {
		d := From(s.input())
		for _, width := range []int{0, 100, 72, 20} {
			text := screenText(t, d, width)
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if most := map[int]int{0: 17, 100: 17, 72: 23, 20: 42}[width]; len(lines) > most {
				t.Errorf("%s at %d: %d lines:\n%s", name, width, len(lines), text)
			}
			limit := max(width, 40)
			if width == 0 {
				limit = 100
			}
			for _, l := range lines {
				if n := utf8.RuneCountInString(l); n > limit {
					t.Errorf("%s at %d: %d signs: %s", name, width, n, l)
				}
				if strings.Contains(l, "…") {
					t.Errorf("%s at %d: cut: %s", name, width, l)
				}
				if strings.ContainsAny(l, "\x1b\u202e\r") {
					t.Errorf("%s: control signs in %q", name, l)
				}
			}
		}
	}
}

// TestHTMLIsClosed parses the page: only known elements, no handler, no address but places in the
// page itself and pages beside it.
func TestHTMLIsClosed(t *testing.T) {
	for name, s := range scenes() {
		checkClosed(t, name, written(t, HTML, From(s.input())))
	}
}

func checkClosed(t *testing.T, name, page string) {
	t.Helper()
	elements := strings.Fields(
		"html head meta title style body header h1 h2 h3 code div section nav a main p b i span button ul li table thead tbody tr th td figcaption " +
			"details summary figure svg g line polyline path circle text tspan rect footer script",
	)
	attributes := strings.Fields(
		"lang charset http-equiv content name class id href open viewBox role aria-label x y x1 x2 y1 y2 d points transform " +
			"data-at text-anchor font-size cx cy r width height preserveAspectRatio data-end data-lo data-hi data-unit data-arm data-key data-clock tabindex vector-effect type scope aria-labelledby aria-expanded aria-pressed",
	)
	if strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Errorf("%s: the page holds an address", name)
	}
	for _, raw := range []string{pageStyle, pageScript} {
		if !strings.Contains(page, raw) {
			t.Fatalf("%s: style or script is missing", name)
		}
		page = strings.Replace(page, raw, "", 1)
	}
	page = strings.ReplaceAll(page, "<!DOCTYPE html>", "")
	dec := xml.NewDecoder(strings.NewReader(page))
	dec.Entity = xml.HTMLEntity
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if !slices.Contains(elements, e.Name.Local) {
				t.Errorf("%s: element %s", name, e.Name.Local)
			}
			for _, a := range e.Attr {
				if !slices.Contains(attributes, a.Name.Local) {
					t.Errorf("%s: attribute %s of %s", name, a.Name.Local, e.Name.Local)
				}
				if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") && !strings.HasPrefix(a.Value, PagesDir+"/") {
					t.Errorf("%s: a link to %s", name, a.Value)
				}
			}
		case xml.Comment, xml.ProcInst, xml.Directive:
			t.Errorf("%s: %T in the page", name, e)
		}
	}
}

// TestMarkdownTablesHold counts the columns of every table: no text may add or break a row.
func TestMarkdownTablesHold(t *testing.T) {
	for name, s := range scenes() {
		columns := 0
		for i, line := range strings.Split(written(t, Markdown, From(s.input())), "\n") {
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if columns == 0 {
				columns = n
			}
			if n != columns || !strings.HasSuffix(line, "|") {
				t.Errorf("%s, line %d has %d columns, want %d: %s", name, i+1, n, columns, line)
			}
		}
	}
	for in, want := range map[string]string{
		"a|b":          `a\|b`,
		"<script>":     `\<script>`,
		"p99(op) < 2s": "p99(op) < 2s",
		"a_b":          "a_b",
		"_a_":          `\_a\_`,
		"[x](y)":       `[x\](y)`,
		"# x":          `\# x`,
		"-12 %":        "-12 %",
		"a\nb":         "a b",
		"&lt;":         `\&lt;`,
		"*":            `\*`,
	} {
		if got := md(in); got != want {
			t.Errorf("md(%q) = %q, want %q", in, got, want)
		}
	}
	if got := code("a`b"); got != "`` a`b ``" {
		t.Errorf("code span %q", got)
	}
}

// TestReleaseContinues drafts it only when everything is complete and the same or better.
func TestReleaseContinues(t *testing.T) {
	const text = "Release can continue as planned."
	for name, want := range map[string]bool{
		"aa":          true,
		"full":        false,
		"one-block":   false,
		"interrupted": false,
		"censored":    false,
		"external":    true,
		"invalid":     false,
	} {
		d := From(scenes()[name].input())
		if got := slices.Contains(d.Actions, text); got != want {
			t.Errorf("%s (%s): %v", name, d.Kind, d.Actions)
		}
	}
	broken := scenes()["aa"]
	broken.broken = true
	if d := From(broken.input()); d.Kind != verdict.Same || slices.Contains(d.Actions, text) ||
		!strings.Contains(strings.Join(d.Comments, " "), "broke cpu(app) < 85% in 6 of 6 runs") {
		t.Errorf("a broken rule: %v %v", d.Actions, d.Comments)
	}
	in := scenes()["aa"].input()
	in.Comparison.State, in.Comparison.Why = record.Interrupted, "interrupt"
	if d := From(in); slices.Contains(d.Actions, text) {
		t.Errorf("an interrupted comparison: %v", d.Actions)
	}
	in.Actions, in.Comments = []string{"Mine."}, []string{"My *own* words."}
	d := From(in)
	if len(d.Actions) != 1 || d.Actions[0] != "Mine." || d.DraftedActions || d.DraftedComments {
		t.Errorf("a person's words were replaced: %v", d.Actions)
	}
	has(t, written(t, Markdown, d), "- My *own* words.\n")
}

// TestPoor makes documents of inputs that are nearly nothing.
func TestPoor(t *testing.T) {
	for name, in := range map[string]Input{
		"nothing": {},
		"comparison": {Comparison: &record.Comparison{
			Arms:    []string{"base", "new"},
			Engines: []string{"postgresql", "mysql"},
			Blocks:  6,
		}},
		"verdicts": {Arms: []Judged{{Engine: "x", Arm: "y", Verdict: verdict.Combine("x", nil)}}},
		"run": {
			Comparison: &record.Comparison{
				Arms:    []string{"base"},
				Engines: []string{""},
				Runs:    []record.ComparisonRun{{Run: "r", Valid: true, Arm: "base", Block: 1}},
			},
			Runs: []RunData{{
				Cell: record.ComparisonRun{Run: "r", Valid: true, Arm: "base", Block: 1},
				Ops:  map[string]*measure.Window{"post": nil},
				Series: map[string]map[string]Line{Bounded: {"rps": {
					T: []float64{-1, 5, 5, 1},
					V: []float64{1, 2, 3},
				}}},
			}},
			Graphs: []GraphSpec{{Name: "rps"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := From(in)
			for _, f := range append(d.Forms(), drawings(AnswerFile, d.Answer())...) {
				if len(render(t, f.Write)) == 0 {
					t.Errorf("an empty report: %+v", f)
				}
			}
			for _, g := range Graphs(d) {
				render(t, g.PNG)
			}
			if slices.Contains(d.Actions, "Release can continue as planned.") {
				t.Errorf("nothing was judged: %v", d.Actions)
			}
		})
	}
}

// armColors are the colors of the first two arms.
var armColors = []color.Color{
	color.NRGBA{0x00, 0x72, 0xB2, 0xff}, color.NRGBA{0xD5, 0x5E, 0x00, 0xff},
}

// pixels counts the pixels of a picture that have the color of an arm.
func pixels(m image.Image, arm int) (n int) {
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			if color.NRGBAModel.Convert(m.At(x, y)) == armColors[arm] {
				n++
			}
		}
	}
	return n
}

func TestPNG(t *testing.T) {
	for _, g := range Graphs(From(scenes()["full"].input()))[:2] {
		m, err := png.Decode(bytes.NewReader(render(t, g.PNG)))
		if err != nil {
			t.Fatal(err)
		}
		if b := m.Bounds(); b.Dx() != pngWidth || b.Dy() != pngHeight {
			t.Errorf("%s is %v", g.File, b)
		}
		for i := range armColors {
			if n := pixels(m, i); n < 500 {
				t.Errorf("%s: the curve of arm %d has %d pixels", g.File, i, n)
			}
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	g := Graphs(From(full().input()))[0]
	for b.Loop() {
		if err := g.PNG(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// An unknown limiter of an arm does not count as a different limiter.
func TestUnknownIsNoOtherLimiter(t *testing.T) {
	s := full()
	s.seconds, s.graphs = 12, nil
	s.limits = map[string]string{
		"postgresql/base": limiter.LimitUnknown,
		"postgresql/new":  "cpu app",
	}
	d := From(s.input())
	text := headline(d, d.Verdicts[0]) + " " + strings.Join(d.Comments, " ")
	if strings.Contains(text, "the limiters differ") ||
		strings.Contains(text, "set by different resources") {
		t.Error(text)
	}
}

// With several new arms every sentence of the comments names its arm.
func TestCommentsNameTheArm(t *testing.T) {
	in := scenes()["three-arms"].input()
	for i := range in.Arms {
		in.Arms[i].Shifts = []verdict.Shift{{
			Op:       "op",
			Points:   []verdict.ShiftPoint{{P: 0.5, Kind: verdict.Worse}},
			Sentence: "op: slower",
		}}
	}
	for _, c := range From(in).Comments {
		if (strings.Contains(c, "in the bounded test, ") || strings.Contains(c, "response times of")) &&
			!strings.Contains(c, "new") &&
			!strings.Contains(c, "tuned") {
			t.Errorf("of which arm is %q?", c)
		}
	}
}

// Of six blocks one has no number of an endpoint: more blocks of the same length would have none
// either.
func TestPairThatHasNoNumber(t *testing.T) {
	in := scenes()["aa"].input()
	results := slices.Clone(in.Arms[0].Verdict.Results)
	results[1] = verdict.Judge(results[1].Endpoint, results[1].Pairs[:5], verdict.Fixed(6))
	in.Arms[0].Verdict = verdict.Combine(in.Arms[0].Verdict.Database, results)
	actions := strings.Join(From(in).Actions, " ")
	if strings.Contains(actions, "Repeat with at least 6 blocks") ||
		!strings.Contains(actions, "p95(post) (5 pairs)") {
		t.Error(actions)
	}
}

// An endpoint that the comparison cannot give says why, with the remedy, and no pair of it is
// missing.
func TestEndpointWithoutNumbers(t *testing.T) {
	in := scenes()["aa"].input()
	results := slices.Clone(in.Arms[0].Verdict.Results)
	why := "it waits; write mode: sequence"
	results[1] = verdict.Unknown(results[1].Endpoint, why, verdict.Fixed(6))
	in.Arms[0].Verdict = verdict.Combine(in.Arms[0].Verdict.Database, results)
	d := From(in)
	actions, warnings := strings.Join(d.Actions, " "), strings.Join(d.Warnings, " ")
	if !strings.Contains(actions, "no number of p95(post): "+why+".") ||
		strings.Contains(warnings, "missing") {
		t.Errorf("%s\n%s", actions, warnings)
	}
}

// A block that was run again in vain was run again.
func TestRunAgainInVain(t *testing.T) {
	in := scenes()["aa"].input()
	c := in.Comparison
	for _, r := range slices.Clone(c.Runs) {
		if r.Block == 2 {
			r.Run = r.Run + "-again"
			r.Dropped = true
			r.Valid = r.Order != 2
			r.Why = "lag: late"
			c.Runs = append(c.Runs, r)
		}
	}
	for i := range c.Runs {
		c.Runs[i].Dropped = c.Runs[i].Dropped || c.Runs[i].Block == 2
	}
	d := From(in)
	warnings, actions := strings.Join(d.Warnings, "; "), strings.Join(d.Actions, " ")
	if strings.Contains(warnings, "it was not run again") ||
		!strings.Contains(warnings, "not valid then either") ||
		!strings.Contains(actions, "Block 2 is missing from the verdicts") {
		t.Errorf("%s\n%s", warnings, actions)
	}
}
