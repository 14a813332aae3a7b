package comparison

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// MostGiven is the largest number of files that make sense in one comparison.
const MostGiven = 1000

// Paired holds the figures of the runs of two arms, by pairs.
type Paired struct {
	// Rows hold the figures to be judged, Asides the figures that are only shown. Both are ordered
	// by metric and database as the first run has them, then by pair; rows without a number come
	// last.
	Rows, Asides []imported.PairRow
	// Names are the names of the arms in the files; "base" and "new" where there are none.
	Names [2]string
	// Skipped names figures that cannot be judged, with the reason.
	Skipped  map[string]string
	Warnings []string
}

// PairImported makes pairs of runs that other tools measured. Their Pair and Arm are set. It is an
// error, which names the file, when an arm has no run, a pair is not in both arms or twice in one,
// when the runs are of several tools or did different things, or when a figure has several units. A
// figure to be judged is skipped when some run lacks it and gives no reason, when it rests on too
// few operations, or when the tool rounded it to more than half of the margin that endpoint gives
// it: such steps look like differences without any spread.
func PairImported(runs []record.Imported,
	endpoint func(metric, unit string) (plan.Endpoint, error)) (Paired, error) {
	p := Paired{Names: [2]string{record.ImportedBase, record.ImportedNew},
		Skipped: map[string]string{}}
	arms, err := p.arms(runs)
	if err != nil {
		return p, err
	}
	slices.SortStableFunc(runs, func(a, b record.Imported) int {
		return cmp.Compare(a.Pair, b.Pair)
	})
	units := map[string]record.Imported{}
	counts := map[string]int{} // runs that have a figure
	var figures []record.Figure
	var databases []string
	for _, g := range runs {
		if !slices.Contains(databases, g.Database) {
			databases = append(databases, g.Database)
		}
		for _, f := range g.Figures {
			counts[f.Name]++
			first, known := units[f.Name]
			if !known {
				units[f.Name] = g
				figures = append(figures, f)
				continue
			}
			if other, _ := first.Figure(f.Name); other.Unit != f.Unit {
				return p, fmt.Errorf("%s: %s is in %s, but %s has it in %s: convert one of them",
					place(g, f), f.Name, imported.UnitText(f.Unit), place(first, other),
					imported.UnitText(other.Unit))
			}
		}
	}
	if i := slices.IndexFunc(runs,
		func(g record.Imported) bool {
			return g.Unstable != "" ||
				g.Lacks["capacity"] != ""
		}); i >= 0 && counts["capacity"] == 0 {
		units["capacity"] = runs[i] // a figure that no run has is judged, and invalid
		figures = append([]record.Figure{{Name: "capacity", Unit: "users"}}, figures...)
	}
	p.warn(runs)
	var without []imported.PairRow
	for _, f := range figures {
		if err := inOneTest(runs, f.Name); err != nil {
			return p, err
		}
		rows, lacking, explained := pair(f, databases, arms)
		if f.Aside {
			p.Asides = append(p.Asides, rows...)
			continue
		}
		why, err := unfit(f, runs, endpoint)
		if err != nil {
			return p, fmt.Errorf("%s: %w", place(units[f.Name], f), err)
		}
		if why == "" && !explained {
			why = fmt.Sprintf("%d of %d runs do not have it", len(runs)-counts[f.Name], len(runs))
		}
		if why != "" {
			p.Skipped[f.Name] = why
			continue
		}
		p.Rows, without = append(p.Rows, rows...), append(without, lacking...)
	}
	p.Rows = append(p.Rows, without...)
	return p, nil
}

type armKey struct {
	database, test string
	pair           int
}

