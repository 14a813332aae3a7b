package read

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/report"
)

// pairsNeeded heads the table of the pairs that a difference needs.
var pairsNeeded = []string{
	"Test", "Endpoint", "Delta", "Margin", "Pairs", "sd 1 %", "sd 2 %", "sd 3 %", "sd 5 %",
}

// published are tables of supported users that Mattermost's release team published, cell for cell,
// with the numbers that they come from: the comparisons of v10.6.1 with v10.7.0-rc1, v9.11.16 with
// v10.5.7 (two runs, two databases), and v11.0.4 with v11.1.0-rc2.
var published = []publishedComparison{
	{
		"v10.7", "v10.6.1,v10.7.0-rc1", "database,pair,base,new\nMySQL,1,16347,16301\nPostgres,1,17504,17310\n", []string{"-databases=false"},
		[]publishedTable{{"Supported users in unbounded tests", [][]string{
			{"Test", "v10.6.1", "v10.7.0-rc1", "Delta"},
			{"MySQL", "16347", "16301", "-0.28%"},
			{"Postgres", "17504", "17310", "-1.11%"},
		}}},
		[][]string{
			pairsNeeded,
			{"MySQL", "capacity", "-0.28%", "5 %", "1", "6", "6", "9", "20"},
			{"Postgres", "capacity", "-1.11%", "5 %", "1", "6", "6", "10", "24"},
		},
	},
	{
		"v10.5", "v9.11.16,v10.5.7", "database,pair,base,new\nMySQL,1,14186,16007\nPostgres,1,15232,16942\nMySQL,2,14989,16371\nPostgres,2,15870,17102\n", nil,
		[]publishedTable{
			{"Supported users in unbounded tests/Run 1", [][]string{
				{"Test", "v9.11.16", "v10.5.7", "Delta"},
				{"MySQL", "14186", "16007", "12.84%"},
				{"Postgres", "15232", "16942", "11.23%"},
				{"Delta", "7.37%", "5.84%", ""},
			}},
			{"Supported users in unbounded tests/Run 2", [][]string{
				{"Test", "v9.11.16", "v10.5.7", "Delta"},
				{"MySQL", "14989", "16371", "9.22%"},
				{"Postgres", "15870", "17102", "7.76%"},
				{"Delta", "5.88%", "4.47%", ""},
			}},
		},
		[][]string{
			pairsNeeded,
			{"MySQL", "capacity", "11.01%", "5 %", "2", "never", "never", "never", "never"},
			{"Postgres", "capacity", "9.48%", "5 %", "2", "never", "never", "never", "never"},
			{
				"Postgres against MySQL, v9.11.16",
				"capacity",
				"6.62%",
				"5 %",
				"2",
				"never",
				"never",
				"never",
				"never",
			},
			{
				"Postgres against MySQL, v10.5.7",
				"capacity",
				"5.15%",
				"5 %",
				"2",
				"never",
				"never",
				"never",
				"never",
			},
		},
	},
	{
		"v11.1", "v11.0.4,v11.1.0-rc2", "pair,base,new\n1,16997,16378\n", nil,
		[]publishedTable{{"Supported users in unbounded test", [][]string{
			{"v11.0.4", "v11.1.0-rc2", "Delta"},
			{"16997", "16378", "-3.64%"},
		}}},
		[][]string{
			{"Endpoint", "Delta", "Margin", "Pairs", "sd 1 %", "sd 2 %", "sd 3 %", "sd 5 %"},
			{"capacity", "-3.64%", "5 %", "1", "11", "38", "83", "228"},
		},
	},
}

type publishedComparison struct {
	name, arms, csv string
	flags           []string
	tables          []publishedTable
	// blocks is the table that is added: the blocks that finding the same within 5 % would have
	// taken.
	blocks [][]string
}

type publishedTable struct {
	heading string // with the one above it, if it is a run's
	cells   [][]string
}

