package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// reportAgain renders a stored comparison as the verb does, and returns its directory.
func reportAgain(tb testing.TB, root, id string) string {
	tb.Helper()
	var out, errOut bytes.Buffer
	a := &app{stdout: &out, stderr: &errOut, env: func(string) string { return "" }}
	if got := a.run(tb.Context(), []string{"report", "-store", root, id}); got != exitInconclusive {
		tb.Fatalf("status %d: %s", got, errOut.String())
	}
	return filepath.Join(root, "comparisons", id)
}

// A report of stored runs has every graph under its name as PNG and SVG, a page for each run and test, and no link that
// leads nowhere.
func TestReportOfStoredRuns(t *testing.T) {
	root := t.TempDir()
	_, id := keptComparison(t, root, keptShape{seconds: 90, handlers: 2, methods: 2, ops: 40})
	dir := reportAgain(t, root, id)
	for _, engine := range []string{"postgresql", "mysql"} {
		for _, test := range tests {
			for _, g := range graphs() {
				for _, ext := range []string{"png", "svg"} {
					name := fmt.Sprintf("%s_%s_0_%s.%s", engine, test, g.spec.Name, ext)
					b, err := os.ReadFile(filepath.Join(dir, "graphs", name))
					if err != nil {
						t.Error(err)
					}
					if bytes.Contains(b, []byte("no data")) {
						t.Errorf("%s has no data", name)
					}
				}
			}
		}
	}
	pages, err := os.ReadDir(filepath.Join(dir, report.PagesDir))
	if err != nil || len(pages) != 8*2*2 {
		t.Errorf("%d pages (%v), want one for each of 8 runs, two tests and two kinds", len(pages), err)
	}
	for form, links := range map[string]*regexp.Regexp{"report.md": regexp.MustCompile(`\]\(([^)]*)\)`), "report.html": regexp.MustCompile(`href="([^#"][^"]*)"`)} {
		text, err := os.ReadFile(filepath.Join(dir, form))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			n++
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
				t.Errorf("%s: %v", form, err)
			}
		}
		if n < 32 {
			t.Errorf("%s has %d links", form, n)
		}
	}
	var system, coordinator string
	for _, p := range pages {
		b, err := os.ReadFile(filepath.Join(dir, report.PagesDir, p.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasSuffix(p.Name(), "postgresql-new_unbounded_system.html"):
			system = string(b)
		case strings.HasSuffix(p.Name(), "postgresql-new_unbounded_coordinator.html"):
			coordinator = string(b)
		}
	}
	for _, want := range []string{"Avg API times", "Busy per core", "Resident memory", "Not in this run", "MySQL, MariaDB: Threads"} {
		if !strings.Contains(system, want) {
			t.Errorf("the system page lacks %q", want)
		}
	}
	for _, want := range []string{"cpu(app) &lt; 85% dominated: it stopped the search at 75", "mean(op) &lt; 100ms", "limit 85 %", "the capacity"} {
		if !strings.Contains(coordinator, want) {
			t.Errorf("the coordinator page lacks %q", want)
		}
	}
	if strings.Count(coordinator, `class="limit"`) < 5 {
		t.Error("the coordinator page has fewer thresholds than rules")
	}
}

