package verdict_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// six returns six pairs around 1000 whose new arm is changed by the given ratio, with little noise.
func six(ratio float64) []verdict.Pair {
	noise := []float64{0.004, -0.006, 0.002, -0.003, 0.005, -0.002}
	var pairs []verdict.Pair
	for i, n := range noise {
		pairs = append(pairs, verdict.Pair{
			Block: i + 1,
			Base:  1000 + 10*float64(i),
			New:   (1000 + 10*float64(i)) * ratio * (1 + n),
		})
	}
	return pairs
}

func TestInvalid(t *testing.T) {
	with := func(change func(*plan.Endpoint)) plan.Endpoint {
		e := capacity()
		change(&e)
		return e
	}
	changed := func(change func(*verdict.Pair)) []verdict.Pair {
		pairs := six(1)
		change(&pairs[3])
		return pairs
	}
	tests := []struct {
		name     string
		endpoint plan.Endpoint
		pairs    []verdict.Pair
		options  verdict.Options
		want     string
	}{
		{"no pair", capacity(), nil, verdict.Fixed(6), "there is no valid pair"},
		{"no direction", with(func(e *plan.Endpoint) {
			e.Better = ""
		}), six(1), verdict.Fixed(6), `direction "": want higher or lower`},
		{"no margin", with(func(e *plan.Endpoint) {
			e.Margin = 0
		}), six(1), verdict.Fixed(6), "margin 0: want a number above zero"},
		{"margin NaN", with(func(e *plan.Endpoint) {
			e.Margin = math.NaN()
		}), six(1), verdict.Fixed(6), "margin NaN"},
		{"margin of 500 %", with(func(e *plan.Endpoint) {
			e.Margin = 5
		}), six(1), verdict.Fixed(6), "want less than 1 (0.05 is 5 %)"},
		{"no name", with(func(e *plan.Endpoint) {
			e.Name = ""
		}), six(1), verdict.Fixed(6), "the endpoint has no name"},
		{"alpha", capacity(), six(1), verdict.Options{Alpha: 5}, "alpha 5: want 0.0001 to 0.2"},
		{"NaN", capacity(), changed(func(p *verdict.Pair) {
			p.New = math.NaN()
		}), verdict.Fixed(6), "pair 4, new is NaN: want a number up to"},
		{"Inf", capacity(), changed(func(p *verdict.Pair) {
			p.Base = math.Inf(1)
		}), verdict.Fixed(6), "pair 4, base is +Inf"},
		{"zero", capacity(), changed(func(p *verdict.Pair) {
			p.Base = 0
		}), verdict.Fixed(6), "pair 4, base is 0: a ratio needs numbers above zero"},
		{"negative", capacity(), changed(func(p *verdict.Pair) {
			p.Base = -7
		}), verdict.Fixed(6), "pair 4, base is -7"},
		{"rate NaN", failures(), changed(func(p *verdict.Pair) {
			p.New = math.NaN()
		}), verdict.Fixed(6), "pair 4, new is NaN"},
		{"block twice", capacity(), changed(func(p *verdict.Pair) {
			p.Block = 2
		}), verdict.Fixed(6), "pair 2 appears twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := verdict.Judge(tt.endpoint, tt.pairs, tt.options)
			if r.Kind != verdict.Invalid || r.Kind.ExitStatus() != 5 ||
				!strings.Contains(r.Reason, tt.want) {
				t.Errorf("got %s (%s), want invalid with %q", r.Kind, r.Reason, tt.want)
			}
			if r.HasInterval() || r.HasEffect() {
				t.Error("an invalid result carries numbers")
			}
			if !strings.HasSuffix(r.Sentence, ".") || !strings.Contains(r.Sentence, "invalid") {
				t.Errorf("sentence %q", r.Sentence)
			}
		})
	}
}

