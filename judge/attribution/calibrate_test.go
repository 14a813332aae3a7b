package attribution_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/attribution"
)

// calibrate makes TestAttributionPage write the tables of docs/method/attribution.md.
var calibrate = flag.Bool(
	"calibrate",
	false,
	"simulate the tables of docs/method/attribution.md and write them (many minutes)",
)

// quick is the number of comparisons of a row that is only checked.
const quick = 4

const page = "../../docs/method/attribution.md"

// A row of a table is a kind of comparison. Its columns are shares of the comparisons.
type row struct {
	key         string
	comparisons int       // with -calibrate
	least, most []float64 // shares that are promised, by column; a column beyond has no promise
	// once simulates a comparison and returns 1 or 0 for each column, or NaN where it does not count.
	once func(rng *rand.Rand) []float64
}

// A table stands in the page between its mark and an end.
type table struct {
	mark, head string
	rows       []row
}

// yes is 1 for true.
func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (r row) shares(n int) []float64 {
	h := fnv.New64a()
	fmt.Fprint(h, r.key)
	var sums, counts []float64
	for i := range n {
		for k, v := range r.once(rand.New(rand.NewPCG(h.Sum64(), uint64(i)))) {
			if k == len(sums) {
				sums, counts = append(sums, 0), append(counts, 0)
			}
			if !math.IsNaN(v) {
				sums[k] += v
				counts[k]++
			}
		}
	}
	for k := range sums {
		sums[k] /= counts[k]
	}
	return sums
}

func (r row) line(shares []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %d |", r.key, r.comparisons)
	for _, p := range shares {
		fmt.Fprintf(&b, " %.1f %% |", 100*p)
	}
	return b.String() + "\n"
}

// read returns the shares that the page has for the row.
func (r row) read(t *testing.T, text string) []float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, fmt.Sprintf("| %s | %d |", r.key, r.comparisons))
		if !ok {
			continue
		}
		var shares []float64
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(rest), "|"), "|") {
			var p float64
			if _, err := fmt.Sscanf(strings.TrimSpace(cell), "%f %%", &p); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			shares = append(shares, p/100)
		}
		return shares
	}
	t.Fatalf("%s has no row %q: make calibrate", page, r.key)
	return nil
}

// hold fails for shares that break a promise beyond chance: by two standard errors.
func (r row) hold(t *testing.T, shares []float64) {
	t.Helper()
	for k, p := range shares {
		chance := func(p float64) float64 { return 2 * math.Sqrt(p*(1-p)/float64(r.comparisons)) }
		if k < len(r.least) && p < r.least[k]-chance(r.least[k]) {
			t.Errorf("column %d: %.1f %%, want at least %.1f %%", k+1, 100*p, 100*r.least[k])
		}
		if k < len(r.most) && p > r.most[k]+chance(r.most[k]) {
			t.Errorf("column %d: %.1f %%, want at most %.1f %%", k+1, 100*p, 100*r.most[k])
		}
	}
}

