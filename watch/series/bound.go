package series

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

const (
	// MaxExpression is the largest size of an expression in bytes: the depth of its evaluation grows with it.
	MaxExpression = 16 << 10
	// MaxSelectors is the largest number of selectors in one expression.
	MaxSelectors = 64
	// maxGrowth is how often the labels of a series may be copied into one of its labels.
	maxGrowth = 64
	// room is for how many points promql reserves memory at the first of a series.
	room = 5000
)

// interval is the time between two samples of a series, and the step of a subquery without one.
const interval = time.Second

// An effort is an upper bound of the work that an expression makes, without the number of its series.
type effort struct {
	points    float64 // evaluated and read for one series
	selectors int
	held      time.Duration // the time between the first and the last sample of the run
}

// affordable returns an error for an expression that takes too much memory or time, whatever the series hold.
func (db *DB) affordable(expr string, from, to time.Time, step time.Duration) error {
	if len(expr) > MaxExpression {
		return fmt.Errorf("it has %d bytes; want at most %d", len(expr), MaxExpression)
	}
	root, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return err
	}
	first, last, _ := db.bounds()
	e := effort{held: last.Sub(first)}
	span := float64(to.UnixMilli()-from.UnixMilli()) * float64(time.Millisecond)
	if growth := e.add(root, span, cmp.Or(step, interval)); growth > maxGrowth {
		return fmt.Errorf("label_replace and label_join copy labels %.3g times; want at most %d", growth, maxGrowth)
	}
	if e.selectors > MaxSelectors {
		return fmt.Errorf("it has %d selectors; want at most %d", e.selectors, MaxSelectors)
	}
	if e.points > MaxQuerySamples {
		return fmt.Errorf("it evaluates %.3g points for each series; want at most %d: use shorter ranges or longer steps",
			e.points, MaxQuerySamples)
	}
	return nil
}

// add adds a node that is evaluated over span, in nanoseconds, each step. It returns how often the node's result holds
// the labels of a series. promql evaluates a subquery once, over the span of the query and its own range, and then
// reads its points once for each step outside.
func (e *effort) add(n parser.Node, span float64, step time.Duration) (growth float64) {
	steps := 1 + span/float64(step)
	growth = 1
	copies := 0
	switch n := n.(type) {
	case *parser.SubqueryExpr:
		every := cmp.Or(n.Step, interval)
		e.points += steps * float64(n.Range) / float64(every)
		return e.add(n.Expr, span+float64(n.Range), every)
	case *parser.MatrixSelector:
		e.points += steps * float64(min(n.Range, e.held)) / float64(interval)
	case *parser.VectorSelector:
		e.selectors++
	case *parser.AggregateExpr:
		if n.Op == parser.COUNT_VALUES { // a series for each value
			steps *= math.Min(steps, room)
		}
	case *parser.Call:
		copies = copied(n)
	}
	e.points += steps
	for child := range parser.ChildrenIter(n) {
		growth = math.Max(growth, e.add(child, span, step))
	}
	return growth * float64(1+copies)
}

// copied returns how many labels a function writes into one.
func copied(c *parser.Call) int {
	switch c.Func.Name {
	case "label_replace":
		return strings.Count(c.Args[2].String(), "$")
	case "label_join":
		return len(c.Args) - 3
	}
	return 0
}
