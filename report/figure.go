package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/report/draw"
	"plimsoll/stats"
)

// graphHelp explains the graphs; it stands above the first ones.
const graphHelp = "Drag across a graph to zoom; all graphs of the same test and database follow, and a double click shows all again. " +
	"A name in a legend hides or shows its curve, a title makes the graph wider. With keys: Tab to a graph; ← and → read values, + and - zoom, Shift with ← and → moves, Escape shows all."

// writeFigure writes a graph with its title and legend as text and buttons, and its description in
// a sentence. Its title and legend inside the picture, for readers of the file alone, are hidden by
// the page's style and cropped here.
func writeFigure(b *bytes.Buffer, g Graph, id int) {
	fmt.Fprintf(
		b,
		`<figure data-clock="%s %s" aria-labelledby="g%[3]d">`+"\n"+`<figcaption><button type="button" class="title" id="g%[3]d" aria-expanded="false">%[4]s</button>`,
		esc(g.data.Engine),
		esc(g.data.Test),
		id,
		esc(g.title()+inParens(g.data.Unit)),
	)
	if g.data.NoData != "" { // an empty picture has no description
		fmt.Fprintf(b, `</figcaption><p class="note">%s</p></figure>`+"\n", esc(g.alternative()))
		return
	}
	b.WriteString(`<span class="legend">`)
	for _, k := range g.keys() {
		switch k.kind {
		case "arm":
			fmt.Fprintf(
				b,
				`<button type="button" class="key %s" data-arm="%d" aria-pressed="true"><i></i>%s</button>`,
				draw.Arm(k.index),
				k.arm,
				esc(k.text),
			)
		case "missing":
			fmt.Fprintf(b, `<span class="key">%s</span>`, esc(k.text))
		default:
			fmt.Fprintf(b, `<span class="key is-%s"><i></i>%s</span>`, k.kind, esc(k.text))
		}
	}
	b.WriteString("</span>")
	if how := g.how(); how != "" {
		fmt.Fprintf(b, `<span class="note">%s</span>`, esc(how))
	}
	b.WriteString("</figcaption>\n")
	_, head := g.legend()
	g.drawn(areaH).Write(b, head-12) // the highest label needs them
	fmt.Fprintf(b, `<p class="note">%s</p></figure>`+"\n", esc(g.alternative()))
}

// alternative describes the curves in a sentence, for readers who do not see them: of each arm the
// mean, the lowest and the highest value of its curve, from the beginning of the measured phase
// where that is known.
func (g Graph) alternative() string {
	if g.data.NoData != "" {
		return "There is no data: " + plain.OneLine(g.data.NoData) + "."
	}
	var parts prose
	for _, a := range g.data.Arms {
		from, _ := slices.BinarySearch(a.T, g.data.MeasuredFrom)
		values := a.Median[from:]
		if len(values) == 0 {
			parts = append(parts, a.Arm+" has no data")
			continue
		}
		unit := ""
		if g.data.Unit != "" {
			unit = " " + g.data.Unit
		}
		parts.add("%s %s%s (from %s to %s)", a.Arm, sig(stats.Mean(values), 3), unit,
			sig(slices.Min(values), 3), sig(slices.Max(values), 3))
	}
	if len(parts) == 0 {
		return "There is no data."
	}
	span := "Mean over the whole test"
	if g.data.MeasuredFrom > 0 {
		span = "Mean from the beginning of the measured phase"
	}
	return span + ": " + strings.Join(parts, "; ") + "."
}
