package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/rig"
)

// fixture reads a file of an importer's tests or of the examples.
func fixture(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every bad input gets one clear error, exactly this one, status 2, and nothing on stdout.
func TestJudgeRefuses(t *testing.T) {
	k6 := fixture(t, "run", "record", "k6", "testdata", "export.json")
	k6b := fixture(t, "run", "record", "k6", "testdata", "handle.json")
	locust := fixture(t, "run", "record", "locust", "testdata", "stats.csv")
	history := fixture(t, "run", "record", "locust", "testdata", "history.csv")
	results := resultsText([2]string{"v1", "v2"}, [][3]string{{"mysql", "14186", "16007"}})
	figure := func(v string) string {
		return "{\n  \"figures\": [\n    {\"name\": \"capacity\", \"value\": 900, \"unit\": \"users\"},\n    " + v + "\n  ]\n}\n"
	}
	const known = "the format of the file is not known: want results.txt, comparison.json or a report of load-test-ng; a JSON with figures; " +
		"a summary of k6 in JSON; the _stats.csv of Locust; the output of go test -bench; the CSV of benchstat; " +
		"a CSV of pairs with the columns base and new; a CSV with base_release and new_release, for report trend (docs/judge.md)"
	tests := []struct {
		name  string
		files map[string]string
		args  []string
		want  string // of stderr, without "plimsoll judge: " and the line break
	}{
		{"no input", nil, nil, "0 arguments, want a CSV of pairs, files that hold both arms, or -base and -new; see plimsoll judge -h"},
		{"no file", nil, []string{"nothing.csv"}, "nothing.csv: there is no such file, and no store in .plimsoll to have such a comparison"},
		// Truncated runs.
		{"truncated JSON", map[string]string{"a.json": k6[:1000], "b.json": k6}, []string{"-base", "a.json", "-new", "b.json"}, "a.json: line 34: the JSON ends in the middle: the file is truncated"},
		{"truncated CSV", map[string]string{"a.csv": locust[:strings.Index(locust, ",Aggregated")], "b.csv": locust}, []string{"-base", "a.csv", "-new", "b.csv"}, "a.csv: there is no row Aggregated or Total: the file is truncated"},
		{"run that sent nothing", map[string]string{"a.json": `{"metrics": {"http_reqs": {"count": 0, "rate": 0}}}`, "b.json": k6}, []string{"-base", "a.json", "-new", "b.json"}, "a.json: http_reqs is 0: the run sent nothing"},
		// Wrong files.
		{"wrong CSV", map[string]string{"a.csv": "time;users\n1;2\n"}, []string{"a.csv"}, "a.csv: " + known},
		{"history of Locust", map[string]string{"a.csv": history, "b.csv": locust}, []string{"-base", "a.csv", "-new", "b.csv"}, "a.csv: line 1: this is Locust's history of a run: give the file that ends in _stats.csv"},
		{"some text", map[string]string{"a.txt": "hello", "b.json": k6}, []string{"-base", "a.txt", "-new", "b.json"}, "a.txt: " + known},
		{"pairs as an arm", map[string]string{"a.csv": "pair,base,new\n1,2,3\n", "b.json": k6}, []string{"-base", "a.csv", "-new", "b.json"}, "a.csv: a CSV of pairs holds both arms: pass it alone, without -base and -new"},
		{"results as an arm", map[string]string{"a.txt": results, "b.json": k6}, []string{"-base", "a.txt", "-new", "b.json"}, "a.txt holds both arms: pass it without -base"},
		{"an arm as both", map[string]string{"a.json": k6}, []string{"a.json"}, "a.json is one run of k6: it is not known of which arm; pass it by -base or -new"},
		{"two tools", map[string]string{"a.json": k6, "b.csv": locust}, []string{"-base", "a.json", "-new", "b.csv"}, "b.csv is of locust, but a.json of k6: both arms have to be measured by one tool"},
		{"two tests", map[string]string{"a.json": figure(`{"name": "p95", "value": 9}`), "b.json": strings.Replace(figure(`{"name": "p95", "value": 9}`), "{", `{"test": "bounded, 10 users", `, 1),
			"c.json": strings.Replace(figure(`{"name": "p95", "value": 9}`), "{", `{"test": "bounded, 20 users", `, 1)}, []string{"-base", "b.json", "-new", "c.json"},
			`c.json: its test is "bounded, 20 users", but that of b.json is "bounded, 10 users": runs that did different things are no replicates`},
		// Mixed units.
		{"mixed units of files", map[string]string{"a.json": figure(`{"name": "p95", "value": 120, "unit": "ms"}`), "b.json": figure(`{"name": "p95", "value": 0.13, "unit": "s"}`)}, []string{"-base", "a.json", "-new", "b.json"},
			"b.json: line 4: p95 is in s, but a.json: line 4 has it in ms: convert one of them"},
		// Empty arms.
		{"no base", map[string]string{"b.json": k6}, []string{"-new", "b.json"}, "the arm base is empty: give its runs by -base"},
		{"no new", map[string]string{"a.json": k6}, []string{"-base", "a.json", "-new", ""}, "the arm new is empty: give its runs by -new"},
		{"neither", nil, []string{"-base", "", "-new", ""}, "-base and -new are empty: give the runs of both arms"},
		{"empty arm in pairs", map[string]string{"a.csv": "pair,base,new\n1,100,\n2,101,\n"}, []string{"a.csv"}, "a.csv: the arm new is empty: no line has a number of it"},
		{"uneven arms", map[string]string{"a.json": k6, "b.json": k6b, "c.json": strings.Replace(k6, "2169", "2170", 1)}, []string{"-base", "a.json,c.json", "-new", "b.json"}, "2 runs by -base and 1 by -new: want pairs, one run of each arm"},
		// No numbers.
		// Duplicates.
		{"pair twice", map[string]string{"a.json": k6, "b.json": k6b, "c.json": strings.Replace(k6, "2169", "2170", 1), "d.json": strings.Replace(k6b, "2192", "2193", 1)}, []string{"-base", "1=a.json,1=c.json", "-new", "1=b.json,2=d.json"},
			"c.json: pair 1 of base is there already, in a.json"},
		{"pair in one arm", map[string]string{"a.json": k6, "b.json": k6b}, []string{"-base", "1=a.json", "-new", "2=b.json"}, "b.json: pair 2 has no run of the arm base"},
		{"file twice", map[string]string{"a.json": k6}, []string{"-base", "a.json", "-new", "./a.json"}, "./a.json is there twice (a.json): one run counts once"},
		{"copy", map[string]string{"a.json": k6, "b.json": k6}, []string{"-base", "a.json", "-new", "b.json"}, "b.json is a copy of a.json: one run counts once"},
		{"a version in between", map[string]string{"1.txt": results, "2.txt": strings.Replace(results, "v2", "v3", 1)}, []string{"1.txt", "2.txt"}, `2.txt: new is "v3", but was "v2" before: one file is of another version`},
		// Flags that do not fit.
		{"margin", map[string]string{"a.csv": "pair,base,new\n1,2,3\n"}, []string{"-margin", "5", "a.csv"}, `-margin: margin "5": want a percentage such as 5% or percentage points such as 0.1pp, above 0 and below 100`},
		{"margin of another metric", map[string]string{"a.csv": "pair,base,new\n1,2,3\n"}, []string{"-margin", "p95=5%", "a.csv"}, "-margin is for p95, but the numbers are capacity; -name says what they are"},
		{"margin of another stat", map[string]string{"a.csv": "pair,base,new\n1,2,3\n"}, []string{"-name", "p95(post)", "-margin", "p9=5%", "a.csv"}, "-margin is for p9, but the numbers are p95(post); -name says what they are"},
		{"margin of others, too", map[string]string{"a.csv": "pair,base,new\n1,2,3\n"}, []string{"-margin", "capacity=5%,p95=10%", "a.csv"}, "-margin is for p95, but the numbers are capacity; -name says what they are"},
		{"margin in points", map[string]string{"a.csv": "metric,unit,pair,base,new\np95,ms,1,2,3\n"}, []string{"-margin", "p95=1pp", "a.csv"}, "a.csv: the margin of p95 is in percentage points (pp): want percent"},
		{"margin of nothing", map[string]string{"a.csv": "metric,unit,pair,base,new\np95(post),ms,1,2,3\nerrors,%,1,0,0\n"}, []string{"-margin", "p95=5%,p99=5%", "a.csv"}, "a.csv: -margin is for p99, but there are only errors, p95(post)"},
		{"margin of capacity", map[string]string{"a.json": k6, "b.json": k6b}, []string{"-margin", "3%", "-base", "a.json", "-new", "b.json"}, "-margin is for capacity, but there are only errors, p95, p99, throughput"},
		{"direction of a tool", map[string]string{"a.json": k6, "b.json": k6b}, []string{"-base", "a.json", "-new", "b.json", "-better", "lower"}, "-better applies to a CSV of pairs only: files of a tool name their metrics"},
		{"one name", map[string]string{"a.csv": "pair,base,new\n1,2,3\n"}, []string{"-arms", "v1", "a.csv"}, `-arms "v1": want two names, such as v11.0.4,v11.1.0-rc2`},
		{"metric", map[string]string{"a.csv": "metric,pair,base,new\nspeed,1,2,3\n"}, []string{"a.csv"}, `a.csv: metric "speed": want capacity, throughput, errors, cost(app), typical(op), or p50, p95, p99, mean or max of something, such as p95(post)`},
		{"format", map[string]string{"a.json": k6, "b.json": k6b}, []string{"-base", "a.json", "-new", "b.json", "-format", "jmeter"}, `a.json: -format "jmeter": want load-test-ng, figures, k6, locust, gobench, benchstat, csv, releases or auto`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := call(t, tt.files, append([]string{"judge"}, tt.args...)...)
			if status != rig.ExitUsage || out != "" {
				t.Errorf("status %d and stdout %q: want 2 and silence", status, out)
			}
			if want := "plimsoll judge: " + tt.want + "\n"; errOut != want {
				t.Errorf("\ngot  %swant %s", errOut, want)
			}
		})
	}
}

