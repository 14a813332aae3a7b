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
}

func newDatabase(seed uint64, n int) *database {
	d := &database{rng: rand.New(rand.NewPCG(seed, 1))}
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
	for i, text := range d.texts {
		mean := d.calls[i] * operations
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
			if c.Statements[i].Text == query.Normalize(text) {
				c.Statements[i].Plan = d.plans[k]
			}
		}
	}
	return Issued{Census: c, Operations: operations}
}

func compare(base, fresh *database, blocks int, slower float64) Difference {
	var in []PairedCensus
	for range blocks {
		host := math.Exp(0.1 * base.rng.NormFloat64())
		in = append(in, PairedCensus{base.run(host), fresh.run(host / slower)})
	}
	return Attribute(in)
}

// Where nothing changed, nothing is named in 95 of 100 comparisons; nor where the whole server is
// slower.
func TestNothingChanged(t *testing.T) {
	for _, tt := range []struct {
		blocks int
		slower float64
	}{{4, 1}, {6, 1}, {6, 1.2}} {
		const comparisons = 400
		named := 0
		for seed := range uint64(comparisons) {
			d := newDatabase(seed, 40)
			if got := compare(d, d.clone(), tt.blocks, tt.slower); len(got.Findings) > 0 {
				named++
			}
		}
		t.Logf("%+v: named in %d of %d", tt, named, comparisons)
		if named > comparisons/20 {
			t.Errorf("%+v: statements are named in %d of %d comparisons", tt, named, comparisons)
		}
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
		"faster": {func(d *database) { d.seconds[7] /= 2 }, PerCall, Changed},
		"N+1":    {func(d *database) { d.calls[7] *= 3 }, Calls, Changed},
		"wider":  {func(d *database) { d.rows[7] *= 2 }, Rows, Changed},
		"a lost index": {func(d *database) {
			d.reads[7] *= 30
			d.seconds[7] *= 4
			d.plans[7] = &query.PlanStep{Kind: "Seq Scan", Relation: "t7"}
		}, Reads, Changed},
		"a plan alone": {func(d *database) { d.plans[7] = &query.PlanStep{Kind: "Seq Scan", Relation: "t7"} }, "", Planned},
		"columns":      {func(d *database) { d.texts[7] = "SELECT a7, c FROM t7 WHERE b = ?"; d.seconds[7] *= 2 }, PerCall, Changed},
		"a condition":  {func(d *database) { d.texts[7] = "SELECT a7 FROM t7 WHERE c = ?" }, "", Added},
	} {
		t.Run(name, func(t *testing.T) {
			first := 0
			for seed := range uint64(20) {
				d := newDatabase(seed, 40)
				d.calls[7], d.seconds[7], d.noise[7] = 1, 1e-3, 0.03
				fresh := d.clone()
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
				case planned != strings.HasSuffix(name, "index") && planned != strings.HasPrefix(name, "a plan"):
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
