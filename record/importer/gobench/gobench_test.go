package gobench_test

import (
	"math"
	"strings"
	"testing"

	"plimsoll/record"
	"plimsoll/record/importer/gobench"
)

const head = "goos: linux\ngoarch: amd64\npkg: plimsoll/a\ncpu: Some CPU @ 2.00GHz\n"

const output = head + "BenchmarkEncode/json-2   \t  690848\t      1726 ns/op\t      64 B/op\t       2 allocs/op\n" +
	"BenchmarkEncode/json-2   \t  684861\t      1724 ns/op\t      64 B/op\t       2 allocs/op\n" +
	"BenchmarkDecode-2        \t  1000\t      10.5 ns/op\nPASS\nok  \tplimsoll/a\t4.2s\n"

func checkFigures(t *testing.T, g record.Imported, want map[string]float64) {
	t.Helper()
	if len(g.Figures) != len(want) {
		t.Errorf("%d figures, want %d: %+v", len(g.Figures), len(want), g.Figures)
	}
	for name, v := range want {
		judged := strings.HasPrefix(name, "mean") || strings.HasPrefix(name, "p50")
		if f, ok := g.Figure(name); !ok || math.Abs(f.Value-v) > 1e-9*v || f.Aside == judged ||
			judged && f.Unit != "ns" ||
			f.Line == 0 {
			t.Errorf("%s: %+v, want %v", name, f, v)
		}
	}
}

func TestRead(t *testing.T) {
	if !gobench.Detect([]byte(output)) || gobench.Detect([]byte("BenchmarkEncode\nPASS\n")) {
		t.Error("not detected")
	}
	got, err := gobench.Read("f", []byte(output))
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	checkFigures(t, got[0], map[string]float64{
		"mean(Encode/json-2)":      1725,
		"B/op(Encode/json-2)":      64,
		"allocs/op(Encode/json-2)": 2,
		"mean(Decode-2)":           10.5,
	})
	if len(got[0].Warnings) != 1 ||
		!strings.HasPrefix(got[0].Warnings[0], "repetitions by -count in one process are one run") {
		t.Errorf("warnings %q", got[0].Warnings)
	}
}

// Each process is a run, also where their outputs are in one file; packages of one go test belong
// to one run.
func TestReadProcesses(t *testing.T) {
	one := func(ns string) string {
		return head + "BenchmarkEncode-2 100 " + ns + " ns/op\nPASS\nok  \tplimsoll/a\t1s\n" +
			strings.Replace(head, "plimsoll/a", "plimsoll/b", 1) +
			"BenchmarkEncode-2 100 7 ns/op\nPASS\nok  \tplimsoll/b\t1s\n"
	}
	got, err := gobench.Read("f", []byte(one("12.5")+one("13.5")))
	if err != nil || len(got) != 2 || len(got[0].Warnings) != 0 {
		t.Fatal(got, err)
	}
	checkFigures(t, got[0], map[string]float64{
		"mean(plimsoll/a.Encode-2)": 12.5,
		"mean(plimsoll/b.Encode-2)": 7,
	})
	checkFigures(t, got[1], map[string]float64{
		"mean(plimsoll/a.Encode-2)": 13.5,
		"mean(plimsoll/b.Encode-2)": 7,
	})
}

