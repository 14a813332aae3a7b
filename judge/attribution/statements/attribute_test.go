package statements

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/watch/query"
)

// A database is a synthetic one: statements whose calls, times and reads vary as those of real
// ones, each by its own amount.
type database struct {
	rng     *rand.Rand
	texts   []string
	calls   []float64 // per operation
	seconds []float64 // per call
	rows    []float64
	reads   []float64
	noise   []float64 // of the time per call between runs, in logarithms
	plans   []*query.PlanStep
	mix     [4]float64 // how often each operation is done; each issues every fourth statement
}

func newDatabase(seed uint64, n int) *database {
	d := &database{rng: rand.New(rand.NewPCG(seed, 1)), mix: [4]float64{1, 1, 1, 1}}
	for i := range n {
		d.texts = append(d.texts, fmt.Sprintf("SELECT a%d FROM t%d WHERE b = ?", i, i))
		d.calls = append(d.calls, math.Exp(d.rng.NormFloat64()-1))
		d.seconds = append(d.seconds, 1e-4*math.Exp(1.5*d.rng.NormFloat64()))
		d.rows = append(d.rows, float64(1+i%3*10))
		d.reads = append(d.reads, 3+10*d.rng.Float64())
		d.noise = append(d.noise, 0.01+0.06*d.rng.Float64())
		d.plans = append(d.plans, &query.PlanStep{Kind: "Index Scan", Relation: fmt.Sprint("t", i), Index: "idx"})
	}
	return d
}

func (d *database) clone() *database {
	c := *d
	for _, v := range []*[]float64{&c.calls, &c.seconds, &c.rows, &c.reads} {
		*v = append([]float64(nil), *v...)
	}
	c.texts = append([]string(nil), c.texts...)
	c.plans = append([]*query.PlanStep(nil), c.plans...)
	return &c
}

// run returns the statements of a run, on a host with a speed.
func (d *database) run(speed float64) Issued {
	const operations = 4000
	var counted []query.Counted
	done, byName := 0.0, map[string]float64{}
	for i, often := range d.mix {
		n := operations / float64(len(d.mix)) * often
		done += n
		byName[fmt.Sprint(i)] = n
	}
	for i, text := range d.texts {
		mean := d.calls[i] * d.mix[i%len(d.mix)] * operations
		n := math.Round(mean + math.Sqrt(mean)*d.rng.NormFloat64())
		if n <= 0 {
			continue
		}
		rows := math.Round(n * d.rows[i])
		if d.rows[i] > 1 {
			rows = math.Round(rows * math.Exp(0.02*d.rng.NormFloat64()))
		}
		counted = append(counted, query.Counted{Text: text, Figures: query.Figures{
			Calls:   n,
			Seconds: n * d.seconds[i] * math.Exp(d.noise[i]*d.rng.NormFloat64()) / speed,
			Rows:    rows,
			Hit:     math.Round(n * d.reads[i] * math.Exp(0.02*d.rng.NormFloat64())),
		}})
	}
	c, _ := query.Gather(counted, 500)
	for i := range c.Statements {
		for k, text := range d.texts {
			if c.Statements[i].Text == text {
				c.Statements[i].Plan = d.plans[k]
			}
		}
	}
	return Issued{Census: c, Operations: done, ByName: byName}
}

func compare(base, fresh *database, blocks int, slower float64) Difference {
	var in []PairedCensus
	for range blocks {
		host := math.Exp(0.1 * base.rng.NormFloat64())
		in = append(in, PairedCensus{base.run(host), fresh.run(host / slower)})
	}
	return Attribute(in)
}

// deployed returns the database as another deployment has it: layout and statistics differ, so that
// reads per call vary by 20 % and one plan is another, in all blocks alike. Times do not.
func (d *database) deployed() *database {
	c := d.clone()
	for i := range c.reads {
		c.reads[i] *= math.Exp(0.2 * d.rng.NormFloat64())
	}
	i := d.rng.IntN(len(c.plans))
	c.plans[i] = &query.PlanStep{Kind: "Seq Scan", Relation: fmt.Sprint("t", i)}
	return c
}

