package report

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/browser"
	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

var (
	pictures = flag.String(
		"pictures",
		"",
		"directory for pictures of the pages, for people to look at",
	)
	pageFile = flag.String("page", "", "file of one more page to open")
)

// pageOf is the page of a report.
func pageOf(t *testing.T, r Document) []byte {
	t.Helper()
	return []byte(written(t, HTML, r))
}

// pages are all kinds of pages that this package writes.
func pages(t *testing.T) map[string][]byte {
	out := map[string][]byte{
		"system":      render(t, somePage(SystemPage, "").HTML),
		"coordinator": render(t, somePage(CoordinatorPage, nasty).HTML),
	}
	for name, r := range map[string]Document{
		"rich":    From(scenes()["rich"].input()),
		"hostile": From(scenes()["hostile"].input()),
		"judged":  judgedDocument(),
		"trend":   FromReleases(releaseScene()),
		"sizing":  seedDocument(t),
	} {
		out[name] = pageOf(t, r)
	}
	if *pageFile != "" {
		data, err := os.ReadFile(*pageFile)
		if err != nil {
			t.Fatal(err)
		}
		out["file"] = data
	}
	return out
}

// TestPagesInABrowser opens every kind of page in a browser without a network: nothing may be
// requested, no error reported, and nothing reach beyond a window of 1280 or 400 pixels, dark or
// light.
func TestPagesInABrowser(t *testing.T) {
	c := browser.Start(t)
	t.Run("what is wrong is seen", func(t *testing.T) { seesWhatIsWrong(t, c) })
	for name, page := range pages(t) {
		t.Run(name, func(t *testing.T) {
			c.T = t
			from, address := c.Open(page)
			c.Eval(unfoldAll, nil)
			backgrounds := map[string]bool{}
			for _, scheme := range []string{"light", "dark"} {
				for _, width := range []int{1280, 400} {
					c.Look(width, scheme, "screen")
					if wide := c.Overflow(); len(wide) > 0 {
						t.Errorf(
							"%d px, %s: the page is wider than the window: %v",
							width,
							scheme,
							wide,
						)
					}
					if name == "rich" && width == 1280 {
						endpointTablesFit(t, c)
					}
					for _, poor := range c.Contrast() {
						t.Errorf("%d px, %s: too little contrast: %s", width, scheme, poor)
					}
					if *pictures != "" {
						c.Picture(filepath.Join(
							*pictures,
							fmt.Sprintf("%s-%d-%s.png", name, width, scheme),
						))
					}
				}
				var background string
				c.Eval("getComputedStyle(document.body).backgroundColor", &background)
				backgrounds[background] = true
			}
			if len(backgrounds) != 2 {
				t.Errorf("dark and light have one background: %v", backgrounds)
			}
			c.Look(800, "dark", "print")
			var printed []string
			c.Eval(
				`[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector("nav")).display]`,
				&printed,
			)
			if !slices.Equal(printed, []string{"rgb(255, 255, 255)", "none"}) {
				t.Errorf("on paper: background and navigation are %v", printed)
			}
			if wide := c.Overflow(); len(wide) > 0 {
				t.Errorf("on paper the page is cut: %v", wide)
			}
			var silent []string
			c.Eval(
				`[...document.querySelectorAll("figure")].filter(f => f.querySelector("svg") && !f.querySelector("svg[aria-label]:not([aria-label=''])") || (f.querySelector("p.note")?.textContent.length ?? 0) < 20).map(f => f.outerHTML.slice(0, 200))
				.concat([...document.querySelectorAll("button, a")].filter(b => !b.textContent.trim()).map(b => b.outerHTML))`,
				&silent,
			)
			if len(silent) > 0 {
				t.Errorf("without a text: %v", silent)
			}
			for _, p := range c.Problems(from, address) {
				t.Error(p)
			}
		})
	}
	t.Run("graphs", func(t *testing.T) { c.T = t; useGraphs(t, c) })
	t.Run("tables", func(t *testing.T) { c.T = t; useTables(t, c) })
}

