package ui

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/browser"
)

var (
	pictures = flag.String(
		"pictures",
		"",
		"directory for pictures of the views, for people to look at",
	)
	served = flag.String(
		"served",
		"",
		"address of a plimsoll serve on 127.0.0.1 whose views are looked at, too",
	)
)

// until waits for an expression to be true in the page.
func until(b *browser.Browser, expression string) {
	b.T.Helper()
	b.Until(expression)
}

// says waits for a text on the page.
func says(b *browser.Browser, text string) {
	b.T.Helper()
	b.Says(text)
}

// views are the tested places, each with a text that its loaded page shows.
var views = []struct{ name, hash, text string }{
	{"now", "#/live/" + runID + "/now", "May this be believed?"},
	{"search", "#/live/" + runID + "/search", "interval so far"},
	{"operations", "#/live/" + runID + "/operations", "20,411"},
	{"errors", "#/live/" + runID + "/errors", "503"},
	{"log", "#/live/" + runID + "/log", "was violated"},
	{"agents", "#/live/" + runID + "/agents", "1 of 2 here, with 620 users"},
	{"rules", "#/live/" + runID + "/rules", "undecided"},
	{"limiter", "#/live/" + runID + "/limiter", "app CPU"},
	{"steer", "#/live/" + runID + "/steer", "exploratory"},
	{"comparison", "#/live/" + comparisonID + "/now", "Still possible"},
	{"history", "#/history", "postgresql worse"},
	{"run", "#/run/" + runID + "/now", "All 19 gates are green."},
	{"over", "#/over/" + runID + "/20261124-080500-quickstart-b1b2", "Two runs over each other"},
	{"stored-comparison", "#/comparison/" + comparisonID, "2 of 6 blocks done"},
	{"disturbed-comparison", "#/comparison/disturbed", "0 of 6 blocks judged, 6 by cost alone"},
	{"sizing", "#/sizing/s", "p95 30 ms"},
	{"start", "#/start", "Start a plan"},
}

// TestViews opens every view in two widths and both schemes: nothing overlaps the edge, axe finds
// no violation, and no request leaves the server.
func TestViews(t *testing.T) {
	p := play(t)
	p.set(func() { p.frames = 120 })
	b := browser.StartOnLoopback(t)
	from := b.Go(p.URL + "/")
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			b.T = t
			b.Eval(fmt.Sprintf("location.hash = %q", v.hash), nil)
			says(b, v.text)
			if v.name == "operations" {
				b.Click(`document.querySelector("td button.link")`)
				says(b, "Response of channel")
			}
			inspect(b, v.name)
		})
	}
	b.T = t
	b.Look(3840, "light", "screen")
	b.Eval(fmt.Sprintf("location.hash = %q", views[0].hash), nil)
	says(b, "120 s in")
	if *pictures != "" {
		b.Picture(filepath.Join(*pictures, "now-3840.png"))
	}
	if wide := b.Overflow(); len(wide) > 0 {
		t.Errorf("3840 px: wider than the window: %v", wide)
	}
	for _, problem := range b.Problems(from, p.URL+"/") {
		t.Error(problem)
	}
	if *served != "" {
		lookAtServed(t, b)
	}
}

// lookAtServed opens every view of the newest run or comparison of a real server, and its history.
func lookAtServed(t *testing.T, b *browser.Browser) {
	address := strings.TrimSuffix(*served, "/") + "/"
	from := b.Go(address)
	until(b, `document.querySelector(".top nav a")`)
	until(b, `document.querySelector(".tabs a, .nothing")`)
	var places []string
	b.Eval(
		`[...document.querySelectorAll(".tabs a")].map(a => a.hash).concat("#/history")`,
		&places,
	)
	for _, place := range places {
		name := "served-" + place[strings.LastIndexByte(place, '/')+1:]
		t.Run(name, func(t *testing.T) {
			b.T = t
			b.Eval(fmt.Sprintf("location.hash = %q", place), nil)
			b.Eval("new Promise(done => setTimeout(done, 1500))", nil)
			inspect(b, name)
		})
	}
	b.T = t
	for _, problem := range b.Problems(from, address) {
		t.Error(problem)
	}
}

// inspect looks at a view in two widths and both schemes, and takes pictures where they are asked
// for.
func inspect(b *browser.Browser, name string) {
	b.T.Helper()
	b.Inspect(name, axeFile, func(width int, scheme string) {
		if *pictures != "" {
			b.Picture(filepath.Join(*pictures, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)))
		}
	})
}