// Real files of both tools, of a server that answers 10 ms or 14 ms late: six pairs carry a verdict, one does not.
func TestJudgeFilesOfTools(t *testing.T) {
	for _, tool := range []struct{ dir, end string }{{"k6", ".json"}, {"locust", "_stats.csv"}} {
		files := map[string]string{}
		lists := map[string][]string{}
		for _, arm := range []string{"base", "new"} {
			for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
				name := arm + "-" + n + tool.end
				files[name] = fixture(t, "examples", "judge", tool.dir, name)
				lists[arm] = append(lists[arm], name)
			}
		}
		base, fresh := strings.Join(lists["base"], ","), strings.Join(lists["new"], ",")
		t.Run(tool.dir, func(t *testing.T) {
			status, out, errOut := call(t, files, "judge", "-base", base, "-new", fresh)
			if status != rig.ExitWorse || errOut != "" || !strings.HasPrefix(out, "new is worse than base: throughput ") || strings.Contains(out, "errors          worse") {
				t.Errorf("status %d, stderr %q\n%s", status, errOut, out)
			}
		})
		t.Run(tool.dir+" the other way", func(t *testing.T) {
			if status, out, _ := call(t, files, "judge", "-format", tool.dir, "-base", fresh, "-new", base); status != rig.ExitOK || !strings.HasPrefix(out, "new is better than base: throughput ") {
				t.Errorf("status %d\n%s", status, out)
			}
		})
		t.Run(tool.dir+" one pair", func(t *testing.T) {
			status, out, _ := call(t, files, "judge", "-json", "-base", lists["base"][0], "-new", lists["new"][0])
			if status != rig.ExitInconclusive || !strings.Contains(out, `"kind": "inconclusive",`) || !strings.Contains(out, `"indicative": true`) {
				t.Errorf("status %d\n%s", status, out)
			}
		})
		t.Run(tool.dir+" pairs by number", func(t *testing.T) {
			_, inOrder, _ := call(t, files, "judge", "-base", base, "-new", fresh)
			number := func(names []string) string {
				var out []string
				for i, n := range names {
					out = append([]string{string(rune('1'+i)) + "=" + n}, out...)
				}
				return strings.Join(out, ",")
			}
			_, numbered, _ := call(t, files, "judge", "-base", number(lists["base"]), "-new", fresh)
			if inOrder != numbered {
				t.Errorf("by order\n%s\nby number\n%s", inOrder, numbered)
			}
		})
	}
}

