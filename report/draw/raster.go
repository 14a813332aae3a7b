package draw

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	fixedpoint "golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// letters are the fonts of a PNG, plain and bold.
var letters = sync.OnceValue(func() (fonts [2]*sfnt.Font) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic(err) // it is a part of this program
		}
		fonts[i] = f
	}
	return fonts
})

// A point is a place in pixels.
type point struct{ x, y float64 }

// A raster draws shapes into an image.
type raster struct {
	img     *image.RGBA
	scale   float64 // pixels of a unit
	origins []point // of the open groups, in units
	arms    []int   // indexes of colors of the open groups; -1 is none
	buf     sfnt.Buffer
}

// PNG draws the shapes into a picture with a number of pixels for each unit.
func (l List) PNG(w io.Writer, width, height, scale float64) error {
	size := image.Rect(0, 0, int(math.Round(width*scale)), int(math.Round(height*scale)))
	r := &raster{img: image.NewRGBA(size), scale: scale, origins: []point{{}}, arms: []int{-1}}
	draw.Draw(r.img, size, image.White, image.Point{}, draw.Src)
	for _, s := range l {
		r.shape(s)
	}
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, paletted(r.img))
}

func (r *raster) shape(s Element) {
	last := len(r.origins) - 1
	look := lookOf(s.Class, r.arms[last])
	switch s.Kind {
	case "open":
		from, arm := r.origins[last], armOf(s.Class)
		if arm < 0 {
			arm = r.arms[last]
		}
		r.origins = append(r.origins, point{from.x + s.X, from.y + s.Y})
		r.arms = append(r.arms, arm)
	case "close":
		r.origins, r.arms = r.origins[:last], r.arms[:last]
	case "text":
		r.label(s, look)
	case "line":
		r.stroke([]point{r.at(s.X, s.Y), r.at(s.X2, s.Y2)}, look)
	case "curve":
		r.stroke(r.places(s.Points), look)
	case "band":
		r.fill(look.color, r.places(s.Points))
	case "rect":
		r.fill(
			look.color,
			[]point{r.at(s.X, s.Y), r.at(s.X2, s.Y), r.at(s.X2, s.Y2), r.at(s.X, s.Y2)},
		)
	case "disc":
		r.fill(look.color, disc(r.at(s.X, s.Y), s.R*r.scale))
	case "diamond":
		r.fill(look.color,
			[]point{r.at(s.X-s.R, s.Y), r.at(s.X, s.Y-s.R), r.at(s.X+s.R, s.Y), r.at(s.X, s.Y+s.R)})
	}
}

// at returns the pixel of a place in the open group.
func (r *raster) at(x, y float64) point {
	from := r.origins[len(r.origins)-1]
	return point{(from.x + x) * r.scale, (from.y + y) * r.scale}
}

func (r *raster) places(xy []float64) []point {
	out := make([]point, len(xy)/2)
	for i := range out {
		out[i] = r.at(xy[2*i], xy[2*i+1])
	}
	return out
}

// disc returns a polygon of the form of a disc.
func disc(middle point, radius float64) []point {
	n := 8 + int(2*radius)
	out := make([]point, n)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out[i] = point{middle.x + radius*cos, middle.y + radius*sin}
	}
	return out
}

// stroke draws a line through places, in dashes if the look has some.
func (r *raster) stroke(line []point, look look) {
	half := look.width * r.scale / 2
	var parts [][]point
	add := func(a, b point) {
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			return
		}
		x, y := (b.x-a.x)/length*half, (b.y-a.y)/length*half
		parts = append(parts,
			[]point{{a.x + y, a.y - x}, {b.x + y, b.y - x}, {b.x - y, b.y + x}, {a.x - y, a.y + x}})
	}
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		if !look.dashed {
			add(a, b)
			if i > 1 {
				parts = append(parts, disc(a, half)) // the joint
			}
			continue
		}
		length := math.Hypot(b.x-a.x, b.y-a.y)
		on, all := 5*r.scale, 9*r.scale
		for from := 0.0; from < length; from += all {
			to := min(from+on, length)
			along := func(d float64) point {
				return point{a.x + (b.x-a.x)*d/length,
					a.y + (b.y-a.y)*d/length}
			}
			add(along(from), along(to))
		}
	}
	r.fill(look.color, parts...)
}

