package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/record"
	"plimsoll/report"
)

// TestGraphsAreKept holds that the lines which a run keeps are those that its series give, that a report uses them, and that lines of
// another definition are drawn anew.
func TestGraphsAreKept(t *testing.T) {
	r, p, db := keptFirst(t, keptShape{seconds: 90, handlers: 2, methods: 2, ops: 20})
	read := func() (reading, error) { return readGraphs(t.Context(), db, r, p.Workload.Pace) }
	drawn, err := drawGraphs(t.Context(), db, r.Manifest, p.Workload.Pace)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := read()
	if err != nil || !reflect.DeepEqual(kept, drawn) {
		t.Errorf("kept and drawn graphs differ (%v)", err)
	}
	if n := len(drawn.lines[report.Bounded]); n < 8 {
		t.Fatalf("%d graphs of the bounded test have lines: %q", n, slices.Sorted(maps.Keys(drawn.lines[report.Bounded])))
	}

	file, err := r.Graphs()
	if err != nil || file == nil {
		t.Fatal(file, err)
	}
	change := func(f func(g *record.Graphs)) {
		t.Helper()
		g := *file
		g.Tests = map[string]map[string]record.GraphLine{report.Bounded: maps.Clone(file.Tests[report.Bounded])}
		f(&g)
		path := filepath.Join(r.Dir, record.GraphsFile) // other runs have the same file
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := record.WriteJSON(path, g); err != nil {
			t.Fatal(err)
		}
	}
	line := record.GraphLine{T: []float64{1, 2}, V: []float64{3, 4}}
	change(func(g *record.Graphs) { g.Tests[report.Bounded]["rps"] = line })
	if got, err := read(); err != nil || !slices.Equal(got.lines[report.Bounded]["rps"].V, line.V) {
		t.Errorf("the kept line was not used: %v, %v", got.lines[report.Bounded]["rps"], err)
	}
	change(func(g *record.Graphs) { g.Definition, g.Tests[report.Bounded]["rps"] = "of old", line })
	if got, err := read(); err != nil || !reflect.DeepEqual(got, drawn) {
		t.Errorf("lines of another definition were used (%v)", err)
	}
	change(func(g *record.Graphs) {
		g.Tests[report.Bounded]["rps"] = record.GraphLine{T: []float64{1, 2}, V: []float64{3}}
	})
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "graphs.json: graph rps of test bounded has 2 instants and 1 values") {
		t.Errorf("damaged lines: %v", err)
	}
	change(func(g *record.Graphs) { g.Format = 7 })
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "format 7, this version reads 1") {
		t.Errorf("another format: %v", err)
	}
}