// seesWhatIsWrong opens pages that break each rule: the test must find every breach.
func seesWhatIsWrong(t *testing.T, c *browser.Browser) {
	c.T = t
	from, address := c.Open(
		[]byte(
			`<!DOCTYPE html><html><body style="background:#fff"><p style="color:#ddd">pale</p><div style="width:2000px">wide</div>
<img src="http://192.0.2.1/spy.png"><script>console.error("complaint")</script><script>throw new Error("thrown")</script></body></html>`,
		),
	)
	c.Look(1280, "light", "screen")
	got := strings.Join(c.Problems(from, address), "\n")
	has(t, got, "request: http://192.0.2.1/spy.png", "complaint", "thrown")
	if len(c.Overflow()) == 0 {
		t.Error("a page of 2000 px was not seen to be too wide")
	}
	if len(c.Contrast()) == 0 {
		t.Error("pale text on white was not seen")
	}
	// The page's policy: a script that got into it does not run, and its requests are not sent.
	page := written(t, HTML, judgedDocument())
	from, address = c.Open(
		[]byte(
			strings.Replace(
				page,
				"</main>",
				`<script>document.title="taken"</script><img src="http://192.0.2.1/spy.png"/></main>`,
				1,
			),
		),
	)
	var title string
	c.Eval("document.title", &title)
	got = strings.Join(c.Problems(from, address), "\n")
	if title == "taken" || !strings.Contains(got, "Content Security Policy") {
		t.Errorf("a foreign script ran: title %q, %s", title, got)
	}
}

// unfoldAll opens every fold of a page.
const unfoldAll = `document.querySelectorAll("details").forEach(d => d.open = true)`

// views returns the stretch that each graph of a clock shows, as its view box.
func views(c *browser.Browser, clock string) []string {
	c.T.Helper()
	var out []string
	c.Eval(
		fmt.Sprintf(
			`[...document.querySelectorAll("figure[data-clock='%s'] .area")].map(a => a.getAttribute("viewBox"))`,
			clock,
		),
		&out,
	)
	return out
}

