package verdict_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func capacity() plan.Endpoint {
	return plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}
}

func latency() plan.Endpoint {
	return plan.Endpoint{Name: "p95(post)", Better: plan.Lower, Margin: 0.10, Unit: "ms"}
}

func failures() plan.Endpoint {
	return plan.Endpoint{Name: "errors", Better: plan.Lower, Margin: 0.1, Absolute: true, Unit: "%"}
}

// rows reads pairs the way the judge verb does.
func rows(t testing.TB, lines ...string) []verdict.Pair {
	t.Helper()
	rows, err := imported.ReadTable(
		strings.NewReader("pair,base,new\n" + strings.Join(lines, "\n")),
	)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []verdict.Pair
	for _, row := range rows {
		pairs = append(pairs, row.Pair)
	}
	return pairs
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf(
			"%s differs (rewrite with -update and read the diff)\ngot:\n%s\nwant:\n%s",
			file,
			got,
			want,
		)
	}
}

// TestText shows one screen per situation that a reader can meet.
func TestText(t *testing.T) {
	look := atLook(1)
	tests := []struct {
		name     string
		endpoint plan.Endpoint
		rows     []string
		options  verdict.Options
		kind     verdict.Kind
		status   int
	}{
		{"none", capacity(), nil, verdict.Options{}, verdict.Invalid, 5},
		// The three published comparisons with one run per arm, and the one with two.
		{
			"one-mysql",
			capacity(),
			[]string{"1,16347,16301"},
			verdict.Options{},
			verdict.Inconclusive,
			4,
		},
		{
			"one-postgres",
			capacity(),
			[]string{"1,17504,17310"},
			verdict.Options{},
			verdict.Inconclusive,
			4,
		},
		{
			"one-v11",
			capacity(),
			[]string{"1,16997,16378"},
			verdict.Options{},
			verdict.Inconclusive,
			4,
		},
		{
			"two",
			capacity(),
			[]string{"1,14186,16007", "2,14989,16371"},
			verdict.Options{},
			verdict.Inconclusive,
			4,
		},
		{
			"five",
			capacity(),
			[]string{"1,1000,901", "2,1010,905", "3,990,900", "4,1000,880", "5,1005,912"},
			verdict.Fixed(6),
			verdict.Inconclusive,
			4,
		},
		{
			"worse",
			capacity(),
			[]string{
				"1,16997,15200",
				"2,16850,15310",
				"3,17102,15266",
				"4,16940,15020",
				"5,17011,15502",
				"6,16899,15190",
			},
			verdict.Fixed(6),
			verdict.Worse,
			3,
		},
		{
			"worse-latency",
			latency(),
			[]string{
				"1,101.2,124.9",
				"2,99.7,130.1",
				"3,104.4,126.3",
				"4,98.2,119.8",
				"5,102.6,127.7",
				"6,100.9,131.5",
			},
			verdict.Fixed(6),
			verdict.Worse,
			3,
		},
		{
			"same",
			capacity(),
			[]string{
				"1,16997,16950",
				"2,16850,17010",
				"3,17102,16866",
				"4,16940,17020",
				"5,17011,16902",
				"6,16899,16990",
			},
			verdict.Fixed(6),
			verdict.Same,
			0,
		},
		{
			"same-shifted",
			capacity(),
			[]string{
				"1,17000,16710",
				"2,16850,16540",
				"3,17100,16800",
				"4,16940,16590",
				"5,17010,16760",
				"6,16900,16580",
			},
			verdict.Fixed(6),
			verdict.Same,
			0,
		},
		{
			"better",
			capacity(),
			[]string{
				"1,14186,16007",
				"2,14989,16371",
				"3,14550,16220",
				"4,14410,15990",
				"5,14720,16400",
				"6,14600,16105",
			},
			verdict.Fixed(6),
			verdict.Better,
			0,
		},
		{
			"inconclusive",
			capacity(),
			[]string{
				"1,1000,1040",
				"2,1000,930",
				"3,1000,1020",
				"4,1000,900",
				"5,1000,1060",
				"6,1000,965",
			},
			verdict.Fixed(6),
			verdict.Inconclusive,
			4,
		},
		{
			"inconclusive-look",
			capacity(),
			[]string{
				"1,1000,1040",
				"2,1000,930",
				"3,1000,1020",
				"4,1000,900",
				"5,1000,1060",
				"6,1000,965",
			},
			look,
			verdict.Inconclusive,
			4,
		},
		{
			"outlier-sensitive",
			capacity(),
			[]string{
				"1,1000,1005",
				"2,1000,996",
				"3,1000,1002",
				"4,1000,740",
				"5,1000,999",
				"6,1000,1004",
			},
			verdict.Fixed(6),
			verdict.Inconclusive,
			4,
		},
		{
			"censored-worse",
			capacity(),
			[]string{
				"1,>=5000,4100",
				"2,>=5000,4180",
				"3,4950,4120",
				"4,>=5000,4060",
				"5,4990,4210",
				"6,>=5000,4150",
			},
			verdict.Fixed(6),
			verdict.Worse,
			3,
		},
		{
			"censored-both",
			capacity(),
			[]string{
				"1,>=5000,>=5000",
				"2,>=5000,>=5000",
				"3,4950,>=5000",
				"4,>=5000,>=5000",
				"5,>=5000,>=5000",
				"6,>=5000,>=5000",
			},
			verdict.Fixed(6),
			verdict.Inconclusive,
			4,
		},
		{
			"errors-worse",
			failures(),
			[]string{"1,0,0.41", "2,0.01,0.38", "3,0,0.44", "4,0.02,0.37", "5,0,0.45", "6,0,0.40"},
			verdict.Fixed(6),
			verdict.Worse,
			3,
		},
		{
			"errors-none",
			failures(),
			[]string{"1,0,0", "2,0,0", "3,0,0", "4,0,0", "5,0,0", "6,0,0"},
			verdict.Fixed(6),
			verdict.Inconclusive,
			4,
		},
		{"zero", capacity(), []string{"1,1000,0"}, verdict.Options{}, verdict.Invalid, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var pairs []verdict.Pair
			if len(tt.rows) > 0 {
				pairs = rows(t, tt.rows...)
			}
			r := verdict.Judge(tt.endpoint, pairs, tt.options)
			if r.Kind != tt.kind || r.Kind.ExitStatus() != tt.status {
				t.Errorf(
					"got %s with status %d, want %s with %d (%s)",
					r.Kind,
					r.Kind.ExitStatus(),
					tt.kind,
					tt.status,
					r.Reason,
				)
			}
			if r.Indicative != (r.N > 0 && r.N < 6 && r.Kind != verdict.Invalid) {
				t.Errorf("indicative is %v with %d pairs", r.Indicative, r.N)
			}
			var b bytes.Buffer
			if err := verdict.Text(&b, r); err != nil {
				t.Fatal(err)
			}
			golden(t, "text-"+tt.name, b.Bytes())
		})
	}
}

// TestTextOfManyPairs checks that a result fits a screen.
func TestTextOfManyPairs(t *testing.T) {
	var pairs []verdict.Pair
	for i := range 40 {
		pairs = append(pairs, verdict.Pair{
			Block: i + 1,
			Base:  1000 + float64(i),
			New:   990 + float64(i*7%5)*4 + float64(i),
		})
	}
	var b bytes.Buffer
	if err := verdict.Text(&b, verdict.Judge(capacity(), pairs, verdict.Fixed(40))); err != nil {
		t.Fatal(err)
	}
	golden(t, "text-many", b.Bytes())
}
