package promapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"plimsoll/internal/boundary"
	"plimsoll/watch/series"
)

// Concurrent limits the requests that are answered at a time.
const Concurrent = 2

const (
	maxForm   = 64 << 10 // bytes of a POST
	maxAnswer = 64 << 20 // bytes of values
)

// A Source returns the series to query, for one request. The caller of a Source calls release when
// it is done; the series stay open until then. It returns ErrNoRun if there are none at present.
type Source func() (db *series.DB, release func(), err error)

// ErrNoRun is returned by a Source between runs.
var ErrNoRun = errors.New("no run is under way; ask again when one has begun")

// Metadata describes the name of a series.
type Metadata struct {
	Name string `json:"-"`
	Type string `json:"type"` // counter, gauge, histogram, summary or unknown
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// Config configures a handler.
type Config struct {
	Source Source
	// Version is shown as the server's.
	Version string
	// Known describes metrics; others are described from their names.
	Known []Metadata
	// Hosts reports whether the server may be reached by a host's name, so that no web page can
	// reach it through a name of its own; nil for a caller that checks names itself.
	Hosts func(host string) bool
	// Timeout ends a query; 0 is series.QueryTimeout.
	Timeout time.Duration
}

type handler struct {
	Config
	known  map[string]Metadata
	parser parser.Parser
	places chan struct{}
}

// Handler returns the API.
func Handler(c Config) http.Handler {
	a := &handler{
		Config: c,
		known:  map[string]Metadata{},
		parser: parser.NewParser(parser.Options{}),
		places: make(chan struct{}, Concurrent),
	}
	for _, m := range c.Known {
		a.known[m.Name] = m
	}
	mux := http.NewServeMux()
	both := func(path string, f func(*request) ([]byte, error)) {
		h := a.answer(f)
		mux.HandleFunc("GET /api/v1/"+path, h)
		mux.HandleFunc("POST /api/v1/"+path, h)
	}
	both("query", (*request).query)
	both("query_range", (*request).queryRange)
	both("labels", (*request).labelNames)
	both("series", (*request).series)
	both("query_exemplars", (*request).exemplars)
	mux.HandleFunc("GET /api/v1/label/{name}/values", a.answer((*request).labelValues))
	mux.HandleFunc("GET /api/v1/metadata", a.answer((*request).metadata))
	mux.HandleFunc("GET /api/v1/status/buildinfo", a.constant(map[string]string{
		// Grafana derives a server's features from its version; the program's own is added.
		"version":   promVersion,
		"revision":  c.Version,
		"branch":    "plimsoll",
		"buildUser": "",
		"buildDate": "",
		"goVersion": goVersion,
	}))
	mux.HandleFunc("GET /api/v1/rules", a.constant(map[string]any{"groups": []any{}}))
	mux.HandleFunc("GET /api/v1/alerts", a.constant(map[string]any{"alerts": []any{}}))
	for _, state := range []string{"healthy", "ready"} {
		mux.HandleFunc("GET /-/"+state, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintf(w, "Plimsoll is %s.\n", state)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{
			notFound,
			fmt.Errorf("%s %s is not answered here; see docs/series.md", r.Method, r.URL.Path),
		})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if c.Hosts != nil && !c.Hosts(boundary.Hostname(r.Host)) {
			writeError(w, &apiError{
				forbidden,
				fmt.Errorf("host %q is no name of this server; use its address", r.Host),
			})
			return
		}
		if !boundary.OwnPage(r) {
			writeError(
				w,
				&apiError{forbidden, errors.New("the request comes from a page of another server")},
			)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// constant answers with data that does not depend on the run.
func (a *handler) constant(data any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeData(w, encodeJSON(data), nil) }
}

// A request is one call of the API.
type request struct {
	*handler
	*http.Request
	ctx  context.Context
	db   *series.DB
	warn annotations.Annotations
}

// answer prepares a request: its form, a place among those that are answered, a deadline and the
// series.
func (a *handler) answer(
	f func(*request) ([]byte, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			writeError(w, &apiError{badData, fmt.Errorf("error parsing form values: %w", err)})
			return
		}
		most := cmp.Or(a.Timeout, series.QueryTimeout)
		limit, err := duration(r, "timeout", most)
		if err != nil {
			writeError(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), min(limit, most))
		defer cancel()
		select {
		case a.places <- struct{}{}:
			defer func() { <-a.places }()
		case <-ctx.Done():
			writeError(w, &apiError{
				timedOut,
				fmt.Errorf("%d other queries are being answered: %w", Concurrent, ctx.Err()),
			})
			return
		}
		db, release, err := a.Source()
		if err != nil {
			writeError(w, err)
			return
		}
		q := &request{a, r, ctx, db, nil}
		data, err := func() ([]byte, error) {
			defer release() // a client that reads slowly holds nothing
			return f(q)
		}()
		if err != nil {
			writeError(w, err)
			return
		}
		writeData(w, data, q.warn)
	}
}

// now is the time of the last sample.
func (r *request) now() time.Time {
	_, last, ok := r.db.Bounds()
	if !ok {
		return time.Unix(0, 0)
	}
	return last
}

func (r *request) query() ([]byte, error) {
	at, err := instant(r.Request, "time", r.now())
	if err != nil {
		return nil, err
	}
	return r.evaluate(at, at, 0)
}

func (r *request) queryRange() ([]byte, error) {
	from, to, err := r.span(time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	for name, t := range map[string]time.Time{"start": from, "end": to} {
		if t.IsZero() {
			return nil, invalid(name, errors.New("it is missing"))
		}
	}
	if to.Before(from) {
		return nil, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := duration(r.Request, "step", 0)
	switch {
	case err != nil:
		return nil, err
	case step < time.Millisecond:
		return nil, invalid("step", errors.New(
			"zero or negative query resolution step widths are not accepted. Try a positive integer",
		))
	case to.Sub(from)/step > series.MaxPoints:
		return nil, &apiError{
			badData,
			fmt.Errorf(
				"exceeded maximum resolution of %d points per timeseries. Try decreasing the query resolution (?step=XX)",
				series.MaxPoints,
			),
		}
	}
	return r.evaluate(from, to, step)
}

func (r *request) evaluate(
	from, to time.Time,
	step time.Duration,
) ([]byte, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	var data []byte
	take := func(v parser.Value, warn annotations.Annotations) error {
		r.warn = warn
		switch t := v.(type) {
		case promql.Vector:
			v = upTo(limit, t, r)
		case promql.Matrix:
			v = upTo(limit, t, r)
		}
		data, err = encodeValue(v)
		return err
	}
	err = r.db.Evaluate(r.ctx, r.FormValue("query"), from, to, step, take)
	return data, err
}

// upTo returns the first of all, limit of them at most, and warns when there are more. 0 is no
// limit.
func upTo[S ~[]E, E any](limit int, all S, r *request) S {
	if limit == 0 || len(all) <= limit {
		return all
	}
	r.warn.Add(errTruncated)
	return all[:limit]
}

var errTruncated = errors.New("results truncated due to limit")

// selected opens a querier over the range of the request, and returns the sets of matchers.
func (r *request) selected() (q storage.Querier, sets [][]*labels.Matcher, from, to time.Time, err error) {
	first, last, _ := r.db.Bounds()
	if from, to, err = r.span(first, last); err != nil {
		return nil, nil, from, to, err
	}
	if texts := r.Form["match[]"]; len(texts) > 0 {
		if len(texts) > series.MaxSelectors || len(strings.Join(texts, "")) > series.MaxExpression {
			err := fmt.Errorf(
				"want at most %d, of %d bytes together",
				series.MaxSelectors,
				series.MaxExpression,
			)
			return nil, nil, from, to, invalid("match[]", err)
		}
		if sets, err = r.parser.ParseMetricSelectors(texts); err != nil {
			return nil, nil, from, to, invalid("match[]", err)
		}
		for _, set := range sets {
			if !slices.ContainsFunc(set, func(m *labels.Matcher) bool { return !m.Matches("") }) {
				return nil, nil, from, to, &apiError{
					badData,
					errors.New("match[] must contain at least one non-empty matcher"),
				}
			}
		}
	}
	q, err = r.db.Querier(from.UnixMilli(), to.UnixMilli())
	return q, sets, from, to, err
}

func (r *request) labelNames() ([]byte, error) {
	return r.names(
		func(q storage.Querier, set []*labels.Matcher) ([]string, annotations.Annotations, error) {
			return q.LabelNames(r.ctx, nil, set...)
		},
	)
}

func (r *request) labelValues() ([]byte, error) {
	name := unescape(r.PathValue("name"))
	if name == "" || !utf8.ValidString(name) {
		return nil, &apiError{badData, fmt.Errorf("invalid label name: %q", name)}
	}
	return r.names(
		func(q storage.Querier, set []*labels.Matcher) ([]string, annotations.Annotations, error) {
			return q.LabelValues(r.ctx, name, nil, set...)
		},
	)
}

// names replies with the union of the results of ask for each set of matchers, in order.
func (r *request) names(
	ask func(storage.Querier, []*labels.Matcher) ([]string, annotations.Annotations, error),
) ([]byte, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	q, sets, _, _, err := r.selected()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	all := []string{}
	for _, set := range sets {
		found, warn, err := ask(q, set)
		if err != nil {
			return nil, err
		}
		r.warn.Merge(warn)
		for _, s := range found {
			all = append(all, strings.Clone(s)) // a block's strings live as long as the block
		}
	}
	slices.Sort(all)
	return encodeJSON(upTo(limit, slices.Compact(all), r)), nil
}

func (r *request) series() ([]byte, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	if len(r.Form["match[]"]) == 0 {
		return nil, &apiError{badData, errors.New("no match[] parameter provided")}
	}
	q, sets, from, to, err := r.selected()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	// without samples
	hints := &storage.SelectHints{Start: from.UnixMilli(), End: to.UnixMilli(), Func: "series"}
	var found []storage.SeriesSet
	for _, set := range sets {
		found = append(found, q.Select(r.ctx, true, hints, set...))
	}
	merged := storage.NewMergeSeriesSet(found, 0, storage.ChainedSeriesMerge)
	r.warn = merged.Warnings()
	b := []byte{'['}
	for n := 0; merged.Next(); n++ {
		if limit > 0 && n == limit {
			r.warn.Add(errTruncated)
			break
		}
		if n > 0 {
			b = append(b, ',')
		}
		b = appendLabels(b, merged.At().Labels())
	}
	if err := merged.Err(); err != nil {
		return nil, err
	}
	return append(b, ']'), nil
}

func (r *request) exemplars() ([]byte, error) {
	return []byte("[]"), nil // runs keep none
}

// metadata describes the metrics of the run: those that are known, and the others by their names.
func (r *request) metadata() ([]byte, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	q, err := r.db.Querier(0, r.now().UnixMilli())
	if err != nil {
		return nil, err
	}
	defer q.Close()
	names, _, err := q.LabelValues(r.ctx, "__name__", nil)
	if err != nil {
		return nil, err
	}
	out := map[string][]Metadata{}
	for _, name := range names {
		if want := r.FormValue("metric"); want != "" && want != name {
			continue
		}
		if limit > 0 && len(out) == limit {
			break
		}
		name = strings.Clone(name)
		m, ok := r.known[name]
		if !ok {
			m = describe(name)
		}
		out[name] = []Metadata{m}
	}
	return encodeJSON(out), nil
}

// describe derives a metric from its name by the conventions of Prometheus. A run keeps no other
// metadata of its scrapes.
func describe(name string) Metadata {
	m := Metadata{Type: "unknown"}
	base, counter := strings.CutSuffix(name, "_total")
	if counter {
		m.Type = "counter"
	}
	for _, unit := range []string{"seconds", "bytes", "ratio"} {
		if strings.HasSuffix(base, "_"+unit) {
			m.Unit = unit
		}
	}
	return m
}
