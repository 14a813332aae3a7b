package verdict

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Row is one pair of runs as a table has it: what was measured, on which database, and the numbers of both arms.
type Row struct {
	Metric   string // "capacity", "p95(post)"; empty where a table is of one metric
	Database string // empty where there is only one
	Unit     string // of both numbers
	Pair
	// Withheld says why a verdict on the metric is neither same nor better, whatever its pairs show; it holds for all rows of the metric on the database.
	Withheld string
	Line     int // of the table, from 1; 0 if it has none
}

// HasPair reports whether the row is a pair of numbers. The others are the one of the metric [FailedRuns], which has in Base and New how many of BaseOps and
// NewOps runs failed by the target's doing, and one of a metric that no pair has numbers for: these are NaN.
func (r Row) HasPair() bool {
	return r.Metric != FailedRuns && !math.IsNaN(r.Base) && !math.IsNaN(r.New)
}

// Attempts returns the runs of both arms behind a row of the metric [FailedRuns].
func (r Row) Attempts() (base, fresh Attempts) {
	return Attempts{Runs: int(r.BaseOps), Failed: int(r.Base)}, Attempts{Runs: int(r.NewOps), Failed: int(r.New)}
}

// mostWithheld is how long the text of the column withheld may be, in bytes.
const mostWithheld = 1000

// The columns of ReadTable: the first three have to be there.
var tableColumns = []string{"pair", "base", "new", "metric", "database", "unit", "base_ops", "new_ops", "first", "withheld"}

const tableWants = "want pair,base,new, and beside them only metric, database, unit, base_ops, new_ops, first and withheld"

