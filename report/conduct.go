package report

import (
	"time"

	"plimsoll/dialect"
	"plimsoll/record"
)

// RunRow is a line of the validity table. Every run of the comparison is in it.
type RunRow struct {
	ID      string           `json:"id"`
	Digest  string           `json:"digest"`
	Block   int              `json:"block"`
	Order   int              `json:"order"`
	Arm     string           `json:"arm"`
	Engine  string           `json:"engine"`
	Part    string           `json:"part"` // "judged", "pilot", "voided", "cut", "not judged"
	Valid   bool             `json:"valid"`
	Why     string           `json:"why,omitempty"`
	Finding []record.Finding `json:"findings,omitempty"`
}

// A Canary compares the host of an arm with the host of base: the canary of its runs against that
// of base's, in pairs. Ratios minus one; Lo and Hi are the ends of the 95 % interval.
type Canary struct {
	Engine string `json:"engine"`
	Arm    string `json:"arm"`
	Pairs  int    `json:"pairs"`
	Effect Number `json:"effect"`
	Lo     Number `json:"lo"`
	Hi     Number `json:"hi"`
	// Moved reports that the interval lies beyond CanaryLimit: the environment differs between the
	// arms, not only the build.
	Moved bool `json:"moved,omitempty"`
}

// A Chapter is a [dialect.Supplement] in a document. Graphs are indexes into Document.Graphs.
type Chapter struct {
	Title  string              `json:"title"`
	Notes  []string            `json:"notes,omitempty"`
	Tables []dialect.TextTable `json:"tables,omitempty"`
	Graphs []int               `json:"graphs,omitempty"`
}

// CheckCount counts the outcomes of one check of a script.
type CheckCount struct {
	Name   string `json:"name"`
	Passed uint64 `json:"passed"`
	Failed uint64 `json:"failed"`
}

// An ArmChecks holds the checks of one arm, all judged runs merged.
type ArmChecks struct {
	Arm    string       `json:"arm"`
	Checks []CheckCount `json:"checks"`
}

// A Disturbance is a pair that stands out in endpoints, with the reading that stands out on the
// host of one of its runs against all runs of the other pairs. Their coincidence does not prove a
// cause.
type Disturbance struct {
	Engine    string   `json:"engine"`
	Arm       string   `json:"arm"` // the finding's
	Endpoints []string `json:"endpoints"`
	Block     int      `json:"block"`
	Run       string   `json:"run"`
	RunArm    string   `json:"run_arm"`
	Test      string   `json:"test"`
	Wait      string   `json:"wait"`       // WaitSteal or WaitDisk
	Share     Number   `json:"share"`      // of the test's time, 0 to 1
	OtherMost Number   `json:"other_most"` // the largest share in a run of another pair
}

// GateReading is a gate of the generator's health over the judged runs, or over all when none was
// judged. Limits and Worst are in Unit; Worst is NaN when no run measured it.
type GateReading struct {
	Name  string  `json:"name"`
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Amber float64 `json:"amber"`
	Red   float64 `json:"red"`
	// the worst of the runs: "green", "amber", "red", "not measured" or "not applicable"
	Level string `json:"level"`
	Worst Number `json:"worst"` // of all seconds
	// Measured of Runs measured the gate; Why is the reason why the last of the others did not.
	Measured int    `json:"measured"`
	Runs     int    `json:"runs"`
	Why      string `json:"why,omitempty"`
	// Seconds were read, AmberSeconds and RedSeconds of them beyond a limit.
	Seconds      int `json:"seconds"`
	AmberSeconds int `json:"amber_seconds"`
	RedSeconds   int `json:"red_seconds"`
}

// DuetTurns sums up how the judged runs of a duet took turns. Durations are nanoseconds in JSON.
type DuetTurns struct {
	Runs int `json:"runs"` // judged, with a record of their turns
	// Slice is the plan's length of a turn; 0 for one that follows the latencies. SliceMin and
	// SliceMax are the lengths that there were; 0 if they are not known.
	Slice    time.Duration `json:"slice"`
	SliceMin time.Duration `json:"slice_min,omitempty"`
	SliceMax time.Duration `json:"slice_max,omitempty"`
	Turns    int           `json:"turns"`
	// Carried counts turns that ended with operations under way, which went on in the next;
	// CarriedOps counts these were.
	Carried    int `json:"carried"`
	CarriedOps int `json:"carried_ops"`
	// LongestForeign is the longest time that a run had to wait for its next turn.
	LongestForeign time.Duration `json:"longest_foreign"`
	// PausedBy is the means by which a run without its turn was paused; empty if unknown,
	// record.PausedByNothing for targets elsewhere.
	PausedBy string `json:"paused_by,omitempty"`
}