// Where nothing changed, nothing is named in 95 of 100 comparisons; nor where the whole server is
// slower, nor between two deployments of one build, whose plan that differs is not a finding.
func TestNothingChanged(t *testing.T) {
	for _, tt := range []struct {
		blocks   int
		slower   float64
		deployed bool
	}{{4, 1, false}, {6, 1, false}, {6, 1.2, false}, {4, 1, true}, {6, 1, true}} {
		const comparisons = 200
		named := 0
		for seed := range uint64(comparisons) {
			d := newDatabase(seed, 40)
			fresh := d.clone()
			if tt.deployed {
				fresh = d.deployed()
			}
			got := compare(d, fresh, tt.blocks, tt.slower)
			if len(got.Findings) > 0 {
				named++
			}
			for _, p := range got.Plans {
				if p.Kind != Planned || p.Plan == nil {
					t.Errorf("%+v: %+v", tt, p)
				}
			}
			if n := len(got.Plans); tt.deployed != (n == 1) && len(got.Findings) == 0 {
				t.Errorf("%+v: %d plans differ", tt, n)
			}
		}
		t.Logf("%+v: named in %d of %d", tt, named, comparisons)
		if named > comparisons/20 {
			t.Errorf("%+v: statements are named in %d of %d comparisons", tt, named, comparisons)
		}
	}
}

// Users of a slower arm have done other things by the end, in all blocks alike: no statement is
// named for that, and one that is called three times as often still is.
func TestOtherMix(t *testing.T) {
	const comparisons = 100
	named, first := 0, 0
	for seed := range uint64(comparisons) {
		d := newDatabase(seed, 40)
		d.calls[7] = 0.5
		fresh := d.clone()
		fresh.mix = [4]float64{0.75, 1.05, 0.9, 1.2}
		if len(compare(d, fresh, 6, 1.1).Findings) > 0 {
			named++
		}
		fresh.calls[7] *= 3
		got := compare(d, fresh, 6, 1.1).Findings
		if len(got) > 0 && strings.Contains(got[0].Text, "FROM t7 ") {
			first++
		}
	}
	t.Logf("named in %d of %d, the right one first in %d", named, comparisons, first)
	if named > comparisons/20 || first < comparisons*9/10 {
		t.Errorf("named in %d of %d, the right one first in %d", named, comparisons, first)
	}
}

