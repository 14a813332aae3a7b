package report

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Size of a PNG in pixels. Reports show two beside each other, each at about half of this width: its letters are large
// enough for that.
const (
	pngWidth  = 800
	pngHeight = 440
	dpi       = 96
)

// Sizes of letters and the height of rows in points, of which 72 make 96 pixels.
const (
	titleSize = 15
	textSize  = 13.5
	howSize   = 12
	pngRow    = 18
	keyWidth  = 22
)

// palette distinguishes arms for all kinds of color vision (the first six are of Okabe and Ito); base is
// blue.
var palette = [...]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xff}, {0xD5, 0x5E, 0x00, 0xff}, {0x00, 0x9E, 0x73, 0xff}, {0xCC, 0x79, 0xA7, 0xff}, {0xE6, 0x9F, 0x00, 0xff},
	{0x56, 0xB4, 0xE9, 0xff}, {0x8C, 0x5A, 0x2B, 0xff}, {0x6B, 0x6B, 0x6B, 0xff},
}

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	pale  = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
	gray  = color.NRGBA{0x77, 0x77, 0x77, 0xff}
	alarm = color.NRGBA{0xB0, 0x00, 0x20, 0xff}
)

// bold is the weight of the title's font.
const bold = 3

func armColor(index int) color.NRGBA { return palette[index%len(palette)] }

func faded(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// PNG draws the graph, 800 × 440 pixels.
func (g Graph) PNG(w io.Writer) error {
	size := vgimg.UseWH(vg.Length(pngWidth)*vg.Inch/dpi, vg.Length(pngHeight)*vg.Inch/dpi)
	c := vgimg.NewWith(size, vgimg.UseDPI(dpi))
	dc := draw.New(c)
	head := g.drawHead(dc)
	if g.data.NoData != "" {
		g.drawNoData(dc)
	} else {
		p, err := g.plot()
		if err != nil {
			return fmt.Errorf("drawing %s: %w", g.File, err)
		}
		p.Draw(draw.Crop(dc, 8, -16, 6, -head))
	}
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, paletted(c.Image()))
}

// plot is the area with its axes and all curves.
func (g Graph) plot() (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	marks, unit := clock(g.end())
	p.X.Label.Text = "time since the start of the test (" + unit + ")"
	p.Y.Label.Text = g.yLabel()
	ys := ticks(g.bottom(), g.top()*1.02, 5)
	p.X.Min, p.X.Max = 0, g.end()
	p.Y.Min, p.Y.Max = ys[0].at, ys[len(ys)-1].at
	p.X.Tick.Marker, p.Y.Tick.Marker = constant(marks), constant(ys)
	p.X.Padding, p.Y.Padding = 0, 0
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size, a.Label.TextStyle.Font.Variant, a.Label.TextStyle.Color = textSize, "Sans", ink
		a.Tick.Label.Font.Size, a.Tick.Label.Font.Variant, a.Tick.Label.Color = textSize, "Sans", ink
		a.LineStyle.Color, a.Tick.LineStyle.Color = gray, gray
		a.Label.Padding = 4
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	p.Add(grid)
	return p, g.addArms(p)
}

// letters is the style of a text that stands in the middle of its line.
func letters(size vg.Length, c color.Color, weight bool) draw.TextStyle {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if weight {
		f.Weight = bold
	}
	return draw.TextStyle{Color: c, Font: f, Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YCenter}
}

// drawNoData writes the reason why there are no curves in their place.
func (g Graph) drawNoData(dc draw.Canvas) {
	style := letters(textSize, gray, false)
	style.XAlign = draw.XCenter
	lines := wrap("no data: "+oneLine(g.data.NoData), 62, 8)
	for i, l := range lines {
		y := (dc.Min.Y+dc.Max.Y)/2 + pngRow*(vg.Length(len(lines)-1)/2-vg.Length(i))
		dc.FillText(style, vg.Point{X: (dc.Min.X + dc.Max.X) / 2, Y: y}, l)
	}
}

