package report

import (
	"bytes"
	"fmt"
	"image/png"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/race"
	"plimsoll/record"
)

// TestEveryGraphIsThere names each file of the ten graphs, tests and databases, as release reports
// have always named them; one without data gives the reason, in the picture and beside it.
func TestEveryGraphIsThere(t *testing.T) {
	s := full()
	s.blocks, s.seconds = 1, 12
	in := s.input()
	for i := range in.Runs {
		in.Runs[i].NoData = map[string]map[string]string{
			Bounded: {"heap-in-use": "the page was never read"},
		}
	}
	in.Graphs = append(in.Graphs, GraphSpec{Name: "heap-in-use", Title: "Heap in use"})
	d := From(in)
	pictures := Graphs(d)
	text := written(t, FullMarkdown, d)
	for _, engine := range []string{"postgresql", "mysql"} {
		for _, test := range []string{"bounded", "unbounded"} {
			for _, name := range []string{"avg-api-times", "p99-api-times", "avg-store-times", "p99-store-times", "cpu-utilization", "goroutines-in-use",
				"heap-in-use", "number-of-connected-devices", "rps", "stack-in-use"} {
				file := engine + "_" + test + "_0_" + name + ".png"
				n := 0
				for _, g := range pictures {
					if g.File != file {
						continue
					}
					n++
					_, seen := in.Runs[0].Series[test][name]
					svg := string(render(t, g.SVG))
					if got := !strings.Contains(svg, "no data: "); got != seen ||
						seen != strings.Contains(svg, `class="mean"`) {
						t.Errorf("%s shows data: %v, want %v", file, got, seen)
					}
					if name == "heap-in-use" && test == Bounded &&
						!strings.Contains(svg, "no data: the page was never read") {
						t.Errorf("%s does not say why it has no data", file)
					}
				}
				if link := "![" + strings.TrimSuffix(file, ".png") + "](graphs/" + file + ")"; n != 1 ||
					strings.Count(text, link) != 1 {
					t.Errorf(
						"%s is drawn %d times and shown %d times",
						file,
						n,
						strings.Count(text, link),
					)
				}
			}
		}
	}
	has(t, text, "No data for heap-in-use: the page was never read.")
}

// TestArmWithoutData holds that an arm or a run that is missing in a graph is named in its legend.
func TestArmWithoutData(t *testing.T) {
	s := full()
	s.seconds, s.unbounded = 12, false
	in := s.input()
	for _, r := range in.Runs {
		if r.Cell.Arm == "new" && r.Cell.Engine == "postgresql" {
			delete(r.Series[Bounded], "rps")
		}
		if r.Cell.Arm == "base" && r.Cell.Block == 2 {
			delete(r.Series[Bounded], "rps")
		}
	}
	for _, g := range Graphs(From(in)) {
		if g.data.Name != "rps" {
			continue
		}
		svg := string(render(t, g.SVG))
		if got := strings.Contains(svg, "new: no data"); got != (g.data.Engine == "postgresql") {
			t.Errorf("%s: new is named as missing: %v", g.File, got)
		}
		has(t, svg, "base (5 of 6 runs have data)")
		has(t, svg, "median of the runs; band: lowest to highest")
	}
}

// TestTestsHaveClocksOfTheirOwn lets a combined run's tests begin at 0 each, and shows the
// threshold of a graph that has one.
func TestTestsHaveClocksOfTheirOwn(t *testing.T) {
	s := full()
	s.blocks, s.seconds = 1, 30
	in := s.input()
	in.Graphs[0].Threshold = &Threshold{Rule: "promql: x < 20", Value: 20}
	for _, g := range Graphs(From(in)) {
		if g.data.NoData != "" || g.data.Rule != "" {
			continue
		}
		if first, want := g.data.Arms[0].T[0], map[string]float64{
			Bounded:   18,
			Unbounded: 30,
		}[g.data.Test]; first != 0 || g.end() != want {
			t.Errorf("%s goes from %v to %v s, want from 0 to %v", g.File, first, g.end(), want)
		}
		if got := strings.Contains(string(render(t, g.SVG)), "limit 20 ms (promql: x &lt; 20)"); got != (g.data.Name == "avg-api-times") {
			t.Errorf("%s tells the threshold: %v", g.File, got)
		}
		if m := g.data.MeasuredFrom; (m == 8) != (g.data.Test == Bounded) {
			t.Errorf("%s is measured from %v", g.File, m)
		}
	}
}

