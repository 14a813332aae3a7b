package loadtestng

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/record"
)

// report is a report of one run.
type report struct {
	Label                        string
	AvgAPITimes, P99APITimes     map[string]sample
	AvgStoreTimes, P99StoreTimes map[string]sample
	Graphs                       []graph
}

type graph struct {
	Name   string
	Values [][2]sample
}

// readReport reads a report of one run.
func readReport(source string, data []byte) ([]record.Imported, error) {
	var in report
	err := record.UnmarshalImported(data, &in)
	if bad, ok := errors.AsType[noNumberError](err); ok {
		return nil, record.AtLine(record.LineOf(data, int64(bytes.Index(data, []byte(bad)))), bad)
	}
	if err != nil {
		return nil, err
	}
	g := record.Imported{Source: source, Tool: Tool + " report", Label: in.Label}
	in.addServer(&g)
	if len(g.Figures) == 0 {
		return nil, errors.New(
			"the report has no graph Avg API times or P99 API times with a value: " +
				"nothing in it is of the whole server",
		)
	}
	g.Warnings = append(
		g.Warnings,
		"means over the whole run of one-minute values, its ramp included: "+
			"a p99 is not the p99 of the run",
	)
	in.addCalls(&g)
	return []record.Imported{g}, g.Check()
}

// addServer adds the figures of the whole server, which the graphs have.
func (in *report) addServer(g *record.Imported) {
	for _, want := range []struct{ graph, name string }{
		{"avg api times", "mean"},
		{"p99 api times", "p99"},
	} {
		i := slices.IndexFunc(in.Graphs, func(x graph) bool {
			return strings.ToLower(x.Name) == want.graph
		})
		if i < 0 {
			continue
		}
		found := in.Graphs[i]
		mean, without := meanOf(found.Values)
		if without > 0 {
			g.Warnings = append(g.Warnings, fmt.Sprintf(
				"%d of %d values of the graph %s are NaN, because nothing was requested then: "+
					"%s is the mean of the others",
				without,
				len(found.Values),
				found.Name,
				want.name,
			))
		}
		if without < len(found.Values) {
			g.Figures = append(g.Figures, record.Figure{
				Name:  want.name,
				Value: 1000 * mean,
				Unit:  "ms",
			})
		}
	}
}

// addCalls adds the figures of each call of the API and of the store.
func (in *report) addCalls(g *record.Imported) {
	var without []string
	for _, of := range []struct {
		stat  string
		times map[string]sample
	}{
		{"mean", in.AvgAPITimes},
		{"p99", in.P99APITimes},
		{"mean", in.AvgStoreTimes},
		{"p99", in.P99StoreTimes},
	} {
		for _, name := range slices.Sorted(maps.Keys(of.times)) {
			f := record.Figure{
				Name:  of.stat + "(" + name + ")",
				Value: 1000 * float64(of.times[name]),
				Unit:  "ms",
				Aside: true,
			}
			if math.IsNaN(f.Value) {
				without = append(without, f.Name)
				continue
			}
			if _, twice := g.Figure(f.Name); twice {
				f.Name = of.stat + "(store " + name + ")"
			}
			g.Figures = append(g.Figures, f)
		}
	}
	if len(without) > 0 {
		g.Warnings = append(
			g.Warnings,
			"not requested, and so without a time (NaN): "+strings.Join(without, ", "),
		)
	}
}

// meanOf returns the mean of the values of a graph that are numbers, and the number of the others.
func meanOf(values [][2]sample) (mean float64, without int) {
	sum := 0.0
	for _, v := range values {
		if math.IsNaN(float64(v[1])) {
			without++
			continue
		}
		sum += float64(v[1])
	}
	return sum / float64(len(values)-without), without
}

// A sample is a number of Prometheus, whose values are strings in JSON and whose times are not.
type sample float64

// UnmarshalJSON reads a number or a string that holds one.
func (s *sample) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil {
		return noNumberError(data)
	}
	*s = sample(v)
	return nil
}

// A noNumberError is the text that stands in place of a number.
type noNumberError string

func (e noNumberError) Error() string {
	return record.QuoteImported(string(e)) + " is no number: want one as Prometheus writes it"
}