// ReadTable reads what [ReadCSV] reads, of several metrics and databases: the columns pair, base and new, and
// perhaps metric, database and unit, base_ops and new_ops (of how many operations an error rate is; empty or 0 where it is not known), first (which run of
// the pair came first, base or new; empty where it is not known) and withheld ([Row.Withheld]), in any order. A pair is used once for each metric and
// database, and a metric has one unit; whoever has milliseconds in one line and seconds in another converts them first. The metric [FailedRuns] is as
// [Row.HasPair] says, and base and new may be empty in a row that says why the verdict is withheld. Everything wrong is
// reported at once as a [*CSVError]; an error of the reader is returned as it is, wrapped.
func ReadTable(r io.Reader) ([]Row, error) {
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

// HasTableColumns reports whether the header of a CSV names a column that [ReadTable] knows and [ReadCSV] does not.
func HasTableColumns(data []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	for name := range strings.SplitSeq(string(first), ",") {
		if slices.Contains(tableColumns[3:], strings.Trim(strings.TrimSpace(name), `"`)) {
			return true
		}
	}
	return false
}

func parseTable(data []byte, problems *CSVError) []Row {
	t := table{problems: problems, seen: map[string]int{}, units: map[string]Row{}}
	readRows(data, problems, t.header, t.row)
	t.end()
	return t.rows
}

// A table is one that is being read.
type table struct {
	columns     []string
	rows        []Row
	problems    *CSVError
	seen        map[string]int // metric, database and pair to line
	units       map[string]Row // the first row of a metric
	lines       int
	empty       [2]int    // lines without a number, by arm
	emptyErrors []Problem // said unless a whole arm is empty
}

func (t *table) header(line int, fields []string) bool {
	t.columns = fields
	for i, f := range fields {
		if !slices.Contains(tableColumns, f) || slices.Contains(fields[:i], f) {
			t.problems.add(line, "the header is %s: %s", quote(strings.Join(fields, ",")), tableWants)
			return false
		}
	}
	for _, f := range tableColumns[:3] {
		if !slices.Contains(fields, f) {
			t.problems.add(line, "the header has no column %s: %s", f, tableWants)
			return false
		}
	}
	return true
}

func (t *table) row(line int, fields []string) {
	if len(fields) != len(t.columns) {
		t.problems.add(line, "%s: the header has %d", count(len(fields), "field"), len(t.columns))
		return
	}
	t.lines++
	before := len(t.problems.Problems) + t.problems.More + len(t.emptyErrors)
	field := map[string]string{}
	for i, c := range t.columns {
		field[c] = fields[i]
	}
	r := Row{Metric: field["metric"], Database: field["database"], Unit: field["unit"], Withheld: field["withheld"], Line: line}
	if len(r.Withheld) > mostWithheld || strings.ContainsFunc(r.Withheld, unicode.IsControl) {
		t.problems.add(line, "withheld is %s: want a sentence of at most %d bytes", quote(r.Withheld), mostWithheld)
	}
	for _, c := range []string{"metric", "database"} {
		if slices.Contains(t.columns, c) && field[c] == "" {
			t.problems.add(line, "%s is empty", c)
		}
	}
	// Each metric on each database has its own pairs: parsePair finds doubles among the pairs of one.
	seen := map[int]int{}
	numbers := []string{field["pair"], field["base"], field["new"]}
	without := r.Withheld != "" && numbers[1] == "" && numbers[2] == ""
	if without {
		numbers[1], numbers[2] = "1", "1"
		t.lines-- // it says nothing of an arm that is missing
	}
	for arm, text := range numbers[1:] {
		if text == "" {
			t.empty[arm]++
			t.emptyErrors = append(t.emptyErrors, Problem{line, tableColumns[1+arm] + " is empty"})
			numbers[1+arm] = "1"
		}
	}
	p, ok := parsePair(line, numbers, seen, t.problems)
	t.beside(line, field, &p)
	if without {
		p.Base, p.New = math.NaN(), math.NaN()
	}
	if r.Metric == FailedRuns {
		if ok && p.Block != 1 {
			t.problems.add(line, "pair is %d: want 1, because %s are one line of a database", p.Block, FailedRuns)
		}
		for arm, of := range [][2]float64{{p.Base, float64(p.BaseOps)}, {p.New, float64(p.NewOps)}} {
			if !(of[0] <= of[1]) || of[0] != math.Trunc(of[0]) || of[1] > MaxCSVPairs {
				t.problems.add(line, "%s is %v: want how many of %s_ops runs failed, at most %d", tableColumns[1+arm], of[0], tableColumns[1+arm], MaxCSVPairs)
			}
		}
	}
	if ok {
		key := fmt.Sprintf("%s\x00%s\x00%d", r.Metric, r.Database, p.Block)
		if first, twice := t.seen[key]; twice {
			t.problems.add(line, "pair %d%s was already on line %d", p.Block, r.of(), first)
		}
		t.seen[key] = line
	}
	if first, known := t.units[r.Metric]; !known {
		t.units[r.Metric] = r
	} else if first.Unit != r.Unit {
		t.problems.add(line, "%s is in %s, but on line %d in %s: convert one of them", r.name(), unitName(r.Unit), first.Line, unitName(first.Unit))
	}
	if before == len(t.problems.Problems)+t.problems.More+len(t.emptyErrors) {
		r.Pair = p
		t.rows = append(t.rows, r)
	}
}

// beside reads the columns that say more of a pair.
func (t *table) beside(line int, field map[string]string, p *Pair) {
	for _, c := range []struct {
		name string
		to   *int64
	}{{"base_ops", &p.BaseOps}, {"new_ops", &p.NewOps}} {
		text := field[c.name]
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > largest {
			t.problems.add(line, "%s is %s: want a number of operations from 0", c.name, quote(text))
			continue
		}
		*c.to = n
	}
	switch p.First = field["first"]; p.First {
	case "", FirstBase, FirstNew:
	default:
		t.problems.add(line, "first is %s: want base, new or nothing", quote(p.First))
	}
}

// end says which numbers were missing, once all lines are known.
func (t *table) end() {
	for arm, n := range t.empty {
		if n > 0 && n == t.lines {
			t.problems.add(0, emptyArm, tableColumns[1+arm])
			return
		}
	}
	for _, p := range t.emptyErrors {
		t.problems.add(p.Line, "%s", p.Text)
	}
}

// of says what a pair is of, if there is more than one thing.
func (r Row) of() string {
	text := ""
	if r.Metric != "" {
		text += " of " + r.Metric
	}
	if r.Database != "" {
		text += " on " + r.Database
	}
	return text
}

func (r Row) name() string {
	if r.Metric == "" {
		return "the pair"
	}
	return r.Metric
}

func unitName(u string) string {
	if u == "" {
		return "no unit"
	}
	return u
}
