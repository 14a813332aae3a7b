package imported

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/files"
	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// A PairRow is one pair of runs in a table: the metric, the database, and the numbers of both arms.
type PairRow struct {
	Metric   string // "capacity", "p95(post)"; empty where a table is of one metric
	Database string // empty where there is only one
	Unit     string // of both numbers
	verdict.Pair
	// Withheld is the reason why a verdict on the metric may be neither same nor better; it holds
	// for all rows of the metric on the database.
	Withheld string
	Test     string // that both numbers are of, where it is known; tables do not have it
	// Without gives the reasons why the runs, base first, have no number, which is then NaN; a
	// table has none. Unstable reports that the reason is an unstable search.
	Without  [2]string
	Unstable [2]bool
	Line     int // of the table, from 1; 0 if it has none
}

// HasPair reports whether the row is a pair of numbers. The others are the one of the metric
// [verdict.FailedRuns], whose Base and New count the runs, of BaseOps and NewOps, that failed
// because of the target, and those of a metric for which no pair, or not this one, has numbers:
// these are NaN.
func (r PairRow) HasPair() bool {
	return r.Metric != verdict.FailedRuns && !math.IsNaN(r.Base) && !math.IsNaN(r.New)
}

// Attempts returns the runs of both arms behind a row of the metric [verdict.FailedRuns].
func (r PairRow) Attempts() (base, fresh verdict.Attempts) {
	return verdict.Attempts{
		Runs:   int(r.BaseOps),
		Failed: int(r.Base),
	}, verdict.Attempts{Runs: int(r.NewOps), Failed: int(r.New)}
}

// mostWithheld is the longest text of the column withheld, in bytes.
const mostWithheld = 1000

// The columns of ReadTable: base and new have to be there.
var tableColumns = []string{
	"base",
	"new",
	"pair",
	"metric",
	"database",
	"unit",
	"base_ops",
	"new_ops",
	"first",
	"withheld",
}

const tableWants = "want the columns base and new, and beside them only " +
	"pair, metric, database, unit, base_ops, new_ops, first and withheld"

// ReadTable reads pairs from a CSV ([files.Rows]) with the columns base and new, and perhaps pair
// (its number from 1; without that column pairs are numbered in their order), metric, database and
// unit, base_ops and new_ops (of how many operations an error rate is; empty or 0 where it is not
// known), first (which run of the pair came first, base or new; empty where it is not known) and
// withheld ([PairRow.Withheld]), in any order. Values are decimal numbers from 0 to 1e15; one
// written ">=20000" is censored: at least this. A pair is used once for each metric and database,
// and a metric has one unit; a file with milliseconds in one line and seconds in another must be
// converted first. The metric [verdict.FailedRuns] is described at [PairRow.HasPair], and base and
// new may be empty in a row that gives the reason for a withheld verdict. Everything wrong is
// reported at once as a [*CSVError]; an error of the reader is returned as it is, wrapped.
func ReadTable(r io.Reader) ([]PairRow, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxCSVBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading pairs: %w", err)
	}
	problems := &CSVError{}
	rows := parseTable(data, problems)
	if len(problems.Problems) > 0 {
		return nil, problems
	}
	return rows, nil
}

// IsTable reports whether a text is a CSV whose header has the columns that [ReadTable] needs, and
// no others that hold numbers of releases.
func IsTable(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	rows, err := files.Rows(first)
	if err != nil || len(rows) == 0 {
		return false
	}
	header := rows[0].Fields
	return slices.Contains(header, "base") && slices.Contains(header, "new") &&
		!slices.Contains(header, "base_release")
}