// What changed is the first finding, by the measure that changed, and the common change is not it.
func TestChangeIsNamed(t *testing.T) {
	const scan = "Seq Scan on t7"
	for name, tt := range map[string]struct {
		change  func(d *database)
		measure Measure
		kind    Kind
	}{
		"slower": {func(d *database) { d.seconds[7] *= 2 }, PerCall, Changed},
		"faster": {func(d *database) { d.seconds[7] /= 2 }, Time, Changed},
		"N+1":    {func(d *database) { d.calls[7] *= 3 }, Calls, Changed},
		"wider": {func(d *database) {
			d.rows[7] *= 2
			d.seconds[7] *= 1.6
		}, Rows, Changed},
		"a lost index": {func(d *database) {
			d.reads[7] *= 30
			d.seconds[7] *= 4
			d.plans[7] = &query.PlanStep{Kind: "Seq Scan", Relation: "t7"}
		}, Reads, Changed},
		"columns":     {func(d *database) { d.texts[7] = "SELECT a7, c FROM t7 WHERE b = ?"; d.seconds[7] *= 2 }, PerCall, Changed},
		"a condition": {func(d *database) { d.texts[7] = "SELECT a7 FROM t7 WHERE c = ?" }, "", Added},
	} {
		t.Run(name, func(t *testing.T) {
			first := 0
			for seed := range uint64(20) {
				d := newDatabase(seed, 40)
				d.calls[7], d.seconds[7], d.noise[7] = 1, 1e-3, 0.03
				fresh := d.clone()
				for i := range fresh.reads { // by the deployment
					fresh.reads[i] *= math.Exp(0.2 * d.rng.NormFloat64())
				}
				tt.change(fresh)
				got := compare(d, fresh, 6, 1.1)
				if _, err := json.Marshal(got); err != nil {
					t.Fatal(err)
				}
				if len(got.Findings) == 0 || !strings.Contains(got.Findings[0].Text, "FROM t7 ") {
					continue
				}
				f := got.Findings[0]
				if f.Kind == Removed {
					f.Kind = Added // they have the same cost
				}
				found := tt.measure == ""
				for _, m := range f.Figures {
					found = found || m.Measure == tt.measure && m.Found
				}
				planned := f.Plan != nil && f.Plan.To == scan && f.Plan.From == "Index Scan using idx on t7"
				switch {
				case f.Kind != tt.kind || !found:
				case planned != strings.HasSuffix(name, "index"):
				case (f.From != "") != (name == "columns"):
				case got.Common.Low > 0.1 || got.Common.High < 0.1:
				default:
					first++
				}
			}
			if first < 18 {
				t.Errorf("named first and rightly in %d of 20", first)
			}
		})
	}
}

// The sign of a change is that of the new arm against the base, and the share is of the whole.
func TestSignAndShare(t *testing.T) {
	d := newDatabase(3, 12)
	for i := range d.noise {
		d.noise[i] = 0.005
	}
	d.calls[5], d.seconds[5] = 1, 2e-3
	fresh := d.clone()
	fresh.seconds[5] *= 2
	got := compare(d, fresh, 8, 1)
	if len(got.Findings) != 1 {
		t.Fatalf("%+v", got.Findings)
	}
	f := got.Findings[0]
	if f.Cost.Low <= 0.0015 || f.Cost.High >= 0.0025 || math.Abs(f.Share-1) > 0.2 || got.Change.Low <= 0 {
		t.Errorf("%+v of %+v", f, got.Change)
	}
	back := compare(fresh, d, 8, 1)
	if len(back.Findings) != 1 || back.Findings[0].Cost.High >= 0 || back.Change.High >= 0 {
		t.Errorf("%+v of %+v", back.Findings, back.Change)
	}
}

// A small change that is exact comes behind a large one whose size varies.
func TestLargeChangesComeFirst(t *testing.T) {
	for seed := range uint64(20) {
		d := newDatabase(seed, 20)
		d.calls[3], d.seconds[3], d.noise[3], d.calls[7], d.seconds[7], d.noise[7] = 1, 1e-6, 0.01, 1, 1e-5, 0.01
		fresh := d.clone()
		fresh.reads[3] *= 3
		fresh.seconds[3] *= 1.4
		fresh.seconds[7] *= 100
		fresh.noise = append([]float64(nil), d.noise...)
		fresh.noise[7] = 0.5
		got := compare(d, fresh, 4, 1)
		if len(got.Findings) == 0 || !strings.Contains(got.Findings[0].Text, "FROM t7 ") {
			t.Errorf("seed %d: %+v", seed, got.Findings)
		}
	}
}

// A statement that an arm may have issued among its others was neither added nor removed.
func TestOthersHideStatements(t *testing.T) {
	run := func(seconds float64, omitted int, texts ...string) Issued {
		out := Issued{Operations: 100}
		out.Omitted = omitted
		for _, text := range texts {
			out.Statements = append(out.Statements, query.Statement{
				Text: text, Figures: query.Figures{Calls: 50, Seconds: seconds, Rows: 50},
			})
		}
		return out
	}
	for omitted, want := range map[int]int{0: 1, 9: 0} {
		var blocks []PairedCensus
		for range 6 {
			blocks = append(blocks, PairedCensus{run(2, omitted, "SELECT a FROM p"), run(1, 0, "SELECT a FROM p", "SELECT b FROM q")})
		}
		added := 0
		for _, f := range Attribute(blocks).Findings {
			if f.Kind == Added {
				added++
			}
		}
		if added != want {
			t.Errorf("%d omitted: %d added, want %d", omitted, added, want)
		}
	}
}

