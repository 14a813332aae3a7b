// Package k6 reads the end-of-test summary of k6 in its three shapes: the file of --summary-export,
// the data that handleSummary gets, written with JSON.stringify, and the file of
// --new-machine-readable-summary. All were checked with k6 v1.8.1; versions before it write the
// first two.
//
// # Mapping of the numbers
//
//	throughput   http_reqs: requests per second over the whole run, ramp and all
//	p95, p99     http_req_duration in ms; k6 writes p(99) only if summaryTrendStats has it, and
//	             never into its machine-readable summary
//	errors       http_req_failed in percent
//	mean, p50    of http_req_duration, shown and not judged
//
// http_req_duration is sending, waiting and receiving. It begins when k6 sends: it excludes the
// earlier wait of a virtual user or an arrival, so a summary of an overloaded run looks better than
// the users' experience. A run that dropped iterations carries a warning.
//
// The package refuses to judge, and it does not read the stream of --out json.
package k6

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"plimsoll/record"
)

// Tool is the name of the tool in the result of Read.
const Tool = "k6"

// A file is a summary in any of its shapes.
type file struct {
	Metrics map[string]json.RawMessage `json:"metrics"`
	Results struct {
		Metrics []struct {
			Name     string              `json:"name"`
			Contains string              `json:"contains"`
			Values   map[string]*float64 `json:"values"`
		} `json:"metrics"`
	} `json:"results"`
	Config struct {
		Duration float64 `json:"duration"` // seconds
	} `json:"config"`
}

// A metric has its values below values, or beside its name (--summary-export).
type metric struct {
	Contains string             `json:"contains"`
	Values   map[string]float64 `json:"values"`
}

// judged are the metrics that a summary is read for.
var judged = []string{"http_reqs", "http_req_duration", "http_req_failed", "dropped_iterations"}

// Detect reports whether a text looks like a summary of k6.
func Detect(data []byte) bool {
	var in file
	return json.Unmarshal(data, &in) == nil && (len(in.Metrics) > 0 || len(in.Results.Metrics) > 0)
}

// Read reads one summary: one run.
func Read(source string, data []byte) ([]record.Imported, error) {
	var in file
	if err := record.UnmarshalImported(data, &in); err != nil {
		return nil, err
	}
	s, err := in.summary()
	if err != nil {
		return nil, err
	}
	requests := s.metric("http_reqs")
	duration := s.metric("http_req_duration")
	failed := s.metric("http_req_failed")
	dropped := s.metric("dropped_iterations")
	if s.err != nil {
		return nil, s.err
	}
	if err := checkWhole(requests, duration); err != nil {
		return nil, err
	}
	count := requests.Values["count"]
	if _, ok := requests.Values["rate"]; !ok && in.Config.Duration > 0 {
		requests.Values["rate"] = count / in.Config.Duration
	}
	g := record.Imported{Source: source, Tool: Tool}
	// add takes the first of the keys that exists; without one it warns, if there is a warning.
	add := func(f record.Figure, m metric, scale float64, warning string, keys ...string) {
		for _, key := range keys {
			if v, ok := m.Values[key]; ok {
				f.Value, f.Ops = v*scale, int64(count)
				g.Figures = append(g.Figures, f)
				return
			}
		}
		if warning != "" {
			g.Warnings = append(g.Warnings, warning)
		}
	}
	add(record.Figure{
		Name: "throughput",
		Unit: "1/s",
	}, requests, 1, "k6 wrote no rate of http_reqs", "rate")
	remedy := "add it to summaryTrendStats"
	if in.Results.Metrics != nil { // which has the same percentiles whatever the script asks for
		remedy = "give the file of --summary-export, with it in summaryTrendStats"
	}
	add(record.Figure{
		Name: "p95",
		Unit: "ms",
	}, duration, 1, "k6 wrote no p(95): "+remedy, "p(95)", "p95")
	add(record.Figure{
		Name: "p99",
		Unit: "ms",
	}, duration, 1, "k6 wrote no p(99): "+remedy, "p(99)", "p99")
	add(record.Figure{
		Name: "errors",
		Unit: "%",
	}, failed, 100, "k6 wrote no http_req_failed: nothing is known of errors", "rate", "value")
	add(record.Figure{Name: "mean", Unit: "ms", Aside: true}, duration, 1, "", "avg")
	add(record.Figure{Name: "p50", Unit: "ms", Aside: true}, duration, 1, "", "med")
	if n := dropped.Values["count"]; n > 0 {
		g.Warnings = append(g.Warnings, fmt.Sprintf(
			"k6 dropped %.0f iterations: less was offered than the script asked for, "+
				"and the latencies leave out who waited",
			n,
		))
	}
	return []record.Imported{g}, g.Check()
}

// checkWhole reports an error if the requests of a run and their durations cannot be judged.
func checkWhole(requests, duration metric) error {
	switch {
	case requests.Values == nil:
		return errors.New("the summary has no http_reqs: only HTTP tests can be judged")
	case requests.Values["count"] == 0:
		return errors.New("http_reqs is 0: the run sent nothing")
	case duration.Values == nil:
		return errors.New("the summary has requests but no http_req_duration: it is not whole")
	case duration.Contains != "" && duration.Contains != "time":
		return fmt.Errorf(
			"http_req_duration contains %s, want time: its unit is not known",
			record.QuoteImported(duration.Contains),
		)
	}
	return nil
}

// A summary finds metrics in any shape and keeps the first error.
type summary struct {
	metrics map[string]json.RawMessage
	found   map[string]metric
	err     error
}

// summary returns the metrics of a file of any shape.
func (in *file) summary() (summary, error) {
	s := summary{metrics: in.Metrics}
	if in.Results.Metrics == nil {
		if in.Metrics == nil {
			return s, errors.New("not a summary of k6: it has no \"metrics\"")
		}
		return s, nil
	}
	s.found = map[string]metric{}
	for _, m := range in.Results.Metrics {
		found := metric{Contains: m.Contains, Values: map[string]float64{}}
		for key, v := range m.Values {
			switch {
			case v != nil:
				found.Values[key] = *v
			case slices.Contains(judged, m.Name):
				return s, fmt.Errorf("%s: %s is null, want a number", m.Name, key)
			}
		}
		s.found[m.Name] = found
	}
	return s, nil
}

func (s *summary) metric(name string) metric {
	m, ok := s.found[name]
	raw, written := s.metrics[name]
	if ok || !written || s.err != nil {
		return m
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		s.err = fmt.Errorf("%s: not a metric: %w", name, err)
		return m
	}
	values := fields
	if nested, ok := fields["values"]; ok {
		values = nil
		if err := json.Unmarshal(nested, &values); err != nil {
			s.err = fmt.Errorf("%s: values: %w", name, err)
			return m
		}
		if err := json.Unmarshal(fields["contains"], &m.Contains); err != nil &&
			fields["contains"] != nil {
			s.err = fmt.Errorf("%s: contains: %w", name, err)
			return m
		}
	}
	m.Values = map[string]float64{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == "thresholds" {
			continue
		}
		var v *float64
		if err := json.Unmarshal(values[key], &v); err != nil || v == nil {
			s.err = fmt.Errorf(
				"%s: %s is %s, want a number",
				name,
				key,
				record.QuoteImported(string(values[key])),
			)
			return m
		}
		m.Values[key] = *v
	}
	return m
}