func parseTable(data []byte, problems *CSVError) []PairRow {
	if len(data) > MaxCSVBytes {
		problems.add(0, "the input is larger than %d bytes", MaxCSVBytes)
		return nil
	}
	rows, err := files.Rows(data)
	t := table{
		problems: problems,
		seen:     map[string]int{},
		units:    map[string]PairRow{},
		pairs:    map[string]int{},
	}
	switch {
	case len(rows) == 0 && err == nil:
		problems.add(0, "the input is empty: want a header with base and new, and a line per pair")
	case len(rows) == 1 && err == nil && t.header(rows[0]):
		problems.add(0, "there is no pair below the header")
	case len(rows) > 1 && t.header(rows[0]):
		for i, row := range rows[1:] {
			if i == MaxCSVPairs {
				problems.add(row.Line, "more than %d pairs", MaxCSVPairs)
				break
			}
			t.row(row.Line, row.Fields)
		}
		t.end()
	}
	if err != nil {
		problems.add(0, "%v", err) // fields behind a broken quote cannot be separated
	}
	return t.rows
}

// A table is one that is being read.
type table struct {
	columns     []string
	rows        []PairRow
	problems    *CSVError
	seen        map[string]int     // metric, database and pair to line
	pairs       map[string]int     // metric and database to the number of pairs so far
	units       map[string]PairRow // the first row of a metric
	lines       int
	empty       [2]int         // lines without a number, by arm
	emptyErrors []InputProblem // reported unless a whole arm is empty
}

func (t *table) header(row files.CSVRow) bool {
	t.columns = row.Fields
	text := record.QuoteImported(strings.Join(t.columns, ","))
	for i, f := range t.columns {
		if !slices.Contains(tableColumns, f) || slices.Contains(t.columns[:i], f) {
			t.problems.add(row.Line, "the header is %s: %s", text, tableWants)
			return false
		}
	}
	for _, f := range tableColumns[:2] {
		if !slices.Contains(t.columns, f) {
			t.problems.add(row.Line, "the header has no column %s: %s", f, tableWants)
			return false
		}
	}
	return true
}

func (t *table) row(line int, fields []string) {
	if len(fields) != len(t.columns) {
		t.problems.add(line, "%s: the header has %d (%s)", verdict.Count(len(fields), "field"),
			len(t.columns), strings.Join(t.columns, ","))
		return
	}
	t.lines++
	before := t.found()
	field := map[string]string{}
	for i, c := range t.columns {
		field[c] = fields[i]
	}
	r := PairRow{
		Metric:   field["metric"],
		Database: field["database"],
		Unit:     field["unit"],
		Withheld: field["withheld"],
		Line:     line,
	}
	t.texts(r, field)
	series := r.Metric + "\x00" + r.Database // has pairs of its own
	t.pairs[series]++
	numbers, without := t.numbers(r, field, t.pairs[series])
	p, ok := parsePair(line, numbers, t.problems)
	t.beside(line, field, &p)
	if without {
		p.Base, p.New = math.NaN(), math.NaN()
	}
	if r.Metric == verdict.FailedRuns {
		t.failedRuns(line, p, ok)
	}
	if p.Block > 0 {
		key := fmt.Sprintf("%s\x00%d", series, p.Block)
		if first, twice := t.seen[key]; twice {
			t.problems.add(line, "pair %d%s was already on line %d", p.Block, r.of(), first)
		}
		t.seen[key] = line
	}
	t.sameUnit(r)
	if before == t.found() {
		r.Pair = p
		t.rows = append(t.rows, r)
	}
}

// found counts the problems so far.
func (t *table) found() int {
	return len(t.problems.Problems) + t.problems.More + len(t.emptyErrors)
}

// texts checks the fields of a line that are no numbers.
func (t *table) texts(r PairRow, field map[string]string) {
	if len(r.Withheld) > mostWithheld || strings.ContainsFunc(r.Withheld, unicode.IsControl) {
		t.problems.add(r.Line, "withheld is %s: want a sentence of at most %d bytes",
			record.QuoteImported(r.Withheld), mostWithheld)
	}
	for _, c := range []string{"metric", "database"} {
		if slices.Contains(t.columns, c) && field[c] == "" {
			t.problems.add(r.Line, "%s is empty", c)
		}
	}
}

