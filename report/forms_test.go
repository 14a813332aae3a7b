package report

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Each document has the forms of its subject, in separate files; given numbers have no second file
// of everything.
func TestForms(t *testing.T) {
	for of, tt := range map[Subject]struct {
		d     Document
		files string
	}{
		Runs: {From(scenes()["three-arms"].input()), "report.md report-full.md report.html report.json report.csv pairs.csv junit.xml comment.md " +
			"graphs/answer.png graphs/answer.svg"},
		Numbers:  {judgedDocument(), "report.md report.html report.json report.csv pairs.csv junit.xml comment.md"},
		Ladder:   {seedDocument(t), "report.md report.html report.json report.csv"},
		Releases: {FromReleases(releaseScene()), "trend.md trend.html trend.json trend.csv graphs/trend_mysql.png graphs/trend_mysql.svg"},
	} {
		if got := tt.d.Subject(); got != of {
			t.Errorf("the subject is %d, want %d", got, of)
		}
		var files, names []string
		for _, f := range tt.d.Forms() {
			if f.Name != "" {
				names = append(names, f.Name)
			}
			if slices.Contains(files, f.File) && f.File != "" {
				t.Errorf("two forms are written to %s", f.File)
			}
			files = append(files, f.File)
		}
		for want := range strings.FieldsSeq(tt.files) {
			if !slices.Contains(files, want) {
				t.Errorf("%s is not among %q", want, files)
			}
		}
		if want := FormNames(of); !slices.Equal(names, want) {
			t.Errorf("forms %q, want %q", names, want)
		}
		if full := slices.Contains(files, FullFile); full != (of == Runs) {
			t.Errorf("subject %d has %s: %v", of, FullFile, full)
		}
	}
}

// The page about reports has a row for each form.
func TestFormsAreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range FormNames(Runs) {
		if !strings.Contains(string(page), "\n| `"+name+"` |") {
			t.Errorf("docs/report.md has no row for the form %s", name)
		}
	}
}