// TestLegendFits breaks the legend into rows that lie within the picture, and the area below all of
// them.
func TestLegendFits(t *testing.T) {
	g := Graph{data: GraphData{Test: Bounded, GraphSpec: GraphSpec{Title: "T"}}}
	for i := range 8 {
		g.data.Arms = append(g.data.Arms, ArmLine{
			Arm:    fmt.Sprintf("a name of some length %d", i),
			Index:  i,
			N:      2,
			Of:     2,
			Step:   1,
			T:      []float64{0, 1},
			Median: []float64{1, 2},
			Lo:     []float64{0, 1},
			Hi:     []float64{2, 3},
		})
	}
	var b bytes.Buffer
	g.drawn(areaH).Write(&b, 0)
	svg := b.String()
	last := 0
	for part := range strings.SplitSeq(svg, `<text x="`) {
		var x float64
		var y int
		var label string
		if n, _ := fmt.Sscanf(part, `%f" y="%d">%s`, &x, &y, &label); n == 3 &&
			strings.HasPrefix(label, "a") {
			last = max(last, y)
			if x+signWidth*30 > svgWidth+signWidth {
				t.Errorf("an entry begins at %v of %d", x, svgWidth)
			}
		}
	}
	var area int
	if i := strings.Index(svg, `class="area"`); i < 0 {
		t.Fatal("no area")
	} else if _, err := fmt.Sscanf(svg[i:], `class="area" x="56" y="%d"`, &area); err != nil || area <= last {
		t.Errorf("the area begins at %d, the legend ends at %d (%v)", area, last, err)
	}
}

// TestNoDataPNG draws one.
func TestNoDataPNG(t *testing.T) {
	g := Graph{data: GraphData{
		Test:      Bounded,
		GraphSpec: GraphSpec{Title: "T"},
		NoData:    strings.Repeat("nobody looked ", 60),
	}}
	m, err := png.Decode(bytes.NewReader(render(t, g.PNG)))
	if err != nil {
		t.Fatal(err)
	}
	dark := 0
	for y := pngHeight / 4; y < 3*pngHeight/4; y++ {
		for x := range pngWidth {
			if r, _, _, _ := m.At(x, y).RGBA(); r < 0xb000 {
				dark++
			}
		}
	}
	if dark < 1000 {
		t.Errorf("%d dark pixels in the middle: the reason is not written", dark)
	}
}

// budget returns how many bytes f allocates.
func budget(f func()) uint64 {
	f() // fonts and the like are made once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBudget checks the size of a graph and of a report, in bytes: forty graphs of 90 minutes have
// to be there in seconds.
func TestBudget(t *testing.T) {
	race.SkipBudget(t)
	long := Line{}
	for i := range 5400 {
		long.T, long.V = append(long.T, float64(i)), append(long.V, 100+10*float64(i%17))
	}
	s := full()
	s.graphs = seedNames
	s.blocks = 2
	s.seconds = 12
	in := s.input()
	for _, r := range in.Runs {
		for _, lines := range r.Series {
			for name := range lines {
				lines[name] = long
			}
		}
	}
	var d Document
	if got := budget(func() { d = From(in) }); got > 40<<20 {
		t.Errorf("a document allocates %d KiB", got>>10)
	}
	g := Graphs(d)[0]
	var file int
	if got := budget(func() { file = len(render(t, g.PNG)) }); got > 8<<20 || file > 60<<10 {
		t.Errorf("a PNG allocates %d KiB and has %d KiB", got>>10, file>>10)
	}
	if got := budget(func() { file = len(render(t, g.SVG)) }); got > 512<<10 || file > 40<<10 {
		t.Errorf("an SVG allocates %d KiB and has %d KiB", got>>10, file>>10)
	}
	if got := budget(func() { file = len(written(t, HTML, d)) }); got > 16<<20 || file > 2<<20 {
		t.Errorf("the page allocates %d KiB and has %d KiB", got>>10, file>>10)
	}
}

// TestFilesOfRulesDiffer draws two long rules that begin alike into two files.
func TestFilesOfRulesDiffer(t *testing.T) {
	r := RunData{Cell: record.ComparisonRun{Run: "r", Block: 1, Arm: "base", Valid: true}}
	r.Manifest.Phases = []record.Phase{{Name: "search", To: 10 * time.Second}}
	for _, role := range []string{"app", "proxy"} {
		rule := "promql: a_metric_with_a_name_that_is_so_long_that_nobody_ever_saw_its_end{role=\"" + role + "\"} < 1"
		r.Events = append(r.Events, evaluated(0, "search", rule, 0, 1),
			evaluated(time.Second, "search", rule, 0, 1))
	}
	var files []string
	for _, g := range From(ofBase(r)).Graphs {
		if slices.Contains(files, g.File) {
			t.Errorf("two graphs are written to %s", g.File)
		}
		files = append(files, g.File)
	}
}

// TestLimitOfNothing draws the limit of a curve that is 0 throughout, and not one that would press
// the curves to the bottom.
func TestLimitOfNothing(t *testing.T) {
	for _, test := range []struct {
		highest float64
		drawn   bool
	}{{0, true}, {0.01, true}, {0.005, false}} {
		g := Graph{data: GraphData{
			Limit: 0.025,
			Arms:  []ArmLine{{T: []float64{0, 1}, Median: []float64{0, test.highest}}},
		}}
		if above := strings.Contains(g.limitText(), "above this graph"); g.hasLimit() != test.drawn ||
			above == test.drawn {
			t.Errorf("highest %g: drawn %v, legend %q", test.highest, g.hasLimit(), g.limitText())
		}
	}
}
