package report

import (
	"cmp"
	"slices"

	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/statements"
	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// A NamedVerdict is a verdict with the names that people read.
type NamedVerdict struct {
	Engine    string          `json:"engine"`
	Arm       string          `json:"arm"`
	Name      string          `json:"name"` // of the database and, with several new arms, the arm
	Verdict   verdict.Verdict `json:"verdict"`
	Skipped   []record.Row    `json:"skipped,omitempty"` // endpoint, reason
	Secondary *verdict.Family `json:"further,omitempty"` // all other metrics; they decide nothing
	// where the distributions differ; they decide nothing
	Shifts []verdict.Shift `json:"shifts,omitempty"`
}

// EngineCapacity is the supported users of one engine: each arm pooled over the judged blocks, and
// the effect of each new arm.
type EngineCapacity struct {
	Engine string    `json:"engine"`
	Cells  []ArmCell `json:"arms"` // as Document.Arms
}

// ArmCell is one arm's supported users on one engine: the geometric mean of its runs with the
// interval of the verdict's level. Delta is against base, ByDatabase against the first engine; both
// are nil where there is nothing to compare with.
type ArmCell struct {
	Arm        string `json:"arm"`
	Runs       int    `json:"runs"`
	Users      Number `json:"users"`
	Lo         Number `json:"lo"`
	Hi         Number `json:"hi"`
	AtLeast    bool   `json:"at_least,omitempty"`
	Delta      *Delta `json:"delta,omitempty"`
	ByDatabase *Delta `json:"by_database,omitempty"`
}

// Block is the capacities of one block: by engine (as Document.Engines) and arm (as Document.Arms).
type Block struct {
	Block int         `json:"block"`
	Users [][]RunCell `json:"users"`
}

// RunCell is the capacity of one run. Users is NaN when the run has none, or an unstable search.
type RunCell struct {
	Run      string `json:"run"`
	Users    Number `json:"users"`
	AtLeast  bool   `json:"at_least,omitempty"`
	Unstable bool   `json:"unstable,omitempty"`
}

// BlocksFor holds the number of blocks that one endpoint of one comparison takes.
type BlocksFor struct {
	// the database, or the two that are compared and the arm; may be empty
	Of       string           `json:"of"`
	Endpoint string           `json:"endpoint"`
	Effect   Number           `json:"effect"` // relative
	Margin   float64          `json:"margin"`
	Pairs    int              `json:"pairs"` // that there are
	Each     []verdict.Blocks `json:"by_run_sd"`
}

// A WarningGroup holds the warnings of one cause. Changes reports whether the cause could change a
// verdict; such groups stand before the others. Text is one sentence for all of them. Action is the
// remedy; groups without one are left to the details.
type WarningGroup struct {
	Cause    string   `json:"cause"`
	Changes  bool     `json:"could_change_verdict"`
	Text     string   `json:"text"`
	Action   string   `json:"action,omitempty"`
	Warnings []string `json:"warnings"`
}

// SearchEnds describes the end of the searches of one arm on one engine.
type SearchEnds struct {
	Engine    string  `json:"engine"`
	Arm       string  `json:"arm"`
	Searches  int     `json:"searches"`
	Rules     []Count `json:"rules"`                 // most frequent first
	AtLeast   int     `json:"at_least"`              // ended at their own limit: lower bounds
	AtLeastBy []Count `json:"at_least_by,omitempty"` // the stop rules of those
	Stopped   []Count `json:"stopped"`               // stop rules, in words
	// Unstable counts searches that contradict themselves; Reached and Held are the medians of
	// their two levels: going up, and after an overload; 0 when none saw both.
	Unstable int      `json:"unstable,omitempty"`
	Reached  float64  `json:"reached,omitempty"`
	Held     float64  `json:"held,omitempty"`
	Margins  []Margin `json:"margins,omitempty"` // of all rules at the capacity
	// Named counts the limits of the runs by their evidence, most frequent first; Evidence is the
	// sentence of the first of them.
	Named    []Count `json:"named,omitempty"`
	Evidence string  `json:"evidence,omitempty"`
}

// Margin is the part of its limit that a rule used at the capacity: the median over the runs. 1 is
// the limit.
type Margin struct {
	Rule string `json:"rule"`
	Used Number `json:"used"`
	Runs int    `json:"runs"`
}

// Count is a tally of one thing.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Counts orders a tally: the most frequent first, then by name. It is nil for a nil map alone.
func Counts[N int | uint64](m map[string]N) []Count {
	if m == nil {
		return nil
	}
	out := make([]Count, 0, len(m))
	for name, n := range m {
		out = append(out, Count{name, int(n)})
	}
	slices.SortFunc(out,
		func(x, y Count) int { return cmp.Or(-cmp.Compare(x.N, y.N), cmp.Compare(x.Name, y.Name)) })
	return out
}

// Stability describes one signal inside the measured phases of the judged runs of an engine.
type Stability struct {
	Engine string          `json:"engine"`
	Signal string          `json:"signal"`
	Unit   string          `json:"unit"`
	Arms   []StabilityCell `json:"arms"` // as Document.Arms
}

// StabilityCell is one arm of it: the number of runs with each state of the signal
// (drift.FindDrift), and its course over them.
type StabilityCell struct {
	Runs      int `json:"runs"`
	Rises     int `json:"rises"`
	Falls     int `json:"falls"`
	LevelsOff int `json:"levels_off"`
	TooShort  int `json:"too_short"`
	// First and Last are medians over the runs, Hours how long those were; PerHour the mean of the
	// runs' slopes with its 95 % interval over the runs. All are NaN where no run knows them.
	First   Number `json:"first"`
	Last    Number `json:"last"`
	Hours   Number `json:"hours"`
	PerHour Number `json:"per_hour"`
	Lo      Number `json:"per_hour_lo"`
	Hi      Number `json:"per_hour_hi"`
	// Parts counts in how many runs a part of the signal drifted by itself, most frequent first.
	Parts []Count `json:"parts,omitempty"`
	// Against compares the signal's change with the base's run of the same block; nil for the base.
	Against *StabilityDelta `json:"against,omitempty"`
}

// StabilityDelta is the mean difference of relative changes over a run, 0.05 is five points, with
// its 95 % interval over the blocks. Differs reports that it is significant at 1 % (t, Holm over
// the signals) and at least [apartFrom].
type StabilityDelta struct {
	Blocks  int    `json:"blocks"`
	Value   Number `json:"value"`
	Lo      Number `json:"lo"`
	Hi      Number `json:"hi"`
	P       Number `json:"p"`
	Differs bool   `json:"differs,omitempty"`
}

// A Why is the origin of a difference in the cost of a role, between an arm and the base on one
// engine.
type Why struct {
	Engine   string `json:"engine"`
	Arm      string `json:"arm"`
	Endpoint string `json:"endpoint"` // cost(app)
	Sentence string `json:"sentence"` // without a period
	// First reports that the sentence belongs on the first screen.
	First bool `json:"first"`
	Attributed
	// Dropped counts the nodes of the tree that were too narrow for a drawing.
	Dropped int `json:"dropped_nodes,omitempty"`
}

// StatementsOf are the statements that changed between an arm and the base on one engine.
type StatementsOf struct {
	Engine   string `json:"engine"`
	Arm      string `json:"arm"`
	Sentence string `json:"sentence"` // without a period; empty if no statement changed
	First    bool   `json:"first"`
	statements.Difference
}

// capacityName is the endpoint of the unbounded test.
const capacityName = "capacity"

// resultOf returns the result of a verdict on an endpoint; false where it has none.
func resultOf(v verdict.Verdict, endpoint string) (verdict.Result, bool) {
	for _, r := range v.Results {
		if r.Name == endpoint {
			return r, true
		}
	}
	return verdict.Result{}, false
}

// Attributed is the attribution of the cost of one role, with the files behind it.
type Attributed struct {
	attribution.Attribution
	// Profiles are those of the base and of the new arm in the first block, below the store.
	Profiles [2]string `json:"profiles,omitzero"`
	// Without counts the judged blocks that lack a profile.
	Without int `json:"blocks_without,omitempty"`
}