// TestMirror checks that exchanging the arms, or the direction, exchanges worse and better and
// nothing else.
func TestMirror(t *testing.T) {
	flipped := map[verdict.Kind]verdict.Kind{
		verdict.Worse:        verdict.Better,
		verdict.Better:       verdict.Worse,
		verdict.Same:         verdict.Same,
		verdict.Inconclusive: verdict.Inconclusive,
	}
	rng := rand.New(rand.NewPCG(300, 1))
	seen := make(map[verdict.Kind]int)
	for range 600 {
		shift := []float64{0, 0, 0.04, -0.08, 0.12}[rng.IntN(5)]
		w := world{sd: []float64{0.01, 0.03, 0.06}[rng.IntN(3)], change: shift, blind: true}
		pairs := w.session(rng, 6+rng.IntN(4))[0]
		if rng.IntN(4) == 0 {
			pairs[0].BaseCensored, pairs[1].NewCensored = true, rng.IntN(2) == 0
		}
		there := verdict.Judge(capacity(), pairs, verdict.Options{})
		seen[there.Kind]++

		swapped := slices.Clone(pairs)
		for i, p := range pairs {
			swapped[i] = verdict.Pair{
				Block:        p.Block,
				Base:         p.New,
				New:          p.Base,
				BaseCensored: p.NewCensored,
				NewCensored:  p.BaseCensored,
			}
		}
		if back := verdict.Judge(capacity(), swapped, verdict.Options{}); back.Kind != flipped[there.Kind] {
			t.Fatalf("%v: %s, exchanged %s", pairs, there.Kind, back.Kind)
		}
		lower := capacity()
		lower.Better = plan.Lower
		if other := verdict.Judge(lower, pairs, verdict.Options{}); other.Kind != flipped[there.Kind] ||
			other.P != there.P && there.HasEffect() {
			t.Fatalf("%v: %s, with lower as better %s", pairs, there.Kind, other.Kind)
		}
	}
	for _, k := range []verdict.Kind{verdict.Worse, verdict.Better, verdict.Same, verdict.Inconclusive} {
		if seen[k] < 20 {
			t.Errorf("%s was seen %d times only: %v", k, seen[k], seen)
		}
	}
}

// TestSignFlipVeto holds the two forms of the robust twin's consent.
func TestSignFlipVeto(t *testing.T) {
	pairs := func(percent ...float64) []verdict.Pair {
		var out []verdict.Pair
		for i, p := range percent {
			out = append(out, verdict.Pair{Block: i + 1, Base: 1000, New: 1000 * math.Exp(p/100)})
		}
		return out
	}
	narrow := capacity()
	narrow.Margin = 0.001
	look1 := atLook(1)
	look2 := atLook(2)
	// the t interval excludes no change at 0.05 and 0.0221
	dissent := []float64{-5, -9, -12, -7, 0.5, -10}
	for _, tt := range []struct {
		name  string
		pairs []verdict.Pair
		opt   verdict.Options
		kind  verdict.Kind
		want  string
	}{
		// Six pairs reach 2/64 = 0.031: the test can speak at 0.05, but not at 0.0221.
		{"six agree at 0.05", pairs(-10, -9, -11, -8, -9, -10), verdict.Fixed(6), verdict.Worse, "bad side"},
		{"six agree at 0.0221", pairs(-10, -9, -11, -8, -9, -10), look1, verdict.Worse, "bad side"},
		{"one of six differs at 0.05", pairs(dissent...), verdict.Fixed(6), verdict.Inconclusive, "the sign-flip test does not (p = 0.0625)"},
		{"one of six differs at 0.0221", pairs(dissent...), look1, verdict.Inconclusive, "not all pairs point the same way"},
		// Nine pairs reach 2/512 = 0.004: a small dissent is carried.
		{"one of nine differs at 0.0221", pairs(append(dissent, -9, -8, -11)...), look2, verdict.Worse, "bad side"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := verdict.Judge(narrow, tt.pairs, tt.opt)
			if r.Kind != tt.kind || !strings.Contains(r.Reason, tt.want) {
				t.Errorf(
					"got %s (%s, sign flip %v), want %s with %q",
					r.Kind,
					r.Reason,
					r.SignFlipP,
					tt.kind,
					tt.want,
				)
			}
			if r.P > r.Alpha {
				t.Errorf("the t test does not exclude no change (p = %v): nothing to veto", r.P)
			}
		})
	}
}

