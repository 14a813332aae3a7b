// Package locust reads the statistics that Locust writes with --csv PREFIX: the file
// PREFIX_stats.csv. It was checked with Locust 2.47; the names of columns before 1.0 are known, and
// the row Total in place of Aggregated.
//
// # Mapping of the numbers
//
//	throughput   Requests/s of the row Aggregated: over the whole run, ramp and all
//	p95, p99     of that row, in ms, as far as the test's PERCENTILES_TO_REPORT has them
//	mean         Average Response Time of that row, in ms
//	errors       Failure Count of Request Count, in percent
//	p50          of that row, shown and not judged
//	p95(NAME)    of each other row, shown and not judged
//
// Locust keeps response times rounded: whole milliseconds below 100 ms, tens below 1 s, hundreds
// below 10 s. A percentile is one of those steps, which the figure holds as its step; the mean is
// not rounded, and so it is judged here.
//
// The package refuses to judge, and it does not read PREFIX_stats_history.csv, whose rows depend on
// each other.
package locust

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/files"
	"plimsoll/record"
)

// Tool is the name of the tool in the result of Read.
const Tool = "locust"

// needed are the columns that have to be there; older are their names in Locust before 1.0, which
// also writes some in lower case.
var (
	needed = []string{
		"Type",
		"Name",
		"Request Count",
		"Failure Count",
		"Median Response Time",
		"Average Response Time",
		"Requests/s",
	}
	older = map[string]string{
		"Method":     "Type",
		"# requests": "Request Count",
		"# failures": "Failure Count",
	}
)

// columnsOf returns the place of each column of a header.
func columnsOf(header []string) map[string]int {
	columns := map[string]int{}
	for i, name := range header {
		name = cmp.Or(older[name], name)
		if k := slices.IndexFunc(needed, func(s string) bool {
			return strings.EqualFold(s, name)
		}); k >= 0 {
			name = needed[k]
		}
		columns[name] = i
	}
	return columns
}

// Detect reports whether a text looks like one of the CSVs of Locust.
func Detect(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	rows, err := files.Rows(first)
	if err != nil || len(rows) == 0 {
		return false
	}
	columns := columnsOf(rows[0].Fields)
	has := func(name string) bool { _, ok := columns[name]; return ok }
	return has("Type") && has("Name") || has("Traceback") && has("Nodes")
}

// Read reads one file: one run.
func Read(source string, data []byte) ([]record.Imported, error) {
	rows, err := files.Rows(data)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("the file is empty")
	}
	columns := columnsOf(rows[0].Fields)
	if _, ok := columns["Timestamp"]; ok {
		return nil, errors.New(
			"line 1: this is Locust's history of a run: give the file that ends in _stats.csv",
		)
	}
	for _, name := range needed {
		if _, ok := columns[name]; !ok {
			return nil, fmt.Errorf(
				"line 1: the column %q is missing: give the file that Locust's --csv ends in _stats.csv",
				name,
			)
		}
	}
	g := record.Imported{Source: source, Tool: Tool}
	total := false
	for _, row := range rows[1:] {
		l := line{fields: row.Fields, columns: columns, number: row.Line}
		if len(row.Fields) != len(rows[0].Fields) {
			return nil, fmt.Errorf(
				"line %d: %d fields where the header has %d: the file is truncated",
				l.number,
				len(row.Fields),
				len(rows[0].Fields),
			)
		}
		if l.isTotal() {
			total = true
			g.Figures = append(l.total(&g), g.Figures...)
		} else {
			g.Figures = append(g.Figures, l.operation()...)
		}
		if l.err != nil {
			return nil, l.err
		}
	}
	if !total {
		return nil, errors.New("there is no row Aggregated or Total: the file is truncated")
	}
	return []record.Imported{g}, g.Check()
}

// A line reads the fields of a row and keeps the first error.
type line struct {
	fields  []string
	columns map[string]int
	number  int
	err     error
}

func (l *line) text(name string) string { return l.fields[l.columns[name]] }

// isTotal reports whether the line is of all requests: ",Aggregated", and "None,Total" before
// Locust 1.0.
func (l *line) isTotal() bool {
	kind, name := l.text("Type"), l.text("Name")
	return (kind == "" || kind == "None") && (name == "Aggregated" || name == "Total")
}

// value reads the number in a column.
func (l *line) value(name string) float64 {
	v, err := strconv.ParseFloat(l.text(name), 64)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf(
			"line %d: %s is %s, want a number",
			l.number,
			name,
			record.QuoteImported(l.text(name)),
		)
	}
	return v
}

func (l *line) figure(name, column, unit string, aside bool) record.Figure {
	return record.Figure{
		Name:  name,
		Value: l.value(column),
		Unit:  unit,
		Line:  l.number,
		Aside: aside,
		Ops:   int64(l.value("Request Count")),
	}
}

// operation returns the figures of a row of one name; none if nothing was requested under it.
func (l *line) operation() []record.Figure {
	if _, ok := l.columns["95%"]; !ok || l.value("Request Count") == 0 {
		return nil
	}
	return []record.Figure{
		l.figure(
			"p95("+strings.TrimSpace(l.text("Type")+" "+l.text("Name"))+")",
			"95%",
			"ms",
			true,
		),
	}
}

// total returns the figures of the whole run, and adds to its warnings the percentiles that the
// file does not have.
func (l *line) total(g *record.Imported) []record.Figure {
	count := l.value("Request Count")
	if count == 0 && l.err == nil {
		l.err = fmt.Errorf("line %d: Request Count is 0: the run sent nothing", l.number)
	}
	if l.err != nil {
		return nil
	}
	out := []record.Figure{
		l.figure("throughput", "Requests/s", "1/s", false),
		l.figure("mean", "Average Response Time", "ms", false),
	}
	for _, name := range []string{"95", "99"} {
		if _, ok := l.columns[name+"%"]; ok {
			out = append(out, l.figure("p"+name, name+"%", "ms", false))
			continue
		}
		g.Warnings = append(
			g.Warnings,
			fmt.Sprintf("Locust wrote no %s%%: add 0.%[1]s to PERCENTILES_TO_REPORT", name),
		)
	}
	out = append(
		out,
		l.figure("errors", "Failure Count", "%", false),
		l.figure("p50", "Median Response Time", "ms", true),
	)
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
