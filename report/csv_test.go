package report

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/plain"
	"plimsoll/judge/imported"
)

func TestCSV(t *testing.T) {
	for name, s := range scenes() {
		d := From(s.input())
		rows, err := csv.NewReader(strings.NewReader(written(t, CSV, d))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := 1
		for _, f := range slices.Concat(d.Verdicts, d.Databases) {
			want += len(f.Verdict.Results) + len(f.Skipped)
		}
		if len(rows) != want {
			t.Errorf("%s: %d rows, want %d", name, len(rows), want)
		}
		for _, r := range rows[1:] {
			for _, cell := range r {
				if cell != "" && strings.ContainsRune("=+@", rune(cell[0])) {
					t.Errorf("%s: a spreadsheet takes %q for a formula", name, cell)
				}
			}
		}
	}
}

// TestPairs: judge reads back the numbers that the verdicts rest on.
func TestPairs(t *testing.T) {
	for name, s := range scenes() {
		d := From(s.input())
		var want []imported.PairRow
		for _, f := range d.Verdicts {
			for _, r := range f.Verdict.Results {
				for _, p := range r.Pairs {
					row := imported.PairRow{Metric: r.Name, Unit: r.Unit, Pair: p}
					if f.Engine != "" || len(d.Arms) > 2 {
						row.Database = plain.OneLine(f.Name)
					}
					want = append(want, row)
				}
			}
		}
		text := written(t, PairsCSV, d)
		got, err := imported.ReadTable(strings.NewReader(text))
		got = slices.DeleteFunc(got, func(r imported.PairRow) bool { return !r.HasPair() })
		if len(want) == 0 && len(got) == 0 {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text[:min(len(text), 500)])
			continue
		}
		for i := range got {
			got[i].Line, got[i].Withheld = 0, ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d pairs came back as %d, or other ones", name, len(want), len(got))
		}
	}
}
