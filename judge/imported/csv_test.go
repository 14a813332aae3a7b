package imported_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// readPairs reads a table of one metric.
func readPairs(r io.Reader) (pairs []verdict.Pair, err error) {
	rows, err := imported.ReadTable(r)
	for _, row := range rows {
		pairs = append(pairs, row.Pair)
	}
	return pairs, err
}

func TestReadCSV(t *testing.T) {
	tests := []struct {
		name, in string
		want     []verdict.Pair
	}{
		{"plain", "pair,base,new\n1,14186,16007\n2,14989,16371\n", []verdict.Pair{{
			Block: 1,
			Base:  14186,
			New:   16007,
		}, {Block: 2, Base: 14989, New: 16371}}},
		{"no newline at the end", "pair,base,new\n3,0.5,1e3", []verdict.Pair{{
			Block: 3,
			Base:  0.5,
			New:   1000,
		}}},
		{"carriage returns", "pair,base,new\r\n1,2,3\r\n", []verdict.Pair{{
			Block: 1,
			Base:  2,
			New:   3,
		}}},
		{"byte order mark", "\ufeffpair,base,new\n1,2,3\n", []verdict.Pair{{
			Block: 1,
			Base:  2,
			New:   3,
		}}},
		{"spaces and quotes", "pair, base ,new\n 1 ,\"2\", 3\n", []verdict.Pair{{
			Block: 1,
			Base:  2,
			New:   3,
		}}},
		{"blank lines", "pair,base,new\n\n1,2,3\n\n", []verdict.Pair{{Block: 1, Base: 2, New: 3}}},
		{"at least", "pair,base,new\n1,>=20000,>= 19000\n", []verdict.Pair{{
			Block:        1,
			Base:         20000,
			New:          19000,
			BaseCensored: true,
			NewCensored:  true,
		}}},
		{"semicolons", "pair;base;new\n3;5;6\n", []verdict.Pair{{Block: 3, Base: 5, New: 6}}},
		{"tabs", "new\tbase\n6\t5\n", []verdict.Pair{{Block: 1, Base: 5, New: 6}}},
		{"pairs in their order", "base,new\n14186,16007\n14989,16371\n", []verdict.Pair{{
			Block: 1,
			Base:  14186,
			New:   16007,
		}, {Block: 2, Base: 14989, New: 16371}}},
		{"zero", "pair,base,new\n1,0,-0\n", []verdict.Pair{{Block: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readPairs(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pairs differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadTableProblems(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"empty", "", []string{"the input is empty: want a header with base and new"}},
		{"header only", "pair,base,new\n", []string{"there is no pair below the header"}},
		{
			"no header",
			"1,14186,16007\n",
			[]string{`line 1: the header is "1,14186,16007": want the columns base and new`},
		},
		{
			"decimal commas",
			"base;new\n2,5;3\n",
			[]string{`line 2: base is "2,5": want a decimal number such as 16007 or 12.5`},
		},
		{"all at once", "pair,base,new\n1,2\nx,2,3\n1,abc,-4\n1,1,1\n", []string{
			"line 2: 2 fields: the header has 3 (pair,base,new)", `line 3: pair is "x": want a whole number from 1`, `line 4: base is "abc": want a decimal number`,
			`line 4: new is "-4": want a number from 0 to 1e+15`, "line 5: pair 1 was already on line 4"}},
		{
			"thousands",
			"pair,base,new\n1,14,186,16,007\n",
			[]string{"line 2: 5 fields: the header has 3 (pair,base,new)"},
		},
		{
			"NaN",
			"pair,base,new\n1,NaN,Inf\n",
			[]string{`line 2: base is "NaN"`, `line 2: new is "Inf"`},
		},
		{
			"hexadecimal",
			"pair,base,new\n1,0x1p4,1_0\n",
			[]string{`line 2: base is "0x1p4"`, `line 2: new is "1_0"`},
		},
		{
			"too large",
			"pair,base,new\n1,1e300,1e999\n",
			[]string{`line 2: base is "1e300": want a number from 0`, `line 2: new is "1e999"`},
		},
		{
			"too small",
			"pair,base,new\n1,1e-300,1\n",
			[]string{`line 2: base is "1e-300": want 0 or a number from 1e-15`},
		},
		{
			"empty fields",
			"pair,base,new\n,,\n1,2,3\n",
			[]string{`line 2: pair is ""`, "line 2: base is empty", "line 2: new is empty"},
		},
		{
			"empty base",
			"pair,base,new\n1,,3\n2, ,4\n",
			[]string{"the arm base is empty: no line has a number of it"},
		},
		{
			"empty new",
			"pair,base,new\n1,2,\n2,3,\n",
			[]string{"the arm new is empty: no line has a number of it"},
		},
		{
			"both arms empty",
			"pair,base,new\n1,,\n",
			[]string{
				"the arm base is empty: no line has a number of it",
				"the arm new is empty: no line has a number of it",
			},
		},
		{"empty arm among others", "pair,base,new\nx,,3\n2,,-4\n3\n", []string{
			"the arm base is empty: no line has a number of it", `line 2: pair is "x"`, `line 3: new is "-4"`, "line 4: 1 field: the header has 3"}},
		{"pair zero", "pair,base,new\n0,1,1\n", []string{`line 2: pair is "0"`}},
		{"pair with fraction", "pair,base,new\n1.5,1,1\n", []string{`line 2: pair is "1.5"`}},
		{"broken quote", "pair,base,new\n1,\"2,3\n", []string{"not a CSV"}},
		{"at most", "pair,base,new\n1,<=5,1\n", []string{`line 2: base is "<=5"`}},
		{"control characters", "pair,base,new\n1,\x1b[2J,1\n", []string{`base is "\x1b[2J"`}},
		{
			"long field",
			"pair,base,new\n1," + strings.Repeat("é", 900) + ",1\n",
			[]string{"éééé…\": want a decimal number"},
		},
		{
			"no column",
			"metric,pair,base\np95,1,2\n",
			[]string{"line 1: the header has no column new"},
		},
		{
			"a pair in two ways",
			"metric,pair,base,new\ncapacity,1,100,101\ncapacity,01,100,90\n",
			[]string{"line 3: pair 1 of capacity was already on line 2"},
		},
		{"column twice", "pair,base,new,base,metric\n", []string{"line 1: the header is"}},
		{"unknown column", "pair,base,new,metrics\n", []string{"line 1: the header is"}},
		{
			"all at once",
			"metric,unit,pair,base,new\np95,ms,1,2,3\np95,s,2,2,3\np95,ms,1,5,6\n,ms,x,-2,NaN\np95,ms,4,,3\np95,ms,5\n",
			[]string{
				"line 3: p95 is in s, but on line 2 in ms: convert one of them", "line 4: pair 1 of p95 was already on line 2", "line 5: metric is empty",
				`line 5: pair is "x"`, `line 5: base is "-2"`, `line 5: new is "NaN"`, "line 7: 3 fields: the header has 5", "line 6: base is empty"},
		},
		{
			"empty arm",
			"database,pair,base,new\nMySQL,1,,3\nPostgres,1,,3\n",
			[]string{"the arm base is empty: no line has a number of it"},
		},
		{
			"unit in one line",
			"unit,pair,base,new\nms,1,2,3\n,2,2,3\n",
			[]string{"line 3: the pair is in no unit, but on line 2 in ms"},
		},
		{
			"failed runs",
			"metric,pair,base,new,base_ops,new_ops\nfailed runs,1,3,0.5,2,6\nfailed runs,2,0,0,6,6\nfailed runs,3,0,2000,6,2000\n",
			[]string{
				"line 2: base is 3: want how many of base_ops runs failed", "line 2: new is 0.5: want how many of new_ops runs failed", "line 3: pair is 2: want 1",
				"line 4: pair is 3: want 1", "line 4: new is 2000: want how many of new_ops runs failed, at most 1000"},
		},
		{
			"nothing withheld",
			"metric,pair,base,new,withheld\ncapacity,1,1,2,\np95,1,,,\n",
			[]string{"line 3: base is empty", "line 3: new is empty"},
		},
		{
			"withheld for long",
			"metric,pair,base,new,withheld\ncapacity,1,1,2," + strings.Repeat("x", 1001) + "\n",
			[]string{"line 2: withheld is"},
		},
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

func TestReadCSVLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("pair,base,new\n")
	for i := range imported.MaxCSVPairs {
		fmt.Fprintf(&b, "%d,1,1\n", i+1)
	}
	if pairs, err := readPairs(strings.NewReader(b.String())); err != nil ||
		len(pairs) != imported.MaxCSVPairs {
		t.Errorf("the largest input: %d pairs, %v", len(pairs), err)
	}
	if _, err := readPairs(strings.NewReader(b.String() + "9999,1,1\n")); err == nil ||
		!strings.Contains(err.Error(), "line 1002: more than 1000 pairs") {
		t.Errorf("one pair more: %v", err)
	}
	if _, err := readPairs(strings.NewReader("pair,base,new\n" + strings.Repeat("\n", imported.MaxCSVBytes))); err == nil ||
		!strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("too many bytes: %v", err)
	}
	_, err := readPairs(strings.NewReader("pair,base,new\n" + strings.Repeat("x\n", 500)))
	if e, ok := errors.AsType[*imported.CSVError](err); !ok || len(e.Problems) != 20 ||
		e.More != 480 ||
		!strings.HasSuffix(err.Error(), "and 480 problems more") {
		t.Errorf("500 problems: %v", err)
	}
	broken := errors.New("the disk is gone")
	if _, err := readPairs(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("an error of the reader: %v", err)
	}
}

func TestParseMargin(t *testing.T) {
	for _, tt := range []struct {
		in       string
		margin   float64
		absolute bool
	}{{"5%", 0.05, false}, {" 12.5 % ", 0.125, false}, {"0.1pp", 0.1, true}, {"2 pp", 2, true}} {
		if margin, absolute, err := imported.ParseMargin(tt.in); err != nil ||
			margin != tt.margin ||
			absolute != tt.absolute {
			t.Errorf("%q: got %v, %v, %v", tt.in, margin, absolute, err)
		}
	}
	for _, in := range []string{"", "5", "%", "0%", "-5%", "100%", "NaN%", "Inf%", "5%%", "0x1%", "pp", "0pp", "five%"} {
		if _, _, err := imported.ParseMargin(in); err == nil ||
			!strings.Contains(
				err.Error(),
				"want a percentage such as 5% or percentage points such as 0.1pp",
			) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if _, err := plan.ParseDirection("up"); err == nil ||
		!strings.Contains(err.Error(), "want higher or lower") {
		t.Errorf("up: %v", err)
	}
	if d, err := plan.ParseDirection("lower"); err != nil || d != plan.Lower {
		t.Errorf("lower: %v, %v", d, err)
	}
}

var (
	capacity = plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}
	failures = plan.Endpoint{
		Name:     "errors",
		Better:   plan.Lower,
		Margin:   0.1,
		Absolute: true,
		Unit:     "%",
	}
)
