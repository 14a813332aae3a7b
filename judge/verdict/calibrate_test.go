package verdict_test

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

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// calibrate makes TestStatisticsPage write the tables of docs/method/statistics.md: make calibrate.
var calibrate = flag.Bool(
	"calibrate",
	false,
	"simulate the tables of docs/method/statistics.md and write them (minutes)",
)

// quick is the number of comparisons that a row of the page gets when it is only checked.
const quick = 60

// world is a simulated comparison: how the runs vary, the true effect of the new arm, and the rules
// that judge it.
type world struct {
	five bool // five primary endpoints, joined by Holm's method; else capacity alone
	// 4 % over the session and a random walk of 1 % from run to run, in balanced order; else
	// independent runs.
	drift  bool
	sd     float64 // run-to-run, of capacity; latencies vary twice as much
	blocks int     // a declared number; 0 for the planned looks at 6, 9 and 12
	change float64 // of capacity, on the log scale
	margin float64 // of capacity; 0 is 5 %
	spoil  float64 // the share of runs that lose 20 %
	second float64 // effect of coming second in a block, on the log scale
	blind  bool    // Judge is not given the order of the runs
	wild   float64 // how many times as much the new arm's runs vary; 0 is once
}

func (w world) String() string { return w.key(when(w.blocks)) }

// key names the world in a row of a comparison of so many blocks.
func (w world) key(blocks string) string {
	what, how := "capacity", "no drift"
	if w.five {
		what = "five primaries"
	}
	if w.drift {
		how = "drift"
	}
	return fmt.Sprintf("%s | %s | %s | %.0f %%", what, blocks, how, 100*w.sd)
}

// when names a declared number of blocks, or the planned looks.
func when(blocks int) string {
	if blocks == 0 {
		return "looks 6, 9, 12"
	}
	return fmt.Sprintf("%d blocks", blocks)
}

// seeded returns the random numbers of what is simulated, by its text.
func seeded(seed uint64, format string, args ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, format, args...)
	return rand.New(rand.NewPCG(h.Sum64(), seed))
}

// session makes the pairs of n blocks for every endpoint of the world, run after run as they would
// happen.
func (w world) session(rng *rand.Rand, n int) [][]verdict.Pair {
	ends := 1
	if w.five {
		ends = 5
	}
	out := make([][]verdict.Pair, ends)
	level, first := 0.0, false // whether the new arm goes first
	value := func(k int, fresh, second bool) float64 {
		if k == 4 {
			return errorRate(rng, 0.02)
		}
		sd, at := w.sd, math.Log(16000)+level
		if k > 0 {
			sd, at = 2*sd, math.Log(100)+level
		}
		if fresh && k == 0 {
			at += w.change
		}
		if second {
			at += w.second
		}
		if fresh && w.wild > 0 {
			sd *= w.wild
		}
		if rng.Float64() < w.spoil {
			at += math.Log(0.8)
		}
		return math.Exp(at + sd*rng.NormFloat64())
	}
	for b := range n {
		if b%2 == 0 {
			first = rng.IntN(2) == 0
		} else {
			first = !first
		}
		for k := range out {
			p := verdict.Pair{Block: b + 1, First: verdict.FirstBase}
			if first {
				p.First = verdict.FirstNew
			}
			if w.blind {
				p.First = ""
			}
			out[k] = append(out[k], p)
		}
		for _, fresh := range []bool{first, !first} {
			if w.drift {
				level += -0.04/float64(2*n) + 0.01*rng.NormFloat64()
			}
			for k := range out {
				p := &out[k][b]
				if v := value(k, fresh, fresh != first); fresh {
					p.New, p.NewOps = v, 50_000
				} else {
					p.Base, p.BaseOps = v, 50_000
				}
			}
		}
	}
	return out
}

// judge judges the first n pairs as a comparison does.
func (w world) judge(all [][]verdict.Pair, n int, opt verdict.Options) verdict.Verdict {
	ends := primaries()
	if w.margin > 0 {
		ends[0].Margin = w.margin
	}
	var results []verdict.Result
	for k, pairs := range all {
		results = append(results, verdict.Judge(ends[k], pairs[:n], opt))
	}
	return verdict.Combine("simulated", results)
}

// most returns the largest number of blocks of a comparison.
func (w world) most() int {
	if w.blocks > 0 {
		return w.blocks
	}
	looks := stats.PocockLooks()
	return looks[len(looks)-1].Pairs
}

