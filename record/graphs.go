package record

import "fmt"

// GraphsFile holds the lines of a run's graphs, drawn once when the run ended: no other query of a
// report of many runs takes as long.
const GraphsFile = "graphs.json"

// GraphsVersion is the version of that file which this package writes.
const GraphsVersion = 1

// Graphs are the curves of a run in the graphs of reports. They follow from its series, and can be
// computed from them again.
type Graphs struct {
	Format int `json:"format"`
	// Definition identifies the queries to the series, and their stretch. Lines of another
	// definition come from another version of the program, and are not used.
	Definition string `json:"definition"`
	// Tests are the graphs by test and name.
	Tests map[string]map[string]GraphLine `json:"tests"`
}

// A GraphLine is a curve: values V at T seconds after the beginning of the test. Without values,
// Why is the reason.
type GraphLine struct {
	T   []float64 `json:"t,omitempty"`
	V   []float64 `json:"v,omitempty"`
	Why string    `json:"why,omitempty"`
}

// Graphs reads the stored graphs; nil for a run without any.
func (r *Run) Graphs() (*Graphs, error) {
	g, err := readOptional(r, GraphsFile, GraphsVersion, func(g *Graphs) int { return g.Format })
	if err != nil || g == nil {
		return nil, err
	}
	for test, graphs := range g.Tests {
		for name, l := range graphs {
			if len(l.T) != len(l.V) {
				return nil, fmt.Errorf(
					"%s: %s: graph %s of test %s has %d instants and %d values",
					r.Dir,
					GraphsFile,
					name,
					test,
					len(l.T),
					len(l.V),
				)
			}
		}
	}
	return g, nil
}
