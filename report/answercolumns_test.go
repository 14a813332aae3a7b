package report

import (
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/report/draw"
)

// A block has one column in all rows of a panel, also where a row lacks the pair of another.
func TestABlockHasOneColumn(t *testing.T) {
	pair := func(block int) verdict.Pair { return verdict.Pair{Block: block, Base: 1, New: 2} }
	whole := verdict.Result{Pairs: []verdict.Pair{pair(1), pair(2), pair(3)}}
	lacking := verdict.Result{Pairs: []verdict.Pair{pair(1), pair(3)}}
	p := answerPanel{results: []verdict.Result{lacking, whole}}
	last := func(r verdict.Result) (x float64) {
		var l draw.List
		p.values(&l, r, 0, "a1")
		for _, s := range l {
			if s.Kind == "disc" {
				x = s.X
			}
		}
		return x
	}
	if a, b := last(lacking), last(whole); a != b || a == 0 {
		t.Errorf("block 3 stands at %v where block 2 is missing, and at %v where it is there", a, b)
	}
}
