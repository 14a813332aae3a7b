package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"plimsoll/internal/plain"
)

// A Result is one series' value at one instant. Labels contains the metric's name under
// "__name__" where the expression keeps it; a plain number has no labels.
type Result struct {
	Labels map[string]string
	T      time.Time
	Value  float64
}

// A RangeSeries is one series over a range: V[i] is its value at T[i]. Steps at which the
// expression had no value are left out, not filled.
type RangeSeries struct {
	Labels map[string]string
	T      []time.Time
	V      []float64
}

// Query evaluates a PromQL expression at one instant. The answer is ordered by labels; it is empty,
// without an error, when no series matches: a caller that needs a signal must treat that as
// missing. The query ends with ctx, and at the latest after [QueryTimeout].
func (db *DB) Query(ctx context.Context, expr string, t time.Time) ([]Result, error) {
	var out []Result
	err := db.Evaluate(ctx, expr, t, t, 0, func(v parser.Value, _ annotations.Annotations) error {
		switch v := v.(type) {
		case promql.Vector:
			slices.SortFunc(v, func(a, b promql.Sample) int {
				return labels.Compare(a.Metric, b.Metric)
			})
			for _, s := range v {
				if s.H != nil {
					return errors.New("the answer is a native histogram, want numbers")
				}
				out = append(out, Result{
					Labels: s.Metric.Map(),
					T:      time.UnixMilli(s.T).UTC(),
					Value:  s.F,
				})
			}
		case promql.Scalar:
			out = append(out, Result{
				Labels: map[string]string{},
				T:      time.UnixMilli(v.T).UTC(),
				Value:  v.V,
			})
		default:
			return fmt.Errorf("the answer is a %s, want numbers at one instant; a range like x[1m] needs a function around it", v.Type())
		}
		return nil
	})
	return out, err
}

// Range evaluates a PromQL expression at from, from+step, ... up to and including to. It refuses
// more than [MaxPoints] steps. The lines are ordered by labels. See [DB.Query] for limits and for
// the meaning of an empty answer.
func (db *DB) Range(
	ctx context.Context,
	expr string,
	from, to time.Time,
	step time.Duration,
) ([]RangeSeries, error) {
	switch {
	case step < time.Millisecond:
		return nil, fmt.Errorf("query %q: step %v is below 1ms", expr, step)
	case to.Before(from):
		return nil, fmt.Errorf("query %q: range ends (%v) before it starts (%v)", expr, to, from)
	case to.Sub(from)/step >= MaxPoints:
		return nil, fmt.Errorf(
			"query %q: %d steps are more than %d; use a step of at least %v",
			expr,
			to.Sub(from)/step+1,
			MaxPoints,
			to.Sub(from)/(MaxPoints-1)+1,
		)
	}
	var out []RangeSeries
	err := db.Evaluate(
		ctx,
		expr,
		from,
		to,
		step,
		func(v parser.Value, _ annotations.Annotations) error {
			m, ok := v.(promql.Matrix)
			if !ok {
				return fmt.Errorf("the answer is a %s, want lines", v.Type())
			}
			// The engine has ordered the lines by labels.
			for _, s := range m {
				if len(s.Histograms) > 0 {
					return errors.New("the answer is a native histogram, want numbers")
				}
				l := RangeSeries{
					Labels: s.Metric.Map(),
					T:      make([]time.Time, len(s.Floats)),
					V:      make([]float64, len(s.Floats)),
				}
				for i, p := range s.Floats {
					l.T[i], l.V[i] = time.UnixMilli(p.T).UTC(), p.F
				}
				out = append(out, l)
			}
			return nil
		},
	)
	return out, err
}

// A SyntaxError is an expression that is not PromQL, or a range that cannot be queried.
type SyntaxError struct{ Err error }

func (e *SyntaxError) Error() string { return e.Err.Error() }
func (e *SyntaxError) Unwrap() error { return e.Err }

// Evaluate evaluates a PromQL expression at from, from+step, ... up to and including to, or with
// step 0 at the instant from, and hands its value to take, which must not keep it: the engine uses
// its memory again. It is for answers that [DB.Query] and [DB.Range] leave out, such as warnings
// and ranges. An expression that does not parse, or whose evaluation would take too much memory or
// time ([MaxQuerySamples], [MaxSelectors], [MaxExpression]), is a [SyntaxError]; other errors wrap
// those of promql.
func (db *DB) Evaluate(
	ctx context.Context,
	expr string,
	from, to time.Time,
	step time.Duration,
	take func(parser.Value, annotations.Annotations) error,
) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("query %q: %w", plain.Excerpt(expr, 500), err)
		}
	}()
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ErrClosed
	}
	most, err := db.affordable(expr, from, to, step)
	if err != nil {
		return &SyntaxError{err}
	}
	var left atomic.Int64
	left.Store(int64(most))
	stored := storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		q, err := db.querier(mint, maxt)
		return counted{q, &left}, err
	})
	var q promql.Query
	if step == 0 {
		q, err = db.engine.NewInstantQuery(ctx, stored, nil, expr, from)
	} else {
		q, err = db.engine.NewRangeQuery(ctx, stored, nil, expr, from, to, step)
	}
	if err != nil {
		return &SyntaxError{err}
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return res.Err
	}
	return take(res.Value, res.Warnings)
}
