package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"plimsoll/watch/series"
)

// promVersion is the release of Prometheus whose query language and storage this is: module v0.313
// is release 3.13.
const promVersion = "3.13.0"

var goVersion = runtime.Version()

// A kind is a type of error with its HTTP status.
type kind struct {
	name   string
	status int
}

var (
	badData   = kind{"bad_data", http.StatusBadRequest}
	execution = kind{"execution", http.StatusUnprocessableEntity}
	canceled  = kind{"canceled", 499}
	timedOut  = kind{"timeout", http.StatusServiceUnavailable}
	internal  = kind{"internal", http.StatusInternalServerError}
	notFound  = kind{"not_found", http.StatusNotFound}
	noRun     = kind{"unavailable", http.StatusServiceUnavailable}
	forbidden = kind{"forbidden", http.StatusForbidden}
)

type apiError struct {
	kind
	err error
}

func (e *apiError) Error() string { return e.err.Error() }

func invalid(param string, err error) error {
	return &apiError{badData, fmt.Errorf("invalid parameter %q: %w", param, err)}
}

// kindOf sorts an error as Prometheus does.
func kindOf(err error) (kind, error) {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.kind, e.err
	}
	_, syntax := errors.AsType[*series.SyntaxError](err)
	_, timeout := errors.AsType[promql.ErrQueryTimeout](err)
	_, cancel := errors.AsType[promql.ErrQueryCanceled](err)
	_, broken := errors.AsType[promql.ErrStorage](err)
	switch {
	case syntax:
		return badData, fmt.Errorf("invalid parameter %q: %w", "query", err)
	case timeout, errors.Is(err, context.DeadlineExceeded):
		return timedOut, err
	case cancel, errors.Is(err, context.Canceled):
		return canceled, err
	case errors.Is(err, ErrNoRun), errors.Is(err, series.ErrClosed):
		return noRun, err
	case broken:
		return internal, err
	}
	return execution, err
}

func writeError(w http.ResponseWriter, err error) {
	k, err := kindOf(err)
	b := encodeJSON(map[string]string{"status": "error", "errorType": k.name, "error": err.Error()})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(k.status)
	_, _ = w.Write(b) // a client that is gone
}

