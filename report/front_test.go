package report

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// TestEveryWarningHasAGroup: the groups hold all warnings, each once, and those that could change a
// verdict come first.
func TestEveryWarningHasAGroup(t *testing.T) {
	for name, s := range scenes() {
		d := From(s.input())
		var all []string
		changes := true
		for _, g := range d.WarningGroups {
			all = append(all, g.Warnings...)
			if g.Changes && !changes {
				t.Errorf("%s: %s stands behind what changes nothing", name, g.Cause)
			}
			changes = changes && g.Changes
			if g.Text == "" {
				t.Errorf("%s: group %+v", name, g)
			}
		}
		want := slices.Clone(d.Warnings)
		slices.Sort(all)
		slices.Sort(want)
		if !slices.Equal(all, want) {
			t.Errorf("%s: the groups hold\n%q\nand the warnings are\n%q", name, all, want)
		}
	}
}

// TestWhatCouldChangeAVerdict: pairs far from the others do where the result without them would
// give the database another verdict.
func TestWhatCouldChangeAVerdict(t *testing.T) {
	result := func(name string, k verdict.Kind, warnings ...verdict.Warning) verdict.Result {
		return verdict.Result{Endpoint: plan.Endpoint{Name: name}, Kind: k, Warnings: warnings}
	}
	far := func(without verdict.Kind) verdict.Warning {
		return verdict.Warning{
			Code:    verdict.FarPairs,
			Text:    "pair 2 is far from the others",
			Without: without,
		}
	}
	of := func(kind verdict.Kind, results ...verdict.Result) verdict.Verdict {
		return verdict.Verdict{Kind: kind, Results: results}
	}
	for _, tt := range []struct {
		name    string
		verdict verdict.Verdict
		changes bool
	}{
		{"worse without it", of(verdict.Same,
			result("a", verdict.Same, far("worse")), result("b", verdict.Same)), true},
		{"the same without it", of(verdict.Same,
			result("a", verdict.Same, far("same")), result("b", verdict.Same)), false},
		{"another is worse anyway", of(verdict.Worse,
			result("a", verdict.Same, far("inconclusive")), result("b", verdict.Worse)), false},
		{"the only open one would be decided", of(verdict.Inconclusive,
			result("a", verdict.Inconclusive, far("same")), result("b", verdict.Same)), true},
		{"an order that is allowed for", of(verdict.Same, result("a", verdict.Same,
			verdict.Warning{
				Code: verdict.RunOrder,
				Text: "the run that came second in its pair was 2 % lower",
			})), false},
		{"planned pairs that are missing", of(verdict.Same, result("a", verdict.Same,
			verdict.Warning{Code: verdict.MissingPairs, Text: "6 of 8 planned pairs"})), true},
	} {
		got := noticesOf([]NamedVerdict{{Name: "X", Verdict: tt.verdict}})
		if len(got) != 1 || got[0].changes != tt.changes ||
			got[0].text != tt.verdict.Results[0].Warnings[0].Text+" (X a)" {
			t.Errorf("%s: %+v, want changes %v", tt.name, got, tt.changes)
		}
	}
	v := of(verdict.Same, result("a", verdict.Same, far("worse")),
		result("b", verdict.Same, verdict.Warning{Code: verdict.UnlikeSpread}))
	all := groups(append([]notice{{
		cause: causeTime,
		text:  "slow",
	}}, noticesOf([]NamedVerdict{{Name: "X", Verdict: v}, {Name: "Y", Verdict: v}})...))
	var causes []string
	for _, g := range all {
		causes = append(causes, fmt.Sprint(g.Cause, " ", g.Changes, " ", len(g.Warnings)))
	}
	if want := []string{"outliers true 1", "spread false 1", "time false 1"}; !slices.Equal(
		causes,
		want,
	) {
		t.Errorf("groups %q, want %q", causes, want)
	}
}

