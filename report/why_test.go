package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"plimsoll/judge/attribution"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// whyOf is the document of a comparison whose cost(app) has a factor, with an attribution.
func whyOf(a Attributed, factor float64) Document {
	s := scenes()["bounded-only"]
	s.engines = []string{"postgresql"}
	in := s.input()
	e := plan.Endpoint{Name: "cost(app)", Better: plan.Lower, Margin: 0.05, Unit: "ms"}
	r := judged(e, 6, 100*(factor-1), 100*(factor-1)+0.2, 100*(factor-1)+0.4)
	in.Arms[0].Verdict = verdict.Combine("PostgreSQL", []verdict.Result{r})
	in.Arms[0].Costs = []Attributed{a}
	return From(in)
}

// TestWhySentence pins the sentence for each kind of result, and whether it is on the first screen.
func TestWhySentence(t *testing.T) {
	only := func(kind attribution.PartKind, name string, share float64) Attributed {
		a := attributedCost()
		a.Findings = nil
		a.Parts = []attribution.CostPart{{Kind: kind, Name: name, Finding: -1,
			Share: share, Cost: attribution.IntervalEstimate{Value: 3e-4, Low: 2e-4, High: 4e-4}}}
		return a
	}
	unsure := only(attribution.PartGroup, "scheduler", 0.6)
	unsure.Parts[0].Cost.Low = -1e-5
	moved := attributedCost()
	moved.Findings = moved.Findings[:1]
	moved.Findings[0].Kind = attribution.Moved
	moved.Findings[0].From = &attribution.Function{Name: "a/b/store.(*S).Load"}
	moved.Parts = moved.Parts[:1]
	moved.Findings[0].Renamed = true
	one := func(f attribution.FunctionChange) Attributed {
		a := attributedCost()
		f.Function, f.Callers = a.Findings[0].Function, a.Findings[0].Callers
		a.Findings, a.Parts = []attribution.FunctionChange{f}, a.Parts[:1]
		return a
	}
	library := []attribution.Function{{Name: "encoding/json.Marshal", Kind: attribution.Library, Binary: "chat"}}
	dear := attribution.IntervalEstimate{Value: 0.2, Low: 0.1, High: 0.3}
	gone := attribution.IntervalEstimate{Value: -1, Low: -1.1, High: -0.9}
	used := one(attribution.FunctionChange{Kind: attribution.Changed, Within: library, Change: dear})
	shared := one(attribution.FunctionChange{Kind: attribution.Changed, Within: library, Change: dear})
	shared.Tree.Children = append(shared.Tree.Children, &attribution.Node{
		Function: library[0], Base: 50e-6, New: 50e-6, Finding: -1})
	nearlyNew := one(attribution.FunctionChange{Kind: attribution.Changed,
		Change: attribution.IntervalEstimate{Value: 676.45, Low: 5.34, High: 3072.05}})
	often := one(attribution.FunctionChange{Kind: attribution.Added, Whole: true,
		Within: attributedCost().Findings[1].Callers, Also: []string{"garbage collector"}})
	small := attributedCost()
	small.CouldFind = 0.12
	doubtful := attributedCost()
	doubtful.Findings = doubtful.Findings[:1]
	doubtful.Findings[0].Q = 0.04
	none := attributedCost()
	none.Findings = nil
	withheld := attributedCost()
	withheld.Withheld, withheld.Tree = "not profiled: this host forbids it", nil
	const place, caller = "sqlstore.(*SqlPostStore).prepareThreadedResponse", ", called by api4.createPost"
	const prepare = "sqlstore.(*SqlPostStore).prepareThreadedResponse (+38.0 % [+29.0, +47.0]), called by api4.createPost"
	for name, x := range map[string]struct {
		a      Attributed
		factor float64
		want   string // behind the change
		first  bool
	}{
		"function":        {attributedCost(), 1.15, ": 71 % of it is " + prepare + "; 25 % is spread over all functions by about the same share", true},
		"spread":          {only(attribution.PartSpread, "", 1), 1.15, ": all of it is spread over all functions by about the same share", true},
		"more than all":   {only(attribution.PartGroup, "garbage collector", 1.3), 1.15, ": more than all (130 %) of it is garbage collector", true},
		"unsure":          {unsure, 1.15, ": no function explains it; this comparison could find 1.8 %", true},
		"small group":     {only(attribution.PartGroup, "other library code", 0.07), 1.15, ": no function explains it; this comparison could find 1.8 %", true},
		"against it":      {only(attribution.PartGroup, "scheduler", -0.5), 1.15, ": no function explains it; this comparison could find 1.8 %", true},
		"moved":           {moved, 1.15, ": 71 % of it is sqlstore.(*SqlPostStore).prepareThreadedResponse (moved from store.(*S).Load, +38.0 % [+29.0, +47.0]), called by api4.createPost", true},
		"its own library": {used, 1.15, ": 71 % of it is " + place + " (+20 % [+10, +30])" + caller, true},
		"nearly new":      {nearlyNew, 1.15, ": 71 % of it is " + place + " (677 times as much [6.3, 3073])" + caller, true},
		"a library":       {shared, 1.15, ": 71 % of it is " + place + " (in json.Marshal, +20 % [+10, +30])" + caller, true},
		"added":           {often, 1.15, ": 71 % of it is " + place + " (no samples in base)" + caller, true},
		"removed":         {one(attribution.FunctionChange{Kind: attribution.Removed, Change: gone}), 1.15, ": 71 % of it is " + place + " (no samples in new)" + caller, true},
		"not profiled":    {withheld, 1.15, ": not profiled: this host forbids it", true},
		"same, certain":   {attributedCost(), 1, ", and 3 functions changed: " + prepare + "; +10.7 % of cost(app)", true},
		"same, small":     {small, 1, ", and 3 functions changed: " + prepare + "; +10.7 % of cost(app)", false},
		"same, in doubt":  {doubtful, 1, ", and 1 function changed: " + prepare + "; +10.7 % of cost(app)", false},
		"same, nothing":   {none, 1, ": no function changed; this comparison could find 1.8 %", false},
		"same, no sample": {withheld, 1, ": not profiled: this host forbids it", false},
	} {
		d := whyOf(x.a, x.factor)
		w := d.Why[0]
		_, rest, _ := strings.Cut(w.Sentence, " at 9")
		_, rest, _ = strings.Cut(rest, " %")
		if rest != x.want || w.First != x.first {
			t.Errorf("%s: %v %q, want %v %q", name, w.First, w.Sentence, x.first, x.want)
		}
		if !strings.HasPrefix(w.Sentence, "cost(app) ") {
			t.Errorf("%s: %q does not begin with the cost", name, w.Sentence)
		}
		for form, text := range map[string]string{
			"screen":   strings.Join(strings.Fields(screenText(t, d, 100)), " "),
			"markdown": written(t, Markdown, d),
			"full":     written(t, FullMarkdown, d),
			"comment":  strings.ReplaceAll(written(t, Comment, d), "\u200b", ""),
			"html":     written(t, HTML, d),
		} {
			at := w.Sentence[:20]
			if form == "html" {
				at = `<p class="because">` + at
			} else if form != "screen" {
				at = "  - " + at
			} else {
				at = "why " + at
			}
			if strings.Contains(text, at) != x.first {
				t.Errorf("%s: on the first screen of %s: %v", name, form, !x.first)
			}
		}
	}
}