const axeFile = "node_modules/axe-core/axe.min.js"

// violations returns the violations that axe-core reports for the page in its current state.
func violations(b *browser.Browser) []string {
	b.T.Helper()
	return b.Violations(axeFile)
}

// TestLiveRun follows a run: charts move, a reload shows the same history, a broken stream and a
// dead run are shown, and who may steer does.
func TestLiveRun(t *testing.T) {
	p := play(t)
	p.set(func() { p.frames = 20; p.role = "viewer" })
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	picture := func() (out string) {
		b.Eval(`document.querySelector("[data-chart=Response] canvas").toDataURL()`, &out)
		return out
	}
	seconds := func(n int) {
		until(
			b,
			fmt.Sprintf(`document.querySelector(".sub").innerText.includes("search, %d s in")`, n),
		)
	}
	b.Go(p.URL + "/#/live/" + runID + "/now")
	says(b, "May this be believed?")
	seconds(20)
	before := picture()
	p.set(func() { p.frames = 60 })
	seconds(60)
	until(
		b,
		fmt.Sprintf(
			`document.querySelector("[data-chart=Response] canvas").toDataURL() !== %q`,
			before,
		),
	)
	after := picture()
	var steer int
	b.Eval(
		`[...document.querySelectorAll("a, button")].filter(e => /Steer|Start|Stop|storm/.test(e.textContent)).length`,
		&steer,
	)
	if steer > 0 {
		t.Errorf("a viewer has %d controls that steer", steer)
	}
	b.Reload()
	until(b, "document.querySelector('.state.live')")
	seconds(60)
	until(
		b,
		fmt.Sprintf(
			`document.querySelector("[data-chart=Response] canvas").toDataURL() === %q`,
			after,
		),
	)

	p.set(func() { p.silent = true })
	p.CloseClientConnections()
	says(b, "NO CONNECTION")
	p.set(func() { p.silent = false; p.frames = 70 })
	seconds(70)
	until(b, `document.querySelector(".state.live")`)

	until(
		b,
		`[...document.querySelectorAll(".tabs a")].some(a => a.textContent === "Agents (1 lost)")`,
	)

	p.set(func() { p.role = "operator" })
	b.Reload()
	until(b, `[...document.querySelectorAll(".tabs a")].some(a => a.textContent === "Steer")`)
	b.Eval(fmt.Sprintf("location.hash = %q", "#/live/"+runID+"/steer"), nil)
	says(b, "Set users")
	says(b, "exploratory")
	// Nothing comes for three seconds. The banner moves the form, so no click before it.
	says(b, "STALE")
	b.Click(`document.querySelector("form[aria-label='Set users'] input")`)
	b.Call("Input.insertText", map[string]any{"text": "500"}, nil)
	b.Click(`document.querySelector("form[aria-label='Set users'] button")`)
	says(b, "It has been asked for.")
	p.mu.Lock()
	posted := slices.Clone(p.posted)
	p.mu.Unlock()
	if want := "/api/live/" + runID + `/users {"over":10,"users":500}`; !slices.Equal(
		posted,
		[]string{want},
	) {
		t.Errorf("posted %q, want %q", posted, want)
	}

	p.set(func() { p.ended = object{"state": "died", "why": "process 77 is gone"} })
	says(b, "DIED")
	says(b, "process 77 is gone")
	b.Eval(
		`[...document.querySelectorAll(".tabs a")].filter(a => a.textContent === "Steer").length`,
		&steer,
	)
	if steer > 0 {
		t.Error("a run that died can be steered")
	}
}

// TestChartKeys moves the cursor of all charts and zooms them by keys, and opens the report of a
// stored run in a frame that is cut off from the page.
func TestChartKeys(t *testing.T) {
	p := play(t)
	p.set(func() { p.frames = 100 })
	b := browser.StartOnLoopback(t)
	b.Look(1280, "light", "screen")
	b.Go(p.URL + "/#/run/" + runID + "/now")
	says(b, "All 19 gates are green.")
	const times = `[...document.querySelectorAll("[data-chart] time")].map(e => e.textContent)`
	b.Eval(`document.querySelector("[data-chart=Response] .plot").focus()`, nil)
	b.Key("ArrowLeft")
	until(
		b,
		times+`.every(t => t === "at 119 s") && document.querySelectorAll("[data-chart]").length === 6`,
	)
	b.Key("Home")
	until(b, times+`.every(t => t === "at 1 s")`)
	b.Key("Escape")
	until(b, times+`.every(t => t === "")`)
	b.Eval(`location.hash = "#/run/`+runID+`/documents"`, nil)
	says(b, "Documents")
	b.Click(`document.querySelector(".documents button")`)
	until(b, `document.querySelector("iframe").sandbox.value === "allow-scripts"`)
	var apart bool
	b.Eval(
		`new Promise(done => setTimeout(() => done(document.querySelector("iframe").contentDocument === null), 300))`,
		&apart,
	)
	if !apart {
		t.Error("the page and its report have one origin")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.posted, []string{"document iframe"}) {
		t.Errorf("asked for %q, want the document in a frame", p.posted)
	}
}

