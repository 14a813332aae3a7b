package read

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/report"
)

// TestGraphsAreKept holds that the lines which a run keeps are those that its series give, that a
// report uses them, and that lines of another definition are drawn again.
func TestGraphsAreKept(t *testing.T) {
	r, p, db := keptFirst(t, keptShape{seconds: 90, handlers: 2, methods: 2, ops: 20})
	read := func() (evidence.Drawing, error) {
		return catalog().Of(r).Drawing(t.Context(), db, p.Workload.Pace)
	}
	drawn, err := catalog().Draw(t.Context(), db, r.Manifest, p.Workload.Pace)
	failure.None(t, err)
	kept, err := read()
	if err != nil || !reflect.DeepEqual(kept, drawn) {
		t.Errorf("kept and drawn graphs differ (%v)", err)
	}
	if n := len(drawn.Lines[report.Bounded]); n < 8 {
		t.Fatalf(
			"%d graphs of the bounded test have lines: %q",
			n,
			slices.Sorted(maps.Keys(drawn.Lines[report.Bounded])),
		)
	}

	file, err := r.Graphs()
	if err != nil || file == nil {
		t.Fatal(file, err)
	}
	change := func(f func(g *record.Graphs)) {
		t.Helper()
		g := *file
		g.Tests = map[string]map[string]record.GraphLine{
			report.Bounded: maps.Clone(file.Tests[report.Bounded]),
		}
		f(&g)
		path := filepath.Join(r.Dir, record.GraphsFile) // other runs have the same file
		failure.None(t, os.Remove(path))
		failure.None(t, record.WriteJSON(path, g))
	}
	line := record.GraphLine{T: []float64{1, 2}, V: []float64{3, 4}}
	change(func(g *record.Graphs) { g.Tests[report.Bounded]["rps"] = line })
	if got, err := read(); err != nil || !slices.Equal(got.Lines[report.Bounded]["rps"].V, line.V) {
		t.Errorf("the kept line was not used: %v, %v", got.Lines[report.Bounded]["rps"], err)
	}
	change(func(g *record.Graphs) { g.Definition, g.Tests[report.Bounded]["rps"] = "of old", line })
	if got, err := read(); err != nil || !reflect.DeepEqual(got, drawn) {
		t.Errorf("lines of another definition were used (%v)", err)
	}
	change(func(g *record.Graphs) {
		g.Tests[report.Bounded]["rps"] = record.GraphLine{T: []float64{1, 2}, V: []float64{3}}
	})
	failure.Says(t, failure.Of(read()),
		"graphs.json: graph rps of test bounded has 2 instants and 1 values")
	change(func(g *record.Graphs) { g.Format = 7 })
	failure.Says(t, failure.Of(read()), "format 7; this is plimsoll devel and reads up to 1")
}

// The definition of the graphs is the one that runs were stored with by earlier builds: otherwise
// every report would draw theirs again.
func TestDefinitionOfStoredGraphsStays(t *testing.T) {
	m := record.Manifest{
		Target: json.RawMessage(`{"driver":"refchat"}`),
		Phases: []record.Phase{
			{
				Name: "measure",
				From: 4 * time.Second,
				To:   19 * time.Second,
			}, {Name: "search", From: 19 * time.Second, To: 91700 * time.Millisecond}},
	}
	if got, want := catalog().Definition(m, 0.02), "294ad2be61be024ebfcda8ae7cb43f60"; got != want {
		t.Errorf("definition %s, want %s", got, want)
	}
}
