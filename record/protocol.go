package record

import (
	"math"
	"slices"
	"time"
)

// A Look is one of the planned looks at a comparison that may end early.
type Look struct {
	Blocks int     `json:"blocks"` // after which it is taken
	Alpha  float64 `json:"alpha"`  // its two-sided level
	// At is the time of the look; zero for one that was not taken.
	At time.Time `json:"at,omitzero"`
	// Decided is true if every verdict was better, worse or same, so that the comparison ended
	// here. With a [Comparison.Budget] every endpoint must be decided so.
	Decided  bool          `json:"decided,omitempty"`
	Verdicts []LookVerdict `json:"verdicts,omitempty"`
	// Spent, Over and Could are set with a budget. Spent is the time that the comparison had taken
	// at the look, without interruptions. Over is true if the rest was too short for the blocks up
	// to the next look, so that the comparison ended here undecided. Could holds the changes that
	// the rest could still find, of the endpoints that were not decided.
	Spent time.Duration `json:"spent,omitempty"`
	Over  bool          `json:"over,omitempty"`
	Could []Expected    `json:"could,omitempty"`
}

// Taken reports whether the look was taken.
func (l Look) Taken() bool { return !l.At.IsZero() }

// A LookVerdict is the conclusion of a look about one arm on one database.
type LookVerdict struct {
	Engine string `json:"engine"`
	Arm    string `json:"arm"`
	Kind   string `json:"kind"`
}

// A Resumption is one time that a comparison went on after it had been cut.
type Resumption struct {
	Cut time.Time `json:"cut"` // when it was last known to be going
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"` // of the cut; empty for a kill, which leaves no reason
	// Block was cut, and was run again whole; 0 when the cut lay between two blocks. Runs are its
	// finished runs.
	Block int      `json:"block,omitempty"`
	Runs  []string `json:"runs,omitempty"`
	// Lost are the runs that were under way at the cut. They stay in the store and are not part of
	// the comparison.
	Lost []string `json:"lost,omitempty"`
}

// Before is the statement of a comparison made before its first run.
type Before struct {
	At time.Time `json:"at"`
	// Runs is the number of planned runs; Least and Most are their expected times, when the first
	// look decides and when the last one does. Retry is the most time that waits and repetitions of
	// void blocks may add.
	Runs  int           `json:"runs"`
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
	Retry time.Duration `json:"retry,omitempty"`
	// Budget is the time after which no more blocks begin, Fits the number of blocks that the
	// budget has time for by the plan's lengths; 0 for a comparison with a declared number of
	// blocks.
	Budget time.Duration `json:"budget,omitempty"`
	Fits   int           `json:"fits,omitempty"`
	// Noise is the noise found by earlier comparisons of a build with itself in this environment;
	// empty if there were none.
	Noise []Noise `json:"noise,omitempty"`
	// Expected holds, for each endpoint, the change that the planned blocks can find; with a
	// budget, the change that the blocks up to the last look within it can find.
	Expected []Expected `json:"expected,omitempty"`
}

// Expected is the change of one endpoint that the planned blocks find in four of five cases.
type Expected struct {
	Engine string `json:"engine"`
	Metric string `json:"metric"`
	Unit   string `json:"unit,omitempty"`
	// RunSD is the assumed or measured standard deviation of runs of one build: relative to the
	// number itself, or in points with Absolute. Assumed is true if it was not measured here.
	RunSD    float64 `json:"run_sd"`
	Assumed  bool    `json:"assumed,omitempty"`
	Absolute bool    `json:"absolute,omitempty"`
	Margin   float64 `json:"margin"`
	Blocks   int     `json:"blocks"`
	Alpha    float64 `json:"alpha"`
	// MDE is the change: a ratio minus one (0.05 is 5 %), or points. 0 if there are too few Blocks.
	MDE float64 `json:"mde"`
	// Needed is the number of blocks that would find a change of the margin; 0 when no sensible
	// number does.
	Needed int `json:"blocks_for_margin"`
	// Load, NotJudged and Coarse are set in [Comparison.Foreseen] alone. Load is the measured time
	// of each arm, over all of its runs, that would find a change of the margin; 0 when no sensible
	// time is enough. NotJudged is true if the endpoint is left out, Coarse if it is judged although
	// MDE is above the margin: it decides where it changed, and nothing where no change is seen.
	Load      time.Duration `json:"load_for_margin,omitempty"`
	NotJudged bool          `json:"not_judged,omitempty"`
	Coarse    bool          `json:"coarse,omitempty"`
}

// An AA is the noise of one metric in one comparison of a build with itself: a line of the store's
// registry.
type AA struct {
	Comparison string    `json:"comparison"`
	At         time.Time `json:"at"`
	Tool       string    `json:"tool"`
	// Environment names the host, its cores and the load by a digest: only lines of one environment
	// are comparable.
	Environment string `json:"environment"`
	Host        string `json:"host"` // for people
	Load        string `json:"load"` // for people
	Engine      string `json:"engine"`
	Test        string `json:"test"` // bounded or unbounded
	Arm         string `json:"arm"`  // that was compared with base
	Metric      string `json:"metric"`
	Unit        string `json:"unit,omitempty"`
	Absolute    bool   `json:"absolute,omitempty"` // SD and effects are points, not ratios
	Pairs       int    `json:"pairs"`
	// SD is the standard deviation of the differences within the blocks, of logarithms (0.02 is 2
	// %) or in points.
	SD     float64 `json:"sd"`
	Effect float64 `json:"effect"` // with its interval of the level 1 - Alpha
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Alpha  float64 `json:"alpha"`
	Kind   string  `json:"kind"` // the verdict on the metric: better and worse are false
}