func TestWithheld(t *testing.T) {
	d := newDatabase(1, 5)
	if got := compare(d, d, 3, 1); got.Withheld != TooFewBlocks || got.Blocks != 3 {
		t.Errorf("%+v", got)
	}
	off := Issued{Census: query.Census{Missing: query.Off, Remedy: "do"}, Operations: 5}
	got := Attribute([]PairedCensus{{off, off}, {off, off}})
	if got.Withheld != NoStatements || got.Missing != query.Off || got.Remedy != "do" {
		t.Errorf("%+v", got)
	}
	if got := Attribute(nil); got.Withheld != NoStatements {
		t.Errorf("%+v", got)
	}
}

// What a plan lost or got is named by what takes its place; what nothing replaces is gone.
func TestSteps(t *testing.T) {
	index := func(name string) query.PlanStep {
		return query.PlanStep{Kind: "Bitmap Index Scan", Index: name}
	}
	heap := func(children ...query.PlanStep) query.PlanStep {
		return query.PlanStep{Kind: "Bitmap Heap Scan", Relation: "p", Children: children}
	}
	scan := func(name string) query.PlanStep {
		return query.PlanStep{Kind: "Index Scan", Relation: "p", Index: name}
	}
	join := func(children ...query.PlanStep) query.PlanStep {
		return query.PlanStep{Kind: "Nested Loop", Children: children}
	}
	and := func(children ...query.PlanStep) query.PlanStep {
		return query.PlanStep{Kind: "BitmapAnd", Children: children}
	}
	for _, tt := range []struct {
		base, fresh query.PlanStep
		from, to    string
	}{
		{
			join(scan("x"), heap(and(index("a"), index("b")))), join(scan("x"), heap(index("a"))),
			"Bitmap Index Scan using b", "Bitmap Index Scan using a",
		},
		{
			heap(index("a")), heap(and(index("a"), index("b"))),
			"Bitmap Index Scan using a", "Bitmap Index Scan using b",
		},
		{heap(index("a")), heap(index("b")), "Bitmap Index Scan using a", "Bitmap Index Scan using b"},
		{join(scan("x"), scan("y")), scan("x"), "Index Scan using y on p", Gone},
		{scan("x"), join(scan("x"), scan("y")), Nothing, "Index Scan using y on p"},
		{
			join(scan("x"), scan("y")), join(scan("y"), scan("x")),
			"Index Scan using x on p, Index Scan using y on p",
			"Index Scan using y on p, Index Scan using x on p",
		},
	} {
		if from, to := steps(&tt.base, &tt.fresh); from != tt.from || to != tt.to {
			t.Errorf("%q → %q, want %q → %q", from, to, tt.from, tt.to)
		}
	}
}

// A time that varies by half is certain where the plan shows why it changed.
func TestPlanLendsPower(t *testing.T) {
	found := [2]int{}
	for seed := range uint64(50) {
		for i, planned := range []bool{false, true} {
			d := newDatabase(seed, 40)
			d.calls[7], d.seconds[7], d.noise[7] = 1, 1e-3, 0.6
			fresh := d.clone()
			fresh.seconds[7] *= 7
			if planned {
				fresh.plans[7] = &query.PlanStep{Kind: "Seq Scan", Relation: "t7"}
			}
			found[i] += len(compare(d, fresh, 6, 1).Findings)
		}
	}
	t.Logf("found without and with a plan: %v of 50", found)
	if found[1] < found[0]+5 {
		t.Errorf("a plan lends no power: %v", found)
	}
}
