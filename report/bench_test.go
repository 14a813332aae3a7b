package report

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// BenchmarkReport makes every form of a comparison like those that release engineers know: two
// databases, two arms, two runs each of 90 minutes, ten graphs of both tests.
func BenchmarkReport(b *testing.B) {
	s := full()
	s.blocks, s.graphs = 2, seedNames
	in := s.input()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, r := range in.Runs {
		for _, lines := range r.Series {
			for name := range lines {
				var l Line
				for t := range 600 {
					l.T, l.V = append(l.T, float64(9*t)), append(l.V, 100+10*rng.NormFloat64())
				}
				lines[name] = l
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		d := From(in)
		pictures := Graphs(d)
		if len(pictures) < 40 {
			b.Fatal(fmt.Sprint(len(pictures), " graphs"))
		}
		for _, f := range []func(io.Writer, Document) error{Markdown, HTML, JSON} {
			if err := f(io.Discard, d); err != nil {
				b.Fatal(err)
			}
		}
		for _, g := range pictures {
			if err := g.PNG(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	}
}