func TestReadProblems(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"empty":    {"", "no result of a benchmark"},
		"failed":   {output + "--- FAIL: BenchmarkOther\n", `line 10: "--- FAIL: BenchmarkOther": the benchmark failed`},
		"cut off":  {strings.TrimSuffix(output, " ns/op\nPASS\nok  \tplimsoll/a\t4.2s\n"), "line 7: \"BenchmarkDecode-2        \\t  1000\\t      1…\" is no whole result"},
		"cut unit": {strings.TrimSuffix(output, "s/op\nPASS\nok  \tplimsoll/a\t4.2s\n"), "line 7: \"BenchmarkDecode-2        \\t  1000\\t      1…\" is no whole result"},
		"no value": {head + "BenchmarkA 100 fast ns/op\n", `line 5: ns/op of A is "fast", want a number`},
		"NaN":      {head + "BenchmarkA 100 NaN ns/op\n", "line 5: mean(A) is no number"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := gobench.Read("f", []byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

const table = "goos: linux\npkg: plimsoll/a\n,old.txt,,new.txt,,,\n,sec/op,CI,sec/op,CI,vs base,P\n" +
	"Encode-2,1.718e-06,1%,1.4225e-06,1%,-17.20%,p=0.000 n=10\nDecode-2,3e-06,0%,3.1e-06,2%,~,p=0.446 n=10\ngeomean,2.2e-06,,2.0e-06,,-8.94%,\n\n" +
	",old.txt,,new.txt,,,\n,B/op,CI,B/op,CI,vs base,P\nEncode-2,64,0%,60,0%,-6.25%,p=0.000 n=10\ngeomean,64,,60,,-6.25%,\n"

func TestReadStat(t *testing.T) {
	got, err := gobench.ReadStat("f", []byte(table))
	if err != nil || len(got) != 2 || !gobench.DetectStat([]byte(table)) ||
		gobench.DetectStat([]byte(output)) {
		t.Fatal(got, err)
	}
	checkFigures(t, got[0], map[string]float64{
		"p50(plimsoll/a.Encode-2)":  1718,
		"p50(plimsoll/a.Decode-2)":  3000,
		"B/op(plimsoll/a.Encode-2)": 64,
	})
	checkFigures(t, got[1], map[string]float64{
		"p50(plimsoll/a.Encode-2)":  1422.5,
		"p50(plimsoll/a.Decode-2)":  3100,
		"B/op(plimsoll/a.Encode-2)": 60,
	})
	if got[0].Arm != "base" || got[1].Arm != "new" || got[0].Label != "old.txt" ||
		got[1].Label != "new.txt" ||
		len(got[0].Warnings) != 1 {
		t.Errorf("%+v", got)
	}
	for name, tt := range map[string]struct{ in, want string }{
		"one arm":       {",new.txt,\n,sec/op,CI\nEncode,2e-06,37%\n", "line 2: want two arms"},
		"three arms":    {",a,,b,,,c,,,\n,sec/op,CI,sec/op,CI,vs base,P,sec/op,CI,vs base,P\nEncode,1,1%,2,1%,~,,3,1%,~,\n", "line 2: want two arms"},
		"in one arm":    {",a,,b,,,\n,sec/op,CI,sec/op,CI,vs base,P\nEncode,2e-06,37%,,,,\n", `line 3: "Encode" has no number of one arm`},
		"cut off":       {",a,,b,,,\n,sec/op,CI,sec/op,CI,vs base,P\nEncode,1.2e-06,1%,1.3", `line 3: the row of Encode is cut off`},
		"no number":     {",a,,b,,,\n,sec/op,CI,sec/op,CI,vs base,P\nEncode,fast,37%,1,1%,~,\n", `line 3: sec/op of Encode is "fast", want a number`},
		"no benchmark":  {",a,,b,,,\n,sec/op,CI,sec/op,CI,vs base,P\ngeomean,1,,1,,,\n", "there is no benchmark"},
		"broken quotes": {",a,,b,,,\n,sec/op,CI,sec/op,CI,vs base,P\n\"Encode,1\n", "line 3: not a CSV"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := gobench.ReadStat("f", []byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// FuzzRead checks that accepted input passes the check of its numbers.
func FuzzRead(f *testing.F) {
	f.Add(output)
	f.Add(table)
	f.Fuzz(func(t *testing.T, in string) {
		for _, read := range []func(string, []byte) ([]record.Imported, error){gobench.Read, gobench.ReadStat} {
			got, err := read("f", []byte(in))
			if err != nil {
				continue
			}
			for _, g := range got {
				if err := g.Check(); err != nil {
					t.Fatalf("%+v: %v", g, err)
				}
			}
		}
	})
}