// Locust's whole milliseconds are steps of 8 % at 13 ms: not judged within 10 %, judged within 20 %.
func TestCoarseFiguresAreNotJudged(t *testing.T) {
	files := map[string]string{"a.csv": fixture(t, "examples", "judge", "locust", "base-1_stats.csv"), "b.csv": fixture(t, "examples", "judge", "locust", "new-1_stats.csv")}
	const skipped = "not judged: p95 (a.csv: locust rounds 13 ms to 1 ms: more than half the margin of 10 %)"
	if _, out, _ := call(t, files, "judge", "-base", "a.csv", "-new", "b.csv"); !strings.Contains(out, skipped) || strings.Contains(out, "\n  p95 ") {
		t.Errorf("at a margin of 10 %%:\n%s", out)
	}
	if _, out, _ := call(t, files, "judge", "-margin", "p95=20%", "-base", "a.csv", "-new", "b.csv"); strings.Contains(out, skipped) || !strings.Contains(out, "\n  p95 ") {
		t.Errorf("at a margin of 20 %%:\n%s", out)
	}
}

// A file of each format is recognized as that format and no other, with a byte order mark or in UTF-16 too, and an
// unknown one gets the list of all.
func TestFormatsAreRecognized(t *testing.T) {
	for want, text := range map[string]string{
		"load-test-ng": strings.ReplaceAll(resultsText([2]string{"v1", "v2"}, [][3]string{{"mysql", "14186", "16007"}}), "=Comp", "=\nComp"),
		"figures":      `{"figures": [{"name": "p95", "value": 3}]}`,
		"k6":           fixture(t, "run", "record", "k6", "testdata", "machine.json"),
		"locust":       strings.ReplaceAll(fixture(t, "run", "record", "locust", "testdata", "stats.csv"), "Type,Name", `"Type","Name"`),
		"gobench":      "BenchmarkPost-2 100 12.5 ns/op\n",
		"benchstat":    ",old.txt,,new.txt,,,\n,sec/op,CI,sec/op,CI,vs base,P\nPost,1e-06,1%,2e-06,1%,~,p=0.1 n=10\n",
		"csv":          "base;new\n1;2\n",
		"releases":     "base_release;new_release;base;new\nv1;v2;1;2\n",
	} {
		utf16le := "\xff\xfe"
		for _, r := range text {
			utf16le += string([]byte{byte(r), byte(r >> 8)})
		}
		for _, in := range []string{text, "\ufeff" + text, utf16le} {
			a := &app{stdin: strings.NewReader(in)}
			data, err := a.readInput("-")
			if err != nil {
				t.Fatal(err)
			}
			if f, err := rig.FormatOf("auto", data); err != nil || f.Name != want {
				t.Errorf("%.20q is %q, %v; want %s", in, f.Name, err, want)
			}
		}
		for _, f := range rig.Formats() {
			if f.Detect([]byte(text)) != (f.Name == want) {
				t.Errorf("a file of %s, asked for %s", want, f.Name)
			}
		}
	}
	_, err := rig.FormatOf("auto", []byte("hello"))
	for _, f := range rig.Formats() {
		if err == nil || !strings.Contains(err.Error(), f.Content) {
			t.Errorf("%v, want %q in it", err, f.Content)
		}
	}
}

