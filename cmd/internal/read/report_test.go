package read

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// renderedAgain renders a stored comparison as the verb does, and returns its directory.
func renderedAgain(tb testing.TB, root, id string) string {
	tb.Helper()
	status, _, errOut := verbtest.Run(tb, Report, "-store", root, id)
	if status != exit.Inconclusive {
		tb.Fatalf("status %d: %s", status, errOut)
	}
	return filepath.Join(root, "comparisons", id)
}

// A report of stored runs has every graph under its name as PNG and SVG, a page for each run and
// test, and no link that leads nowhere.
func TestReportOfStoredRuns(t *testing.T) {
	root := t.TempDir()
	_, id := keptComparison(t, root, keptShape{seconds: 90, handlers: 2, methods: 2, ops: 40})
	dir := renderedAgain(t, root, id)
	for _, engine := range []string{"postgresql", "mysql"} {
		for _, test := range []string{report.Bounded, report.Unbounded} {
			for _, g := range new(app.App).Dialects().Graphs("") {
				for _, ext := range []string{"png", "svg"} {
					name := fmt.Sprintf("%s_%s_0_%s.%s", engine, test, g.Name, ext)
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
		t.Errorf(
			"%d pages (%v), want one for each of 8 runs, two tests and two kinds",
			len(pages),
			err,
		)
	}
	for form, links := range map[string]*regexp.Regexp{
		"report.md":     regexp.MustCompile(`\]\(([^)]*)\)`),
		report.FullFile: regexp.MustCompile(`\]\(([^)]*)\)`),
		"report.html":   regexp.MustCompile(`href="([^#"][^"]*)"`),
	} {
		text, err := os.ReadFile(filepath.Join(dir, form))
		failure.None(t, err)
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
		failure.None(t, err)
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

// show -pages writes the pages of one run into the given directory, and prints where.
func TestShowPages(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "new", "pages")
	_, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 1, methods: 1, ops: 20})
	runs, err := os.ReadDir(filepath.Join(root, "runs"))
	failure.None(t, err)
	last := runs[len(runs)-1].Name()
	status, out, errOut := verbtest.Run(t, Show, "-store", root, "-pages", dir, last)
	if status != exit.OK {
		t.Fatalf("status %d: %s", status, errOut)
	}
	files := strings.Fields(out)
	if len(files) != 4 || id == "" {
		t.Fatalf("pages %v", files)
	}
	for _, f := range files {
		if fi, err := os.Stat(f); err != nil || fi.Size() < 10_000 || filepath.Dir(f) != dir {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// A missing graph is named with the reason, by the code that looked for it.
func TestGraphsWithoutData(t *testing.T) {
	r, p, _ := keptFirst(t, keptShape{seconds: 30, handlers: 0, methods: 0, ops: 20})
	d, err := catalog().Of(r).Data(t.Context(), record.ComparisonRun{
		Run:   r.Manifest.ID,
		Valid: true,
	}, p.Workload.Pace)
	failure.None(t, err)
	why := d.NoData[report.Unbounded]["avg-api-times"]
	if !strings.Contains(why, "metrics page has no mattermost_api_time") ||
		len(d.NoData[report.Unbounded]) != 4 {
		t.Errorf("no data: %q of %v", why, d.NoData[report.Unbounded])
	}
	if _, ok := d.Series[report.Unbounded]["rps"]; !ok {
		t.Error("what is there is not read")
	}
}

// A rule about the same quantity as a graph puts its threshold into it; another rule does not.
func TestThresholdsOfGraphs(t *testing.T) {
	p, err := plan.Parse([]byte(keptPlan))
	failure.None(t, err)
	for _, s := range catalog().GraphSpecs(p) {
		want := s.Name == "avg-api-times"
		if (s.Threshold != nil) != want || want && s.Threshold.Value != 200 {
			t.Errorf("%s has the threshold %+v", s.Name, s.Threshold)
		}
	}
}

// BenchmarkStoredReport is the command "plimsoll report" on eight stored runs of 90 minutes, from
// the first file that is read to the last one that is written. PLIMSOLL_BENCH_STORE names a
// directory in which the runs are kept for the next time.
func BenchmarkStoredReport(b *testing.B) {
	root := os.Getenv("PLIMSOLL_BENCH_STORE")
	if root == "" {
		root = b.TempDir()
	}
	id := ""
	if found, err := os.ReadDir(filepath.Join(root, "comparisons")); err == nil && len(found) > 0 {
		id = found[0].Name()
	} else {
		_, id = keptComparison(b, root, keptShape{
			seconds:  5400,
			handlers: 50,
			methods:  80,
			ops:      800,
		})
	}
	dir := ""
	b.ReportAllocs()
	for b.Loop() {
		dir = renderedAgain(b, root, id)
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
	failure.None(b, err)
	b.ReportMetric(float64(files), "files")
	b.ReportMetric(float64(size)/(1<<20), "MiB")
}
