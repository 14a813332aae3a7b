// Package loadtestng reads the files of a comparison by load-test-ng: results.txt, comparison.json (--format json)
// and the report files of its command report generate. The forms were read from its source at commit 784dbc17.
//
// # Mapping of the numbers
//
//	capacity    Supported Users of an unbounded test
//	mean, p99   the mean over the run of the graphs Avg API times and P99 API times of a report, in ms
//	others      errors are a count without the number of requests, and the times of handlers and store methods have no
//	            counts either: shown and not judged
//
// A results file holds both arms of one pair, on one or several databases; two of them are two pairs. A report is one
// run of one arm. Neither holds the number of requests, nor the number of users at which a search would have stopped
// anyway (MaxActiveUsers): compare the supported users with that number yourself.
//
// The package refuses to judge.
package loadtestng

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/run/record"
)

// Tool is the name of the tool in the results of the readers.
const Tool = "load-test-ng"

// ruler opens and closes each part of results.txt.
const ruler = "=================================================="

// Detect reports whether a text looks like one of the three files.
func Detect(data []byte) bool {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(ruler)) {
		return true
	}
	var in struct{ Results, AvgAPITimes json.RawMessage }
	return json.Unmarshal(data, &in) == nil && (in.AvgAPITimes != nil || bytes.HasPrefix(bytes.TrimSpace(in.Results), []byte("[")))
}

// Read reads one file.
func Read(source string, data []byte) ([]record.Imported, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return readText(source, data)
	}
	var in struct{ Results, AvgAPITimes json.RawMessage }
	if err := record.UnmarshalImported(data, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Results != nil:
		return readComparison(source, data)
	case in.AvgAPITimes != nil:
		return readReport(source, data)
	}
	return nil, errors.New("neither comparison.json (Results) nor a report (AvgAPITimes) of load-test-ng")
}

// database is the name of an engine as the reports of that tool's users have it.
func database(engine string) string {
	switch strings.ToLower(engine) {
	case "mysql":
		return "MySQL"
	case "postgresql":
		return "Postgres"
	}
	return engine
}

// A part is one of the two load tests of a result.
type part struct {
	label, kind, engine, duration string
	users, supported              int
	errors                        int64
	line                          int // of the users or the supported users
}

// given turns a part into a run.
func (p part) given(source, arm string) (record.Imported, error) {
	g := record.Imported{Source: source, Tool: Tool, Arm: arm, Label: p.label, Database: database(p.engine), Test: p.kind}
	switch p.kind {
	case "unbounded":
		if p.supported <= 0 {
			return g, at(p.line, fmt.Errorf("%s on %s has %d supported users: the search found none", p.label, p.engine, p.supported))
		}
		g.Figures = append(g.Figures, record.Figure{Name: "capacity", Value: float64(p.supported), Unit: "users", Line: p.line})
	case "bounded":
		g.Test = fmt.Sprintf("bounded, %d users, %s", p.users, p.duration)
	default:
		return g, at(p.line, fmt.Errorf("%s: the type is %s, want bounded or unbounded", p.label, record.QuoteImported(p.kind)))
	}
	g.Figures = append(g.Figures, record.Figure{Name: "number of errors (" + p.kind + ")", Value: float64(p.errors), Line: p.line, Aside: true})
	return g, g.Check()
}

