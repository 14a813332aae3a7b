package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Until waits for an expression to be true in the page. One that throws is not true yet.
func (c *Browser) Until(expression string) {
	c.T.Helper()
	c.Eval(fmt.Sprintf(`new Promise((done, fail) => {
		const end = performance.now() + %d;
		const look = () => { try { if (%s) return done(0); } catch {} if (performance.now() > end) fail(new Error("not within the time: " + (document.querySelector("main") ?? document.body)?.innerText.slice(0, 600))); else setTimeout(look, 25); };
		look();
	})`, (Deadline-5*time.Second).Milliseconds(), expression), nil)
}

// Says waits for a text on the page.
func (c *Browser) Says(text string) {
	c.T.Helper()
	quoted, _ := json.Marshal(text)
	c.Until(fmt.Sprintf("document.body.innerText.includes(%s)", quoted))
}

// Violations returns the findings of axe-core, whose script is a file, about the page as it is.
func (c *Browser) Violations(file string) (bad []string) {
	c.T.Helper()
	axe, err := os.ReadFile(file)
	if err != nil {
		c.T.Fatalf("scripts/setup.sh installs it with npm ci: %v", err)
	}
	c.Eval(
		"if (!window.axe) {"+string(
			axe,
		)+`};axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.any.map(a => a.message).join()).join(" | ")))`,
		&bad,
	)
	return bad
}

// Inspect requires of the page, in two widths and both schemes, that nothing is wider than the
// window, that no texts lie over each other, and that axe-core, whose script is a file, finds
// nothing. each, which may be nil, is called at every look. The page is left as the last look had
// it.
func (c *Browser) Inspect(name, axe string, each func(width int, scheme string)) {
	c.T.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1280, 400} {
			c.Look(width, scheme, "screen")
			c.Eval("new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))", nil)
			if wide := c.Overflow(); len(wide) > 0 {
				c.T.Errorf("%s, %d px, %s: wider than the window: %v", name, width, scheme, wide)
			}
			if over := c.Overlaps(); len(over) > 0 {
				c.T.Errorf("%s, %d px: texts lie over each other: %v", name, width, over)
			}
			if each != nil {
				each(width, scheme)
			}
		}
		for _, v := range c.Violations(axe) {
			c.T.Errorf("%s, %s: axe: %s", name, scheme, v)
		}
	}
}

// Overlaps names pairs of texts that lie over each other: in drawings each text, elsewhere the
// blocks of the page.
func (c *Browser) Overlaps() []string {
	c.T.Helper()
	var out []string
	c.Eval(`(() => {
		const out = [], pair = (list) => {
			const boxes = list.filter(e => e.getClientRects().length).map(e => [e.textContent.trim().slice(0, 30), e.getBoundingClientRect()]).filter(([s, r]) => s && r.width);
			boxes.forEach(([s, p], i) => boxes.slice(i + 1).forEach(([u, q]) => {
				if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3) out.push(s + " over " + u);
			}));
		};
		for (const svg of document.querySelectorAll("svg.drawn")) pair([...svg.querySelectorAll("text")]);
		for (const e of document.querySelectorAll("figcaption .head, .legend, .tabs, .top, .figures, .bar")) pair([...e.children]);
		pair([...document.querySelectorAll("main figure, main .table, main .panel, main .control")].filter(e => !e.parentElement.closest("figure, .table, .panel, .control")));
		return out;
	})()`, &out)
	return slices.Compact(out)
}
