package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/formats"
	"plimsoll/internal/files"
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

// A file of each format is recognized as that format and no other, with a byte order mark or in
// UTF-16 too, and an unknown one gets the list of all.
func TestFormatsAreRecognized(t *testing.T) {
	for want, text := range map[string]string{
		"load-test-ng": strings.ReplaceAll(resultsText([2]string{"v1", "v2"}, [][3]string{{"mysql", "14186", "16007"}}), "=Comp", "=\nComp"),
		"figures":      `{"figures": [{"name": "p95", "value": 3}]}`,
		"k6":           fixture(t, "record", "importer", "k6", "testdata", "machine.json"),
		"locust":       strings.ReplaceAll(fixture(t, "record", "importer", "locust", "testdata", "stats.csv"), "Type,Name", `"Type","Name"`),
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
			data := files.Text([]byte(in))
			if f, err := formats.Of("auto", data); err != nil || f.Name != want {
				t.Errorf("%.20q is %q, %v; want %s", in, f.Name, err, want)
			}
		}
		for _, f := range formats.All() {
			if f.Detect([]byte(text)) != (f.Name == want) {
				t.Errorf("a file of %s, asked for %s", want, f.Name)
			}
		}
	}
	_, err := formats.Of("auto", []byte("hello"))
	for _, f := range formats.All() {
		if err == nil || !strings.Contains(err.Error(), f.Content) {
			t.Errorf("%v, want %q in it", err, f.Content)
		}
	}
}

// The supported users in the results of load-test-ng are comparisons of a trend.
func TestTrendOfResults(t *testing.T) {
	status, out, errOut := call(t, map[string]string{
		"a.txt": resultsText(
			[2]string{"v1", "v2"},
			[][3]string{{"mysql", "14186", "16007"}},
		) + "notes\n",
		"b.txt": resultsText([2]string{"v2", "v3"}, [][3]string{{"mysql", "100", "110"}}),
		"c.txt": resultsText([2]string{"base", "new"}, [][3]string{{"mysql", "100", "110"}}),
		"d.csv": "base_release,new_release,base,new\nv3,v4,1,2\nv3,v4,1,3\n",
	}, "report", "trend", "a.txt", "b.txt", "c.txt", "d.csv")
	if status != exit.OK ||
		!strings.Contains(
			errOut,
			"a.txt: from line 15 on, lines outside of the results were not read: 1",
		) {
		t.Errorf("status %d, %q", status, errOut)
	}
	for _, want := range []string{"from v1 to v3", "from base of c.txt to new of c.txt"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	status, _, errOut = call(
		t,
		map[string]string{"a.csv": "base,new\n1,2\n"},
		"report",
		"trend",
		"a.csv",
	)
	if status != exit.Usage ||
		!strings.Contains(
			errOut,
			"without releases: name them in the columns base_release and new_release",
		) {
		t.Errorf("pairs: status %d, %q", status, errOut)
	}
}