// TestPartOf follows the link from a stored run to the comparison or the sizing that it is a part
// of.
func TestPartOf(t *testing.T) {
	p := play(t)
	b := browser.StartOnLoopback(t)
	b.Go(p.URL + "/#/history")
	for of, want := range map[string]string{
		"20261123-170000-quickstart-e5f6": "#/comparison/20261123-170000-quickstart-e5f6",
		"20261122-120000-box-9a9b":        "#/sizing/20261122-120000-box-9a9b",
		comparisonID:                      "#/live/" + comparisonID,
	} {
		p.set(func() { p.of = of })
		b.Eval(`location.hash = "#/history"`, nil)
		says(b, "postgresql worse")
		b.Eval(`location.hash = "#/run/`+runID+`/now"`, nil)
		says(b, "part of "+of)
		b.Click(`document.querySelector(".sub a")`)
		until(b, fmt.Sprintf("location.hash.startsWith(%q)", want))
	}
}

// TestLogin shows the login to strangers, refuses a wrong token and lets a right one in.
func TestLogin(t *testing.T) {
	p := play(t)
	p.set(func() { p.frames = 5; p.role = "none" })
	b := browser.StartOnLoopback(t)
	b.Go(p.URL + "/")
	says(b, "needs a token")
	for _, v := range violations(b) {
		t.Errorf("axe: %s", v)
	}
	enter := func(token string) {
		b.Eval(`document.querySelector("input[type=password]").select()`, nil)
		b.Call("Input.insertText", map[string]any{"text": token}, nil)
		b.Click(`document.querySelector("form button")`)
	}
	b.Click(`document.querySelector("input[type=password]")`)
	enter("wrong")
	says(b, "the token is not known")
	enter("right")
	says(b, "May this be believed?")
}

// TestHourInATab feeds an hour of frames. Series stay within their rings, the tab's heap within 20
// MB of its size after the first minute, and a reload draws the same curves.
func TestHourInATab(t *testing.T) {
	p := play(t)
	p.set(func() { p.frames = 60 })
	b := browser.StartOnLoopback(t)
	b.Go(p.URL + "/#/live/" + runID + "/now")
	at := func(n int) {
		until(
			b,
			fmt.Sprintf(
				`document.querySelector(".charts canvas") && document.querySelector(".sub").innerText.includes(%q)`,
				clock(n),
			),
		)
	}
	heap := func() float64 {
		b.Call("HeapProfiler.collectGarbage", nil, nil)
		var use struct{ UsedSize float64 }
		b.Call("Runtime.getHeapUsage", nil, &use)
		return use.UsedSize / 1e6
	}
	at(60)
	before := heap()
	for n := 660; n <= 3660; n += 600 {
		p.set(func() { p.frames = n })
		at(n)
	}
	after := heap()
	t.Logf("heap %.1f MB after a minute, %.1f MB an hour later", before, after)
	if after-before > 20 {
		t.Errorf("the heap grew by %.1f MB, want at most 20", after-before)
	}
	// 3,660 seconds are more than a ring holds: a point spans two, live as after a reload.
	first := func() (out string) {
		b.Eval(`document.querySelector("[data-chart=Response] .plot").focus()`, nil)
		b.Key("Home")
		until(b, `document.querySelector("[data-chart=Response] time").textContent === "at 2 s"`)
		b.Key("Escape")
		until(b, `document.querySelector("[data-chart=Response] time").textContent === ""`)
		b.Eval(`document.querySelector("[data-chart=Response] canvas").toDataURL()`, &out)
		return out
	}
	live := first()
	b.Reload()
	at(3660)
	if first() != live {
		t.Error("a reload after an hour shows another history")
	}
}

func clock(n int) string {
	switch text := fmt.Sprintf("%d min %d s in", n/60, n%60); {
	case n < 180:
		return fmt.Sprintf("%d s in", n)
	default:
		return strings.Replace(text, " 0 s in", " in", 1)
	}
}
