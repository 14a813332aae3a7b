package series

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// Worst returns the series that an expression's value is of at one instant: that with the highest
// value, or else the lowest, of those that the expression takes the maximum or the minimum of. An
// expression that keeps its series is taken as it is. ok is false where the value is of none alone:
// a sum, a ratio of sums, an answer without series.
func (db *DB) Worst(
	ctx context.Context,
	expr string,
	t time.Time,
	highest bool,
) (r Result, ok bool, err error) {
	root, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return r, false, fmt.Errorf("promql %q: %w", expr, err)
	}
	for open := true; open; {
		switch x := root.(type) {
		case *parser.ParenExpr:
			root = x.Expr
		case *parser.AggregateExpr:
			if x.Op == parser.MAX && highest || x.Op == parser.MIN && !highest {
				root = x.Expr
				continue
			}
			open = false
		default:
			open = false
		}
	}
	all, err := db.Query(ctx, root.String(), t)
	if err != nil {
		return r, false, err
	}
	for _, x := range all {
		if !ok || highest == (x.Value > r.Value) && x.Value != r.Value {
			r, ok = x, true
		}
	}
	return r, ok && len(r.Labels) > 0, nil
}
