package report

import (
	"time"

	"plimsoll/judge/drift"
	"plimsoll/judge/imported"
	"plimsoll/judge/sizing"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// Given is the part of a report of numbers that were given (a CSV, files of other tools, stored
// runs) that has the numbers. It is also the JSON form of the whole.
type Given struct {
	Format int `json:"format"`
	// Names are the names of the arms, base first.
	Names [2]string `json:"arms"`
	// Kind is the conclusion that decides over all databases; Indicative reports that there are too
	// few pairs for any.
	Kind       verdict.Kind `json:"kind"`
	Indicative bool         `json:"indicative,omitempty"`
	// NotComplete names the missing part of a stored comparison; empty for one that is complete,
	// and for other numbers.
	NotComplete string `json:"not_complete,omitempty"`
	// Verdicts judge the new arm against base, one per database; Databases judge each database
	// against the first, within each arm.
	Verdicts  []verdict.Verdict `json:"verdicts"`
	Databases []verdict.Verdict `json:"databases,omitempty"`
	// Skipped are figures that were not judged, with the reason.
	Skipped  []record.Row `json:"skipped,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	// WarningGroups are the same warnings by cause, those first that could change a verdict.
	WarningGroups []WarningGroup `json:"warning_groups,omitempty"`
	// Blocks holds the number of blocks that finding the arms the same would have taken, one entry
	// per endpoint of Verdicts and Databases that has a relative difference.
	Blocks  []BlocksFor `json:"blocks_for_same,omitempty"`
	Asides  []Aside     `json:"asides,omitempty"`
	Sources []Source    `json:"sources,omitempty"`

	metrics   []givenMetric
	databases []string // in the order of tables
}

// An Aside is a figure that is shown and not judged: geometric means over the pairs, and their
// ratio less one. For a figure that is zero in some pair, as a count of errors may be, the means
// are arithmetic and there is no ratio.
type Aside struct {
	Name     string `json:"name"`
	Database string `json:"database,omitempty"`
	Unit     string `json:"unit,omitempty"`
	Pairs    int    `json:"pairs"`
	Base     Number `json:"base"`
	New      Number `json:"new"`
	Effect   Number `json:"effect"`
	// Arithmetic reports that the means are arithmetic, not geometric.
	Arithmetic bool `json:"arithmetic,omitempty"`
}

// A Source is a file that a run was read from.
type Source struct {
	Arm  string `json:"arm"`
	Pair int    `json:"pair"`
	File string `json:"file"`
	Tool string `json:"tool"`
}

// A givenMetric is the rows of one metric.
type givenMetric struct {
	name, unit string
	rows       []imported.PairRow
}

// A StepLoss is a run of a sizing in which the target lost messages that it had acknowledged:
// Missing of Expected could not be read back. Users is the number of users of its step, 0 for the
// first search. Unknown is the reason why the run could not be checked; then the counts are 0.
type StepLoss struct {
	Run      string `json:"run"`
	Users    int    `json:"users,omitempty"`
	Missing  int    `json:"missing"`
	Expected int    `json:"expected"`
	Unknown  string `json:"unknown,omitempty"`
}

// A SizingPart is the report of a ladder of load steps as data.
type SizingPart struct {
	Format   int    `json:"format"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Tool     string `json:"tool"`
	Complete bool   `json:"complete"`
	Why      string `json:"why,omitempty"` // it is not complete
	sizing.Result
	// Search is the first search of the capacity, of a ladder without given steps.
	Search *record.Capacity `json:"search,omitempty"`
	// Drift lists the signals that moved in each step.
	Drift []StepDrift `json:"drift"`
	// AcknowledgedLost counts the messages that the target had acknowledged and that could not be
	// read back: in the steps, in the repeated steps, and in the first search. LostIn lists the
	// runs.
	AcknowledgedLost int          `json:"acknowledged_lost,omitempty"`
	LostIn           []StepLoss   `json:"lost_in,omitempty"`
	Setup            []record.Row `json:"setup"`
	// Plan is the plan; its canonical text is in PlanText.
	Plan     *plan.Plan `json:"-"`
	PlanText string     `json:"plan"`
}

// A StepDrift lists the signals that moved in one step.
type StepDrift struct {
	Users   int           `json:"users"`
	Signals []drift.Drift `json:"signals"`
}

// A TrendPart is supported users by release, over many comparisons. Every number that joins two
// releases is a ratio within a comparison, or a product of such ratios; numbers of different
// comparisons, that is of different days and hosts, are never divided by each other.
type TrendPart struct {
	Format    int             `json:"format"`
	Databases []TrendDatabase `json:"databases"`
	// Level is the level of the intervals, Alpha the chance that a chain of equal releases gets a
	// change.
	Level    float64  `json:"level"`
	Alpha    float64  `json:"alpha"`
	Warnings []string `json:"warnings,omitempty"`
}

// TrendDatabase is the releases on one database.
type TrendDatabase struct {
	Database string       `json:"database"`
	Chains   []TrendChain `json:"chains"` // in the order of the input
	// comparisons without a number, with the reason
	LeftOut []record.Row `json:"left_out,omitempty"`
	Links   []TrendLink  `json:"comparisons"`
	// SD is the standard deviation of the differences of all comparisons: noise, and changes
	// between releases.
	SD Number `json:"sd"`
}

// TrendChain is releases that comparisons connect, in their order.
type TrendChain struct {
	Releases []TrendRelease `json:"releases"`
	Changes  []TrendChange  `json:"changes,omitempty"`
	// Places is the number of releases at which a change was searched for.
	Places int `json:"places"`
}

// TrendRelease is one release: its supported users against the first release of its chain, as a
// relative difference. The first has 0.
type TrendRelease struct {
	Release string `json:"release"`
	Against Delta  `json:"against_first"`
	// Comparisons counts the comparisons with it.
	Comparisons int `json:"comparisons"`
}

// TrendChange is a release from which on the level is another. Shift is against the level before, P
// is adjusted for all places of the chain.
type TrendChange struct {
	Release string `json:"release"`
	Before  string `json:"release_before"`
	Shift   Delta  `json:"shift"`
	P       Number `json:"p"`
	// InRow counts comparisons in a row that show it, each by itself; from two on it is an alarm.
	InRow int  `json:"comparisons_in_a_row"`
	Alarm bool `json:"alarm"`
}

// TrendLink is one comparison as it was measured.
type TrendLink struct {
	Comparison string    `json:"comparison"`
	Host       string    `json:"host,omitempty"`
	Time       time.Time `json:"time,omitzero"`
	Base       string    `json:"base"`
	New        string    `json:"new"`
	BaseUsers  Number    `json:"base_users"` // geometric means of the runs
	NewUsers   Number    `json:"new_users"`
	Effect     Delta     `json:"effect"`
	Pairs      int       `json:"pairs"`
}
