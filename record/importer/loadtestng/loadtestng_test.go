package loadtestng_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/record"
	"plimsoll/record/importer/loadtestng"
)

const ruler = "=================================================="

// text has the form that the command writes, a result's first lines run together as there.
const text = ruler + "Comparison result:Report: report_0_mysql_unbounded.md\nGrafana Dashboard: http://grafana/d/1\n" +
	"v9.11.16:\n  Type: unbounded\n  DB Engine: mysql\n  Supported Users: 14186\n  Errors: 3\n" +
	"v10.5.7:\n  Type: unbounded\n  DB Engine: mysql\n  Supported Users: 16007\n  Errors: 4\n" + ruler + "\n\n" +
	ruler + "Comparison result:Report: report_1_postgresql_bounded_7500.md\nGrafana Dashboard: \n" +
	"v9.11.16:\n  Type: bounded\n  DB Engine: postgresql\n  Duration: 1h30m0s\n  Users: 7500\n  Errors: 0\n" +
	"v10.5.7:\n  Type: bounded\n  DB Engine: postgresql\n  Duration: 1h30m0s\n  Users: 7500\n  Errors: 0\n" + ruler + "\n\n"

const comparison = `{"DeploymentInfo": {"AppInstanceCount": 2}, "Results": [{"LoadTests": [
  {"Failed": false, "Label": "v9.11.16", "Config": {"Type": "unbounded", "DBEngine": "mysql", "NumUsers": 0, "Duration": ""},
   "Status": {"State": "done", "StartTime": "2025-05-05T10:00:00Z", "StopTime": "2025-05-05T11:00:00Z", "SupportedUsers": 14186, "NumErrors": 3}},
  {"Failed": false, "Label": "v10.5.7", "Config": {"Type": "unbounded", "DBEngine": "mysql", "NumUsers": 0, "Duration": ""},
   "Status": {"State": "done", "StartTime": "2025-05-05T12:00:00Z", "StopTime": "2025-05-05T13:00:00Z", "SupportedUsers": 16007, "NumErrors": 4}}],
  "Report": "", "DashboardURL": ""}]}`

// report has Prometheus' way of writing numbers: values as strings, times not.
const reportText = `{"Label": "v10.5.7", "StartTime": "2025-05-05T10:00:00Z", "EndTime": "2025-05-05T10:00:10Z",
  "AvgStoreTimes": {"ChannelStore.Get": "0.0012"}, "P99StoreTimes": {"ChannelStore.Get": "0.0049"},
  "AvgAPITimes": {"createPost": "0.021", "getUser": "0.004"}, "P99APITimes": {"createPost": "0.21"},
  "Graphs": [{"Name": "CPU Utilization", "Values": [[1746439200, "12"]]},
    {"Name": "Avg API times", "Values": [[1746439200, "0.010"], [1746439205, "0.014"]]},
    {"Name": "P99 API times", "Values": [[1746439200.5, "0.1"], [1746439205.5, "0.3"]]}]}`