func useGraphs(t *testing.T, c *browser.Browser) {
	d := From(scenes()["full"].input())
	c.Look(1280, "light", "screen")
	from, address := c.Open(pageOf(t, d))
	c.Eval(unfoldAll, nil)
	const clock, other = "postgresql bounded", "postgresql unbounded"
	figure := fmt.Sprintf(`document.querySelector("figure[data-clock='%s']")`, clock)
	area := figure + `.querySelector(".area > rect")`
	whole, elsewhere := views(c, clock), views(c, other)
	if len(whole) < 2 || len(elsewhere) < 2 {
		t.Fatalf("too few graphs: %v, %v", whole, elsewhere)
	}

	// The values under the pointer equal the document's.
	chart := c.Box(figure + `.querySelector(".chart")`)
	width := areaW * chart.W / svgWidth
	left, middle := chart.X+areaX*chart.W/svgWidth, chart.Y+chart.H/2
	g, end := d.Graphs[0], Graphs(d)[0].end()
	if g.Engine+" "+g.Test != clock {
		t.Fatalf("the first graph is %s %s", g.Engine, g.Test)
	}
	at := len(g.Arms[0].T) / 3
	c.Mouse("mouseMoved", left+width*g.Arms[0].T[at]/end, middle, 0)
	var tip string
	c.Eval(figure+`.querySelector(".tip:not([hidden])")?.innerText ?? ""`, &tip)
	for _, a := range g.Arms {
		_, rest, ok := strings.Cut(tip, a.Arm+": ")
		text, _, _ := strings.Cut(rest, " ")
		if v, err := strconv.ParseFloat(text, 64); !ok || err != nil ||
			math.Abs(v-a.Median[at]) > 0.005*Graphs(d)[0].top() ||
			!strings.Contains(rest, text+" "+g.Unit) {
			t.Errorf(
				"at %v s the tip says %q, and %s is at %v %s",
				g.Arms[0].T[at],
				tip,
				a.Arm,
				a.Median[at],
				g.Unit,
			)
		}
	}

	// Dragging over one graph zooms all of its clock, and no other.
	drag := func(a, b float64) {
		c.Mouse("mouseMoved", left+a*width, middle, 0)
		c.Mouse("mousePressed", left+a*width, middle, 1)
		c.Mouse("mouseMoved", left+(a+b)/2*width, middle, 0)
		c.Mouse("mouseMoved", left+b*width, middle, 0)
		c.Mouse("mouseReleased", left+b*width, middle, 1)
	}
	drag(0.25, 0.5)
	shows := func(what string, from, span float64) {
		t.Helper()
		for _, v := range views(c, clock) {
			var x, y, w, h float64
			if _, err := fmt.Sscan(v, &x, &y, &w, &h); err != nil || math.Abs(x-from*areaW) > 3 ||
				math.Abs(w-span*areaW) > 3 ||
				h != areaH {
				t.Errorf(
					"%s: a graph shows %s, want from %v on %v of %d",
					what,
					v,
					from,
					span,
					areaW,
				)
			}
		}
		if now := views(c, other); !slices.Equal(now, elsewhere) {
			t.Errorf("%s: graphs of another clock follow: %v, were %v", what, now, elsewhere)
		}
	}
	shows("after dragging", 0.25, 0.25)
	var labels []string
	c.Eval(`[...`+figure+`.querySelectorAll(".clock text")].map(e => e.textContent)`, &labels)
	for _, l := range labels {
		if v, err := strconv.ParseFloat(l, 64); err != nil || v < 0.24*end || v > 0.51*end {
			t.Errorf("the clock of the stretch has the label %q", l)
		}
	}
	if len(labels) < 3 {
		t.Errorf("the clock has the labels %v", labels)
	}
	// A double click shows all again.
	for n := 1; n <= 2; n++ {
		c.Mouse("mousePressed", left+width/2, middle, n)
		c.Mouse("mouseReleased", left+width/2, middle, n)
	}
	if now := views(c, clock); !slices.Equal(now, whole) {
		t.Errorf("after a double click: %v, want %v", now, whole)
	}
	// Dragging to the left is the same, and the button shows all again.
	drag(0.75, 0.5)
	shows("after dragging to the left", 0.5, 0.25)
	c.Click(figure + `.querySelector(".reset")`)
	if now := views(c, clock); !slices.Equal(now, whole) {
		t.Errorf("after the button: %v, want %v", now, whole)
	}
	// The same by keys.
	c.Box(area)
	c.Eval(figure+`.querySelector(".chart").focus()`, nil)
	c.Key("Home")
	c.Key("ArrowRight")
	c.Eval(figure+`.querySelector(".tip:not([hidden])")?.innerText ?? ""`, &tip)
	if !strings.Contains(tip, g.Arms[0].Arm+": ") {
		t.Errorf("by keys the tip says %q", tip)
	}
	c.Key("+")
	shows("after +", 0, 0.5)
	c.Key("Shift+ArrowRight")
	shows("after Shift and right", 0.125, 0.5)
	c.Key("-")
	c.Key("Escape")
	if now := views(c, clock); !slices.Equal(now, whole) {
		t.Errorf("after Escape: %v, want %v", now, whole)
	}

	// The legend hides a curve and shows it again, in this graph.
	drawn := func() []string {
		var out []string
		c.Eval(
			`[...`+figure+`.querySelectorAll(".arm")].map(a => getComputedStyle(a).display)`,
			&out,
		)
		return out
	}
	key := figure + `.querySelectorAll(".legend button")[1]`
	var pressed string
	c.Click(key)
	c.Eval(key+`.getAttribute("aria-pressed")`, &pressed)
	if now := drawn(); len(now) != 2 || now[0] == "none" || now[1] != "none" || pressed != "false" {
		t.Errorf("after a click on the second name the curves are %v, pressed %s", now, pressed)
	}
	chart = c.Box(figure + `.querySelector(".chart")`)
	c.Mouse("mouseMoved", left+width/2, chart.Y+chart.H/2, 0)
	c.Eval(figure+`.querySelector(".tip:not([hidden])")?.innerText ?? ""`, &tip)
	if strings.Contains(tip, g.Arms[1].Arm+": ") || !strings.Contains(tip, g.Arms[0].Arm+": ") {
		t.Errorf("with the second curve hidden the tip says %q", tip)
	}
	c.Click(key)
	if now := drawn(); now[1] == "none" {
		t.Errorf("after a second click the curves are %v", now)
	}
	for _, p := range c.Problems(from, address) {
		t.Error(p)
	}
}

