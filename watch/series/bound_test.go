package series

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"plimsoll/internal/failure"
)

// nested puts an expression into n functions; the result is inside out: before + before + x + after
// + after.
func nested(n int, before, x, after string) string {
	return strings.Repeat(before, n) + x + strings.Repeat(after, n)
}

// TestCostlyQueryIsRefused checks that an expression whose evaluation takes too much memory or time
// is refused before it is evaluated, whatever the range of the query.
func TestCostlyQueryIsRefused(t *testing.T) {
	db := create(t)
	for _, s := range []int{1, 3700} { // a run of an hour
		failure.None(t, db.Append(at(s), []Sample{{Name: "x", Value: 1}}))
	}
	for name, expr := range map[string]string{
		"subquery":             `max_over_time(vector(1)[100y:1s])`,
		"subquery of 1 ms":     `max_over_time(vector(1)[1d:1ms])`,
		"default step":         `max_over_time(vector(1)[100y:])`,
		"at a time":            `max_over_time(vector(1)[100y:1s] @ 0)`,
		"with an offset":       `max_over_time(vector(1)[100y:1s] offset 1y)`,
		"without a function":   `vector(1)[100y:1s]`,
		"two ranges add up":    `max_over_time(max_over_time(vector(1)[1h:1s])[100y:1y])[1h:1s]`,
		"two windows multiply": `max_over_time(max_over_time(vector(1)[2h:1s])[2h:1s])`,
		"inside a sum":         `1 + sum by (a) (-(abs(max_over_time(x[100y:1s]))))`,
		"a parameter":          `topk(scalar(max_over_time(vector(1)[100y:1s])), x)`,
		"long windows":         `sum_over_time(x[1d])[1d:1s]`,
		"many small":           strings.Repeat("max_over_time(x[10d:1s])+", 20) + "x",
		"many selectors":       strings.Repeat("x+", MaxSelectors) + "x",
		"long":                 strings.Repeat(" ", MaxExpression) + "x",
		"deep":                 nested(MaxExpression, "-", "x", ""),
		"values as labels":     `max_over_time(count_values("v", vector(time()))[1d:1s])`,
		"labels by themselves": nested(20, `label_replace(`, "x", `,"a","$1$1","a","(.*)")`),
		"labels joined":        nested(20, `label_join(`, "x", `,"a","","a","a")`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := db.Query(t.Context(), expr, at(1))
			if _, ok := errors.AsType[*SyntaxError](err); !ok || len(err.Error()) > 1000 {
				t.Errorf("error %.2000v", err)
			}
		})
	}
	for _, expr := range []string{
		`max_over_time(vector(1)[1d:1s])`,
		`max_over_time(rate(x[1m])[1h:10s])`,
		`quantile_over_time(0.99, x[100d])`, // one window, of which no more than the run is stored
		`label_replace(label_replace(x, "a", "$1:$2", "b", "(.*):(.*)"), "c", "$1", "a", "(.*)")`,
		`count_values("v", x)`,
	} {
		failure.None(t, failure.Of(db.Query(t.Context(), expr, at(1))))
	}
	for _, expr := range []string{`rate(x[15m])`, `max_over_time(rate(x[1m])[10m:10s])`} {
		failure.None(
			t,
			failure.Of(db.Range(t.Context(), expr, at(0), at(MaxPoints-1), time.Second)),
		)
	}
	if _, err := db.Range(t.Context(), `sum_over_time(x[1h])`, at(0), at(MaxPoints-1), time.Second); err == nil {
		t.Error("11,000 windows of an hour were read")
	}
	never := func(parser.Value, annotations.Annotations) error {
		return errors.New("it was evaluated")
	}
	err := db.Evaluate(
		t.Context(),
		"vector(1)",
		time.UnixMilli(-1<<53),
		time.UnixMilli(1<<53),
		240*time.Hour,
		never,
	)
	if _, ok := errors.AsType[*SyntaxError](err); !ok {
		t.Errorf("a range of %v ms: %v", int64(1)<<54, err)
	}
}

// TestCostlySeriesAreRefused checks that a query reads no more series than its steps and functions
// allow: promql reserves memory for each of them before it counts samples.
func TestCostlySeriesAreRefused(t *testing.T) {
	db := create(t)
	var batch []Sample
	for i := range 4000 {
		batch = append(batch, sampleOf("x", float64(i), "a", strconv.Itoa(i)))
	}
	failure.None(t, db.Append(at(1), batch))
	long := `label_replace(x, "b", "` + strings.Repeat("q", 7000) + `", "", "")`
	none := func(parser.Value, annotations.Annotations) error { return nil }
	for name, c := range map[string]struct {
		expr  string
		steps int
		ok    bool
	}{
		"groups of many":      {`topk by (a) (1e9, x)`, 1, false},
		"groups of a scalar":  {`bottomk without (b) (scalar(vector(1e9)), x)`, 1, false},
		"groups of one":       {`topk by (a) (1, x)`, 1, true},
		"one group":           {`topk(1e9, x)`, 1, true},
		"many steps":          {`x`, MaxPoints, false},
		"in two selectors":    {`sum(x) + count(x)`, 2000, false},
		"in a subquery":       {`max_over_time(x[3h:1s])`, 1, false},
		"few steps":           {`x`, 1000, true},
		"matched":             {`x{a=~"1.."}`, MaxPoints, true},
		"values of each step": {`count_values("v", x{a=~"1.."})`, 1000, false},
		"values":              {`count_values("v", x)`, 1, true},
		"copied labels":       {`label_replace(` + long + `, "c", "` + strings.Repeat("$1", 60) + `", "b", "(.*)")`, 1, false},
		"labels":              {`label_replace(x, "b", "$1:$1", "a", "(.*)")`, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.Evaluate(t.Context(), c.expr, at(1), at(c.steps), time.Second, none)
			if (err == nil) != c.ok || !c.ok && !errors.Is(err, errSeries) {
				t.Errorf("error %.2000v", err)
			}
		})
	}
}