// TestAttributionPage holds the tables of docs/method/attribution.md: every row is there, keeps its
// promises, and agrees with a few simulated comparisons within chance (four standard errors).
// With -calibrate it writes them.
func TestAttributionPage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, table := range tables() {
		begin := "<!-- " + table.mark + " -->\n"
		head, rest, found := strings.Cut(text, begin)
		old, tail, closed := strings.Cut(rest, "<!-- end -->")
		if !found || !closed {
			t.Fatalf("%s has no place for the table %q", page, table.mark)
		}
		lines := make([]string, len(table.rows))
		t.Run(table.mark, func(t *testing.T) {
			for i, r := range table.rows {
				t.Run(r.key, func(t *testing.T) {
					t.Parallel()
					if *calibrate {
						shares := r.shares(r.comparisons)
						lines[i] = r.line(shares)
						t.Log(lines[i])
						r.hold(t, shares)
						return
					}
					written := r.read(t, old)
					r.hold(t, written)
					for k, p := range r.shares(quick) {
						w := min(max(written[k], 0.01), 0.99)
						if math.Abs(p-written[k]) > 4*math.Sqrt(w*(1-w)/quick)+0.0005 {
							t.Errorf("column %d: the page says %.1f %%, %d comparisons %.1f %%",
								k+1, 100*written[k], quick, 100*p)
						}
					}
				})
			}
		})
		if !slices.Contains(lines, "") { // -run has left no row out
			text = head + begin + table.head + strings.Join(lines, "") + "<!-- end -->" + tail
		}
	}
	if *calibrate { // a row that breaks a promise is written too, and fails
		if err := os.WriteFile(filepath.FromSlash(page), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func tables() []table { return []table{equalTable(), plantedTable(), otherTable()} }

// size is a number of functions from 300 to 2,000, smaller ones more often.
func size(rng *rand.Rand) int {
	u := rng.Float64()
	return 300 + int(1700*u*u)
}

// some returns a server of the usual kind.
func some(rng *rand.Rand) *server { return newServer(rng, size(rng), false) }

// equalTable has comparisons of a build with itself.
func equalTable() table {
	out := table{
		mark: "equal builds",
		head: "| a build against itself | comparisons | something named | spread seen | change covered |\n|---|---|---|---|---|\n",
	}
	add := func(comparisons int, key string, w world, make func(*rand.Rand) *server) {
		out.rows = append(out.rows, row{
			key: key, comparisons: comparisons, most: []float64{0.05, 0.05}, least: []float64{0, 0, 0.93},
			once: func(rng *rand.Rand) []float64 {
				a := attribution.Attribute("app", w.compare(rng, make(rng), none))
				spread := part(a, attribution.PartSpread, "").Cost
				return []float64{
					yes(len(a.Findings) > 0),
					yes(spread.Low > 0 || spread.High < 0),
					yes(a.Change.Low <= 0 && a.Change.High >= 0),
				}
			},
		})
	}
	add(1000, "usual", usual, some)
	w := usual
	w.common, w.between = 0, 0
	add(30, "no noise but that of counting", w, some)
	w = usual
	w.common, w.between = 0.08, 0.08
	add(30, "runs and functions vary by 8 %", w, some)
	w = usual
	w.common, w.shared = 0.005, 0.2
	add(30, "both arms of a block vary alike by 20 %", w, some)
	add(30, "some functions vary more than others", usual, func(rng *rand.Rand) *server {
		s := some(rng)
		for i := range s.noise {
			s.noise[i] = math.Exp(0.7 * rng.NormFloat64())
		}
		return s
	})
	half := func(rng *rand.Rand) *server { return newServer(rng, size(rng), true) }
	add(30, "one function has a third of the cost", usual, half)
	w = usual
	w.blocks = 4
	add(30, "four blocks", w, some)
	w = usual
	w.blocks = 12
	add(30, "twelve blocks", w, some)
	w = usual
	w.samples = 6_000
	add(30, "6,000 samples in each arm", w, some)
	return out
}

// part returns the first part of a kind and a name; an empty name is any.
func part(a attribution.Attribution, kind attribution.PartKind, name string) attribution.CostPart {
	for _, p := range a.Parts {
		if p.Kind == kind && (name == "" || p.Name == name) {
			return p
		}
	}
	return attribution.CostPart{}
}

// covers reports whether the interval has a share of the usual cost.
func covers(i attribution.IntervalEstimate, share float64) bool {
	cost := share * usual.cost()
	return i.Low <= cost && cost <= i.High
}

// judged returns the columns of a planted change: named first, others named too, and its cost
// covered by the interval of the first finding.
func judged(a attribution.Attribution, want attribution.Function, added float64) []float64 {
	first := len(a.Findings) > 0 && a.Findings[0].Function == want
	out := []float64{yes(first), yes(len(a.Findings) > 1 || !first && len(a.Findings) > 0), math.NaN()}
	if first {
		out[2] = yes(covers(a.Findings[0].Cost, added))
	}
	return out
}

// plantedTable has work that was added to one function of the program.
func plantedTable() table {
	out := table{
		mark: "planted",
		head: "| added to one function | comparisons | named first | others named | cost covered |\n|---|---|---|---|---|\n",
	}
	add := func(key string, least, cover float64, once func(rng *rand.Rand) []float64) {
		out.rows = append(out.rows, row{
			key: key, comparisons: 60,
			least: []float64{least, 0, cover}, most: []float64{1, 0.10, 1}, once: once,
		})
	}
	for _, added := range []float64{0.01, 0.02, 0.05, 0.10} {
		least := 0.95
		if added < 0.02 {
			least = 0.8
		}
		add(fmt.Sprintf("%.0f %% in itself", 100*added), least, 0.93, func(rng *rand.Rand) []float64 {
			s := some(rng)
			f := rng.IntN(s.own)
			a := attribution.Attribute("app", usual.compare(rng, s, s.plant(f, -1, added)))
			return judged(a, s.functions[f], added)
		})
	}
	add("2 % in a second json.Marshal", 0.95, 0.93, func(rng *rand.Rand) []float64 {
		s := some(rng)
		f := s.caller(rng, s.marshal)
		a := attribution.Attribute("app", usual.compare(rng, s, s.plant(f, s.marshal, 0.02)))
		out := judged(a, s.functions[f], 0.02)
		if out[0] == 1 && !slices.Contains(a.Findings[0].Within, s.functions[s.marshal]) {
			out[0] = 0
		}
		return out
	})
	add("5 % where another function has a third of the cost", 0.95, 0.93,
		func(rng *rand.Rand) []float64 {
			s := newServer(rng, size(rng), true)
			f := rng.IntN(s.own)
			a := attribution.Attribute("app", usual.compare(rng, s, s.plant(f, -1, 0.05)))
			return judged(a, s.functions[f], 0.05)
		})
	add("10 % in the function with a third of the cost", 0.95, 0.93,
		func(rng *rand.Rand) []float64 {
			s := newServer(rng, size(rng), true)
			f := s.largest()
			a := attribution.Attribute("app", usual.compare(rng, s, s.plant(f, -1, 0.10)))
			return judged(a, s.functions[f], 0.10)
		})
	out.rows = append(out.rows, row{
		key: "as much as it could find", comparisons: 60,
		least: []float64{0.72}, most: []float64{0.88, 0.10},
		once: func(rng *rand.Rand) []float64 {
			s := some(rng)
			equal := attribution.Attribute("app", usual.compare(rng, s, none))
			f := rng.IntN(s.own)
			for s.share(of(f))*2*usual.samples < 20 { // too few samples to be tested
				f = rng.IntN(s.own)
			}
			added := equal.CouldFind
			a := attribution.Attribute("app", usual.compare(rng, s, s.plant(f, -1, added)))
			return judged(a, s.functions[f], added)
		},
	})
	return out
}

// otherTable has changes that are not of one function.
func otherTable() table {
	out := table{
		mark: "others",
		head: "| change | comparisons | said | named besides | cost covered |\n|---|---|---|---|---|\n",
	}
	add := func(key string, least, cover float64, once func(rng *rand.Rand) []float64) {
		out.rows = append(out.rows, row{
			key: key, comparisons: 30,
			least: []float64{least, 0, cover}, most: []float64{1, 0.10, 1}, once: once,
		})
	}
	add("all functions by 10 %: spread", 0.95, 0.93, func(rng *rand.Rand) []float64 {
		s := some(rng)
		fresh := times(1.1, func(site) bool { return true })
		a := attribution.Attribute("app", usual.compare(rng, s, fresh))
		spread := part(a, attribution.PartSpread, "").Cost
		return []float64{yes(spread.Low > 0), yes(len(a.Findings) > 0), yes(covers(spread, 0.1))}
	})
	add("the collector by 25 %: a group", 0.9, 0.93, func(rng *rand.Rand) []float64 {
		s := some(rng)
		fresh := times(1.25, func(k site) bool { return k.stack[0] == s.collector })
		a := attribution.Attribute("app", usual.compare(rng, s, fresh))
		group := part(a, attribution.PartGroup, "garbage collector").Cost
		return []float64{yes(group.Low > 0), yes(len(a.Findings) > 0), yes(covers(group, 0.03))}
	})
	add("2 % moved to another function: moved", 0.9, 0.93, func(rng *rand.Rand) []float64 {
		s := some(rng)
		from, to, ok := s.siblings(rng, 0.025)
		for !ok {
			s = some(rng)
			from, to, ok = s.siblings(rng, 0.025)
		}
		moved := 0.02 / s.share(of(from))
		gain := 0.02 / s.share(of(to))
		a := attribution.Attribute("app", usual.compare(rng, s, func(k site) float64 {
			return times(1+gain, of(to))(k) + times(1-moved, of(from))(k) - k.share
		}))
		i := slices.IndexFunc(a.Findings, func(f attribution.FunctionChange) bool {
			return f.Kind == attribution.Moved && f.Function == s.functions[to] &&
				*f.From == s.functions[from]
		})
		covered := math.NaN()
		if i >= 0 {
			covered = yes(covers(a.Findings[i].Cost, 0))
		}
		return []float64{yes(i >= 0), yes(len(a.Findings) > 1), covered}
	})
	add("json.Marshal by 75 % for all callers: itself", 0.9, 0.93, func(rng *rand.Rand) []float64 {
		s := some(rng)
		here := func(k site) bool { return k.entry == s.marshal }
		a := attribution.Attribute("app", usual.compare(rng, s, times(1.75, here)))
		return judged(a, s.functions[s.marshal], 0.75*s.share(here))
	})
	add("a function is called twice as often: with what it calls", 0.9, 0.93,
		func(rng *rand.Rand) []float64 {
			s := some(rng)
			f := s.branch
			here := func(k site) bool { return k.owner >= 0 && slices.Contains(k.stack, f) }
			a := attribution.Attribute("app", usual.compare(rng, s, times(2, here)))
			out := judged(a, s.functions[f], s.share(here))
			if out[0] == 1 && !a.Findings[0].Whole {
				out[0] = 0
			}
			return out
		})
	return out
}