func useTables(t *testing.T, c *browser.Browser) {
	d := From(scenes()["full"].input())
	c.Look(1280, "light", "screen")
	from, address := c.Open(pageOf(t, d))
	c.Eval(unfoldAll, nil)
	const table = `[...document.querySelectorAll("table")].find(t => t.tHead.textContent.includes("Operation"))`
	column := func(n int) []string {
		var out []string
		c.Eval(
			fmt.Sprintf(`[...%s.tBodies[0].rows].map(r => r.cells[%d].textContent)`, table, n),
			&out,
		)
		return out
	}
	sorted := func(n int) string {
		var out string
		c.Eval(
			fmt.Sprintf(`%s.tHead.rows[0].cells[%d].getAttribute("aria-sort") ?? ""`, table, n),
			&out,
		)
		return out
	}
	const count, name = 2, 0
	before := column(count)
	numbers := func() []float64 {
		var out []float64
		for _, text := range column(count) {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				out = append(out, v)
			}
		}
		return out
	}
	if len(numbers()) < 5 || slices.IsSorted(numbers()) ||
		slices.Index(before, "none measured") < 0 {
		t.Fatalf("the table is not what the test needs: %v", before)
	}
	click := func(n int) { c.Click(fmt.Sprintf(`%s.tHead.rows[0].cells[%d].firstChild`, table, n)) }
	click(count)
	if now := column(count); !slices.IsSorted(numbers()) || now[len(now)-1] != "none measured" ||
		sorted(count) != "ascending" {
		t.Errorf("ascending: %v (%s)", now, sorted(count))
	}
	click(count)
	down := numbers()
	slices.Reverse(down)
	if now := column(count); !slices.IsSorted(down) || now[len(now)-1] != "none measured" ||
		sorted(count) != "descending" {
		t.Errorf("descending: %v (%s)", now, sorted(count))
	}
	click(count)
	if now := column(count); !slices.Equal(now, before) || sorted(count) != "" {
		t.Errorf("as it was: %v (%s)", now, sorted(count))
	}
	click(name)
	if now := column(name); !slices.IsSorted(now) || sorted(name) != "ascending" {
		t.Errorf("by name: %v", now)
	}
	for _, p := range c.Problems(from, address) {
		t.Error(p)
	}
}

// judgedDocument is numbers that were given: two databases, worse on one.
func judgedDocument() Document {
	in := JudgeInput{
		Names:    [2]string{"v1", "v2"},
		Skipped:  map[string]string{"p99": "12 operations are too few"},
		Warnings: []string{"the <second> file is old"},
	}
	e := plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}
	for i, db := range []string{"MySQL", "Postgres"} {
		var pairs []verdict.Pair
		for b := 1; b <= 6; b++ {
			p := verdict.Pair{
				Block: b,
				Base:  1000 + float64(7*b%5),
				New:   1000 - 120*float64(i) + float64(11*b%7),
			}
			pairs = append(pairs, p)
			in.Rows = append(in.Rows, imported.PairRow{
				Metric:   e.Name,
				Database: db,
				Unit:     e.Unit,
				Pair:     p,
			})
		}
		r := verdict.Judge(e, pairs, verdict.Options{BaseName: "v1", NewName: "v2"})
		in.Arms = append(in.Arms, Judged{
			Engine:  db,
			Arm:     "v2",
			Verdict: verdict.Combine(db, []verdict.Result{r}),
		})
	}
	return FromRows(in)
}

// releaseScene is comparisons of releases: a chain of five with a step down, one that nothing
// connects, and one that found only bounds.
func releaseScene() []ReleasePair {
	var out []ReleasePair
	add := func(id, db, base, fresh string, ratio float64, n int) {
		p := ReleasePair{
			Comparison: id,
			Host:       "2 × Example CPU",
			Base:       base,
			New:        fresh,
			Database:   db,
		}
		for b := 1; b <= n; b++ {
			level := 1000 + 10*float64(b)
			p.Pairs = append(p.Pairs, verdict.Pair{
				Block: b,
				Base:  level * (1 + 0.004*float64(b*7%5-2)),
				New:   level * ratio * (1 + 0.004*float64(b*3%5-2)),
			})
		}
		out = append(out, p)
	}
	for _, db := range []string{"PostgreSQL", "MySQL"} {
		add("c-1", db, "v10.1", "v10.2", 1.004, 6)
		add("c-2", db, "v10.2", "v10.3", 0.90, 6)
		add("c-3", db, "v10.3", "v10.4", 1.002, 6)
		add("c-4", db, "v10.4", "v10.5", 0.998, 6)
		add("c-5", db, "v11.0", "v11.1", 1.03, 2)
	}
	out[4].Pairs[1].NewCensored = true
	return out
}