// arms sorts the runs into arms and checks that they are pairs.
func (p *Paired) arms(runs []record.Imported) (arms [2]map[armKey]record.Imported, err error) {
	tests := map[string]record.Imported{}
	for i := range arms {
		arms[i] = map[armKey]record.Imported{}
	}
	for _, g := range runs {
		arm := slices.Index([]string{record.ImportedBase, record.ImportedNew}, g.Arm)
		if arm < 0 {
			return arms, fmt.Errorf(
				"%s: it is not known which arm it is of: pass it by -base or -new",
				g.Source,
			)
		}
		if g.Tool != runs[0].Tool {
			return arms, fmt.Errorf(
				"%s is of %s, but %s of %s: both arms have to be measured by one tool",
				g.Source,
				g.Tool,
				runs[0].Source,
				runs[0].Tool,
			)
		}
		key := armKey{g.Database, g.Test, g.Pair}
		if other, twice := arms[arm][key]; twice {
			return arms, fmt.Errorf(
				"%s: pair %d of %s%s is there already, in %s",
				g.Source,
				g.Pair,
				g.Arm,
				onDatabase(g.Database),
				other.Source,
			)
		}
		arms[arm][key] = g
		// A file with several tests names each; a file with one is taken to hold the same test as
		// all others.
		if kind, _, _ := strings.Cut(g.Test, ","); g.Test != "" {
			if first, known := tests[kind+"\x00"+g.Database]; known && first.Test != g.Test {
				return arms, fmt.Errorf(
					"%s: its test is %q, but that of %s is %q: runs that did different things are no replicates",
					g.Source,
					g.Test,
					first.Source,
					first.Test,
				)
			}
			tests[kind+"\x00"+g.Database] = g
		}
		if g.Label != "" {
			if p.Names[arm] != g.Label && p.Names[arm] != g.Arm {
				return arms, fmt.Errorf(
					"%s: %s is %q, but was %q before: one file is of another version",
					g.Source,
					g.Arm,
					g.Label,
					p.Names[arm],
				)
			}
			p.Names[arm] = g.Label
		}
	}
	if p.Names[0] == p.Names[1] {
		p.Names = [2]string{p.Names[0] + " (base)", p.Names[1] + " (new)"}
	}
	for i, name := range []string{record.ImportedBase, record.ImportedNew} {
		if len(arms[i]) == 0 {
			return arms, fmt.Errorf("the arm %s is empty: give at least one run of it", name)
		}
	}
	for i := range arms {
		for _, g := range runs {
			key := armKey{g.Database, g.Test, g.Pair}
			if _, ok := arms[i][key]; !ok {
				return arms, fmt.Errorf("%s: pair %d%s has no run of the arm %s", g.Source, g.Pair,
					onDatabase(g.Database), []string{record.ImportedBase, record.ImportedNew}[i])
			}
		}
	}
	return arms, nil
}

// inOneTest returns an error when runs of several tests on one database have a figure of one name:
// such runs cannot be paired.
func inOneTest(runs []record.Imported, name string) error {
	first := map[string]record.Imported{}
	for _, g := range runs {
		if _, ok := g.Figure(name); !ok {
			continue
		}
		other, known := first[g.Database]
		if known && other.Test != g.Test {
			return fmt.Errorf(
				"%s: %s is of the test %q, but in %s of %q: judge one test at a time, or leave it out of one",
				g.Source,
				name,
				g.Test,
				other.Source,
				other.Test,
			)
		}
		first[g.Database] = g
	}
	return nil
}

// pair makes the rows of one figure on each database, from the tests in which some run has it. Rows
// that lack a number are apart. The result is false when a run gives no reason for a number that it
// lacks; the files of other tools never give one.
func pair(f record.Figure, databases []string, arms [2]map[armKey]record.Imported) (
	rows, without []imported.PairRow, explained bool) {
	isCapacity := f.Name == "capacity"
	asked := map[armKey]bool{} // tests in which the figure was requested
	for _, arm := range arms {
		for key, g := range arm {
			if _, has := g.Figure(f.Name); has || isCapacity && g.Unstable+g.Lacks[f.Name] != "" {
				key.pair = 0
				asked[key] = true
			}
		}
	}
	explained = true
	for key, g := range arms[0] {
		if !asked[armKey{database: key.database, test: key.test}] {
			continue
		}
		r := imported.PairRow{Metric: f.Name, Database: key.database, Unit: f.Unit}
		var of [2]record.Figure
		for i, g := range []record.Imported{g, arms[1][key]} {
			var has, said bool
			if of[i], has = g.Figure(f.Name); has {
				continue
			}
			of[i].Value = math.NaN()
			if r.Without[i], said = g.Lacks[f.Name]; isCapacity && g.Unstable != "" {
				r.Without[i] = g.Unstable
				r.Unstable[i] = true
				said = true
			}
			explained = explained && said
		}
		r.Pair = verdict.Pair{
			Block: key.pair, Base: of[0].Value, New: of[1].Value, BaseCensored: of[0].AtLeast,
			NewCensored: of[1].AtLeast, BaseOps: of[0].Ops, NewOps: of[1].Ops,
		}
		if r.HasPair() {
			r.Test = g.Test
			rows = append(rows, r)
		} else {
			without = append(without, r)
		}
	}
	for _, s := range [][]imported.PairRow{rows, without} {
		slices.SortFunc(s, func(a, b imported.PairRow) int {
			x, y := slices.Index(databases, a.Database), slices.Index(databases, b.Database)
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Block, b.Block))
		})
	}
	return rows, without, explained
}