// paletted returns the picture with one byte per pixel, which makes files a third as large and several times faster
// to write. The colors of lines and text are kept as they are; of their soft edges so many as fit, and the nearest
// one for the rest.
func paletted(m image.Image) image.Image {
	src, ok := m.(*image.RGBA)
	if !ok || src.Stride != 4*src.Rect.Dx() {
		return m
	}
	out := image.NewPaletted(src.Rect, make(color.Palette, 0, 256))
	index := make(map[uint32]uint8, 1024) // by color without its lowest bits
	const bits = 0xf8f8f8
	add := func(r, g, b uint8, key uint32) uint8 {
		k := uint8(len(out.Palette))
		out.Palette = append(out.Palette, color.RGBA{r, g, b, 0xff})
		index[key] = k
		return k
	}
	for _, c := range append([]color.NRGBA{{0xff, 0xff, 0xff, 0xff}, ink, gray, pale, alarm}, palette[:]...) {
		add(c.R, c.G, c.B, (uint32(c.R)<<16|uint32(c.G)<<8|uint32(c.B))&bits)
	}
	last, at := uint32(1<<31), uint8(0) // no color
	for i := range out.Pix {
		p := src.Pix[4*i : 4*i+4 : 4*i+4]
		key := (uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])) & bits
		if key != last {
			k, seen := index[key]
			switch {
			case seen:
			case len(out.Palette) < 256:
				k = add(p[0], p[1], p[2], key)
			default:
				k = uint8(out.Palette.Index(color.RGBA{p[0], p[1], p[2], 0xff}))
				index[key] = k
			}
			last, at = key, k
		}
		out.Pix[i] = at
	}
	return out
}

// constant is the ticks in the plotting library's interface.
func constant(ts []tick) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(ts))
	for i, t := range ts {
		out[i] = plot.Tick{Value: t.at, Label: t.label}
	}
	return out
}

// addArms draws the layers below the curves, then bands, then single runs, then medians, then the lines of limit
// and measured phase.
func (g Graph) addArms(p *plot.Plot) error {
	for _, s := range []struct {
		spans []Stretch
		color color.Color
	}{{g.data.Broken, faded(alarm, 0x22)}, {g.data.Unknown, faded(gray, 0x33)}} {
		for _, span := range s.spans {
			if err := addArea(p, plotter.XYs{{X: span.From, Y: p.Y.Min}, {X: span.From, Y: p.Y.Max}, {X: span.To, Y: p.Y.Max}, {X: span.To, Y: p.Y.Min}}, s.color); err != nil {
				return err
			}
		}
	}
	for _, a := range g.data.Arms {
		for _, s := range g.bands(a, (p.Y.Max-p.Y.Min)/pngHeight) {
			xy := make(plotter.XYs, 0, 2*(s.to-s.from))
			for i := s.from; i < s.to; i++ {
				xy = append(xy, plotter.XY{X: a.T[i], Y: a.Hi[i]})
			}
			for i := s.to - 1; i >= s.from; i-- {
				xy = append(xy, plotter.XY{X: a.T[i], Y: a.Lo[i]})
			}
			if err := addArea(p, xy, faded(armColor(a.Index), 0x30)); err != nil {
				return err
			}
		}
	}
	for _, a := range g.data.Arms {
		for _, l := range a.Each {
			if err := addLine(p, l.T, l.V, a.Step, draw.LineStyle{Color: faded(armColor(a.Index), 0x80), Width: 0.7}); err != nil {
				return err
			}
		}
	}
	for _, a := range g.data.Arms {
		if err := addLine(p, a.T, a.Median, a.Step, draw.LineStyle{Color: armColor(a.Index), Width: 2}); err != nil {
			return err
		}
	}
	dashes := []vg.Length{5, 4}
	if g.hasLimit() {
		style := draw.LineStyle{Color: alarm, Width: 1.4, Dashes: dashes}
		if err := addLine(p, []float64{0, g.end()}, []float64{g.data.Limit, g.data.Limit}, math.Inf(1), style); err != nil {
			return err
		}
	}
	if m := g.data.MeasuredFrom; m > 0 && m < g.end() {
		if err := addLine(p, []float64{m, m}, []float64{p.Y.Min, p.Y.Max}, math.Inf(1), draw.LineStyle{Color: gray, Width: 1.2, Dashes: dashes}); err != nil {
			return err
		}
	}
	return nil
}

