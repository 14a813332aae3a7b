package imported_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

func TestReadTable(t *testing.T) {
	in := "\ufeffunit,new, pair,metric,database,base\nusers,16007,1,capacity,MySQL,14186\nms,\">=130.5\",1,p95,MySQL,120\r\nusers,16942,1,capacity,Postgres,15232\n"
	want := []imported.PairRow{
		{
			Metric:   "capacity",
			Database: "MySQL",
			Unit:     "users",
			Line:     2,
			Pair:     verdict.Pair{Block: 1, Base: 14186, New: 16007},
		},
		{
			Metric:   "p95",
			Database: "MySQL",
			Unit:     "ms",
			Line:     3,
			Pair:     verdict.Pair{Block: 1, Base: 120, New: 130.5, NewCensored: true},
		},
		{
			Metric:   "capacity",
			Database: "Postgres",
			Unit:     "users",
			Line:     4,
			Pair:     verdict.Pair{Block: 1, Base: 15232, New: 16942},
		},
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
	got, err := imported.ReadTable(strings.NewReader(
		"metric,unit,pair,base,new,base_ops,new_ops,withheld\ncapacity,users,1,,,,,every search was unstable\nfailed runs,runs,1,0,2,6,8,\np95,ms,1,2,3,,,two are void\n",
	))
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	if got[0].HasPair() || got[0].Withheld != "every search was unstable" || got[1].HasPair() ||
		!got[2].HasPair() ||
		got[2].Withheld != "two are void" {
		t.Errorf("%+v", got)
	}
	if base, fresh := got[1].Attempts(); base.Runs != 6 || base.Failed != 0 || fresh.Runs != 8 ||
		fresh.Failed != 2 {
		t.Errorf("%+v, %+v", base, fresh)
	}
}

// FuzzReadTable checks that accepted input has one unit for each metric, each pair once, and is
// judged and printed without panic.
func FuzzReadTable(f *testing.F) {
	for _, seed := range []string{
		"metric,unit,pair,base,new\np95,ms,1,2,3\n", "database,pair,base,new\nMySQL,1,>=3,4\nPostgres,1,3,4\n",
		"pair,base,new\n1,14186,16007\n2,14989,16371\n", "pair,base,new\n1,>=20000,1e-3\n", "\ufeffpair,base,new\r\n7,0,.5\r\n",
		"pair,base,new\n1,\"2\n3\",4\n", "pair,base,new\n1,1,1\n2,1,1\n3,1,1\n4,1,1\n5,1,1\n6,1,1\n7,1e15,1e-15\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		rows, err := imported.ReadTable(strings.NewReader(in))
		if err != nil {
			if rows != nil || err.Error() == "" {
				t.Fatalf("%d rows and the error %q", len(rows), err)
			}
			return
		}
		units := map[string]string{}
		seen := map[[3]any]bool{}
		of := map[string][]verdict.Pair{}
		for _, r := range rows {
			key := [3]any{r.Metric, r.Database, r.Block}
			if u, ok := units[r.Metric]; ok && u != r.Unit || seen[key] {
				t.Fatalf("%+v: another unit than %q, or twice", r, u)
			}
			units[r.Metric], seen[key] = r.Unit, true
			if r.HasPair() {
				of[r.Metric+"\x00"+r.Database] = append(of[r.Metric+"\x00"+r.Database], r.Pair)
			}
		}
		for _, pairs := range of {
			for _, e := range []plan.Endpoint{capacity, failures} {
				r := verdict.Judge(e, pairs, verdict.Options{})
				v := verdict.Combine("fuzz", []verdict.Result{r})
				if r.N < 6 &&
					(r.Kind != verdict.Invalid && r.Kind != verdict.Inconclusive || v.Kind == verdict.Worse) {
					t.Fatalf("%d pairs are %s", r.N, r.Kind)
				}
				if _, err := v.Results[0].MarshalJSON(); err != nil {
					t.Fatal(err)
				}
				if err := verdict.Text(io.Discard, r); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