func TestReadResults(t *testing.T) {
	unbounded := []record.Imported{
		{
			Source:   "f",
			Tool:     "load-test-ng",
			Arm:      "base",
			Label:    "v9.11.16",
			Database: "MySQL",
			Test:     "unbounded",
			Figures: []record.Figure{{
				Name:  "capacity",
				Value: 14186,
				Unit:  "users",
				Line:  6,
			}, {Name: "number of errors (unbounded)", Value: 3, Line: 6, Aside: true}},
		},
		{
			Source:   "f",
			Tool:     "load-test-ng",
			Arm:      "new",
			Label:    "v10.5.7",
			Database: "MySQL",
			Test:     "unbounded",
			Figures: []record.Figure{{
				Name:  "capacity",
				Value: 16007,
				Unit:  "users",
				Line:  11,
			}, {Name: "number of errors (unbounded)", Value: 4, Line: 11, Aside: true}},
		},
	}
	got, err := loadtestng.Read("f", []byte(text))
	if err != nil || len(got) != 4 || !loadtestng.Detect([]byte(text)) {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(unbounded, got[:2]); diff != "" {
		t.Errorf("results.txt (-want +got):\n%s", diff)
	}
	if g := got[3]; g.Arm != "new" || g.Database != "Postgres" ||
		g.Test != "bounded, 7500 users, 1h30m0s" ||
		len(g.Figures) != 1 ||
		!g.Figures[0].Aside {
		t.Errorf("bounded: %+v", g)
	}
	got, err = loadtestng.Read("f", []byte(comparison))
	if err != nil || !loadtestng.Detect([]byte(comparison)) {
		t.Fatal(err)
	}
	for i := range unbounded {
		for k := range unbounded[i].Figures {
			unbounded[i].Figures[k].Line = 0
		}
	}
	if diff := cmp.Diff(unbounded, got); diff != "" {
		t.Errorf("comparison.json (-want +got):\n%s", diff)
	}
}

func TestReadReport(t *testing.T) {
	got, err := loadtestng.Read("f", []byte(reportText))
	if err != nil || len(got) != 1 || !loadtestng.Detect([]byte(reportText)) {
		t.Fatal(got, err)
	}
	for name, want := range map[string]float64{
		"mean":                   12,
		"p99":                    200,
		"mean(createPost)":       21,
		"p99(createPost)":        210,
		"mean(getUser)":          4,
		"mean(ChannelStore.Get)": 1.2,
		"p99(ChannelStore.Get)":  4.9,
	} {
		f, ok := got[0].Figure(name)
		if !ok || f.Value < want-1e-9 || f.Value > want+1e-9 || f.Unit != "ms" ||
			f.Aside != strings.Contains(name, "(") {
			t.Errorf("%s: %+v, want %v ms", name, f, want)
		}
	}
	if len(got[0].Warnings) != 1 || got[0].Label != "v10.5.7" || got[0].Arm != "" {
		t.Errorf("%+v", got[0])
	}
}

// Published results files put line breaks around the ruler, have lost their first bytes or the
// ruler at the end of a failed deployment, or carry notes behind the results. All results of each
// are read, and what is not is named.
func TestReadPublishedShapes(t *testing.T) {
	want, err := loadtestng.Read("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	const failed = ruler + "\nDeployment 1: No results generated\n" + ruler + "\n\n"
	second := strings.Index(text, ruler+"Comparison result:Report: report_1")
	for name, tt := range map[string]struct{ in, warning string }{
		"line breaks":        {strings.NewReplacer(ruler+"Comparison result:Report", ruler+"\nComparison result:\nReport").Replace(text), ""},
		"some line breaks":   {strings.NewReplacer(ruler+"Comparison result:Report: report_1", ruler+"\nComparison result:Report: report_1").Replace(text), ""},
		"no last line break": {strings.TrimSpace(text), ""},
		"carriage returns":   {strings.ReplaceAll(text, "\n", "\r\n"), ""},
		"first bytes lost":   {"omparison result:\n" + strings.TrimPrefix(text, ruler+"Comparison result:"), "from line 1 on, lines outside of the results were not read: 1"},
		"notes":              {text + "mysql unbounded\nBase: 14186\nNew:  16007\n", "from line 31 on, lines outside of the results were not read: 3"},
		"failed deployment":  {text[:second] + failed + text[second:], "line 16: Deployment 1: No results generated: one of its load tests failed, and it is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := loadtestng.Read("f", []byte(tt.in))
			if err != nil || len(got) != len(want) || !loadtestng.Detect([]byte(tt.in)) {
				t.Fatal(got, err)
			}
			if warned := strings.Join(got[0].Warnings, "\n"); warned != tt.warning {
				t.Errorf("warnings %q, want %q", warned, tt.warning)
			}
			for i, g := range got {
				if f, w := g.Figures[0], want[i].Figures[0]; g.Label != want[i].Label ||
					f.Name != w.Name ||
					f.Value != w.Value {
					t.Errorf("run %d is %+v, want %+v", i, g, want[i])
				}
			}
		})
	}
	half := strings.Replace(
		comparison,
		`"Results": [`,
		`"Results": [{"LoadTests": [{"Failed": true}, {"Failed": true}]}, `,
		1,
	)
	if got, err := loadtestng.Read("f", []byte(half)); err != nil || len(got) != 2 ||
		len(got[0].Warnings) != 1 {
		t.Errorf("comparison.json with a failed deployment: %+v, %v", got, err)
	}
}

// A minute without requests has no times: Prometheus writes NaN.
func TestReadReportWithoutRequests(t *testing.T) {
	in := strings.NewReplacer(`"0.014"`, `"NaN"`, `"0.21"`, `"NaN"`).Replace(reportText)
	got, err := loadtestng.Read("f", []byte(in))
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if f, _ := got[0].Figure("mean"); f.Value != 10 {
		t.Errorf("mean %+v, want 10 ms of the other value", f)
	}
	if _, ok := got[0].Figure("p99(createPost)"); ok {
		t.Error("p99(createPost) is a number")
	}
	warned := strings.Join(got[0].Warnings, "\n")
	for _, want := range []string{"1 of 2 values of the graph Avg API times are NaN", "without a time (NaN): p99(createPost)"} {
		if !strings.Contains(warned, want) {
			t.Errorf("warnings %q, want %q", warned, want)
		}
	}
}

func TestReadProblems(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"empty":         {"", "there is no result"},
		"other JSON":    {`{"a": 1}`, "neither comparison.json (Results) nor a report"},
		"failed":        {ruler + "\nDeployment 3: No results generated\n" + ruler + "\n", "line 2: Deployment 3: No results generated"},
		"one arm":       {strings.Replace(text, "v10.5.7:\n  Type: unbounded\n  DB Engine: mysql\n  Supported Users: 16007\n  Errors: 4\n", "", 1), "line 8: 1 load tests in a result, want base and new"},
		"truncated":     {text[:strings.LastIndex(text, ruler)], "the last result has no ruler (===) at its end: the file is truncated"},
		"no users":      {strings.Replace(text, "  Supported Users: 16007\n", "", 1), "v10.5.7 ends without Supported Users"},
		"no type":       {strings.Replace(text, "  Type: unbounded\n", "", 1), "v9.11.16 ends without Type"},
		"other type":    {strings.Replace(text, "unbounded\n  DB", "endless\n  DB", 1), `want bounded or unbounded`},
		"no number":     {strings.Replace(text, "16007", "many", 1), `line 11: Supported Users is "many"`},
		"found nothing": {strings.Replace(text, "16007", "0", 1), "line 11: v10.5.7 on mysql has 0 supported users"},
		"failed test":   {strings.Replace(comparison, `"Failed": false`, `"Failed": true`, 1), "result 0: one of its load tests failed, and it is left out: there is no other result"},
		"running":       {strings.Replace(comparison, `"done"`, `"running"`, 1), "still running: the run is truncated"},
		"no results":    {`{"Results": []}`, "there is no result"},
		"no graphs":     {`{"AvgAPITimes": {"a": "1"}}`, "no graph Avg API times"},
		"infinite":      {strings.Replace(reportText, `"0.021"`, `"+Inf"`, 1), "mean(createPost) is no number"},
		"only NaN":      {strings.NewReplacer(`"0.010"`, `"NaN"`, `"0.014"`, `"NaN"`, `"0.1"`, `"NaN"`, `"0.3"`, `"NaN"`).Replace(reportText), "no graph Avg API times or P99 API times with a value"},
		"no ruler":      {strings.Replace(text, "\n"+ruler+"\n\n"+ruler, "\n", 1), "line 13: a result begins inside another one"},
		"no beginning":  {text[strings.Index(text, "v9"):], `line 2: "  Type: unbounded" stands outside of a result: a line "Comparison result:" is missing before it`},
		"field twice":   {strings.Replace(text, "  Errors: 3\n", "  Errors: 3\n  Errors: 3\n", 1), "line 8: Errors of v9.11.16 is there twice"},
		"text":          {strings.Replace(reportText, `"0.021"`, `"fast"`, 1), "line 3: \"\\\"fast\\\"\" is no number"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := loadtestng.Read("f", []byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// FuzzRead checks that accepted input passes the check of its numbers, and that results come in
// pairs of arms.
func FuzzRead(f *testing.F) {
	f.Add(text)
	f.Add(comparison)
	f.Add(reportText)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := loadtestng.Read("f", []byte(in))
		if err != nil {
			return
		}
		for i, g := range got {
			if err := g.Check(); err != nil {
				t.Fatalf("%+v: %v", g, err)
			}
			if want := []string{record.ImportedBase, record.ImportedNew}[i%2]; g.Tool == loadtestng.Tool &&
				(g.Arm != want || len(got)%2 != 0) {
				t.Fatalf("run %d of %d is of arm %q", i, len(got), g.Arm)
			}
		}
	})
}