// TestErrorRates checks the verdicts of comparisons without errors.
func TestErrorRates(t *testing.T) {
	zero := func(ops int64) []verdict.Pair {
		var out []verdict.Pair
		for i := 1; i <= 6; i++ {
			out = append(out, verdict.Pair{Block: i, BaseOps: ops, NewOps: ops})
		}
		return out
	}
	with := func(pairs []verdict.Pair, percent ...float64) []verdict.Pair {
		for i, p := range percent {
			pairs[i].Base, pairs[i].New = p, p
		}
		return pairs
	}
	for _, tt := range []struct {
		name  string
		pairs []verdict.Pair
		kind  verdict.Kind
		want  string
	}{
		{"one error in each arm, few operations", with(zero(100), 1), verdict.Inconclusive, "600 operations with 1 error could hide a difference of 0.7821 pp"},
		{"one error in each arm, many operations", with(zero(50_000), 0.002), verdict.Same, "a difference above 0.0016 pp would have shown in 300000 operations with 1 error"},
		{"as many errors in both arms", with(zero(5000), 2, 2, 2, 2, 2, 2), verdict.Inconclusive, "30000 operations with 600 errors could hide a difference of 0.27"},
		{"many operations", zero(50_000), verdict.Same, "a rate above 0.001 pp would have shown in 300000 operations"},
		{"few operations", zero(100), verdict.Inconclusive, "600 operations could hide a rate of 0.5 pp"},
		{"unknown operations", zero(0), verdict.Inconclusive, "how small a rate would have shown is not known: give the numbers of operations (of a CSV in the columns base_ops and new_ops)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := verdict.Judge(failures(), tt.pairs, verdict.Fixed(6))
			if r.Kind != tt.kind || !strings.Contains(r.Reason, tt.want) ||
				!strings.Contains(r.Sentence, tt.want) {
				t.Errorf(
					"got %s (%s), want %s with %q: %s",
					r.Kind,
					r.Reason,
					tt.kind,
					tt.want,
					r.Sentence,
				)
			}
			if r.Lo != 0 || r.Hi != 0 || len(r.Warnings) != 0 ||
				r.NonInferior != (tt.kind == verdict.Same) {
				t.Errorf(
					"interval [%v, %v], not inferior: %v, warnings %q",
					r.Lo,
					r.Hi,
					r.NonInferior,
					r.Warnings,
				)
			}
		})
	}
	if r := verdict.Judge(failures(), with(zero(5000), 2, 2, 2, 2, 2, 2), verdict.Fixed(6)); r.PairsNeeded < 44 ||
		r.PairsNeeded > 46 {
		t.Errorf("%d pairs needed, want 6·(0.272/0.1)²", r.PairsNeeded)
	}
	r := verdict.Judge(failures(), with(zero(0), 2, 2, 2, 2, 2, 2), verdict.Fixed(6))
	if r.Kind != verdict.Inconclusive ||
		!strings.Contains(r.Sentence, "how small a difference would have shown is not known") ||
		len(r.Warnings) != 1 {
		t.Errorf("unknown operations: %s %q", r.Sentence, r.Warnings)
	}
}