// TestFirstScreen looks at a comparison's report as it opens: every verdict and the whole picture
// stand within the first window, with all folds closed, and no two texts of the picture lie over
// each other.
func TestFirstScreen(t *testing.T) {
	c := browser.Start(t)
	for _, name := range []string{"full", "three-arms", "interrupted", "seven endpoints"} {
		in := scenes()["full"].input()
		if s, ok := scenes()[name]; ok {
			in = s.input()
		} else { // as many as the quickstart can have
			for i := range in.Arms {
				v := in.Arms[i].Verdict
				for n, r := range slices.Clone(v.Results)[1:] {
					for k := range 2 {
						r.Name = []string{"p95(delivery)", "cost(app)", "p99(op)", "cost(db)"}[2*n+k]
						v.Results = append(v.Results, r)
					}
				}
				in.Arms[i].Verdict = v
			}
		}
		c.Open(pageOf(t, From(in)))
		for _, size := range []struct{ width, within int }{{1280, 800}, {400, 0}} {
			c.Look(size.width, "light", "screen")
			c.Call("Emulation.setDeviceMetricsOverride", map[string]any{
				"width":             size.width,
				"height":            800,
				"deviceScaleFactor": 1,
				"mobile":            false,
			}, nil)
			var bottom float64
			c.Eval(
				`Math.max(...[...document.querySelectorAll(".verdict, .answer")].map(e => e.getBoundingClientRect().bottom + scrollY))`,
				&bottom,
			)
			if size.within > 0 && (bottom > float64(size.within) || bottom < 100) {
				t.Errorf(
					"%s: verdicts and picture end at %.0f px, want at most %d",
					name,
					bottom,
					size.within,
				)
			}
			var over []string
			c.Eval(`(() => {
				const out = [];
				for (const svg of document.querySelectorAll(".answer")) {
					const boxes = [...svg.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]);
					const whole = svg.getBoundingClientRect();
					for (const [a, p] of boxes) {
						if (p.left < whole.left - 1 || p.right > whole.right + 1) out.push(a + " is cut");
						for (const [b, q] of boxes) {
							if (p !== q && p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3) out.push(a + " over " + b);
						}
					}
					if (boxes.some(([, p]) => p.height < 9)) out.push("letters are too small");
				}
				return out;
			})()`, &over)
			if len(over) > 0 {
				t.Errorf("%s, %d px: %v", name, size.width, over)
			}
			if *pictures != "" {
				c.Picture(
					filepath.Join(*pictures, fmt.Sprintf("first-%s-%d.png", name, size.width)),
				)
			}
			var open int
			c.Eval(`document.querySelectorAll("details[open]").length`, &open)
			if open > 0 {
				t.Errorf("%s: %d folds are open", name, open)
			}
		}
	}
}

// endpointTablesFit fails where a reader must scroll a table of endpoints to find its last column.
func endpointTablesFit(t *testing.T, c *browser.Browser) {
	t.Helper()
	var found struct {
		Tables int
		Cut    []string
	}
	c.Eval(`(() => {
		const tables = [...document.querySelectorAll(".scroll")].filter(s => [...s.querySelectorAll("th")].some(h => h.textContent.includes("Needed")));
		return {Tables: tables.length, Cut: tables.filter(s => s.scrollWidth > s.clientWidth).map(s => s.getAttribute("aria-labelledby") + ": " + s.scrollWidth + " px in " + s.clientWidth)};
	})()`, &found)
	if found.Tables == 0 || len(found.Cut) > 0 {
		t.Errorf("of %d tables of endpoints these are cut: %v", found.Tables, found.Cut)
	}
}