// TestAnswerShowsEveryPair: of each endpoint the picture has a mark for each arm in each block and
// a bar for each difference, the interval, and the margin; as text it names them all.
func TestAnswerShowsEveryPair(t *testing.T) {
	for name, s := range scenes() {
		a := From(s.input()).Answer()
		for _, p := range a.panels {
			kinds := map[string]int{}
			bars := 0
			for _, sh := range p.shapes() {
				kinds[sh.Kind]++
				if sh.Kind == "rect" && strings.Contains(sh.Class, "fill") {
					bars++
				}
				if sh.X < -1 || sh.X > answerWidth+1 || sh.Y < -1 || sh.Y > p.height()+1 {
					t.Errorf("%s, %s: %+v lies outside", name, p.name, sh)
				}
			}
			pairs, spans := 0, 0
			for _, r := range p.results {
				pairs += len(r.Pairs)
				if r.HasInterval() && len(r.Pairs) > 0 {
					spans++
				}
			}
			if kinds["disc"] != pairs+1 || bars != pairs+1 { // one more in the legend
				t.Errorf(
					"%s, %s: %d marks of base and %d bars for %d pairs",
					name,
					p.name,
					kinds["disc"],
					bars,
					pairs,
				)
			}
			if text := p.text(true); strings.Count(text, "by block: ") == 0 && pairs > 0 ||
				strings.Count(text, ", margin ") != len(p.results) {
				t.Errorf("%s: %s", name, text)
			}
		}
		if a.Empty() {
			continue
		}
		m, err := png.Decode(bytes.NewReader(render(t, a.PNG)))
		if err != nil {
			t.Fatal(err)
		}
		if width, _ := a.size(); m.Bounds().Dx() < answerScale*int(width) {
			t.Errorf("%s: the PNG is %v", name, m.Bounds())
		}
	}
}

// TestRunScreenFits: entries without room are counted, the ends are always shown, and nothing is
// cut.
func TestRunScreenFits(t *testing.T) {
	s := RunScreen{
		Title: "run r: sealed, valid",
		More:  "plimsoll show r has everything",
		Ends:  []record.Row{{Name: "run", Value: "/some/where"}},
	}
	for i := range 30 {
		s.Entries = append(s.Entries, record.Row{
			Name:  fmt.Sprint("fact ", i),
			Value: strings.Repeat("words ", 1+i),
		})
	}
	for i := range 12 {
		s.Ops = append(s.Ops, RunOp{
			OpLine: OpLine{
				Name:   fmt.Sprint("op", i),
				OpCell: OpCell{Count: uint64(100 - i), P50: 1, P95: 2, P99: unknown},
			},
			Mean: 1,
			Max:  3,
		})
	}
	for _, n := range []int{0, 1, 30} {
		part := s
		part.Entries = s.Entries[:n]
		text := string(render(t, func(w io.Writer) error { return part.Write(w, 0) }))
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > RunLines || strings.Contains(text, "…") ||
			!strings.Contains(text, "run: /some/where") ||
			!strings.Contains(text, "op0") {
			t.Errorf("%d entries: %d lines\n%s", n, len(lines), text)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > defaultWidth {
				t.Errorf("%d signs: %s", utf8.RuneCountInString(l), l)
			}
		}
		if n == 30 && !strings.Contains(text, " lines left out: plimsoll show r") {
			t.Errorf("what was left out is not told:\n%s", text)
		}
	}
}

func TestLimiterOfASearchWithoutABrokenRule(t *testing.T) {
	for want, l := range map[string]SearchEnds{
		"no search":                              {},
		"no rule (1 of 1), lower bounds: 1 of 1": {Searches: 1, AtLeast: 1},
		"the rule p99(op) (1 of 2) and no rule (1 of 2)": {
			Searches: 2,
			Rules:    []Count{{Name: "p99(op)", N: 1}},
		},
	} {
		if got := limiterText(l); got != want {
			t.Errorf("limiterText = %q, want %q", got, want)
		}
	}
}
