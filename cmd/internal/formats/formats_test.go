package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/internal/files"
)

// fixture reads a file of an importer's tests or of the examples.
func fixture(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, elem...)...))
	failure.None(t, err)
	return string(data)
}

// results is a file of load-test-ng.
const results = `==================================================
Comparison result:Report: report_0_mysql_unbounded.md
Grafana Dashboard: 
v1:
  Type: unbounded
  DB Engine: mysql
  Supported Users: 14186
  Errors: 0
v2:
  Type: unbounded
  DB Engine: mysql
  Supported Users: 16007
  Errors: 0
==================================================

`

// A file of each format is recognized as that format and no other, with a byte order mark or in
// UTF-16 too, and an unknown one gets the list of all.
func TestFormatsAreRecognized(t *testing.T) {
	for want, text := range map[string]string{
		"load-test-ng": results,
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
			if f, err := Of("auto", data); err != nil || f.Name != want {
				t.Errorf("%.20q is %q, %v; want %s", in, f.Name, err, want)
			}
		}
		for _, f := range All() {
			if f.Detect([]byte(text)) != (f.Name == want) {
				t.Errorf("a file of %s, asked for %s", want, f.Name)
			}
		}
	}
	_, err := Of("auto", []byte("hello"))
	for _, f := range All() {
		failure.Says(t, err, f.Content)
	}
}