func addArea(p *plot.Plot, xy plotter.XYs, c color.Color) error {
	poly, err := plotter.NewPolygon(xy)
	if err != nil {
		return err
	}
	poly.Color, poly.LineStyle.Width = c, 0
	p.Add(poly)
	return nil
}

// chunk is how many points of a curve are drawn in one stroke: the time for a stroke grows with the square.
const chunk = 40

func addLine(p *plot.Plot, t, v []float64, step float64, style draw.LineStyle) error {
	var parts []piece
	for _, s := range pieces(t, step) {
		for ; s.to-s.from > chunk; s.from += chunk - 1 {
			parts = append(parts, piece{s.from, s.from + chunk})
		}
		parts = append(parts, s)
	}
	for _, s := range parts {
		xy := make(plotter.XYs, 0, s.to-s.from)
		for i := s.from; i < s.to; i++ {
			xy = append(xy, plotter.XY{X: t[i], Y: v[i]})
		}
		if len(xy) == 1 { // a point by itself would not be seen
			xy = append(xy, plotter.XY{X: xy[0].X + step/2, Y: xy[0].Y})
		}
		l, err := plotter.NewLine(xy)
		if err != nil {
			return err
		}
		l.LineStyle = style
		p.Add(l)
	}
	return nil
}

// drawHead writes the title and, below it and so never over the data, the legend. It returns how high they are.
func (g Graph) drawHead(dc draw.Canvas) (height vg.Length) {
	left, top := dc.Min.X+10, dc.Max.Y
	dc.FillText(letters(titleSize, ink, true), vg.Point{X: left, Y: top - 14}, short(g.title(), 62))
	if g.data.NoData != "" {
		return 0
	}
	height = 26
	entry := letters(textSize, ink, false)
	width := func(k key) float64 { return float64(keyWidth + 6 + entry.Width(pngText(k)) + 16) }
	for _, row := range rows(g.keys(), float64(dc.Max.X-left-8), width) {
		x, y := left, top-height-pngRow/2
		for _, k := range row {
			if style, ok := keyStyle(k); ok {
				dc.StrokeLine2(style, x, y, x+keyWidth, y)
				x += keyWidth + 6
			}
			dc.FillText(entry, vg.Point{X: x, Y: y}, pngText(k))
			x += entry.Width(pngText(k)) + 16
		}
		height += pngRow
	}
	if how := g.how(); how != "" {
		dc.FillText(letters(howSize, gray, false), vg.Point{X: left, Y: top - height - pngRow/2}, short(how, 96))
		height += pngRow
	}
	return height + 8
}

// pngText is the entry of a legend as a PNG shows it.
func pngText(k key) string { return short(k.text, 58) }

// keyStyle is the line before an entry of the legend; some have none.
func keyStyle(k key) (draw.LineStyle, bool) {
	dashes := []vg.Length{5, 4}
	switch k.kind {
	case "arm":
		return draw.LineStyle{Color: armColor(k.index), Width: 3}, true
	case "limit":
		return draw.LineStyle{Color: alarm, Width: 1.6, Dashes: dashes}, true
	case "mark":
		return draw.LineStyle{Color: gray, Width: 1.6, Dashes: dashes}, true
	case "broken":
		return draw.LineStyle{Color: faded(alarm, 0x22), Width: 10}, true
	case "unknown":
		return draw.LineStyle{Color: faded(gray, 0x33), Width: 10}, true
	}
	return draw.LineStyle{}, false
}
