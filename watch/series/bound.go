package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

const (
	// MaxExpression is the largest size of an expression in bytes: the depth of its evaluation
	// grows with it.
	MaxExpression = 16 << 10
	// MaxSelectors is the largest number of selectors in one expression.
	MaxSelectors = 64
	// maxGrowth limits how often the labels of a series are copied into one of its labels.
	maxGrowth = 64
	// room is for how many points promql reserves memory at the first of a series.
	room = 5000
	// maxLabels bounds the bytes of labels that the functions of an expression may make.
	maxLabels = 512 << 20
)

// interval is the time between two samples of a series, and the step of a subquery without one.
const interval = time.Second

// An effort is an upper bound of the work that an expression makes, without the number of its
// series.
type effort struct {
	points    float64 // evaluated and read for one series
	selectors int
	held      time.Duration // the time between the first and the last sample of the run
	series    float64       // that the selectors may match together
}

// A result bounds the series that a node makes of one stored series.
type result struct {
	series float64
	growth float64 // how often each holds the labels of the stored one
}

// affordable returns how many series an expression may read, and an error for one that takes too
// much memory or time, whatever the series hold.
func (db *DB) affordable(
	expr string,
	from, to time.Time,
	step time.Duration,
) (most int, err error) {
	if len(expr) > MaxExpression {
		return 0, fmt.Errorf("it has %d bytes; want at most %d", len(expr), MaxExpression)
	}
	root, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return 0, err
	}
	first, last, _ := db.bounds()
	e := effort{held: last.Sub(first), series: MaxQuerySamples}
	span := float64(to.UnixMilli()-from.UnixMilli()) * float64(time.Millisecond)
	growth := e.add(root, span, cmp.Or(step, interval)).growth
	if growth > maxGrowth {
		return 0, fmt.Errorf("label_replace and label_join copy labels %.3g times; want at most %d",
			growth, maxGrowth)
	}
	if growth > 1 {
		e.limit(maxLabels / growth / float64(len(expr)+MaxLabelBytes))
	}
	if e.selectors > MaxSelectors {
		return 0, fmt.Errorf("it has %d selectors; want at most %d", e.selectors, MaxSelectors)
	}
	if e.points > MaxQuerySamples || e.series < 1 {
		return 0, fmt.Errorf("it evaluates %.3g points for each series; want at most %d: "+
			"use shorter ranges or longer steps",
			math.Max(e.points, MaxQuerySamples/e.series), MaxQuerySamples)
	}
	return int(e.series), nil
}

func (e *effort) limit(series float64) { e.series = math.Min(e.series, series) }

// add adds a node that is evaluated over span, in nanoseconds, each step. promql evaluates a
// subquery once, over the span of the query and its own range, and then reads its points once for
// each step outside.
func (e *effort) add(n parser.Node, span float64, step time.Duration) result {
	steps := 1 + span/float64(step)
	out := result{1, 1}
	more, copies := 1., 0
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
			more = steps
		}
	case *parser.Call:
		copies = copied(n)
	}
	for child := range parser.ChildrenIter(n) {
		r := e.add(child, span, step)
		out = result{math.Max(out.series, r.series), math.Max(out.growth, r.growth)}
	}
	out = result{out.series * more, out.growth * float64(1+copies)}
	e.points += steps * math.Min(more, room)
	e.limit(MaxQuerySamples / math.Min(steps, room) / out.series)
	e.limit(ranked(n) / out.series)
	return out
}

// ranked returns of how many series a node may take the first ones of each group: promql reserves
// memory for as many of them as are wanted, or as there are series, in each group.
func ranked(n parser.Node) float64 {
	a, ok := n.(*parser.AggregateExpr)
	grouped := ok && (a.Without || len(a.Grouping) > 0)
	if !grouped || a.Op != parser.TOPK && a.Op != parser.BOTTOMK {
		return MaxQuerySamples
	}
	most := math.Sqrt(MaxQuerySamples)
	if k, ok := a.Param.(*parser.NumberLiteral); ok && k.Val >= 1 {
		most = math.Max(most, MaxQuerySamples/k.Val)
	}
	return most
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

// counted passes on no more series than are left of those that a query may read.
type counted struct {
	storage.Querier
	left *atomic.Int64
}

func (c counted) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return &countedSet{c.Querier.Select(ctx, sorted, hints, matchers...), c.left}
}

type countedSet struct {
	storage.SeriesSet
	left *atomic.Int64
}

func (s *countedSet) Next() bool { return s.SeriesSet.Next() && s.left.Add(-1) >= 0 }

func (s *countedSet) Err() error {
	if s.left.Load() < 0 {
		return errSeries
	}
	return s.SeriesSet.Err()
}

var errSeries = errors.New("it reads too many series for its steps and functions; " +
	"use more matchers, shorter ranges or longer steps")
