package report

import (
	"strings"
	"testing"

	"plimsoll/record"
)

// TestFindableNamesAlikeOnce: endpoints of one database that find the same are named together.
func TestFindableNamesAlikeOnce(t *testing.T) {
	find := func(engine, metric string, mde, margin float64) record.Expected {
		return record.Expected{Engine: engine, Metric: metric, Blocks: 6, MDE: mde, Margin: margin}
	}
	b := record.Before{Expected: []record.Expected{
		find("a", "cost(app)", 0.084, 0.05),
		find("a", "typical(op)", 0.084, 0.05), find("a", "p95(post)", 0.084, 0.1), find("a", "p99(op)", 0.03, 0.1),
		find("b", "cost(app)", 0.03, 0.05), find("b", "typical(op)", 0.03, 0.05),
	}}
	const want = "6 blocks find in four of five cases: A: cost(app) and typical(op) 8.4 % (the margin of 5 % needs more blocks than make sense), " +
		"p95(post) 8.4 %, p99(op) 3 %, B: cost(app) and typical(op) 3 %"
	if got := Findable(b, strings.ToUpper); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