// show -pages writes the pages of one run where it is told to, and says where.
func TestShowPages(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "new", "pages")
	_, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 1, methods: 1, ops: 20})
	runs, err := os.ReadDir(filepath.Join(root, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	a := &app{stdout: &out, stderr: &errOut, env: func(string) string { return "" }}
	if got := a.run(t.Context(), []string{"show", "-store", root, "-pages", dir, runs[len(runs)-1].Name()}); got != exitOK {
		t.Fatalf("status %d: %s", got, errOut.String())
	}
	files := strings.Fields(out.String())
	if len(files) != 4 || id == "" {
		t.Fatalf("pages %v", files)
	}
	for _, f := range files {
		if fi, err := os.Stat(f); err != nil || fi.Size() < 10_000 || filepath.Dir(f) != dir {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// What is not there is named with the reason, by who looked for it.
func TestGraphsWithoutData(t *testing.T) {
	r, p, _ := keptFirst(t, keptShape{seconds: 30, handlers: 0, methods: 0, ops: 20})
	d, err := runData(t.Context(), r, record.ComparisonRun{Run: r.Manifest.ID, Valid: true}, p)
	if err != nil {
		t.Fatal(err)
	}
	why := d.NoData[report.Unbounded]["avg-api-times"]
	if !strings.Contains(why, "metrics page has no mattermost_api_time") || len(d.NoData[report.Unbounded]) != 4 {
		t.Errorf("no data: %q of %v", why, d.NoData[report.Unbounded])
	}
	if _, ok := d.Series[report.Unbounded]["rps"]; !ok {
		t.Error("what is there is not read")
	}
}

// The graphs that are read without the engine show what their queries give.
func TestHistogramsAreTheirQueries(t *testing.T) {
	r, _, db := keptFirst(t, keptShape{seconds: 90, handlers: 3, methods: 2, ops: 20})
	n := 0
	for test, span := range testSpans(r.Manifest) {
		x := newStretch(db, r.Manifest.Epoch, span, 10*time.Second)
		for _, g := range graphs() {
			if len(g.histograms) == 0 {
				continue
			}
			got, ok, err := x.graph(t.Context(), g)
			lines, err2 := x.lines(t.Context(), g.query, false)
			if err != nil || err2 != nil || !ok || len(lines) != 1 {
				t.Fatalf("%s: %v, %v, %v, %d lines", g.spec.Name, ok, err, err2, len(lines))
			}
			want := x.line(lines[0], g.spec.Scale)
			if !slices.Equal(got.T, want.T) {
				t.Errorf("%s %s: at %v, want %v", test, g.spec.Name, got.T, want.T)
				continue
			}
			for i, v := range want.V {
				n++
				if math.Abs(got.V[i]-v) > 1e-6*math.Abs(v) {
					t.Errorf("%s %s: %v, want %v", test, g.spec.Name, got.V[i], v)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d values were compared", n)
	}
}

// A rule about exactly what a graph shows puts its threshold into it; one about something else does not.
func TestThresholdsOfGraphs(t *testing.T) {
	p, err := plan.Parse([]byte(keptPlan))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range graphSpecs(p) {
		want := s.Name == "avg-api-times"
		if (s.Threshold != nil) != want || want && s.Threshold.Value != 200 {
			t.Errorf("%s has the threshold %+v", s.Name, s.Threshold)
		}
	}
}

func TestInParallel(t *testing.T) {
	var sum atomic.Int64
	if err := inParallel(100, func(i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 4950 {
		t.Errorf("sum %d, %v", sum.Load(), err)
	}
	first, second := errors.New("first"), errors.New("second")
	if err := inParallel(2, func(i int) error { return []error{first, second}[i] }); !errors.Is(err, first) && !errors.Is(err, second) {
		t.Errorf("error %v", err)
	}
	if err := inParallel(0, func(int) error { return first }); err != nil {
		t.Errorf("no work, but %v", err)
	}
}

func TestTellApart(t *testing.T) {
	lines := []report.PanelLine{{Name: "load"}, {Name: "load"}, {Name: "blocked"}}
	tellApart(lines, []map[string]string{{"__name__": "a"}, {"__name__": "a", "role": "proxy", "instance": "proxy-0"}, {}})
	got := []string{lines[0].Name, lines[1].Name, lines[2].Name}
	if want := []string{"load this host", "load proxy-0", "blocked"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := legendOf("{{device}} read, {{ cpu }}", map[string]string{"device": "sda"}); got != "sda read," {
		t.Errorf("legend %q", got)
	}
}

// BenchmarkStoredReport is the command "plimsoll report" on eight stored runs of 90 minutes, from the first file that is read to the
// last one that is written. PLIMSOLL_BENCH_STORE names a directory in which the runs are kept for the next time.
func BenchmarkStoredReport(b *testing.B) {
	root := os.Getenv("PLIMSOLL_BENCH_STORE")
	if root == "" {
		root = b.TempDir()
	}
	id := ""
	if found, err := os.ReadDir(filepath.Join(root, "comparisons")); err == nil && len(found) > 0 {
		id = found[0].Name()
	} else {
		_, id = keptComparison(b, root, keptShape{seconds: 5400, handlers: 50, methods: 80, ops: 800})
	}
	dir := ""
	b.ReportAllocs()
	for b.Loop() {
		dir = reportAgain(b, root, id)
	}
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			fi, err := d.Info()
			if err != nil {
				return err
			}
			files, size = files+1, size+fi.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(files), "files")
	b.ReportMetric(float64(size)/(1<<20), "MiB")
}