// fill fills polygons, which turn all the same way, with a color.
func (r *raster) fill(c color.NRGBA, polygons ...[]point) {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, polygon := range polygons {
		for _, p := range polygon {
			lo = point{min(lo.x, p.x), min(lo.y, p.y)}
			hi = point{max(hi.x, p.x), max(hi.y, p.y)}
		}
	}
	z, at := r.canvas(lo, hi)
	if z == nil {
		return
	}
	for _, polygon := range polygons {
		for i, p := range polygon {
			x, y := float32(p.x-float64(at.Min.X)), float32(p.y-float64(at.Min.Y))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.Draw(r.img, at, image.NewUniform(c), image.Point{})
}

// canvas returns a rasterizer for a part of the image; nil for a part outside.
func (r *raster) canvas(lo, hi point) (*vector.Rasterizer, image.Rectangle) {
	at := image.Rect(int(math.Floor(lo.x)), int(math.Floor(lo.y)), int(math.Ceil(hi.x)),
		int(math.Ceil(hi.y)))
	at = at.Intersect(r.img.Rect)
	if at.Empty() {
		return nil, at
	}
	return vector.NewRasterizer(at.Dx(), at.Dy()), at
}

// label draws a text and the text behind it.
func (r *raster) label(s Element, look look) {
	size := s.R
	if size == 0 {
		size = look.size
	}
	size *= r.scale
	tail, behind := s.Tail, lookOf(s.Look, -1)
	if tail != "" && s.Text != "" {
		tail = " " + tail
	}
	pen := r.at(s.X, s.Y)
	back := 0.0
	switch width := r.advance(s.Text, size, look.bold) + r.advance(tail, size, behind.bold); s.Anchor {
	case "middle":
		back = width / 2
	case "end":
		back = width
	}
	sin, cos := math.Sincos(s.Turn * math.Pi / 180)
	pen = point{pen.x - back*cos, pen.y - back*sin}
	pen = r.write(s.Text, size, pen, sin, cos, look)
	r.write(tail, size, pen, sin, cos, behind)
}

func fontOf(bold bool) *sfnt.Font {
	if bold {
		return letters()[1]
	}
	return letters()[0]
}

// glyphs calls f with each glyph of a text and the width of those before it.
func (r *raster) glyphs(text string, size float64, bold bool,
	f func(g sfnt.GlyphIndex, at float64)) (width float64) {
	of, ppem := fontOf(bold), fixedpoint.Int26_6(size*64)
	for _, sign := range text {
		g, err := of.GlyphIndex(&r.buf, sign)
		if err != nil {
			continue // the font is whole
		}
		f(g, width)
		step, err := of.GlyphAdvance(&r.buf, g, ppem, font.HintingNone)
		if err == nil {
			width += float64(step) / 64
		}
	}
	return width
}

func (r *raster) advance(text string, size float64, bold bool) float64 {
	return r.glyphs(text, size, bold, func(sfnt.GlyphIndex, float64) {})
}

// write draws a text from pen on, turned by an angle, and returns its end.
func (r *raster) write(text string, size float64, pen point, sin, cos float64, look look) point {
	if text == "" {
		return pen
	}
	var outlines sfnt.Segments
	var starts []float64
	of, ppem := fontOf(look.bold), fixedpoint.Int26_6(size*64)
	width := r.glyphs(text, size, look.bold, func(g sfnt.GlyphIndex, at float64) {
		segments, err := of.LoadGlyph(&r.buf, g, ppem, nil)
		if err != nil {
			return
		}
		for _, s := range segments {
			outlines, starts = append(outlines, s), append(starts, at)
		}
	})
	end := point{pen.x + width*cos, pen.y + width*sin}
	lo := point{min(pen.x, end.x) - size, min(pen.y, end.y) - size}
	hi := point{max(pen.x, end.x) + size, max(pen.y, end.y) + size}
	z, at := r.canvas(lo, hi)
	if z == nil {
		return end
	}
	for i, s := range outlines {
		var p [6]float32
		for k, arg := range s.Args {
			x, y := starts[i]+float64(arg.X)/64, float64(arg.Y)/64
			p[2*k] = float32(pen.x + x*cos - y*sin - float64(at.Min.X))
			p[2*k+1] = float32(pen.y + x*sin + y*cos - float64(at.Min.Y))
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			z.MoveTo(p[0], p[1])
		case sfnt.SegmentOpLineTo:
			z.LineTo(p[0], p[1])
		case sfnt.SegmentOpQuadTo:
			z.QuadTo(p[0], p[1], p[2], p[3])
		case sfnt.SegmentOpCubeTo:
			z.CubeTo(p[0], p[1], p[2], p[3], p[4], p[5])
		}
	}
	z.Draw(r.img, at, image.NewUniform(look.color), image.Point{})
	return end
}

// paletted returns the picture with one byte per pixel, which makes files a third as large and
// several times faster to write. It keeps the colors of lines and text. Of the colors of their soft
// edges it keeps as many as fit into 256, and replaces the others by the nearest one.
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
	for _, c := range append([]color.NRGBA{rgb(0xffffff), ink, gray, pale, alarm}, palette[:]...) {
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
