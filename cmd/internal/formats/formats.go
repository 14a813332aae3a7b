// Package formats knows the kinds of files with numbers that other tools write, and tells them
// apart by their content. The importers read them; what follows from the numbers is judged
// elsewhere.
package formats

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/record"
	"plimsoll/record/importer/figures"
	"plimsoll/record/importer/gobench"
	"plimsoll/record/importer/k6"
	"plimsoll/record/importer/loadtestng"
	"plimsoll/record/importer/locust"
)

// A Format is a kind of file with numbers.
type Format struct {
	Name    string // value of the flag -format
	Content string // description for people
	Detect  func(text []byte) bool
	// Read returns the runs of a file; nil for pairs of numbers, which have none.
	Read func(source string, text []byte) ([]record.Imported, error)
}

// All returns all formats in the order in which [Of] tries them.
func All() []Format {
	return []Format{
		{
			"load-test-ng",
			"results.txt, comparison.json or a report of load-test-ng",
			loadtestng.Detect,
			loadtestng.Read,
		},
		{"figures", "a JSON with figures", figures.Detect, figures.Read},
		{"k6", "a summary of k6 in JSON", k6.Detect, k6.Read},
		{"locust", "the _stats.csv of Locust", locust.Detect, locust.Read},
		{"gobench", "the output of go test -bench", gobench.Detect, gobench.Read},
		{"benchstat", "the CSV of benchstat", gobench.DetectStat, gobench.ReadStat},
		{"csv", "a CSV of pairs with the columns base and new", imported.IsTable, nil},
		{
			"releases",
			"a CSV with base_release and new_release, for report trend",
			comparison.HasReleases,
			notTrend,
		},
	}
}

func notTrend(string, []byte) ([]record.Imported, error) {
	return nil, errors.New(
		"releases over several comparisons are no runs: give the file to plimsoll report trend",
	)
}

// Names returns the names of all formats.
func Names() (names []string) {
	for _, f := range All() {
		names = append(names, f.Name)
	}
	return names
}

// ErrUnknown is the error for a file of a format that is not among [All].
var ErrUnknown = errors.New("the format of the file is not known")

// Of returns the format of a text, by its name or, for auto, by the text. The error of an unknown
// text lists the formats.
func Of(name string, text []byte) (Format, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Format{}, errors.New("the file is empty")
	}
	var contents []string
	for _, f := range All() {
		if name == f.Name || name == "auto" && f.Detect(text) {
			return f, nil
		}
		contents = append(contents, f.Content)
	}
	if name != "auto" {
		return Format{}, fmt.Errorf(
			"-format %s: want %s or auto",
			record.QuoteImported(name),
			strings.Join(Names(), ", "),
		)
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // perhaps cut off
		var object map[string]any
		if err := record.UnmarshalImported(text, &object); err != nil {
			return Format{}, err
		}
	}
	return Format{}, fmt.Errorf(
		"%w: want %s (docs/judge.md)",
		ErrUnknown,
		strings.Join(contents, "; "),
	)
}

// FiguresTool is the tool of runs that are read from a file of figures.
const FiguresTool = figures.Tool