// decide returns the verdict on the most pairs, or that of the look that ends the comparison, and
// how many blocks it rests on.
func (w world) decide(all [][]verdict.Pair) (v verdict.Verdict, blocks int) {
	if w.blocks > 0 {
		return w.judge(all, w.blocks, verdict.Fixed(w.blocks)), w.blocks
	}
	for k, look := range stats.PocockLooks() {
		blocks = look.Pairs
		if v = w.judge(all, blocks, atLook(k+1)); v.Kind != verdict.Inconclusive {
			break
		}
	}
	return v, blocks
}

// outcome counts the verdicts of many comparisons of one world.
type outcome struct {
	kinds  map[verdict.Kind]int
	alone  int // the t test of any endpoint by itself excludes no change
	spread int // a spread of an endpoint is found to be another
	blocks int
	of     int
}

func (w world) simulate(t *testing.T, times int) outcome {
	o := outcome{kinds: map[verdict.Kind]int{}, of: times}
	rng := seeded(1955, "%+v", w)
	for range times {
		v, blocks := w.decide(w.session(rng, w.most()))
		o.blocks += blocks
		o.kinds[v.Kind]++
		if slices.ContainsFunc(v.Results, func(r verdict.Result) bool {
			return r.Spread != nil && r.Spread.Found
		}) {
			o.spread++
		}
		for _, r := range v.Results {
			if r.P <= r.Alpha {
				o.alone++
				break
			}
		}
	}
	if o.kinds[verdict.Invalid] > 0 {
		t.Errorf("%v: %d verdicts are invalid", w, o.kinds[verdict.Invalid])
	}
	return o
}

func (o outcome) share(n int) float64 { return float64(n) / float64(o.of) }

// verdicts returns the shares of the comparisons by their verdict, those that find a difference
// first.
func (o outcome) verdicts() []float64 {
	return []float64{
		o.different(),
		o.share(o.kinds[verdict.Same]),
		o.share(o.kinds[verdict.Inconclusive]),
	}
}

func (o outcome) different() float64 {
	return o.share(o.kinds[verdict.Worse] + o.kinds[verdict.Better])
}

// findings returns the shares of those that find a planted loss, its opposite, and none.
func (o outcome) findings() []float64 {
	return []float64{
		o.share(o.kinds[verdict.Worse]),
		o.share(o.kinds[verdict.Better]),
		o.share(o.kinds[verdict.Same]),
	}
}

// planted is a row of comparisons of builds with a change of capacity.
func (w world) planted() func(t *testing.T, times int) []float64 {
	return func(t *testing.T, times int) []float64 {
		o := w.simulate(t, times)
		return append(o.findings(), float64(o.blocks)/float64(12*o.of))
	}
}

// pageRow is one row of a table of the page: a simulated world, and shares of all comparisons.
type pageRow struct {
	key    string
	shares func(t *testing.T, times int) []float64
	most   map[int]float64 // the largest share that a column may have
	least  map[int]float64
}

type pageTable struct {
	mark, head string
	rows       []pageRow
}

