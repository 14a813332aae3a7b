// Package loadtestng reads the files of a comparison by load-test-ng: results.txt, comparison.json
// (--format json) and the report files of its command report generate. The forms were read from its
// source at commit 784dbc17.
//
// # Mapping of the numbers
//
//	capacity    Supported Users of an unbounded test
//	mean, p99   the mean over the run of the graphs Avg API times and P99 API times of a report, in ms
//	others      errors are a count without the number of requests, and the times of handlers and store methods have no
//	            counts either: shown and not judged
//
// A results file holds both arms of one pair, on one or several databases; two of them are two
// pairs. A report is one run of one arm. Neither holds the number of requests, nor the number of
// users at which a search would have stopped anyway (MaxActiveUsers): compare the supported users
// with that number yourself.
//
// The package refuses to judge.
package loadtestng

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/record"
)

// Tool is the name of the tool in the results of the readers.
const Tool = "load-test-ng"

// The lines of results.txt that begin a result, and that stand for one that is missing.
const (
	begin  = "Comparison result:"
	failed = "No results generated"
)

// Detect reports whether a text looks like one of the three files.
func Detect(data []byte) bool {
	if bytes.Contains(data, []byte(begin)) || bytes.Contains(data, []byte(failed)) {
		return true
	}
	var in struct{ Results, AvgAPITimes json.RawMessage }
	return json.Unmarshal(data, &in) == nil &&
		(in.AvgAPITimes != nil || bytes.HasPrefix(bytes.TrimSpace(in.Results), []byte("[")))
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
	return nil, errors.New(
		"neither comparison.json (Results) nor a report (AvgAPITimes) of load-test-ng",
	)
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

// arms are the arms of the two load tests of a result, in their order.
var arms = [2]string{record.ImportedBase, record.ImportedNew}

// given turns a part into a run.
func (p part) given(source, arm string) (record.Imported, error) {
	g := record.Imported{
		Source:   source,
		Tool:     Tool,
		Arm:      arm,
		Label:    p.label,
		Database: database(p.engine),
		Test:     p.kind,
	}
	switch p.kind {
	case "unbounded":
		if p.supported <= 0 {
			return g, record.AtLine(p.line, fmt.Errorf(
				"%s on %s has %d supported users: the search found none",
				p.label,
				p.engine,
				p.supported,
			))
		}
		g.Figures = append(g.Figures, record.Figure{
			Name:  "capacity",
			Value: float64(p.supported),
			Unit:  "users",
			Line:  p.line,
		})
	case "bounded":
		g.Test = fmt.Sprintf("bounded, %d users, %s", p.users, p.duration)
	default:
		return g, record.AtLine(p.line, fmt.Errorf(
			"%s: the type is %s, want bounded or unbounded",
			p.label,
			record.QuoteImported(p.kind),
		))
	}
	g.Figures = append(g.Figures, record.Figure{
		Name:  "number of errors (" + p.kind + ")",
		Value: float64(p.errors),
		Line:  p.line,
		Aside: true,
	})
	return g, g.Check()
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
	var warnings []string
	for i, r := range in.Results {
		if len(r.LoadTests) > 2 {
			return nil, fmt.Errorf(
				"result %d has %d load tests, want base and new",
				i,
				len(r.LoadTests),
			)
		}
		for _, t := range r.LoadTests {
			if t.Status.State == "running" {
				return nil, fmt.Errorf(
					"result %d: the load test of %s is still running: the run is truncated",
					i,
					t.Label,
				)
			}
		}
		if len(r.LoadTests) < 2 || r.LoadTests[0].Failed || r.LoadTests[1].Failed {
			warnings = append(
				warnings,
				fmt.Sprintf("result %d: one of its load tests failed, and it is left out", i),
			)
			continue
		}
		for k, t := range r.LoadTests {
			p := part{
				label:     t.Label,
				kind:      t.Config.Type,
				engine:    t.Config.DBEngine,
				duration:  t.Config.Duration,
				users:     t.Config.NumUsers,
				supported: t.Status.SupportedUsers,
				errors:    t.Status.NumErrors,
			}
			g, err := p.given(source, arms[k])
			if err != nil {
				return nil, fmt.Errorf("result %d: %w", i, err)
			}
			out = append(out, g)
		}
	}
	return results(out, warnings)
}

// results returns the runs of a file, which must have some, with its warnings.
func results(runs []record.Imported, warnings []string) ([]record.Imported, error) {
	switch {
	case len(runs) == 0 && len(warnings) > 0:
		return nil, errors.New(warnings[0] + ": there is no other result in the file")
	case len(runs) == 0:
		return nil, errors.New("there is no result in it")
	}
	runs[0].Warnings = warnings
	return runs, nil
}
