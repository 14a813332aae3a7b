// Package draw draws pictures: a [List] of shapes makes both an SVG and a PNG, an [Area] places
// curves between axes, and [Ticks] and [Clock] label these.
//
// A shape has a class, not a color: the style of a page or of a file gives an SVG its look, the
// table of looks a PNG. Coordinates are in units of the picture, from its upper left corner.
//
// It knows nothing of documents: neither what a curve shows nor what a color stands for.
package draw
