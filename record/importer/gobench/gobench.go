// Package gobench reads the output of go test -bench, and the CSV that benchstat makes of two of
// them.
//
// # Mapping of the numbers
//
//	mean(NAME)       ns/op of a benchmark; of several repetitions in one process their mean
//	B/op(NAME), …    all other units, shown and not judged
//
// A process is a run: -count repeats a benchmark within one process, which keeps its place in
// memory, its seeds and its neighbors, and such repetitions are not replicates. A file may hold the
// output of several processes; each begins with the lines that go test prints before its
// benchmarks. Benchmarks of a package are named by it where there are several packages.
//
// benchstat's CSV holds the median of each arm and neither runs nor processes: it is one pair of
// numbers.
//
// The package refuses to judge.
package gobench

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/record"
)

// Tool is the name of the tool in the result of Read.
const Tool = "go test -bench"

// result matches the line of a benchmark that was measured, begun one that may be cut off.
var (
	result = regexp.MustCompile(`^Benchmark(\S+)\s+(\d+)((?:\s+\S+\s+\S+)+)$`)
	begun  = regexp.MustCompile(`^Benchmark\S+\s`)
)

// Detect reports whether a text has a line with the result of a benchmark.
func Detect(data []byte) bool {
	for line := range bytes.Lines(data) {
		if result.Match(bytes.TrimSpace(line)) {
			return true
		}
	}
	return false
}

// A process is the results that one process printed: the sums of the values of each figure.
type process struct {
	pkg     string
	figures []record.Figure
	counts  []int
}

// Read reads the output of go test -bench: a run for each process.
func Read(source string, data []byte) ([]record.Imported, error) {
	var all []*process
	pkg := ""
	fresh := true // the next result is of another process
	number, repeated := 0, false
	for text := range strings.Lines(string(data)) {
		number++
		line := strings.TrimSpace(text)
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "pkg":
			pkg, fresh = value, true
		case name == "goos" || line == "PASS" || strings.HasPrefix(line, "ok "):
			fresh = true
		case line == "FAIL" || strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "panic: "):
			return nil, fmt.Errorf(
				"line %d: %s: the benchmark failed, and the output is not whole",
				number,
				record.QuoteImported(line),
			)
		}
		m := result.FindStringSubmatch(line)
		switch {
		case m == nil && begun.MatchString(line),
			m != nil && !strings.HasSuffix(text, "\n") && !strings.Contains(line, " ns/op"):
			return nil, fmt.Errorf(
				"line %d: %s is no whole result: the output is cut off, or mixed with that of the benchmark",
				number,
				record.QuoteImported(line),
			)
		case m == nil:
			continue
		}
		if fresh {
			all, fresh = append(all, &process{pkg: pkg}), false
		}
		again, err := all[len(all)-1].take(number, m[1], strings.Fields(m[3]))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		repeated = repeated || again
	}
	runs := runsOf(source, all)
	if len(runs) == 0 {
		return nil, errors.New(
			"there is no result of a benchmark in it: want lines such as BenchmarkName 100 12.5 ns/op",
		)
	}
	if repeated {
		runs[0].Warnings = append(
			runs[0].Warnings,
			"repetitions by -count in one process are one run: "+
				"start go test -count=1 at least six times, in turns with the other arm",
		)
	}
	for _, g := range runs {
		if err := g.Check(); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// take adds the result of a benchmark, and reports whether the process had one of that name.
func (p *process) take(line int, name string, fields []string) (again bool, err error) {
	for i := 0; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return false, fmt.Errorf(
				"%s of %s is %s, want a number",
				fields[i+1],
				name,
				record.QuoteImported(fields[i]),
			)
		}
		f := record.Figure{
			Name:  fields[i+1] + "(" + name + ")",
			Value: v,
			Unit:  fields[i+1],
			Line:  line,
			Aside: true,
		}
		if f.Unit == "ns/op" {
			f.Name = "mean(" + name + ")"
			f.Unit = "ns"
			f.Aside = false
		}
		at := slices.IndexFunc(p.figures, func(o record.Figure) bool { return o.Name == f.Name })
		if at < 0 {
			p.figures, p.counts = append(p.figures, f), append(p.counts, 1)
			continue
		}
		again = true
		p.figures[at].Value += v
		p.counts[at]++
	}
	return again, nil
}

// runsOf makes runs of processes: the k-th process of each package belongs to the k-th run.
func runsOf(source string, all []*process) []record.Imported {
	var runs []record.Imported
	processes := map[string]int{}
	for _, p := range all {
		processes[p.pkg] = 0
	}
	several := len(processes) > 1
	for _, p := range all {
		k := processes[p.pkg]
		processes[p.pkg]++
		if k == len(runs) {
			runs = append(runs, record.Imported{Source: source, Tool: Tool})
		}
		for i, f := range p.figures {
			f.Value /= float64(p.counts[i])
			if several {
				f.Name = strings.Replace(f.Name, "(", "("+p.pkg+".", 1)
			}
			runs[k].Figures = append(runs[k].Figures, f)
		}
	}
	return runs
}
