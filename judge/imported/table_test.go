package imported_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
)

func TestReadTable(t *testing.T) {
	in := "\ufeffunit,new, pair,metric,database,base\nusers,16007,1,capacity,MySQL,14186\nms,\">=130.5\",1,p95,MySQL,120\r\nusers,16942,1,capacity,Postgres,15232\n"
	want := []imported.PairRow{
		{Metric: "capacity", Database: "MySQL", Unit: "users", Line: 2, Pair: verdict.Pair{Block: 1, Base: 14186, New: 16007}},
		{Metric: "p95", Database: "MySQL", Unit: "ms", Line: 3, Pair: verdict.Pair{Block: 1, Base: 120, New: 130.5, NewCensored: true}},
		{Metric: "capacity", Database: "Postgres", Unit: "users", Line: 4, Pair: verdict.Pair{Block: 1, Base: 15232, New: 16942}},
	}
	got, err := imported.ReadTable(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ (-want +got):\n%s", diff)
	}
}

// The table also carries the facts beside the pairs on which a verdict rests.
func TestReadTableOfWhatIsNoPair(t *testing.T) {
	got, err := imported.ReadTable(strings.NewReader("metric,unit,pair,base,new,base_ops,new_ops,withheld\ncapacity,users,1,,,,,every search was unstable\nfailed runs,runs,1,0,2,6,8,\np95,ms,1,2,3,,,two are void\n"))
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	if got[0].HasPair() || got[0].Withheld != "every search was unstable" || got[1].HasPair() || !got[2].HasPair() || got[2].Withheld != "two are void" {
		t.Errorf("%+v", got)
	}
	if base, fresh := got[1].Attempts(); base.Runs != 6 || base.Failed != 0 || fresh.Runs != 8 || fresh.Failed != 2 {
		t.Errorf("%+v, %+v", base, fresh)
	}
}

func TestReadTableProblems(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"empty", "", []string{"the input is empty"}},
		{"header only", "metric,pair,base,new\n", []string{"there is no pair below the header"}},
		{"no column", "metric,pair,base\np95,1,2\n", []string{"line 1: the header has no column new"}},
		{"a pair in two ways", "metric,pair,base,new\ncapacity,1,100,101\ncapacity,01,100,90\n", []string{"line 3: pair 1 of capacity was already on line 2"}},
		{"column twice", "pair,base,new,base,metric\n", []string{"line 1: the header is"}},
		{"unknown column", "pair,base,new,metrics\n", []string{"line 1: the header is"}},
		{"all at once", "metric,unit,pair,base,new\np95,ms,1,2,3\np95,s,2,2,3\np95,ms,1,5,6\n,ms,x,-2,NaN\np95,ms,4,,3\np95,ms,5\n", []string{
			"line 3: p95 is in s, but on line 2 in ms: convert one of them", "line 4: pair 1 of p95 was already on line 2", "line 5: metric is empty",
			`line 5: pair is "x"`, `line 5: base is "-2"`, `line 5: new is "NaN"`, "line 7: 3 fields: the header has 5", "line 6: base is empty"}},
		{"empty arm", "database,pair,base,new\nMySQL,1,,3\nPostgres,1,,3\n", []string{"the arm base is empty: no line has a number of it"}},
		{"unit in one line", "unit,pair,base,new\nms,1,2,3\n,2,2,3\n", []string{"line 3: the pair is in no unit, but on line 2 in ms"}},
		{"failed runs", "metric,pair,base,new,base_ops,new_ops\nfailed runs,1,3,0.5,2,6\nfailed runs,2,0,0,6,6\nfailed runs,3,0,2000,6,2000\n", []string{
			"line 2: base is 3: want how many of base_ops runs failed", "line 2: new is 0.5: want how many of new_ops runs failed", "line 3: pair is 2: want 1",
			"line 4: pair is 3: want 1", "line 4: new is 2000: want how many of new_ops runs failed, at most 1000"}},
		{"nothing withheld", "metric,pair,base,new,withheld\ncapacity,1,1,2,\np95,1,,,\n", []string{"line 3: base is empty", "line 3: new is empty"}},
		{"withheld for long", "metric,pair,base,new,withheld\ncapacity,1,1,2," + strings.Repeat("x", 1001) + "\n", []string{"line 2: withheld is"}},
		{"broken quote", "unit,pair,base,new\nms,1,\"2,3\n", []string{"not a CSV"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows, err := imported.ReadTable(strings.NewReader(tt.in))
			e, ok := errors.AsType[*imported.CSVError](err)
			if !ok || rows != nil {
				t.Fatalf("got %v, %v; want a CSVError alone", rows, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in\n%v", want, err)
				}
			}
			if len(e.Problems) != len(tt.want) {
				t.Errorf("%d problems, want %d:\n%v", len(e.Problems), len(tt.want), err)
			}
		})
	}
}

// FuzzReadTable checks that accepted input has one unit for each metric, each pair once, and is judged without panic.
func FuzzReadTable(f *testing.F) {
	f.Add("metric,unit,pair,base,new\np95,ms,1,2,3\n")
	f.Add("database,pair,base,new\nMySQL,1,>=3,4\nPostgres,1,3,4\n")
	f.Fuzz(func(t *testing.T, in string) {
		rows, err := imported.ReadTable(strings.NewReader(in))
		if err != nil {
			return
		}
		units, seen := map[string]string{}, map[[3]any]bool{}
		for _, r := range rows {
			key := [3]any{r.Metric, r.Database, r.Block}
			if u, ok := units[r.Metric]; ok && u != r.Unit || seen[key] {
				t.Fatalf("%+v: another unit than %q, or twice", r, u)
			}
			units[r.Metric], seen[key] = r.Unit, true
			verdict.Judge(capacity(), []verdict.Pair{r.Pair}, verdict.Options{})
		}
	})
}