func at(line int, err error) error {
	if line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// readText reads results.txt.
func readText(source string, data []byte) ([]record.Imported, error) {
	var out []record.Imported
	var parts []part
	var seen map[string]bool // the fields of the last part
	open := false
	number := 0
	whole := func(line int) error {
		if len(parts) == 0 {
			return nil
		}
		p := &parts[len(parts)-1]
		want := []string{"Type", "DB Engine", "Errors"}
		switch p.kind {
		case "bounded":
			want = append(want, "Duration", "Users")
		case "unbounded":
			want = append(want, "Supported Users")
		}
		for _, f := range want {
			if !seen[f] {
				return fmt.Errorf("line %d: %s ends without %s: the file is truncated", line, p.label, f)
			}
		}
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		number++
		text := strings.TrimRight(lines.Text(), " \r")
		name, value, ok := strings.Cut(strings.TrimSpace(text), ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.HasSuffix(text, "No results generated"):
			return nil, fmt.Errorf("line %d: %s: one of its load tests failed", number, text)
		case strings.HasPrefix(text, ruler+"Comparison result:"):
			if open {
				return nil, fmt.Errorf("line %d: a result begins inside another one", number)
			}
			open, parts = true, nil
		case text == ruler && open:
			if err := whole(number); err != nil {
				return nil, err
			}
			if len(parts) != 2 {
				return nil, fmt.Errorf("line %d: %d load tests in a result, want base and new", number, len(parts))
			}
			for i, arm := range []string{record.ImportedBase, record.ImportedNew} {
				g, err := parts[i].given(source, arm)
				if err != nil {
					return nil, err
				}
				out = append(out, g)
			}
			open = false
		case text == "" || text == ruler || !open || name == "Grafana Dashboard":
		case !ok:
			return nil, fmt.Errorf("line %d: %s: want NAME: VALUE", number, record.QuoteImported(text))
		case !strings.HasPrefix(text, " "):
			if err := whole(number); err != nil {
				return nil, err
			}
			parts, seen = append(parts, part{label: name, line: number}), map[string]bool{}
		case len(parts) == 0:
			return nil, fmt.Errorf("line %d: %s stands before a build's name", number, record.QuoteImported(text))
		default:
			seen[name] = true
			if err := parts[len(parts)-1].set(name, value, number); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("line %d: %w", number+1, lines.Err())
	case open:
		return nil, fmt.Errorf("line %d: the last result has no end: the file is truncated", number)
	case len(out) == 0:
		return nil, errors.New("there is no result in it")
	}
	return out, nil
}

// set takes one field of results.txt.
func (p *part) set(name, value string, line int) (err error) {
	whole := func() int64 {
		n, nerr := strconv.ParseInt(value, 10, 64)
		if nerr != nil || n < 0 {
			err = fmt.Errorf("%s is %s, want a whole number", name, record.QuoteImported(value))
		}
		return n
	}
	switch name {
	case "Type":
		p.kind = value
	case "DB Engine":
		p.engine = value
	case "Duration":
		p.duration = value
	case "Users":
		p.users, p.line = int(whole()), line
	case "Supported Users":
		p.supported, p.line = int(whole()), line
	case "Errors":
		p.errors = whole()
	}
	return err
}

// readComparison reads comparison.json.
func readComparison(source string, data []byte) ([]record.Imported, error) {
	var in struct {
		Results []struct {
			LoadTests []struct {
				Failed bool
				Label  string
				Config struct {
					Type, DBEngine, Duration string
					NumUsers                 int
				}
				Status struct {
					State               string
					NumErrors           int64
					SupportedUsers      int
					StartTime, StopTime time.Time
				}
			}
		}
	}
	if err := record.UnmarshalImported(data, &in); err != nil {
		return nil, err
	}
	var out []record.Imported
	for i, r := range in.Results {
		if len(r.LoadTests) != 2 {
			return nil, fmt.Errorf("result %d has %d load tests, want base and new", i, len(r.LoadTests))
		}
		for k, t := range r.LoadTests {
			switch {
			case t.Failed:
				return nil, fmt.Errorf("result %d: the load test of %s failed", i, t.Label)
			case t.Status.State == "running":
				return nil, fmt.Errorf("result %d: the load test of %s is still running: the run is truncated", i, t.Label)
			}
			p := part{label: t.Label, kind: t.Config.Type, engine: t.Config.DBEngine, duration: t.Config.Duration, users: t.Config.NumUsers,
				supported: t.Status.SupportedUsers, errors: t.Status.NumErrors}
			g, err := p.given(source, []string{record.ImportedBase, record.ImportedNew}[k])
			if err != nil {
				return nil, fmt.Errorf("result %d: %w", i, err)
			}
			out = append(out, g)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no result in it")
	}
	return out, nil
}

// readReport reads a report of one run.
func readReport(source string, data []byte) ([]record.Imported, error) {
	var in struct {
		Label                                                  string
		AvgStoreTimes, P99StoreTimes, AvgAPITimes, P99APITimes map[string]sample
		Graphs                                                 []struct {
			Name   string
			Values [][2]sample
		}
	}
	if err := record.UnmarshalImported(data, &in); err != nil {
		return nil, err
	}
	g := record.Imported{Source: source, Tool: Tool + " report", Label: in.Label}
	for _, want := range []struct{ graph, name string }{{"avg api times", "mean"}, {"p99 api times", "p99"}} {
		for _, graph := range in.Graphs {
			if strings.ToLower(graph.Name) != want.graph || len(graph.Values) == 0 {
				continue
			}
			sum := 0.0
			for _, v := range graph.Values {
				sum += float64(v[1])
			}
			g.Figures = append(g.Figures, record.Figure{Name: want.name, Value: 1000 * sum / float64(len(graph.Values)), Unit: "ms"})
			break
		}
	}
	if len(g.Figures) == 0 {
		return nil, errors.New("the report has no graph Avg API times or P99 API times: nothing in it is of the whole server")
	}
	g.Warnings = append(g.Warnings, "means over the whole run of one-minute values, its ramp included: a p99 is not the p99 of the run")
	for _, of := range []struct {
		stat  string
		times map[string]sample
	}{{"mean", in.AvgAPITimes}, {"p99", in.P99APITimes}, {"mean", in.AvgStoreTimes}, {"p99", in.P99StoreTimes}} {
		for _, name := range slices.Sorted(maps.Keys(of.times)) {
			f := record.Figure{Name: of.stat + "(" + name + ")", Value: 1000 * float64(of.times[name]), Unit: "ms", Aside: true}
			if _, twice := g.Figure(f.Name); twice {
				f.Name = of.stat + "(store " + name + ")"
			}
			g.Figures = append(g.Figures, f)
		}
	}
	return []record.Imported{g}, g.Check()
}

// A sample is a number of Prometheus, whose values are strings in JSON and whose times are not.
type sample float64

// UnmarshalJSON reads a number or a string that holds one.
func (s *sample) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil {
		return fmt.Errorf("%s is no number", record.QuoteImported(string(data)))
	}
	*s = sample(v)
	return nil
}
