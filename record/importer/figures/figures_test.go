package figures_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/record"
	"plimsoll/record/importer/figures"
)

func TestRead(t *testing.T) {
	const text = `{
  "label": "v11.1.0", "database": "Postgres", "test": "unbounded",
  "figures": [
    {"name": "capacity", "value": 20000, "unit": "users", "at_least": true},
    {"name": "p95(post)", "value": 181.5, "unit": "ms",
     "operations": 120000}, {"name": "p95(read)", "value": 3, "unit": "ms", "aside": true}
  ]
}`
	got, err := figures.Read("f", []byte(text))
	if err != nil || !figures.Detect([]byte(text)) {
		t.Fatal(err)
	}
	want := []record.Imported{{
		Source:   "f",
		Tool:     "figures",
		Label:    "v11.1.0",
		Database: "Postgres",
		Test:     "unbounded",
		Figures: []record.Figure{
			{Name: "capacity", Value: 20000, Unit: "users", Line: 4, AtLeast: true},
			{Name: "p95(post)", Value: 181.5, Unit: "ms", Line: 5, Ops: 120000},
			{Name: "p95(read)", Value: 3, Unit: "ms", Line: 6, Aside: true},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadProblems(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"none":        {`{"figures": []}`, "there is no figure in it"},
		"unknown key": {`{"figures": [], "when": 1}`, `unknown field "when"`},
		"key of one":  {"{\"figures\": [\n{\"name\": \"p95\", \"valu\": 3}]}", `line 2: unknown field "valu"`},
		"no value":    {"{\"figures\": [\n\n{\"name\": \"p95\"}]}", `line 3: "p95" has no value`},
		"no name":     {`{"figures": [{"value": 3}]}`, "line 1: a figure has no name"},
		"twice":       {"{\"figures\": [{\"name\": \"p95\", \"value\": 3},\n{\"name\": \"p95\", \"value\": 3}]}", "line 2: p95 is there twice"},
		"negative":    {`{"figures": [{"name": "p95", "value": -3}]}`, "line 1: p95 is -3: it cannot be negative"},
		"operations":  {`{"figures": [{"name": "p99", "value": 3, "operations": -5}]}`, "line 1: p99 is of -5 operations: they cannot be fewer than none"},
		"NaN":         {"{\"figures\": [\n{\"name\": \"p95\", \"value\": NaN}]}", "line 2: NaN is no number"},
		"truncated":   {"{\"figures\": [\n{\"name\": \"p95\"", "line 2: the JSON ends in the middle: the file is truncated"},
		"more behind": {`{"figures": [{"name": "p95", "value": 3}]} {}`, "line 1: not JSON"},
		"a list":      {`[1]`, "is a JSON array, want struct"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := figures.Read("f", []byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// FuzzRead checks that accepted input passes the check of its numbers, and that each figure is on a
// line of the text.
func FuzzRead(f *testing.F) {
	f.Add(
		"{\"figures\": [\n{\"name\": \"p95\", \"value\": 3}, {\"name\": \"mean\", \"value\": 3}]}",
	)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := figures.Read("f", []byte(text))
		if err != nil {
			return
		}
		if len(got) != 1 || got[0].Check() != nil {
			t.Fatalf("%+v", got)
		}
		for _, f := range got[0].Figures {
			if f.Line < 1 || f.Line > 1+strings.Count(text, "\n") {
				t.Fatalf("%+v is not on a line", f)
			}
		}
	})
}
