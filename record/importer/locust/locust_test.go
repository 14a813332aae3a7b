package locust_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"plimsoll/record/importer/locust"
)

// The file is of Locust 2.47.0 against a server on the same host.
func TestRead(t *testing.T) {
	data, err := os.ReadFile("testdata/stats.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !locust.Detect(data) {
		t.Error("not detected")
	}
	got, err := locust.Read("stats.csv", data)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	want := map[string]float64{
		"throughput":     217.6587942007342,
		"p95":            14,
		"p99":            18,
		"errors":         0,
		"mean":           12.2,
		"p50":            12,
		"p95(POST post)": 14,
		"p95(GET read)":  14,
	}
	for name, v := range want {
		f, ok := got[0].Figure(name)
		if !ok || math.Abs(f.Value-v) > 0.01*v ||
			f.Aside != (name == "p50" || strings.Contains(name, "(")) ||
			f.Line == 0 {
			t.Errorf("%s: %+v, want about %v", name, f, v)
		}
		if rounded := name == "p50" || name == "p95" || name == "p99"; (f.Step == 1) != rounded {
			t.Errorf("%s is rounded to %v", name, f.Step)
		}
	}
	if len(got[0].Figures) != len(want) {
		t.Errorf("%d figures, want %d", len(got[0].Figures), len(want))
	}
	if f, _ := got[0].Figure("p95"); f.Line != 4 || f.Ops != 869 {
		t.Errorf("p95 %+v: want line 4 and 869 requests", f)
	}
}

const header = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,95%,99%\n"

func TestErrorsAndSteps(t *testing.T) {
	for _, tt := range []struct {
		p95  string
		step float64
	}{{"99", 1}, {"120", 10}, {"1200", 100}, {"12000", 1000}} {
		got, err := locust.Read("a.csv", []byte(
			header+"POST,post,0,0,0,0,0,0,0,0,0,N/A,N/A,N/A\n,Aggregated,2000,50,90,95.5,1,2,3,10,1,90,"+tt.p95+",13000\n",
		))
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := got[0].Figure("errors"); f.Value != 2.5 || f.Unit != "%" {
			t.Errorf("errors %+v", f)
		}
		if f, _ := got[0].Figure("p95"); f.Step != tt.step {
			t.Errorf("p95 of %s ms is rounded to %v", tt.p95, f.Step)
		}
		if _, ok := got[0].Figure("p95(POST post)"); ok {
			t.Error("a name without a request has a percentile")
		}
	}
}

// Locust before 1.0 has other names for columns and for the row of all requests; a test chooses its
// percentiles; spreadsheets quote fields, or separate them by semicolons.
func TestReadShapes(t *testing.T) {
	const row = ",900,3,12,12.5,8,60,310,30,0.1,12,22,40\n"
	whole := header + "GET,/api/a" + row + ",Aggregated" + row
	const old = `"Type","Name","# requests","# failures","Median response time","Average response time","Min response time",` +
		`"Max response time","Average Content Size","Requests/s","Requests Failed/s","50%","95%","99%"` + "\n"
	quoted := `"` + strings.NewReplacer(",", `","`, "\n", "\"\n\"").
		Replace(strings.TrimSpace(whole)) +
		"\"\n"
	for name, in := range map[string]string{
		"of today":          whole,
		"quoted":            quoted,
		"semicolons":        "\ufeff" + strings.ReplaceAll(whole, ",", ";"),
		"before 1.0":        old + "GET,/api/a" + row + "None,Total" + row,
		"before 0.14":       strings.Replace(old, "Type", "Method", 1) + "GET,/api/a" + row + `"None","Total"` + row,
		"other percentiles": strings.NewReplacer("99%", "90%").Replace(whole),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := locust.Read("a.csv", []byte(in))
			if err != nil || len(got) != 1 || !locust.Detect([]byte(in)) {
				t.Fatal(got, err)
			}
			want := map[string]float64{
				"throughput":      30,
				"mean":            12.5,
				"p95":             22,
				"p99":             40,
				"errors":          1.0 / 3,
				"p95(GET /api/a)": 22,
			}
			warned := strings.Join(got[0].Warnings, "\n")
			if name == "other percentiles" {
				delete(want, "p99")
				if warned != "Locust wrote no 99%: add 0.99 to PERCENTILES_TO_REPORT" {
					t.Errorf("warnings %q", warned)
				}
			} else if warned != "" {
				t.Errorf("warnings %q, want none", warned)
			}
			for figure, v := range want {
				if f, ok := got[0].Figure(figure); !ok || math.Abs(f.Value-v) > 1e-9 {
					t.Errorf("%s: %+v, want %v", figure, f, v)
				}
			}
			if len(got[0].Figures) != len(want)+1 { // p50
				t.Errorf("figures %+v", got[0].Figures)
			}
		})
	}
}

func TestReadProblems(t *testing.T) {
	history, err := os.ReadFile("testdata/history.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ in, want string }{
		"empty":                       {"", "the file is empty"},
		"history":                     {string(history), "this is Locust's history"},
		"failures":                    {"Method,Name,Error,Occurrences\n", `the column "Request Count" is missing`},
		"no total":                    {header + "POST,post,10,0,1,1,1,1,1,1,0,1,1,1\n", "no row Aggregated or Total: the file is truncated"},
		"half a line":                 {header + ",Aggregated,10,0,1", "line 2: 5 fields where the header has 14: the file is truncated"},
		"no requests":                 {header + ",Aggregated,0,0,0,0,0,0,0,0,0,N/A,N/A,N/A\n", "line 2: Request Count is 0"},
		"broken quote":                {header + ",\"Aggregated,0\n", "not a CSV"},
		"more failures than requests": {header + ",Aggregated,10,11,1,1,1,1,1,1,0,1,1,1\n", "line 2: errors is 110"},
		"NaN":                         {header + ",Aggregated,10,0,1,NaN,1,1,1,1,0,1,1,1\n", "line 2: mean is no number"},
		"twice":                       {header + strings.Repeat(",Aggregated,10,0,1,1,1,1,1,1,0,1,1,1\n", 2), "throughput is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := locust.Read("a.csv", []byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// FuzzRead checks that accepted input passes the check of its numbers.
func FuzzRead(f *testing.F) {
	f.Add(header + "POST,post,10,1,1,1,1,1,1,1,0,1,1,1\n,Aggregated,10,1,1,1,1,1,1,1,0,1,1,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := locust.Read("a.csv", []byte(text))
		if err != nil {
			return
		}
		if len(got) != 1 || got[0].Check() != nil || got[0].Tool != locust.Tool {
			t.Fatalf("%+v", got)
		}
		if f, ok := got[0].Figure("errors"); !ok || f.Ops <= 0 {
			t.Fatalf("errors %+v", f)
		}
	})
}