// numbers returns the texts of pair, base and new of a line, which is the nth of its metric and
// database. An empty number becomes a 1, so that the rest of the line is checked; without reports a
// line that withholds both.
func (t *table) numbers(r PairRow, field map[string]string, nth int) (out []string, without bool) {
	out = []string{field["pair"], field["base"], field["new"]}
	if !slices.Contains(t.columns, "pair") {
		out[0] = strconv.Itoa(nth)
	}
	without = r.Withheld != "" && out[1] == "" && out[2] == ""
	if without {
		out[1], out[2] = "1", "1"
		t.lines-- // it does not show that an arm is missing
	}
	for arm, text := range out[1:] {
		if text == "" {
			t.empty[arm]++
			t.emptyErrors = append(t.emptyErrors,
				InputProblem{r.Line, tableColumns[arm] + " is empty"})
			out[1+arm] = "1"
		}
	}
	return out, without
}

// failedRuns checks the counts of a line of failed runs; numbered reports that its pair was read.
func (t *table) failedRuns(line int, p verdict.Pair, numbered bool) {
	if numbered && p.Block != 1 {
		t.problems.add(line, "pair is %d: want 1, because %s are one line of a database",
			p.Block, verdict.FailedRuns)
	}
	for arm, of := range [][2]float64{{p.Base, float64(p.BaseOps)}, {p.New, float64(p.NewOps)}} {
		if !(of[0] <= of[1]) || of[0] != math.Trunc(of[0]) || of[1] > MaxCSVPairs {
			t.problems.add(line, "%s is %v: want how many of %s_ops runs failed, at most %d",
				tableColumns[arm], of[0], tableColumns[arm], MaxCSVPairs)
		}
	}
}

// sameUnit checks that a metric has the unit of its first line.
func (t *table) sameUnit(r PairRow) {
	first, known := t.units[r.Metric]
	if !known {
		t.units[r.Metric] = r
		return
	}
	if first.Unit != r.Unit {
		t.problems.add(r.Line, "%s is in %s, but on line %d in %s: convert one of them",
			cmp.Or(r.Metric, "the pair"), UnitText(r.Unit), first.Line, UnitText(first.Unit))
	}
}

// beside reads the optional columns of a pair.
func (t *table) beside(line int, field map[string]string, p *verdict.Pair) {
	for _, c := range []struct {
		name string
		to   *int64
	}{{"base_ops", &p.BaseOps}, {"new_ops", &p.NewOps}} {
		text := field[c.name]
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > verdict.Largest {
			t.problems.add(
				line,
				"%s is %s: want a number of operations from 0",
				c.name,
				record.QuoteImported(text),
			)
			continue
		}
		*c.to = n
	}
	switch p.First = field["first"]; p.First {
	case "", verdict.FirstBase, verdict.FirstNew:
	default:
		t.problems.add(
			line,
			"first is %s: want base, new or nothing",
			record.QuoteImported(p.First),
		)
	}
}

// end reports the missing numbers, once all lines are known.
func (t *table) end() {
	whole := true
	for arm, n := range t.empty {
		if n > 0 && n == t.lines {
			whole = false
			t.problems.add(0, "the arm %s is empty: no line has a number of it", tableColumns[arm])
		}
	}
	for _, p := range t.emptyErrors {
		if whole {
			t.problems.add(p.Line, "%s", p.Text)
		}
	}
}

// of names the metric and database of a pair, if there is more than one.
func (r PairRow) of() string {
	text := ""
	if r.Metric != "" {
		text += " of " + r.Metric
	}
	if r.Database != "" {
		text += " on " + r.Database
	}
	return text
}

// UnitText returns a unit, or words for none.
func UnitText(unit string) string { return cmp.Or(unit, "no unit") }