// TestNoErrorsAreNotJudged checks that arms without an error are never open: they are the same, or,
// of too few operations, not judged, with the number that it takes.
func TestNoErrorsAreNotJudged(t *testing.T) {
	errors := func(ops int64, rates ...float64) verdict.Result {
		pairs := six(1)
		for i := range pairs {
			pairs[i] = verdict.Pair{Block: i + 1, BaseOps: ops, NewOps: ops}
			if i < len(rates) {
				pairs[i].New = rates[i]
			}
		}
		return verdict.Judge(failures(), pairs, verdict.Fixed(6))
	}
	same := verdict.Judge(capacity(), six(1), verdict.Fixed(6))
	for _, tt := range []struct {
		name    string
		results []verdict.Result
		kind    verdict.Kind
		aside   string
	}{
		{"many operations", []verdict.Result{same, errors(5000)}, verdict.Same, ""},
		{"few operations", []verdict.Result{same, errors(130)}, verdict.Same, "780 operations could hide a rate of 0.3846 pp: the margin of 0.1 pp takes 3000"},
		{"unknown operations", []verdict.Result{same, errors(0)}, verdict.Same, "give the numbers of operations"},
		{"an error", []verdict.Result{same, errors(130, 0.5)}, verdict.Inconclusive, ""},
		{"nothing else", []verdict.Result{errors(130)}, verdict.Inconclusive, ""},
		{"withheld", []verdict.Result{same, errors(130).Withhold("runs failed")}, verdict.Inconclusive, ""},
	} {
		v := verdict.Combine("", tt.results)
		if aside := v.NotJudged(); v.Kind != tt.kind ||
			len(v.Results)+len(aside) != len(tt.results) ||
			!strings.Contains(aside["errors"], tt.aside) {
			t.Errorf("%s: %s, aside %q; want %s with %q", tt.name, v.Kind, aside, tt.kind, tt.aside)
		}
	}
}

// TestLessThanTheMargin checks that a change that is found, and smaller than its margin, is
// explained; and that the interval that decided is the one that is shown.
func TestLessThanTheMargin(t *testing.T) {
	pairs := six(1)
	for i, by := range []float64{0.935, 0.985, 0.94, 0.98, 0.95, 0.99} {
		pairs[i].Base, pairs[i].New = 1000, 1000*by
	}
	r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
	if got := r.InsideMargin(); r.Kind != verdict.Worse ||
		got != "less than the margin of 5 %, but not the same: its 90 % interval reaches -5.68 %" ||
		!strings.Contains(r.Sentence, got) {
		t.Errorf("%s: %q, %s", r.Kind, got, r.Sentence)
	}
	if lo, hi, level := r.Decisive(); lo != r.Lo || hi != r.Hi || level != 0.95 {
		t.Errorf("worse is decided by [%v, %v] at %v", lo, hi, level)
	}
	pairs = six(0.99)
	pairs[0].New *= 1.01
	r = verdict.Judge(capacity(), pairs, verdict.Fixed(6))
	if lo, hi, level := r.Decisive(); r.Kind != verdict.Same || lo != r.Lo90 || hi != r.Hi90 ||
		level != 0.9 ||
		r.InsideMargin() != "" {
		t.Errorf("%s is decided by [%v, %v] at %v", r.Kind, lo, hi, level)
	}
	if big := verdict.Judge(capacity(), six(0.9), verdict.Fixed(6)); big.InsideMargin() != "" {
		t.Errorf("a loss of 10 %%: %s", big.InsideMargin())
	}
}