func pageTables() []pageTable {
	const falseVerdicts = 0.06
	equal := pageTable{
		mark: "equal builds",
		head: "| endpoints | blocks | runs | run sd | **worse or better** | same | inconclusive | margin 0.05 %: worse or better | one t test < 5 % |\n|---|---|---|---|---|---|---|---|---|\n",
	}
	for _, five := range []bool{false, true} {
		for _, blocks := range []int{6, 9, 12, 0} {
			for _, drift := range []bool{false, true} {
				for _, sd := range []float64{0.01, 0.02, 0.03, 0.05} {
					w := world{five: five, drift: drift, sd: sd, blocks: blocks}
					equal.rows = append(equal.rows, pageRow{
						key: w.String(),
						shares: func(t *testing.T, times int) []float64 {
							o := w.simulate(t, times)
							narrow := w
							narrow.margin = 0.0005
							x := narrow.simulate(t, times)
							return append(o.verdicts(), x.different(), x.share(x.alone))
						},
						most: map[int]float64{0: falseVerdicts, 3: falseVerdicts},
					})
				}
			}
		}
	}
	spoiled := pageTable{
		mark: "wild runs",
		head: "| endpoints | blocks | runs | run sd | **worse or better** | same | inconclusive |\n|---|---|---|---|---|---|---|\n",
	}
	for _, blocks := range []int{6, 9, 12, 0} {
		w := world{sd: 0.02, blocks: blocks, spoil: 0.1}
		spoiled.rows = append(spoiled.rows, pageRow{
			key:  w.String(),
			most: map[int]float64{0: falseVerdicts},
			shares: func(t *testing.T, times int) []float64 {
				return w.simulate(t, times).verdicts()
			},
		})
	}
	found := pageTable{
		mark: "planted changes",
		head: "| change | endpoints | blocks | runs | run sd | **worse** | better | same | blocks used, of 12 |\n|---|---|---|---|---|---|---|---|---|\n",
	}
	for _, loss := range []float64{0.05, 0.10} {
		for _, five := range []bool{false, true} {
			for _, blocks := range []int{6, 12, 0} {
				for _, sd := range []float64{0.01, 0.02, 0.03, 0.05} {
					w := world{
						five:   five,
						drift:  true,
						sd:     sd,
						blocks: blocks,
						change: math.Log(1 - loss),
					}
					row := pageRow{
						key:    fmt.Sprintf("-%.0f %% capacity | %v", 100*loss, w),
						shares: w.planted(),
						most:   map[int]float64{1: 0.002},
					}
					found.rows = append(found.rows, row)
				}
			}
		}
	}
	promise := world{sd: 0.02, blocks: 6, change: math.Log(0.90)}
	found.rows = append(found.rows, pageRow{
		key:    fmt.Sprintf("-10 %% capacity | %v", promise),
		shares: promise.planted(),
		most:   map[int]float64{1: 0.002}, least: map[int]float64{0: 0.95},
	})
	margin := pageTable{
		mark: "on the margin",
		head: "| change | endpoints | blocks | runs | run sd | **same** |\n|---|---|---|---|---|---|\n",
	}
	for _, blocks := range []int{6, 9, 12, 0} {
		for _, sd := range []float64{0.01, 0.02} {
			w := world{sd: sd, blocks: blocks, change: -math.Log(1.05)}
			margin.rows = append(margin.rows, pageRow{
				key:  "-4.8 % capacity | " + w.String(),
				most: map[int]float64{0: falseVerdicts},
				shares: func(t *testing.T, times int) []float64 {
					o := w.simulate(t, times)
					return []float64{o.share(o.kinds[verdict.Same])}
				},
			})
		}
	}
	return append(
		budgetTables(),
		equal,
		spoiled,
		margin,
		found,
		boundsTable(),
		orderTable(),
		spreadTable(),
		duetTable(),
		duetPowerTable(),
		measureTable(),
		studentTable(),
		familyTable(),
		failedTable(),
	)
}

// studentTable holds the t procedure alone against table S2 of the study that the method comes
// from: the share of equal builds that are found the same within ±0.05 on the log scale.
func studentTable() pageTable {
	table := pageTable{
		mark: "t alone",
		head: "| pairs | the study, run sd 1, 2, 3, 5 % | sd 1 % | sd 2 % | sd 3 % | sd 5 % |\n|---|---|---|---|---|---|\n",
	}
	for _, study := range [][5]float64{
		{3, 95, 45, 19, 5}, {4, 100, 72, 31, 7}, {5, 100, 89, 46, 9}, {6, 100, 96, 61, 12},
		{8, 100, 99, 82, 22}, {10, 100, 100, 92, 36}, {12, 100, 100, 97, 49}, {20, 100, 100, 100, 84},
	} {
		n := int(study[0])
		row := pageRow{
			key: fmt.Sprintf(
				"%d | %.0f, %.0f, %.0f, %.0f %%",
				n,
				study[1],
				study[2],
				study[3],
				study[4],
			),
			most:  map[int]float64{},
			least: map[int]float64{},
			shares: func(t *testing.T, times int) []float64 {
				var out []float64
				for _, sd := range []float64{0.01, 0.02, 0.03, 0.05} {
					rng := rand.New(rand.NewPCG(uint64(n), uint64(1000*sd)))
					same := 0
					for range times {
						d := make([]float64, n)
						for i := range d {
							d[i] = math.Sqrt2 * sd * rng.NormFloat64()
						}
						s, err := stats.NewSample(d...)
						if err != nil {
							t.Fatal(err)
						}
						if stats.TInterval(s, 0.90).Inside(-0.05, 0.05) {
							same++
						}
					}
					out = append(out, float64(same)/float64(times))
				}
				return out
			},
		}
		for k, p := range study[1:] { // within two points
			row.most[k], row.least[k] = p/100+0.02, p/100-0.02
		}
		table.rows = append(table.rows, row)
	}
	return table
}