func writeData(w http.ResponseWriter, data []byte, warn annotations.Annotations) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"success","data":`)) // as below, to a client that may be gone
	_, _ = w.Write(data)
	var b []byte
	warnings, infos := warn.AsStrings("", 10, 10)
	for name, texts := range map[string][]string{"warnings": warnings, "infos": infos} {
		if len(texts) > 0 {
			b = append(b, `,"`+name+`":`...)
			b = append(b, encodeJSON(texts)...)
		}
	}
	_, _ = w.Write(append(b, '}'))
}

func encodeJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, lists and maps of them only
	}
	return b
}

// span reads the parameters start and end.
func (r *request) span(first, last time.Time) (from, to time.Time, err error) {
	if from, err = instant(r.Request, "start", first); err != nil {
		return from, to, err
	}
	to, err = instant(r.Request, "end", last)
	return from, to, err
}

// earliest and latest bound times to those that milliseconds can represent.
var (
	earliest = time.UnixMilli(math.MinInt64 / 1000)
	latest   = time.UnixMilli(math.MaxInt64 / 1000)
)

// instant reads a time: seconds since 1970, or RFC 3339. Clients send the ends of time for "without
// a bound".
func instant(r *http.Request, name string, otherwise time.Time) (time.Time, error) {
	s := r.FormValue(name)
	if s == "" {
		return otherwise, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case math.IsNaN(f):
			return otherwise, invalid(name, fmt.Errorf("cannot parse %q to a valid timestamp", s))
		case f < -1e13:
			return earliest, nil
		case f > 1e13:
			return latest, nil
		}
		return time.UnixMilli(int64(math.Round(f * 1000))), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return otherwise, invalid(name, fmt.Errorf("cannot parse %q to a valid timestamp", s))
	}
	return t, nil
}

// duration reads a time span: seconds, or a duration of Prometheus such as 5m.
func duration(r *http.Request, name string, otherwise time.Duration) (time.Duration, error) {
	s := r.FormValue(name)
	if s == "" {
		return otherwise, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if !(math.Abs(f) < 9e9) {
			return 0, invalid(
				name,
				fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s),
			)
		}
		return time.Duration(f * float64(time.Second)), nil
	}
	e, err := parser.NewParser(parser.Options{}).ParseExpr(s)
	d, ok := e.(*parser.NumberLiteral)
	if err != nil || !ok || !d.Duration || strings.Trim(s, "0123456789ywdhms") != "" {
		return 0, invalid(name, fmt.Errorf("cannot parse %q to a valid duration", s))
	}
	return time.Duration(math.Round(d.Val*1000)) * time.Millisecond, nil
}

// escape is what stands in an escaped name for a character: two underscores for one, and else its
// code point between two, of as many hexadecimal digits as Prometheus reads.
var escape = regexp.MustCompile(`_(?:_|([0-9a-fA-F]{1,5})_)?`)

// unescape returns the label name of a path, in which characters that Prometheus once did not allow
// are escaped and the whole begins with U__. A name that is not escaped so is what it says.
func unescape(name string) string {
	escaped, ok := strings.CutPrefix(name, "U__")
	if !ok {
		return name
	}
	out := escape.ReplaceAllStringFunc(escaped, func(e string) string {
		if e == "__" {
			return "_"
		}
		n, err := strconv.ParseInt(strings.Trim(e, "_"), 16, 32)
		ok = ok && err == nil && utf8.ValidRune(rune(n))
		return string(rune(n))
	})
	if !ok {
		return name
	}
	return out
}

// limit reads the parameter limit, a number of results; 0 is no limit.
func (r *request) limit() (int, error) {
	s := r.FormValue("limit")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, invalid("limit", fmt.Errorf("%q is not a number of results", s))
	}
	return n, nil
}

var errLarge = fmt.Errorf(
	"the answer has more than %d bytes; use fewer series, a shorter range or a longer step",
	maxAnswer,
)

// encodeValue writes {"resultType":...,"result":...}.
func encodeValue(v parser.Value) ([]byte, error) {
	b := append([]byte(`{"resultType":"`), v.Type()...)
	b = append(b, `","result":`...)
	switch v := v.(type) {
	case promql.Scalar:
		b = appendPoint(b, v.T, v.V)
	case promql.String:
		b = append(appendTime(append(b, '['), v.T), ',')
		b = append(append(b, encodeJSON(v.V)...), ']')
	case promql.Vector:
		b = append(b, '[')
		for i, s := range v {
			if s.H != nil {
				return nil, errors.New("the answer is a native histogram, which runs do not hold")
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendLabels(append(b, `{"metric":`...), s.Metric), `,"value":`...)
			b = append(appendPoint(b, s.T, s.F), '}')
			if len(b) > maxAnswer {
				return nil, errLarge
			}
		}
		b = append(b, ']')
	case promql.Matrix:
		b = append(b, '[')
		for i, s := range v {
			if len(s.Histograms) > 0 {
				return nil, errors.New("the answer is a native histogram, which runs do not hold")
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendLabels(append(b, `{"metric":`...), s.Metric), `,"values":[`...)
			for j, p := range s.Floats {
				if j > 0 {
					b = append(b, ',')
				}
				if b = appendPoint(b, p.T, p.F); len(b) > maxAnswer {
					return nil, errLarge
				}
			}
			b = append(b, "]}"...)
		}
		b = append(b, ']')
	default:
		return nil, fmt.Errorf("the answer is a %s, which the API does not know", v.Type())
	}
	return append(b, '}'), nil
}

func appendLabels(b []byte, l labels.Labels) []byte {
	b = append(b, '{')
	first := true
	l.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, encodeJSON(l.Name)...), ':')
		b = append(b, encodeJSON(l.Value)...)
	})
	return append(b, '}')
}

// appendPoint writes [seconds,"value"].
func appendPoint(b []byte, ms int64, v float64) []byte {
	b = append(appendTime(append(b, '['), ms), ',', '"')
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	// NaN, +Inf and -Inf by these names
	return append(strconv.AppendFloat(b, v, format, -1, 64), '"', ']')
}

// appendTime writes milliseconds as seconds with no or three decimals.
func appendTime(b []byte, ms int64) []byte {
	if ms < 0 {
		b, ms = append(b, '-'), -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if f := ms % 1000; f != 0 {
		b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	}
	return b
}