// warn gathers the warnings of the files: each text once, with its runs.
func (p *Paired) warn(runs []record.Imported) {
	sources := map[string][]string{}
	var texts []string
	for _, g := range runs {
		for _, w := range g.Warnings {
			if sources[w] == nil {
				texts = append(texts, w)
			}
			if !slices.Contains(sources[w], g.Source) {
				sources[w] = append(sources[w], g.Source)
			}
		}
	}
	for _, w := range texts {
		from := sources[w][0]
		if n := len(sources[w]); n > 1 {
			from += fmt.Sprintf(" and %d more", n-1)
		}
		p.Warnings = append(p.Warnings, from+": "+w)
	}
}

// unfit returns the reason why a figure cannot be judged: the first run whose figure rests on too
// little, or is too coarse.
func unfit(f record.Figure, runs []record.Imported,
	endpoint func(metric, unit string) (plan.Endpoint, error)) (string, error) {
	e, err := endpoint(f.Name, f.Unit)
	if err != nil {
		return "", err
	}
	for _, g := range runs {
		of, ok := g.Figure(f.Name)
		if !ok {
			continue
		}
		if why := tooFew(of); why != "" {
			return g.Source + ": " + why, nil
		}
		if !e.Absolute && of.Step > e.Margin/2*of.Value {
			return fmt.Sprintf(
				"%s: %s rounds %g %s to %g %s: more than half the margin of %g %%",
				g.Source,
				g.Tool,
				of.Value,
				f.Unit,
				of.Step,
				f.Unit,
				100*e.Margin,
			), nil
		}
	}
	return "", nil
}

// tooFew returns the reason why the operations of a figure are too few for its percentile; empty if
// they are not.
func tooFew(f record.Figure) string {
	var q float64
	if f.Ops == 0 {
		return ""
	}
	if n, err := fmt.Sscanf(f.Name, "p%g", &q); n != 1 || err != nil || q <= 0 || q >= 100 {
		return ""
	}
	if least := stats.LeastOps(q / 100); uint64(f.Ops) < least {
		return fmt.Sprintf("%d operations are too few for p%g: want %d", f.Ops, q, least)
	}
	return ""
}

func place(g record.Imported, f record.Figure) string {
	if f.Line == 0 {
		return g.Source
	}
	return fmt.Sprintf("%s: line %d", g.Source, f.Line)
}

func onDatabase(name string) string {
	if name == "" {
		return ""
	}
	return " on " + name
}

// EndpointOf returns the endpoint of a metric that is named as in [record.Figure]: capacity and
// throughput are better higher, errors in percent and all latencies lower. The margin is the
// statistic's unless margins has the metric.
func EndpointOf(metric, unit string, margins map[string]plan.Endpoint) (plan.Endpoint, error) {
	e := plan.Endpoint{Name: metric, Unit: unit, Better: plan.Lower}
	stat, _, _ := strings.Cut(metric, "(")
	var q float64
	n, err := fmt.Sscanf(stat, "p%g", &q)
	switch {
	case stat == "capacity" || stat == "throughput":
		e.Better, e.Margin = plan.Higher, 0.05
	case stat == "errors" && unit == "%":
		e.Margin, e.Absolute = 0.1, true
	case stat == "errors":
		return e, fmt.Errorf("errors are in %s: want %%, a share of all operations",
			imported.UnitText(unit))
	case stat == "cost" || stat == plan.Typical:
		e.Margin = 0.05
	case stat == "mean" || stat == "max":
		e.Margin = 0.10
	case n == 1 && err == nil && q > 0 && q < 100:
		e.Margin = 0.10
		if q >= 99 {
			e.Margin = 0.15
		}
	default:
		return e, fmt.Errorf(
			"metric %q: want capacity, throughput, errors, cost(app), typical(op), or p50, p95, p99, mean or max of something, such as p95(post)",
			metric,
		)
	}
	for _, key := range []string{metric, stat} {
		if m, ok := margins[key]; ok {
			if m.Absolute != e.Absolute {
				return e, fmt.Errorf(
					"the margin of %s is in %s: want %s",
					metric,
					marginUnit(m.Absolute),
					marginUnit(e.Absolute),
				)
			}
			e.Margin = m.Margin
			break
		}
	}
	return e, nil
}