// TestNonInferior checks the one-sided gate: the bad end of the interval is inside the margin, for
// any good end.
func TestNonInferior(t *testing.T) {
	for _, tt := range []struct {
		name     string
		endpoint plan.Endpoint
		ratio    float64
		want     bool
	}{
		{"more capacity", capacity(), 1.2, true}, {"less capacity", capacity(), 0.8, false}, {"the same capacity", capacity(), 1, true},
		{"slower", latency(), 1.2, false}, {"faster", latency(), 0.8, true}, {"as fast", latency(), 1, true},
	} {
		if r := verdict.Judge(tt.endpoint, six(tt.ratio), verdict.Fixed(6)); r.NonInferior != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, r.NonInferior, tt.want)
		}
	}
	for n := range 6 {
		want := verdict.Inconclusive
		if n == 0 {
			want = verdict.Invalid
		}
		for _, e := range []plan.Endpoint{capacity(), latency(), failures()} {
			pairs := six(1)[:n]
			for i := range pairs {
				pairs[i].BaseOps, pairs[i].NewOps = 1e6, 1e6
			}
			if r := verdict.Judge(e, pairs, verdict.Fixed(n)); r.NonInferior || r.Kind != want {
				t.Errorf("%s: %d pairs are %s, not inferior: %v", e.Name, n, r.Kind, r.NonInferior)
			}
		}
	}
	wide := six(1.04) // as likely better as the same
	wide[0].New *= 1.08
	for kind, pairs := range map[verdict.Kind][]verdict.Pair{
		verdict.Same:         six(1),
		verdict.Inconclusive: wide,
	} {
		r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
		if held := r.Withhold("half of it is missing"); r.Kind != kind || !r.NonInferior ||
			held.NonInferior {
			t.Errorf(
				"%s, want %s; not inferior: %v, and %v when it is withheld",
				r.Kind,
				kind,
				r.NonInferior,
				held.NonInferior,
			)
		}
	}
}

func TestPlanWarnings(t *testing.T) {
	if r := verdict.Judge(capacity(), six(1), verdict.Fixed(9)); !strings.HasPrefix(
		fmt.Sprint(r.Warnings),
		"[6 of 9 planned pairs",
	) {
		t.Errorf("too few pairs: %q", r.Warnings)
	}
	if r := verdict.Judge(capacity(), six(1), verdict.Fixed(5)); !strings.HasPrefix(
		fmt.Sprint(r.Warnings),
		"[6 pairs where 5 were planned",
	) {
		t.Errorf("too many pairs: %q", r.Warnings)
	}
	if r := verdict.Judge(capacity(), six(1), verdict.Fixed(6)); len(r.Warnings) != 0 {
		t.Errorf("as planned: %q", r.Warnings)
	}
}

func TestArgumentsAreKept(t *testing.T) {
	pairs := six(0.9)
	before := slices.Clone(pairs)
	r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
	r.Pairs[0].Base = 1
	if !slices.Equal(pairs, before) {
		t.Error("Judge shares the pairs with its argument")
	}
	results := []verdict.Result{r, verdict.Judge(capacity(), six(1), verdict.Fixed(6))}
	verdict.Combine("x", results)
	if !math.IsNaN(results[0].HolmP) {
		t.Error("Combine changes its argument")
	}
}

func TestJSON(t *testing.T) {
	noEffect := []verdict.Pair{{Block: 1, Base: 1, New: 2, BaseCensored: true}}
	for _, r := range []verdict.Result{
		verdict.Judge(capacity(), six(0.9), verdict.Fixed(6)),
		verdict.Judge(capacity(), six(0.9)[:2], verdict.Fixed(6)),
		verdict.Judge(capacity(), nil, verdict.Fixed(6)),
		verdict.Judge(capacity(), noEffect, verdict.Options{BaseName: "v1", NewName: "v2"}),
		verdict.Combine("x", []verdict.Result{verdict.Judge(failures(), six(1), verdict.Fixed(6))}).Results[0],
	} {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back verdict.Result
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(verdict.Warning{}, "Code", "Without")); diff != "" {
			t.Errorf("a result read back differs (-written +read):\n%s", diff)
		}
	}
	data, err := json.MarshalIndent(
		verdict.Judge(capacity(), six(0.9)[:2], verdict.Fixed(2)),
		"",
		" ",
	)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "json-two", append(data, '\n'))
	v := verdict.Combine(
		"PostgreSQL 15.10",
		[]verdict.Result{verdict.Judge(capacity(), six(0.9), verdict.Fixed(6))},
	)
	if data, err = json.Marshal(v); err != nil || !bytes.Contains(data, []byte(`"kind":"worse"`)) {
		t.Errorf("verdict: %s, %v", data, err)
	}
}
