package gobench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/files"
	"plimsoll/record"
)

// DetectStat reports whether a text looks like the CSV of benchstat: it has a header with units and
// intervals.
func DetectStat(data []byte) bool {
	for line := range bytes.Lines(data) {
		if fields := strings.Split(strings.TrimSpace(string(line)), ","); isUnits(fields) {
			return true
		}
	}
	return false
}

// isUnits reports whether a row is the second of a table's header, such as ",sec/op,CI,sec/op,CI,vs
// base,P".
func isUnits(fields []string) bool {
	return len(fields) > 2 && fields[0] == "" && fields[1] != "" && fields[2] == "CI"
}

// ReadStat reads the CSV of benchstat: a run of each arm.
func ReadStat(source string, data []byte) ([]record.Imported, error) {
	rows, err := files.Rows(data)
	if err != nil {
		return nil, err
	}
	arms := []record.Imported{
		{Source: source, Tool: "benchstat", Arm: record.ImportedBase},
		{Source: source, Tool: "benchstat", Arm: record.ImportedNew},
	}
	pkg, unit := "", ""
	var before []string // the fields of the row before
	for _, row := range rows {
		f := row.Fields
		switch {
		case isUnits(f):
			if len(f) < 5 || f[3] != f[1] || f[4] != "CI" || slices.Contains(f[5:], "CI") {
				return nil, fmt.Errorf(
					"line %d: want two arms: give benchstat the files of base and new",
					row.Line,
				)
			}
			if unit = f[1]; len(before) > 3 && before[0] == "" {
				arms[0].Label, arms[1].Label = before[1], before[3]
			}
		case len(f) == 1:
			unit = ""
			if name, found := strings.CutPrefix(f[0], "pkg: "); found {
				pkg = name + "."
			}
		case f[0] == "" || f[0] == "geomean" || unit == "":
		case len(f) < 5:
			return nil, fmt.Errorf(
				"line %d: the row of %s is cut off: want the median and the CI of both arms",
				row.Line,
				f[0],
			)
		case f[1] == "" || f[3] == "":
			return nil, fmt.Errorf(
				"line %d: %s has no number of one arm: give benchstat the same benchmarks of both",
				row.Line,
				record.QuoteImported(f[0]),
			)
		default:
			for i := range arms {
				v, err := strconv.ParseFloat(f[1+2*i], 64)
				if err != nil {
					return nil, fmt.Errorf(
						"line %d: %s of %s is %s, want a number",
						row.Line,
						unit,
						f[0],
						record.QuoteImported(f[1+2*i]),
					)
				}
				arms[i].Figures = append(arms[i].Figures, statFigure(pkg, f[0], unit, v, row.Line))
			}
		}
		before = f
	}
	arms[0].Warnings = []string{"benchstat writes one median of all its runs: this is one pair; " +
		"for a verdict give the outputs of go test -bench by -base and -new"}
	if len(arms[0].Figures) == 0 {
		return nil, errors.New("there is no benchmark in it")
	}
	return arms, errors.Join(arms[0].Check(), arms[1].Check())
}

func statFigure(pkg, name, unit string, v float64, line int) record.Figure {
	if unit == "sec/op" {
		return record.Figure{
			Name:  "p50(" + pkg + name + ")",
			Value: v * 1e9,
			Unit:  "ns",
			Line:  line,
		}
	}
	return record.Figure{
		Name:  unit + "(" + pkg + name + ")",
		Value: v,
		Unit:  unit,
		Line:  line,
		Aside: true,
	}
}