// TestPartsAddUp adds the rows of the table up: its last row is their sum.
func TestPartsAddUp(t *testing.T) {
	d := whyOf(attributedCost(), 1.15)
	rows := d.Why[0].partTable().Rows
	sum, share := 0.0, 0.0
	var v, of float64
	for i, r := range rows {
		v, of = numberAt(t, r[1]), numberAt(t, r[2])
		if i < len(rows)-1 {
			sum, share = sum+v, share+of
		}
	}
	if math.Abs(sum-v) > 0.001*float64(len(rows)) || math.Abs(v-0.33) > 1e-9 || share < 98 || share > 102 || of != 100 {
		t.Errorf("the parts are %v and %v %%, the last row is %v", sum, share, rows[len(rows)-1])
	}
}

// numberAt reads the number that a cell begins with.
func numberAt(t *testing.T, cell string) float64 {
	t.Helper()
	var v float64
	text, _, _ := strings.Cut(cell, " ")
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "+")), &v); err != nil {
		t.Fatalf("%q: %v", cell, err)
	}
	return v
}

func TestShortFunction(t *testing.T) {
	for in, want := range map[string]string{
		"main.main": "main.main",
		"github.com/a/b/server/v8/channels/store/sqlstore.(*SqlPostStore).Save": "sqlstore.(*SqlPostStore).Save",
		"github.com/a/b/v6.(*App).Post.func3":                                   "b.(*App).Post.func3",
		"app.Map[go.shape.string,go.shape.struct { x/y.Z []int }].func1":        "app.Map[...].func1",
		"a/b.(*T[a/c.K]).Get":                     "b.(*T[...]).Get",
		"gopkg.in/yaml%2ev3.Unmarshal":            "yaml.v3.Unmarshal",
		"[kernel] write":                          "[kernel] write",
		"exec_simple_query":                       "exec_simple_query",
		"std::vector<int>::push_back(int const&)": "std::vector<int>::push_back(int const&)",
		"": "",
	} {
		if got := shortFunction(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// TestFlamePlaces checks the picture's places: what a function calls lies below it and within it, no
// two cells of a row overlap, and what only one arm has is as wide as its cost.
func TestFlamePlaces(t *testing.T) {
	d := whyOf(attributedCost(), 1.15)
	f := Flames(d)[0]
	whole := widthOf(d.Why[0].Tree)
	for i, c := range f.cells {
		if c.x < -1e-9 || c.x+c.w > 1+1e-9 || c.w < leastCell*0.99 {
			t.Errorf("%s lies at %v, %v wide", c.node.Function.Name, c.x, c.w)
		}
		if want := max(c.node.Base, c.node.New) / whole; c.w < want-1e-9 {
			t.Errorf("%s is %v wide, and costs %v", c.node.Function.Name, c.w, want)
		}
		inside := c.depth == 0
		for k, o := range f.cells {
			if k != i && o.depth == c.depth && c.x < o.x+o.w-1e-9 && o.x < c.x+c.w-1e-9 {
				t.Errorf("%s lies over %s", c.node.Function.Name, o.node.Function.Name)
			}
			inside = inside || o.depth == c.depth-1 && c.x >= o.x-1e-9 && c.x+c.w <= o.x+o.w+1e-9
		}
		if !inside {
			t.Errorf("%s is outside its caller", c.node.Function.Name)
		}
		if c.node.Function.Name == "main.goneForGood" && math.Abs(c.w*whole-50e-6) > 1e-12 {
			t.Errorf("what is gone is %v wide", c.w*whole)
		}
	}
	before := attributedCost().Tree
	if n := nodesOf(before); len(f.cells)+d.Why[0].Dropped != n || d.Why[0].Dropped == 0 {
		t.Errorf("%d cells and %d dropped of %d", len(f.cells), d.Why[0].Dropped, n)
	}
}

// TestFlameColors holds that a change below the smallest that could be found has no color.
func TestFlameColors(t *testing.T) {
	f := &Flame{why: &Why{Attributed: Attributed{Attribution: attribution.Attribution{Base: 1, CouldFind: 0.02}}}}
	for _, x := range []struct {
		base, fresh float64
		want        string
	}{
		{0.5, 0.519, "same"}, {0.5, 0.481, "same"}, {0.5, 0.521, "up1"}, {0.3, 0.33, "up2"},
		{0.1, 0.13, "up3"}, {0, 0.03, "up3"}, {0.03, 0, "down3"}, {0.5, 0.47, "down2"}, {0, 0.019, "same"},
	} {
		if got := f.look(&attribution.Node{Base: x.base, New: x.fresh, Finding: -1}); got != x.want {
			t.Errorf("%v to %v has the look %q, want %q", x.base, x.fresh, got, x.want)
		}
	}
	if got := f.look(&attribution.Node{Base: 0.001, New: 0.01}); got != "up3" {
		t.Errorf("a function that was found has the look %q", got)
	}
}

// TestFittedLabels drops package and receiver before it cuts a label.
func TestFittedLabels(t *testing.T) {
	for _, x := range []struct {
		label string
		fits  int
		want  string
	}{
		{"chat.(*Server).addMetadata", 26, "chat.(*Server).addMetadata"},
		{"chat.(*Server).addMetadata", 12, "addMetadata"},
		{"+38.0 % chat.(*Server).addMetadata", 19, "+38.0 % addMetadata"},
		{"- gone main.goneForGood", 12, "- gone gone…"},
		{"runtime.mcall", 6, "mcall"},
		{"[kernel] write", 8, "[kernel…"},
	} {
		if got := fitted(x.label, x.fits); got != x.want {
			t.Errorf("%q in %d signs is %q, want %q", x.label, x.fits, got, x.want)
		}
	}
}
