package trial

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"plimsoll/load/workload"
	"plimsoll/record"
)

// TestRowsThatAreNotThere void a run, as do surplus rows and rows that could not be counted.
func TestRowsThatAreNotThere(t *testing.T) {
	good := workload.RowCount{
		Store:  "database",
		What:   "participants",
		Least:  10,
		Most:   12,
		Actual: 11,
	}
	few := good
	many := good
	unknown := good
	few.Actual, many.Actual = 9, 13
	unknown.Unknown, unknown.Why = true, "it is full"
	for want, rows := range map[string][]workload.RowCount{
		"":              {good},
		"there are 9":   {good, few},
		"there are 13":  {many},
		"10 to 12, not": {unknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := boundedSpec(t, newLab(1000))
			s.Audit = func(context.Context) (workload.AuditResult, error) {
				return workload.AuditResult{Expected: 5, Readable: 5, Part: 1, Rows: rows}, nil
			}
			out := carryOut(t, s)
			i := slices.IndexFunc(out.Validity.Findings, func(f record.Finding) bool {
				return f.Gate == "rows"
			})
			if out.Validity.Valid != (want == "") || (i < 0) != (want == "") {
				t.Fatalf(
					"%v: valid %v, findings %v",
					rows,
					out.Validity.Valid,
					out.Validity.Findings,
				)
			}
			if i >= 0 && !strings.Contains(out.Validity.Findings[i].Text, want) {
				t.Errorf("finding %q, want one with %q", out.Validity.Findings[i].Text, want)
			}
			if u, err := finish(t, s, out).Users(); err != nil || len(u.Audit.Rows) != len(rows) {
				t.Errorf("%+v, %v: want the counts in the run", u, err)
			}
		})
	}
}
