package verdict_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
)

// of makes a result of a kind with a p-value, with only the fields that Combine reads.
func of(kind verdict.Kind, p float64) verdict.Result {
	return verdict.Result{
		Endpoint: capacity(),
		Kind:     kind,
		N:        6,
		Alpha:    0.05,
		P:        p,
		Effect:   -0.1,
		Lo:       -0.12,
		Hi:       -0.08,
		Lo90:     -0.11,
		Hi90:     -0.09,
		HolmP:    math.NaN(),
		Base:     verdict.Summary{Name: "base"},
		New:      verdict.Summary{Name: "new"},
		Reason:   "of a reason",
	}
}

func TestCombineKinds(t *testing.T) {
	worse := of(verdict.Worse, 0.0001)
	better := of(verdict.Better, 0.0001)
	same := of(verdict.Same, 0.6)
	weak := of(verdict.Worse, 0.03)
	weakBetter := of(verdict.Better, 0.03)
	open := of(verdict.Inconclusive, 0.2)
	void := of(verdict.Invalid, math.NaN())
	indicative := of(verdict.Inconclusive, math.NaN())
	indicative.Indicative, indicative.N = true, 2
	tests := []struct {
		name       string
		results    []verdict.Result
		kind       verdict.Kind
		status     int
		indicative bool
	}{
		{
			"indicative beside an open one",
			[]verdict.Result{indicative, open},
			verdict.Inconclusive,
			4,
			false,
		},
		{
			"indicative beside a same",
			[]verdict.Result{indicative, same},
			verdict.Inconclusive,
			4,
			true,
		},
		{"nothing", nil, verdict.Invalid, 5, false},
		{"all the same", []verdict.Result{same, same, same}, verdict.Same, 0, false},
		{"one worse", []verdict.Result{same, worse, better, open}, verdict.Worse, 3, false},
		{"worse before invalid", []verdict.Result{void, worse}, verdict.Worse, 3, false},
		{
			"invalid before inconclusive",
			[]verdict.Result{open, void, same},
			verdict.Invalid,
			5,
			false,
		},
		{
			"inconclusive before better",
			[]verdict.Result{better, open, same},
			verdict.Inconclusive,
			4,
			false,
		},
		{"better", []verdict.Result{better, same}, verdict.Better, 0, false},
		{"weak worse alone", []verdict.Result{weak}, verdict.Worse, 3, false},
		{"weak worse of two", []verdict.Result{weak, same}, verdict.Inconclusive, 4, false},
		{"weak better of two", []verdict.Result{weakBetter, same}, verdict.Inconclusive, 4, false},
		{"weak worse beside a clear one", []verdict.Result{weak, worse}, verdict.Worse, 3, false},
		{"indicative", []verdict.Result{indicative, indicative}, verdict.Inconclusive, 4, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Combine("PostgreSQL", tt.results)
			if v.Kind != tt.kind || v.Kind.ExitStatus() != tt.status || v.Indicative != tt.indicative {
				t.Errorf(
					"got %s, %d, indicative %v; want %s, %d, %v",
					v.Kind,
					v.Kind.ExitStatus(),
					v.Indicative,
					tt.kind,
					tt.status,
					tt.indicative,
				)
			}
			if !strings.HasPrefix(v.Lead, "PostgreSQL: ") || !strings.HasSuffix(v.Lead, ".") ||
				v.Reason == "" {
				t.Errorf("lead %q, reason %q", v.Lead, v.Reason)
			}
			if v.Kind != verdict.Worse && strings.Contains(v.Lead, "new is worse") ||
				v.Kind != verdict.Same && strings.Contains(v.Lead, "the same") {
				t.Errorf("the lead of %s says %q", v.Kind, v.Lead)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	of := func(kinds ...verdict.Kind) []verdict.Verdict {
		var out []verdict.Verdict
		for _, k := range kinds {
			out = append(out, verdict.Verdict{Kind: k})
		}
		return out
	}
	for _, tt := range []struct {
		in   []verdict.Verdict
		want verdict.Kind
	}{
		{nil, verdict.Invalid},
		{of(verdict.Same, verdict.Better), verdict.Better},
		{of(verdict.Better, verdict.Inconclusive), verdict.Inconclusive},
		{of(verdict.Inconclusive, verdict.Invalid), verdict.Invalid},
		{of(verdict.Invalid, verdict.Worse), verdict.Worse},
	} {
		if got := verdict.Worst(tt.in...); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

// TestVerdictText shows the lead and the lines per endpoint.
func TestVerdictText(t *testing.T) {
	results := func(ratios ...float64) []verdict.Result {
		var out []verdict.Result
		for i, ratio := range ratios {
			out = append(out, verdict.Judge(primaries()[i], six(ratio), verdict.Fixed(6)))
		}
		return out
	}
	none := failures()
	var zero []verdict.Pair
	for i := 1; i <= 6; i++ {
		zero = append(zero, verdict.Pair{Block: i, BaseOps: 40_000, NewOps: 41_000})
	}
	few := results(0.9, 1.25)
	for i := range few {
		few[i] = verdict.Judge(few[i].Endpoint, few[i].Pairs[:2], verdict.Fixed(6))
	}
	// A p-value between 0.05/2 and 0.05 does not survive a second endpoint.
	weak := verdict.Judge(
		capacity(),
		rows(t, "1,1000,960", "2,1000,990", "3,1000,940", "4,1000,985", "5,1000,900", "6,1000,925"),
		verdict.Fixed(6),
	)
	if weak.Kind != verdict.Worse || weak.P < 0.01 {
		t.Fatalf("the weak result is %s with p = %v", weak.Kind, weak.P)
	}
	for _, tt := range []struct {
		name    string
		results []verdict.Result
		kind    verdict.Kind
	}{
		{"worse", append(results(0.9, 1.25, 1), verdict.Judge(none, zero, verdict.Fixed(6))), verdict.Worse},
		{"same", append(results(1, 1, 1, 1), verdict.Judge(none, zero, verdict.Fixed(6))), verdict.Same},
		{"better", results(1.1, 1), verdict.Better},
		{"two-blocks", few, verdict.Inconclusive},
		{"holm", append(results(1, 1, 1, 1)[1:], weak), verdict.Inconclusive},
		{"missing", append(results(1), verdict.Judge(latency(), nil, verdict.Fixed(6))), verdict.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Combine("MariaDB 10.11.14", tt.results)
			if v.Kind != tt.kind {
				t.Errorf("got %s (%s), want %s", v.Kind, v.Reason, tt.kind)
			}
			var b bytes.Buffer
			if err := v.Text(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, "verdict-"+tt.name, b.Bytes())
		})
	}
}

// As many pairs as the advice gives, with the same mean and spread, carry a verdict among all
// endpoints.
func TestNeededHoldsAmongEndpoints(t *testing.T) {
	judged := func(n int) verdict.Result {
		var pairs []verdict.Pair
		sd := math.Sqrt(float64(n*(n+1)) / 12) // of 1 to n
		for i := range n {
			d := -0.04 + 0.04*(float64(i)-float64(n-1)/2)/sd
			pairs = append(pairs, verdict.Pair{Block: i + 1, Base: 1000, New: 1000 * math.Exp(d)})
		}
		return verdict.Combine("x", []verdict.Result{verdict.Judge(capacity(), pairs, verdict.Fixed(n)),
			of(verdict.Same, 0.6), of(verdict.Same, 0.6), of(verdict.Same, 0.6), of(verdict.Same, 0.6)}).Results[0]
	}
	first := judged(6)
	if first.Kind != verdict.Inconclusive {
		t.Fatalf("%s (%s)", first.Kind, first.Reason)
	}
	if r := judged(first.PairsNeeded); r.Kind != verdict.Worse {
		t.Errorf(
			"%d pairs were said to be needed, and of as many the result is %s (%s); then %d",
			first.PairsNeeded,
			r.Kind,
			r.Reason,
			r.PairsNeeded,
		)
	}
}
