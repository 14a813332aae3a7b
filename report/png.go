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

// Size of a PNG in pixels.
const (
	pngWidth  = 1200
	pngHeight = 560
	dpi       = 96
)

// palette tells arms apart for all kinds of color vision (Okabe and Ito); base is blue.
var palette = [...]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xff}, {0xD5, 0x5E, 0x00, 0xff}, {0x00, 0x9E, 0x73, 0xff}, {0xCC, 0x79, 0xA7, 0xff}, {0xE6, 0x9F, 0x00, 0xff},
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

// PNG draws the graph, 1200 × 560 pixels.
func (g Graph) PNG(w io.Writer) error {
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
		a.Label.TextStyle.Font.Size, a.Label.TextStyle.Font.Variant, a.Label.TextStyle.Color = 13, "Sans", ink
		a.Tick.Label.Font.Size, a.Tick.Label.Font.Variant, a.Tick.Label.Color = 13, "Sans", ink
		a.LineStyle.Color, a.Tick.LineStyle.Color = gray, gray
		a.Label.Padding = 5
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	p.Add(grid)
	if err := g.addArms(p); err != nil {
		return fmt.Errorf("drawing %s: %w", g.File, err)
	}
	size := vgimg.UseWH(vg.Length(pngWidth)*vg.Inch/dpi, vg.Length(pngHeight)*vg.Inch/dpi)
	c := vgimg.NewWith(size, vgimg.UseDPI(dpi))
	dc := draw.New(c)
	const head = 48
	p.Draw(draw.Crop(dc, 8, -18, 6, -head))
	g.drawHead(dc)
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, paletted(c.Image()))
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

// constant is the ticks as the plotting library wants them.
func constant(ts []tick) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(ts))
	for i, t := range ts {
		out[i] = plot.Tick{Value: t.at, Label: t.label}
	}
	return out
}

// addArms draws bands below, then single runs, then means, then the lines of limit and measured phase.
func (g Graph) addArms(p *plot.Plot) error {
	for _, a := range g.data.Arms {
		for _, s := range pieces(a.T, a.Step) {
			if len(a.Lo) == 0 || s.to-s.from < 2 {
				continue
			}
			var xy plotter.XYs
			for i := s.from; i < s.to; i++ {
				xy = append(xy, plotter.XY{X: a.T[i], Y: a.Hi[i]})
			}
			for i := s.to - 1; i >= s.from; i-- {
				xy = append(xy, plotter.XY{X: a.T[i], Y: a.Lo[i]})
			}
			poly, err := plotter.NewPolygon(xy)
			if err != nil {
				return err
			}
			poly.Color, poly.LineStyle.Width = faded(armColor(a.Index), 0x30), 0
			p.Add(poly)
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
		if err := addLine(p, a.T, a.Mean, a.Step, draw.LineStyle{Color: armColor(a.Index), Width: 2}); err != nil {
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

// drawHead writes the title and, below it and so never over the data, the legend.
func (g Graph) drawHead(dc draw.Canvas) {
	style := func(size vg.Length, weight bool) draw.TextStyle {
		f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
		if weight {
			f.Weight = bold
		}
		return draw.TextStyle{Color: ink, Font: f, Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YCenter}
	}
	top := dc.Max.Y
	dc.FillText(style(16, true), vg.Point{X: dc.Min.X + 12, Y: top - 14}, g.title())
	x := dc.Min.X + 12
	entry := style(12.5, false)
	key := func(line draw.LineStyle, label string) {
		dc.StrokeLine2(line, x, top-36, x+24, top-36)
		x += 30
		dc.FillText(entry, vg.Point{X: x, Y: top - 36}, label)
		x += entry.Width(label) + 22
	}
	for _, a := range g.data.Arms {
		key(draw.LineStyle{Color: armColor(a.Index), Width: 3}, keyText(a))
	}
	dashes := []vg.Length{5, 4}
	if g.data.Rule != "" && g.data.Limit > 0 {
		key(draw.LineStyle{Color: alarm, Width: 1.6, Dashes: dashes}, g.limitText())
	}
	if m := g.data.MeasuredFrom; m > 0 && m < g.end() {
		key(draw.LineStyle{Color: gray, Width: 1.6, Dashes: dashes}, "measured from here")
	}
}
