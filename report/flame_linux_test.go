package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/browser"
)

// onlyWhy opens the fold of attributions alone.
const onlyWhy = `document.querySelectorAll("details.fold").forEach(d => d.open = d.querySelector(".flames") !== null)`

// TestFlameByKeys uses the flame graph by the keyboard alone, in windows of two widths.
func TestFlameByKeys(t *testing.T) {
	c := browser.Start(t)
	for _, width := range []int{1280, 400} {
		c.Look(width, "light", "screen")
		from, address := c.Open(pageOf(t, From(scenes()["rich"].input())))
		c.Eval(onlyWhy, nil)
		const chart = `document.querySelector(".flames .chart")`
		c.Until(chart + `.viewBox.baseVal.width === ` + chart + `.clientWidth`)
		for _, scheme := range []string{"light", "dark"} {
			if *pictures != "" {
				c.Look(width, scheme, "screen")
				c.Picture(filepath.Join(*pictures, fmt.Sprintf("why-%d-%s.png", width, scheme)))
			}
		}
		tip := func() (text string) {
			c.Eval(`document.querySelector(".flames .tip:not([hidden])")?.textContent ?? ""`, &text)
			return text
		}
		says := func(key, want string) {
			t.Helper()
			if key != "" {
				c.Key(key)
			}
			if got := tip(); !strings.Contains(got, want) {
				t.Errorf("%d px: after %q the tip says %q, want %q", width, key, got, want)
			}
		}
		c.Eval(chart+`.focus()`, nil)
		says("", "cost(app)")
		says("ArrowDown", "http.(*conn).serve")
		says("ArrowRight", "runtime.gcBgMarkWorker")
		says("ArrowRight", "- gone main.goneForGood")
		says("ArrowRight", "main.goneForGood") // the last one stays
		says("ArrowLeft", "runtime.gcBgMarkWorker")
		says("ArrowLeft", "http.(*conn).serve")
		says("ArrowDown", "createPost")
		says("ArrowDown", "+38.0 % sqlstore.(*SqlPostStore).prepareThreadedResponse · 0.616 to 0.850 ms, +38.0 % · a function that changed")
		says("ArrowUp", "createPost")
		wide := func(name string) (share float64) {
			c.Eval(fmt.Sprintf(`[...document.querySelectorAll(".flames .cell:not(.off)")].filter(g => g.textContent.includes(%q)).map(g => +g.querySelector("rect").getAttribute("width"))[0] / %s.clientWidth`,
				name, chart), &share)
			return share
		}
		before := wide("+20.8 %")
		says("Enter", "createPost")
		if got := wide("+20.8 %"); got < 0.99 || before > 0.6 {
			t.Errorf("%d px: Enter made a function of %v of the width %v wide", width, before, got)
		}
		var gc int
		c.Eval(`[...document.querySelectorAll(".flames .cell:not(.off)")].filter(g => g.textContent.includes("gcBg")).length`, &gc)
		if gc != 0 {
			t.Errorf("%d px: another branch is seen in a zoom", width)
		}
		says("Escape", "createPost")
		if got := wide("+20.8 %"); got != before {
			t.Errorf("%d px: Escape left a width of %v, was %v", width, got, before)
		}
		c.Key("/")
		var active string
		c.Eval(`document.activeElement.type`, &active)
		if active != "search" {
			t.Errorf("%d px: / went to %q", width, active)
		}
		c.Call("Input.insertText", map[string]any{"text": "json"}, nil)
		var found string
		c.Eval(`document.querySelector(".flames [role=status].note").textContent`, &found)
		if !strings.HasPrefix(found, "1 of ") || !strings.HasSuffix(found, " % of the width") {
			t.Errorf("%d px: the search says %q", width, found)
		}
		says("Enter", "json.Marshal")
		if *pictures != "" {
			c.Picture(filepath.Join(*pictures, fmt.Sprintf("why-%d-search.png", width)))
		}
		c.Key("Escape")
		c.Eval(`document.activeElement === `+chart+` ? "chart" : document.activeElement.localName`, &active)
		if active != "chart" {
			t.Errorf("%d px: Escape in the search went to %q", width, active)
		}
		for _, p := range c.Problems(from, address) {
			t.Error(p)
		}
	}
}