// RunSD is the standard deviation of runs that vary independently: the SD of their differences is
// √2 times as large.
func (a AA) RunSD() float64 { return a.SD / math.Sqrt2 }

// False reports whether a build was called different from itself.
func (a AA) False() bool { return a.Kind == "better" || a.Kind == "worse" }

// Noise is the noise floor of one metric in one environment, pooled over comparisons of a build
// with itself.
type Noise struct {
	Environment string `json:"environment"`
	Host        string `json:"host"`
	Load        string `json:"load"`
	Engine      string `json:"engine"`
	Test        string `json:"test"`
	Metric      string `json:"metric"`
	Unit        string `json:"unit,omitempty"`
	Absolute    bool   `json:"absolute,omitempty"`
	Comparisons int    `json:"comparisons"`
	Pairs       int    `json:"pairs"`
	// SD is the standard deviation of the differences, pooled by their degrees of freedom.
	SD    float64 `json:"sd"`
	Lines int     `json:"lines"` // verdicts on the metric
	False int     `json:"false"` // of them better or worse
}

// RunSD is the standard deviation of runs, as in [AA.RunSD].
func (n Noise) RunSD() float64 { return n.SD / math.Sqrt2 }

// Taken returns how many of the planned looks were taken.
func (c *Comparison) Taken() int {
	n := 0
	for n < len(c.Looks) && c.Looks[n].Taken() {
		n++
	}
	return n
}

// JudgedBlocks returns the last block whose runs may be judged: without planned looks the last
// planned block, otherwise the last block of the last look taken, or of the first look if none was
// taken. Later blocks wait for the next look.
func (c *Comparison) JudgedBlocks() int {
	if len(c.Looks) == 0 {
		return c.Blocks
	}
	return c.Looks[max(c.Taken()-1, 0)].Blocks
}

// Waits reports whether a block was run after the last planned look that was taken: it waits for
// the next, because judging it now would be an unplanned look.
func (c *Comparison) Waits(block int) bool { return len(c.Looks) > 0 && block > c.JudgedBlocks() }

// Judged returns a function that reports whether verdicts rest on a run: it counts, its block is
// whole and does not wait.
func (c *Comparison) Judged() func(ComparisonRun) bool {
	whole := c.WholeBlocks()
	return func(r ComparisonRun) bool { return r.Counts() && whole[r.Block] && !c.Waits(r.Block) }
}

// Disturbed returns the runs that are used for the cost of operations only: for each block that is
// not whole, the runs of its last complete repetition in which each run is valid or
// [ComparisonRun.Disturbed]. Blocks that wait have none.
func (c *Comparison) Disturbed() map[string]bool {
	whole := c.WholeBlocks()
	times := map[int][][]ComparisonRun{} // by block: the times that it was run
	for _, r := range c.Runs {
		if r.Pilot || r.Cut || whole[r.Block] || c.Waits(r.Block) {
			continue
		}
		if r.Order == 1 || len(times[r.Block]) == 0 {
			times[r.Block] = append(times[r.Block], nil)
		}
		last := &times[r.Block][len(times[r.Block])-1]
		*last = append(*last, r)
	}
	out := map[string]bool{}
	for _, all := range times {
		for _, runs := range slices.Backward(all) {
			unfit := func(r ComparisonRun) bool { return !r.Valid && !r.Disturbed }
			if len(runs) < len(c.Arms)*max(1, len(c.Engines)) || slices.ContainsFunc(runs, unfit) {
				continue
			}
			for _, r := range runs {
				out[r.Run] = true
			}
			break
		}
	}
	return out
}

// CostBlocks returns how many blocks are used for the cost of operations only
// ([Comparison.Disturbed]).
func (c *Comparison) CostBlocks() int {
	blocks, spoiled := map[int]bool{}, c.Disturbed()
	for _, r := range c.Runs {
		if spoiled[r.Run] {
			blocks[r.Block] = true
		}
	}
	return len(blocks)
}

// WholeBlocks returns the blocks that are judged unless they wait ([Comparison.Waits]). In a
// whole block, every arm has a valid run that counts on every database. A block that is under way,
// was cut, or holds an invalid run is not a sample, not even by its other runs: it is run again
// whole.
func (c *Comparison) WholeBlocks() map[int]bool {
	type cell struct{ arm, engine string }
	seen := map[int]map[cell]bool{}
	for _, r := range c.Runs {
		if !r.Counts() {
			continue
		}
		if seen[r.Block] == nil {
			seen[r.Block] = map[cell]bool{}
		}
		seen[r.Block][cell{r.Arm, r.Engine}] = true
	}
	out := map[int]bool{} // false for a block of which only some runs count
	for block, cells := range seen {
		out[block] = len(cells) >= len(c.Arms)*max(1, len(c.Engines))
	}
	return out
}