// in carries a verb out in a directory of its own with these files.
func in(
	t *testing.T,
	files map[string]string,
	verb verbtest.Verb,
	args ...string,
) (status int, out, errOut string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		failure.None(t, os.MkdirAll(filepath.Dir(name), 0o755))
		failure.None(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return verbtest.Run(t, verb, args...)
}

// tables returns the tables of a Markdown text by heading; that of a run has the heading above it
// in front.
func tables(text string) map[string][][]string {
	out := map[string][][]string{}
	var above, heading string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		level := len(line) - len(strings.TrimLeft(line, "#"))
		switch title := strings.TrimSpace(strings.TrimLeft(line, "#")); {
		case level == 4:
			heading = above + "/" + title
		case level > 0:
			above, heading = title, title
		case strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "| --"):
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimPrefix(strings.TrimSpace(cell), `\`))
			}
			out[heading] = append(out[heading], cells)
		}
	}
	return out
}

func equal(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }

// resultsText is the file results.txt of load-test-ng with the supported users of one run, as its
// command writes it. The published reports do not have the errors.
func resultsText(arms [2]string, rows [][3]string) string {
	const ruler = "=================================================="
	var b strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&b, "%sComparison result:Report: report_%d_%s_unbounded.md\nGrafana Dashboard: \n",
			ruler, i, r[0])
		for k, arm := range arms {
			fmt.Fprintf(&b, "%s:\n  Type: unbounded\n  DB Engine: %s\n  Supported Users: %s\n  Errors: 0\n",
				arm, r[0], r[1+k])
		}
		b.WriteString(ruler + "\n\n")
	}
	return b.String()
}

// The tables that people published follow from their numbers, cell for cell, with the missing
// columns.
func TestPublishedTables(t *testing.T) {
	for _, tt := range published {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"-md", "-unit", "users", "-arms", tt.arms, "a.csv"}, tt.flags...)
			checkPublished(t, tt, map[string]string{"a.csv": tt.csv}, Judge, args...)
		})
		t.Run(tt.name+" by report", func(t *testing.T) {
			args := append([]string{"-unit", "users", "-arms", tt.arms, "a.csv"}, tt.flags...)
			checkPublished(t, tt, map[string]string{"a.csv": tt.csv}, Report, args...)
		})
	}
	t.Run("v10.5 from results.txt", func(t *testing.T) {
		arms := [2]string{"v9.11.16", "v10.5.7"}
		checkPublished(t, published[1], map[string]string{
			"run1/results.txt": resultsText(
				arms,
				[][3]string{{"mysql", "14186", "16007"}, {"postgresql", "15232", "16942"}},
			),
			"run2/results.txt": resultsText(
				arms,
				[][3]string{{"mysql", "14989", "16371"}, {"postgresql", "15870", "17102"}},
			),
		}, Judge, "-md", "run1/results.txt", "run2/results.txt")
	})
}

// The differences that were published after those tables, and one of each table, follow from the
// numbers in examples/releases.csv; the page of the trend has the first lines of what it prints.
func TestPublishedDifferences(t *testing.T) {
	csv, err := os.ReadFile("../../../examples/releases.csv")
	failure.None(t, err)
	page, err := os.ReadFile("../../../docs/trend.md")
	failure.None(t, err)
	files := map[string]string{"examples/releases.csv": string(csv)}
	status, out, errs := in(t, files, Report, "trend", "-json", "examples/releases.csv")
	var d report.TrendPart
	if err := json.Unmarshal([]byte(out), &d); err != nil || status != exit.OK || errs != "" {
		t.Fatal(status, errs, err)
	}
	got := map[string]string{}
	for _, db := range d.Databases {
		for _, l := range db.Links {
			got[db.Database+" "+l.Base+" "+l.New] = fmt.Sprintf("%+.2f%%", 100*l.Effect.Value)
		}
	}
	for _, want := range [][2]string{
		{"MySQL v10.6.1 v10.7.0-rc1", "-0.28%"}, {"Postgres v10.6.1 v10.7.0-rc1", "-1.11%"}, {"MySQL v10.5.0 v10.6.0-rc3", "+16.86%"},
		{"Postgres v11.0.4 v11.1.0-rc2", "-3.64%"}, {"Postgres v11.1.1 v11.2.0-rc2", "-2.62%"}, {"Postgres v11.2.0 v11.3.0-rc1", "-1.61%"},
		{"Postgres v11.3.0 v11.4.0-rc2", "-0.28%"}, {"Postgres v11.6.1 v11.7.0-rc2", "-0.90%"}, {"Postgres v10.11.17 v11.7.1", "+5.37%"},
		{"Postgres v11.7.1 v11.8.0-rc3", "+5.30%"},
	} {
		if got[want[0]] != want[1] {
			t.Errorf("%s: %q, published was %s", want[0], got[want[0]], want[1])
		}
	}
	_, text, _ := strings.Cut(string(page), "plimsoll report trend examples/releases.csv")
	_, text, _ = strings.Cut(text, "```text\n")
	text, _, _ = strings.Cut(text, "```")
	if _, out, _ = in(t, files, Report, "trend", "examples/releases.csv"); text == "" ||
		!strings.Contains(out, text) {
		t.Errorf("docs/trend.md shows\n%s\nwhich is not in\n%s", text, out[:min(len(out), 3000)])
	}
}

func checkPublished(
	t *testing.T,
	want publishedComparison,
	files map[string]string,
	verb verbtest.Verb,
	args ...string,
) {
	t.Helper()
	status, out, errOut := in(t, files, verb, args...)
	if status != exit.Inconclusive || errOut != "" {
		t.Errorf("status %d, stderr %q; want 4 and silence", status, errOut)
	}
	if n := strings.Count(out, "**INDICATIVE**"); n == 0 || strings.Contains(out, "**SAME**") ||
		strings.Contains(out, "**BETTER**") {
		t.Errorf("one or two runs are more than indicative:\n%s", out)
	}
	got := tables(out)
	for _, w := range want.tables {
		if !equal(got[w.heading], w.cells) {
			t.Errorf("%s:\ngot  %q\nwant %q", w.heading, got[w.heading], w.cells)
		}
	}
	if !equal(got["Blocks to say the same"], want.blocks) {
		t.Errorf("blocks:\ngot  %q\nwant %q", got["Blocks to say the same"], want.blocks)
	}
}