// The supported users in the results of load-test-ng are comparisons of a trend.
func TestTrendOfResults(t *testing.T) {
	status, out, errOut := call(t, map[string]string{
		"a.txt": resultsText([2]string{"v1", "v2"}, [][3]string{{"mysql", "14186", "16007"}}) + "notes\n",
		"b.txt": resultsText([2]string{"v2", "v3"}, [][3]string{{"mysql", "100", "110"}}),
		"c.txt": resultsText([2]string{"base", "new"}, [][3]string{{"mysql", "100", "110"}}),
		"d.csv": "base_release,new_release,base,new\nv3,v4,1,2\nv3,v4,1,3\n",
	}, "report", "trend", "a.txt", "b.txt", "c.txt", "d.csv")
	if status != rig.ExitOK || !strings.Contains(errOut, "a.txt: from line 15 on, lines outside of the results were not read: 1") {
		t.Errorf("status %d, %q", status, errOut)
	}
	for _, want := range []string{"from v1 to v3", "from base of c.txt to new of c.txt"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	status, _, errOut = call(t, map[string]string{"a.csv": "base,new\n1,2\n"}, "report", "trend", "a.csv")
	if status != rig.ExitUsage || !strings.Contains(errOut, "without releases: name them in the columns base_release and new_release") {
		t.Errorf("pairs: status %d, %q", status, errOut)
	}
}