// A LostRun is a run on which no verdict rests and in which an arm lost messages that it had
// acknowledged: its block was voided, is not whole, or waits for a look. Missing of Expected
// messages could not be read back.
type LostRun struct {
	Run      string `json:"run"`
	Engine   string `json:"engine"`
	Arm      string `json:"arm"`
	Missing  int    `json:"missing"`
	Expected int    `json:"expected"`
}

// PagesDir is the directory of a report's pages, below its own.
const PagesDir = "pages"

// A PageRef names one page of one run.
type PageRef struct {
	Kind   string `json:"kind"` // SystemPage or CoordinatorPage
	Test   string `json:"test"` // Bounded or Unbounded
	Run    string `json:"run"`
	Block  int    `json:"block,omitempty"`
	Arm    string `json:"arm,omitempty"`
	Engine string `json:"engine,omitempty"`
	File   string `json:"file"` // below PagesDir
}

// linkText is the text of a link to a page.
func (p PageRef) linkText() string { return sentence(p.Kind) }

// A Protocol holds the statements made before the first run, and the end of the comparison.
type Protocol struct {
	// Mode is plan.ModeSequence or plan.ModeDuet, and ModeWhy the reason for it; empty if
	// that is not recorded. Duet sums up the turns; nil for a sequence.
	Mode    string `json:"mode,omitempty"`
	ModeWhy string `json:"mode_why,omitempty"`
	// Places are sentences that state at whose addresses each arm was in the judged blocks, where
	// the arms exchanged them. Unbalanced is true if not every arm was at every address equally
	// often.
	Places     []string   `json:"places,omitempty"`
	Unbalanced bool       `json:"unbalanced,omitempty"`
	Duet       *DuetTurns `json:"duet,omitempty"`
	// AA reports that all arms are one build.
	AA         bool          `json:"aa,omitempty"`
	PlanDigest string        `json:"plan_digest"`
	Looks      []record.Look `json:"looks,omitempty"`
	// Budget is the time after which no more blocks began; 0 for a declared number of blocks.
	Budget  time.Duration       `json:"budget,omitempty"`
	Before  *record.Before      `json:"before,omitempty"`
	Resumed []record.Resumption `json:"resumed,omitempty"`
	// Canaries counts the judged runs, in a duet the blocks, with a reading of the host's canary;
	// CanarySpread is the sd of its logarithm, CanaryFirst and CanaryLast its means over the first
	// and the last block in requests per second. Canary compares the arms of a sequence.
	Canaries     int    `json:"canaries,omitempty"`
	CanarySpread Number `json:"canary_spread,omitzero"`
	CanaryFirst  Number `json:"canary_first,omitzero"`
	// CanaryHere is true if the null server was on the generator's host while the target was where
	// others run it.
	CanaryHere bool     `json:"canary_here,omitempty"`
	CanaryLast Number   `json:"canary_last,omitzero"`
	Canary     []Canary `json:"canary,omitempty"`
	// Gathered states how stored runs became blocks, a sentence each; nil for a comparison that
	// made its own.
	Gathered []string `json:"gathered,omitempty"`
}

func (p *Protocol) taken() int {
	return (&record.Comparison{Looks: p.Looks}).Taken()
}

// Voided is a block whose runs were kept and not judged. Repeated reports that it was run again,
// Missing that no attempt at it counts.
type Voided struct {
	Block    int      `json:"block"`
	Runs     []string `json:"runs"`
	Why      string   `json:"why"`
	Repeated bool     `json:"repeated"`
	Missing  bool     `json:"missing,omitempty"`
	// Cost reports that only the cost of its operations is judged: others on the host disturbed it
	// ([record.Comparison.Disturbed]).
	Cost bool `json:"cost,omitempty"`
}
