// Package locust reads the statistics that Locust writes with --csv PREFIX: the file PREFIX_stats.csv. It was checked
// with Locust 2.47.
//
// # Mapping of the numbers
//
//	throughput   Requests/s of the row Aggregated: over the whole run, ramp and all
//	p95, p99     of that row, in ms
//	mean         Average Response Time of that row, in ms
//	errors       Failure Count of Request Count, in percent
//	p50          of that row, shown and not judged
//	p95(NAME)    of each other row, shown and not judged
//
// Locust keeps response times rounded: whole milliseconds below 100 ms, tens below 1 s, hundreds below 10 s. A
// percentile is one of those steps, which the figure holds as its step; the mean is not rounded, and so it is judged
// here.
//
// The package refuses to judge, and it does not read PREFIX_stats_history.csv, whose rows depend on each other.
package locust

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/run/record"
)

// Tool is the name of the tool in the result of Read.
const Tool = "locust"

var needed = []string{"Type", "Name", "Request Count", "Failure Count", "Median Response Time", "Average Response Time", "Requests/s", "95%", "99%"}

// Detect reports whether a text looks like a CSV of Locust.
func Detect(data []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	return bytes.HasPrefix(first, []byte("Type,Name,")) || bytes.HasPrefix(first, []byte("Timestamp,User Count,")) ||
		bytes.HasPrefix(first, []byte("Method,Name,Error,"))
}

// Read reads one file: one run.
func Read(source string, data []byte) ([]record.Imported, error) {
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	in.FieldsPerRecord = -1
	rows, err := in.ReadAll()
	if err != nil {
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, fmt.Errorf("line %d: not a CSV: %w", e.Line, e.Err)
		}
		return nil, fmt.Errorf("not a CSV: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("the file is empty")
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	if slices.Contains(rows[0], "Timestamp") {
		return nil, errors.New("line 1: this is Locust's history of a run: give the file that ends in _stats.csv")
	}
	for _, name := range needed {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("line 1: the column %q is missing: give the file that Locust's --csv ends in _stats.csv", name)
		}
	}
	g := record.Imported{Source: source, Tool: Tool}
	total := false
	for i, row := range rows[1:] {
		r := line{row: row, column: column, number: i + 2}
		if len(row) != len(rows[0]) {
			return nil, fmt.Errorf("line %d: %d fields where the header has %d: the file is truncated", r.number, len(row), len(rows[0]))
		}
		if name := r.text("Name"); name != "Aggregated" || r.text("Type") != "" {
			g.Figures = append(g.Figures, r.operation()...)
		} else {
			total = true
			g.Figures = append(r.total(), g.Figures...)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	if !total {
		return nil, errors.New("there is no row Aggregated: the file is truncated")
	}
	return []record.Imported{g}, g.Check()
}

// A line reads the fields of a row and keeps the first error.
type line struct {
	row    []string
	column map[string]int
	number int
	err    error
}

func (l *line) text(name string) string { return strings.TrimSpace(l.row[l.column[name]]) }

func (l *line) value(name string) float64 {
	v, err := strconv.ParseFloat(l.text(name), 64)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("line %d: %s is %s, want a number", l.number, name, record.QuoteImported(l.text(name)))
	}
	return v
}

func (l *line) figure(name, column, unit string, aside bool) record.Figure {
	return record.Figure{Name: name, Value: l.value(column), Unit: unit, Line: l.number, Aside: aside, Ops: int64(l.value("Request Count"))}
}

// operation returns the figures of a row of one name; none if nothing was requested under it.
func (l *line) operation() []record.Figure {
	if l.value("Request Count") == 0 {
		return nil
	}
	return []record.Figure{l.figure("p95("+strings.TrimSpace(l.text("Type")+" "+l.text("Name"))+")", "95%", "ms", true)}
}

func (l *line) total() []record.Figure {
	count := l.value("Request Count")
	if count == 0 && l.err == nil {
		l.err = fmt.Errorf("line %d: Request Count is 0: the run sent nothing", l.number)
	}
	if l.err != nil {
		return nil
	}
	out := []record.Figure{l.figure("throughput", "Requests/s", "1/s", false), l.figure("mean", "Average Response Time", "ms", false),
		l.figure("p95", "95%", "ms", false), l.figure("p99", "99%", "ms", false), l.figure("errors", "Failure Count", "%", false),
		l.figure("p50", "Median Response Time", "ms", true)}
	for i := range out {
		switch out[i].Name {
		case "p50", "p95", "p99":
			out[i].Step = step(out[i].Value)
		case "errors":
			out[i].Value *= 100 / count
		}
	}
	return out
}

// step is to how many milliseconds Locust rounds a response time.
func step(ms float64) float64 {
	switch {
	case ms < 100:
		return 1
	case ms < 1000:
		return 10
	case ms < 10_000:
		return 100
	default:
		return 1000
	}
}