// familyTable counts false findings among 120 further metrics, 10 of which are 10 % slower.
func familyTable() pageTable {
	table := pageTable{
		mark: "further metrics",
		head: "| the other 110 metrics | blocks | **false findings** | changes found | comparisons of equal builds with any finding |\n|---|---|---|---|---|\n",
	}
	for _, onFloor := range []bool{false, true} {
		for _, blocks := range []int{6, 9, 12} {
			what := "unchanged"
			if onFloor {
				what = "3 % slower, just on the floor"
			}
			key := fmt.Sprintf("%s | %d", what, blocks)
			table.rows = append(table.rows, pageRow{
				key: key, most: map[int]float64{0: 0.11},
				shares: func(_ *testing.T, times int) []float64 {
					rng := rand.New(rand.NewPCG(uint64(blocks), uint64(len(key))))
					var wrong, found, any float64
					for range times {
						all := metrics(rng, 120, blocks, 10, 0.10)
						equal := metrics(rng, 120, blocks, 0, 0)
						if onFloor {
							for _, of := range [][]verdict.Metric{all[10:], equal} {
								for _, m := range of {
									for i := range m.Pairs {
										m.Pairs[i].New *= 1 + verdict.FamilyFloor
									}
								}
							}
						}
						f := verdict.JudgeFamily(all, nil, nil)
						hits, misses := 0.0, float64(len(f.Improved))
						for _, m := range f.Worsened {
							if m.Name < "p95(op010)" {
								hits++
							} else {
								misses++
							}
						}
						wrong += misses / max(1, hits+misses)
						found += hits / 10
						if f := verdict.JudgeFamily(equal, nil, nil); len(f.Worsened)+len(
							f.Improved,
						) > 0 {
							any++
						}
					}
					n := float64(times)
					return []float64{wrong / n, found / n, any / n}
				},
			})
		}
	}
	return table
}

// TestStatisticsPage holds the tables of docs/method/statistics.md: every row must be there, keep
// its promises, and agree with a few simulated comparisons within chance (four standard errors).
// With -calibrate it writes them from 4,000 comparisons a row.
func TestStatisticsPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "method", "statistics.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	times := quick
	if *calibrate {
		times = comparisons
	}
	for _, table := range pageTables() {
		begin := "<!-- " + table.mark + " -->\n"
		head, rest, found := strings.Cut(page, begin)
		old, tail, closed := strings.Cut(rest, "<!-- end -->")
		if !found || !closed {
			t.Fatalf("%s has no place for the table %q", file, table.mark)
		}
		lines := make([]string, len(table.rows))
		t.Run(table.mark, func(t *testing.T) {
			for i, row := range table.rows {
				t.Run(row.key, func(t *testing.T) {
					t.Parallel()
					shares := row.shares(t, times)
					lines[i] = row.line(shares)
					chance := func(p float64) float64 {
						p = min(max(p, 0.01), 0.99)
						return 4 * math.Sqrt(p*(1-p)/float64(times))
					}
					written := shares
					if !*calibrate {
						written = row.read(t, old)
					}
					for k, p := range written {
						if d := math.Abs(shares[k] - p); !*calibrate && d > chance(p)+0.0005 {
							t.Errorf(
								"column %d: the page says %.1f %%, %d comparisons %.1f %%: make calibrate",
								k+1,
								100*p,
								times,
								100*shares[k],
							)
						}
						if most, ok := row.most[k]; ok && p > most {
							t.Errorf(
								"column %d: %.1f %%, want at most %.1f %%",
								k+1,
								100*p,
								100*most,
							)
						}
						if least, ok := row.least[k]; ok && p < least {
							t.Errorf(
								"column %d: %.1f %%, want at least %.1f %%",
								k+1,
								100*p,
								100*least,
							)
						}
					}
				})
			}
		})
		if !slices.Contains(lines, "") { // -run has left no row out
			page = head + begin + table.head + strings.Join(lines, "") + "<!-- end -->" + tail
		}
	}
	if *calibrate { // a row that breaks a promise is written too, and fails
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (r pageRow) line(shares []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", r.key)
	for _, p := range shares {
		fmt.Fprintf(&b, " %.1f %% |", 100*p)
	}
	return b.String() + "\n"
}

// read returns the shares that the page has for the row.
func (r pageRow) read(t *testing.T, table string) []float64 {
	t.Helper()
	for line := range strings.Lines(table) {
		rest, ok := strings.CutPrefix(line, "| "+r.key+" |")
		if !ok {
			continue
		}
		var out []float64
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(rest), "|"), "|") {
			var p float64
			if _, err := fmt.Sscanf(strings.TrimSpace(cell), "%f %%", &p); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			out = append(out, p/100)
		}
		return out
	}
	t.Fatalf("docs/method/statistics.md has no row %q: make calibrate", r.key)
	return nil
}