func marginUnit(absolute bool) string {
	if absolute {
		return "percentage points (pp)"
	}
	return "percent"
}

// JudgeRows judges pairs from a table: the new arm against base on each database, all its metrics
// together, and each database against the first within each arm, in what both measured in one test;
// only capacities are compared whatever the bounded tests were. An error names the metric without a
// meaning.
func JudgeRows(rows []imported.PairRow, names [2]string,
	endpoint func(metric, unit string) (plan.Endpoint,
		error)) (arms, databases []Judgement, err error) {
	var metrics, engines []string
	endpoints := map[string]plan.Endpoint{}
	t := table{}
	for _, r := range rows {
		if !slices.Contains(engines, r.Database) {
			engines = append(engines, r.Database)
		}
		if _, known := endpoints[r.Metric]; !known && r.Metric != verdict.FailedRuns {
			metrics = append(metrics, r.Metric)
			if endpoints[r.Metric], err = endpoint(r.Metric, r.Unit); err != nil {
				return nil, nil, err
			}
		}
		k := [2]string{r.Metric, r.Database}
		t[k] = append(t[k], r)
	}
	arms, databases = judgeSides(names[:], engines, verdict.Options{},
		func(base, other side, label [2]string) pairing {
			p := pairing{name: other.engine, counted: true}
			on := [2]string{base.engine, other.engine}
			arm := [2]int{slices.Index(names[:], base.arm), slices.Index(names[:], other.arm)}
			across := on[0] != on[1]
			if across {
				p.name += " against " + on[0] + ", " + other.arm
			}
			for _, m := range metrics {
				of := [2][]imported.PairRow{t[[2]string{m, on[0]}], t[[2]string{m, on[1]}]}
				if a, b := testOf(of[0]), testOf(of[1]); m != "capacity" && a != b && a != "" &&
					b != "" {
					p.OtherLoad = fmt.Sprintf(
						"the test of %s is %q and that of %s %q: what was measured under different loads is not compared",
						on[0],
						a,
						on[1],
						b,
					)
					continue
				}
				p.add(endpoints[m], readingsOf(of, arm, across), label, "", nil)
			}
			x, counted := t.attemptsOf(on[0], arm[0])
			y, _ := t.attemptsOf(on[1], arm[1])
			p.always = counted && !across
			// Other loads make other numbers of runs fail.
			if p.always || p.OtherLoad == "" && x.Runs > 0 && y.Runs > 0 {
				p.attempts = [2]verdict.Attempts{x, y}
			}
			return p
		})
	return arms, databases, nil
}

// A table holds rows by their metric and database.
type table map[[2]string][]imported.PairRow

// testOf returns the test of a metric on a database; empty where it is not known.
func testOf(rows []imported.PairRow) string {
	if len(rows) == 0 {
		return ""
	}
	return rows[0].Test
}

// attemptsOf returns the runs of one arm on a database; false where the table has no count of them.
func (t table) attemptsOf(database string, arm int) (verdict.Attempts, bool) {
	for _, r := range t[[2]string{verdict.FailedRuns, database}] {
		base, fresh := r.Attempts()
		return [2]verdict.Attempts{base, fresh}[arm], true
	}
	return verdict.Attempts{}, false
}

// readingsOf pairs the numbers of a metric: of both arms on one database, or of one arm across two.
func readingsOf(of [2][]imported.PairRow, arms [2]int, across bool) (out []readingPair) {
	for side, rows := range of {
		for _, r := range rows {
			i := slices.IndexFunc(out, func(p readingPair) bool { return p.block == r.Block })
			if i < 0 {
				i = len(out)
				out = append(out, readingPair{block: r.Block})
			}
			out[i].of[side] = readingOf(r, arms[side])
			out[i].withheld = cmp.Or(out[i].withheld, r.Withheld)
			if !across {
				out[i].first = r.First
			}
		}
	}
	return out
}

// readingOf returns the measurement of one arm of a row; no value where the row has no pair.
func readingOf(row imported.PairRow, arm int) reading {
	r := reading{there: true, value: math.NaN(), why: row.Without[arm], unstable: row.Unstable[arm]}
	switch {
	case !row.HasPair():
	case arm == 0:
		r.value = row.Base
		r.censored = row.BaseCensored
		r.ops = row.BaseOps
	default:
		r.value = row.New
		r.censored = row.NewCensored
		r.ops = row.NewOps
	}
	return r
}
