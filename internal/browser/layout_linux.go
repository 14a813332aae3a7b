package browser

// Overflow names the elements that reach beyond the right edge and make the page wider than the
// window.
func (c *Browser) Overflow() []string {
	c.T.Helper()
	var out []string
	c.Eval(`(() => {
		const wide = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= wide && document.body.scrollWidth <= wide) return [];
		return ["scrollWidth " + document.documentElement.scrollWidth].concat([...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > wide + 0.5 && !e.parentElement.closest(".scroll, .roomy, svg"))
			.slice(0, 5).map(e => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)));
	})()`, &out)
	return out
}

// Contrast names texts whose color differs too little from their background: below 4.5 to 1 (WCAG
// 2.2, 1.4.3). Texts on a picture are left out.
func (c *Browser) Contrast() []string {
	c.T.Helper()
	var out []string
	c.Eval(`(() => {
		const parse = s => s.match(/[\d.]+/g).map(Number);
		const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
		const found = new Map();
		for (const e of document.body.querySelectorAll("p, li, td, th, h1, h2, h3, a, span, b, code, button, figcaption, summary, .soft")) {
			if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
			let back = e;
			while (back && (parse(getComputedStyle(back).backgroundColor)[3] ?? 1) === 0) back = back.parentElement;
			const a = light(parse(getComputedStyle(e).color)), b = light(back ? parse(getComputedStyle(back).backgroundColor) : [255, 255, 255]);
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < 4.5) found.set(e.tagName + "." + e.className, ratio.toFixed(2) + " of " + e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40));
		}
		return [...found.values()];
	})()`, &out)
	return out
}

// A Place is the rectangle of an element in the window, in CSS pixels.
type Place struct{ X, Y, W, H float64 }

// Box scrolls an element into the window and returns its place.
func (c *Browser) Box(expression string) Place {
	c.T.Helper()
	var b Place
	c.Eval(
		`(() => { const e = `+expression+`; e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {X: r.left, Y: r.top, W: r.width, H: r.height}; })()`,
		&b,
	)
	if b.W == 0 || b.H == 0 {
		c.T.Fatalf("%s has no size", expression)
	}
	return b
}

// Click scrolls an element into the window and clicks on its middle.
func (c *Browser) Click(expression string) {
	c.T.Helper()
	b := c.Box(expression)
	c.Mouse("mouseMoved", b.X+b.W/2, b.Y+b.H/2, 0)
	c.Mouse("mousePressed", b.X+b.W/2, b.Y+b.H/2, 1)
	c.Mouse("mouseReleased", b.X+b.W/2, b.Y+b.H/2, 1)
}
