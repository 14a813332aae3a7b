package report

import (
	"time"

	"plimsoll/dialect"
	"plimsoll/judge/drift"
	"plimsoll/judge/limiter"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// FormatVersion is the version of the JSON form of a [Document].
const FormatVersion = 1

// The tests of a run, as the keys of RunData.Series and in the names of graphs.
const (
	Bounded   = "bounded"
	Unbounded = "unbounded"
)

// Input is everything a report is made of, already read from disk by the caller. From changes nothing in it.
type Input struct {
	// Comparison may not be nil. Plan may be; then its facts are left out.
	Comparison *record.Comparison
	Plan       *plan.Plan
	Arms       []Judged // new arms against base, one per (engine, arm)
	Databases  []Judged // engines against the first engine, one per (engine, arm)
	Runs       []RunData
	// Graphs lists the graphs that the target can give, in the order in which they are shown. Further are those after
	// them that are shown only where a run has them, or the reason why it does not.
	Graphs, Further []GraphSpec
	// EngineNames holds the name and version that each database server reports, by engine: "mysql" ->
	// "MariaDB 10.11.19".
	EngineNames map[string]string
	// Setup holds the first rows of the Setup table, in order.
	Setup []record.Row
	// Comments and Actions are texts of a person that take the place of the drafted ones and of the plan's; they may
	// be empty.
	Comments, Actions []string
	// Chapters are the caller's sections beside the tables that every report has. Their leads are in the comments,
	// unless a person has written these.
	Chapters []dialect.Supplement
}

// Judged holds the conclusions about one arm on one database.
type Judged struct {
	Engine, Arm string
	Verdict     verdict.Verdict
	// Skipped names endpoints that were not judged, with the reason.
	Skipped map[string]string
	// Secondary holds the results of the metrics beside the primary endpoints, nil for none; Shifts the quantiles at
	// which the distributions differ.
	Secondary *verdict.Family
	Shifts    []verdict.Shift
}

// RunData is one run of the comparison, as far as it could be read.
type RunData struct {
	Cell     record.ComparisonRun
	Manifest record.Manifest
	Validity record.Validity
	// Ops holds the measured phase by name; Events all events.
	Ops    map[string]*measure.Window
	Events []record.Event
	// Omitted holds the operations that were not begun in the measured phase because users waited, by name; nil where
	// the run has no record of them.
	Omitted map[string]*measure.Window
	// Server holds the measured phase as the target's own telemetry recorded it, under the names of Ops where it is
	// the same; nil without one.
	Server map[string]*measure.Window
	// Users holds the record of the users; nil for runs without one. Outside holds operations beside the steady
	// state.
	Users   *record.Users
	Outside record.Outside
	// Limiter is the resource that stopped the run, by its evidence; nil where it was not
	// determined.
	Limiter *limiter.Limiter
	// Drift lists the signals that moved in the measured phase; nil where it was not determined.
	Drift []drift.Drift
	// Waits are the target's waits for resources that its host shares; a test without a reading has no entry.
	Waits []HostWait
	// Series holds the lines by test (Bounded, Unbounded) and name of graph, NoData why there is none where there is
	// none.
	Series map[string]map[string]Line
	NoData map[string]map[string]string
	// Pages are the pages that the caller writes about this run beside the report.
	Pages []PageRef
}

// Line is one curve: T in seconds since the test's start, not decreasing, and the value at that time in the unit of
// its GraphSpec. It holds no NaN; T and V are of one length.
type Line struct {
	T []float64 `json:"t"`
	V []float64 `json:"v"`
}

// GraphSpec describes a graph. Scale is the factor that converts the source to Unit; the lines handed to From
// already are in Unit.
type GraphSpec struct {
	Name  string  `json:"name"` // "avg-api-times"
	Title string  `json:"title"`
	Unit  string  `json:"unit"`
	Scale float64 `json:"scale"`
	// Threshold is the threshold of a rule about the graph's own series; nil for none.
	Threshold *Threshold `json:"-"`
}

// A Threshold is the limit of a rule, in the unit of the graph that shows it.
type Threshold struct {
	Rule  string
	Value float64
}

// A Document is a report as data. Numbers that are not known are null in JSON.
type Document struct {
	Format     int    `json:"format"`
	Title      string `json:"title"` // without markup: Performance Comparison v1 vs v2
	Name       string `json:"name"`
	Comparison string `json:"comparison"` // id
	State      State  `json:"state"`

	// Kind is the conclusion that decides over all databases and arms; Indicative reports that it is
	// inconclusive because there are fewer than six blocks.
	Kind       verdict.Kind `json:"kind"`
	Indicative bool         `json:"indicative,omitempty"`

	Arms    []ArmLabel `json:"arms"`    // base first
	Engines []Engine   `json:"engines"` // in the order of the tables

	Verdicts  []NamedVerdict `json:"verdicts"`            // new arms against base
	Databases []NamedVerdict `json:"databases,omitempty"` // engines against the first
	// BlocksForSame holds, for each undecided endpoint of Verdicts, the number of blocks it takes to find it
	// the same.
	BlocksForSame []BlocksFor `json:"blocks_for_same,omitempty"`

	// DraftedComments and DraftedActions report that the texts were generated from the findings, not written by
	// a person.
	Comments        []string `json:"comments"`
	DraftedComments bool     `json:"drafted_comments"`
	Actions         []string `json:"action_items"`
	DraftedActions  bool     `json:"drafted_action_items"`
	// CommentsDraft and ActionsDraft are the drafted texts whose place a person's took.
	CommentsDraft []string     `json:"comments_draft,omitempty"`
	ActionsDraft  []string     `json:"action_items_draft,omitempty"`
	Setup         []record.Row `json:"setup"`
	Warnings      []string     `json:"warnings,omitempty"`
	// WarningGroups are the same warnings by cause, those first that could change a verdict.
	WarningGroups []WarningGroup `json:"warning_groups,omitempty"`

	Capacity []EngineCapacity `json:"capacity,omitempty"` // one per engine
	Blocks   []Block          `json:"blocks,omitempty"`   // the judged blocks' capacities
	Limiters []SearchEnds     `json:"limiters,omitempty"` // one per engine and arm
	Ops      []OpTable        `json:"operations,omitempty"`
	Sides    []SideTable      `json:"client_and_server,omitempty"` // one per engine
	Rules    []RuleTable      `json:"rules,omitempty"`
	Users    []UsersOf        `json:"users,omitempty"` // one per engine and arm
	// AcknowledgedLost counts the messages that arms had acknowledged and that could not be read back, in judged runs
	// and in voided ones: a repeated block does not bring them back.
	AcknowledgedLost int `json:"acknowledged_lost,omitempty"`
	// LostElsewhere names the runs of which no verdict has the numbers and that lost some of them.
	LostElsewhere []LostRun `json:"acknowledged_lost_elsewhere,omitempty"`
	// Stability describes the signals inside the judged runs, by engine and signal.
	Stability []Stability `json:"stability,omitempty"`
	// Disturbances names the pairs that stand out when their hosts do, too.
	Disturbances []Disturbance `json:"disturbances,omitempty"`
	// Login is warm or cold, Mix the name of the mix of actions; both are the plan's.
	Login  string        `json:"login,omitempty"`
	Mix    string        `json:"mix,omitempty"`
	Runs   []RunRow      `json:"runs"`
	Gates  []GateReading `json:"gates,omitempty"`
	Voided []Voided      `json:"voided_blocks,omitempty"`
	Graphs []GraphData   `json:"graphs,omitempty"`
	// Absent names the graphs without data, by test.
	Absent []Absent `json:"absent_graphs,omitempty"`
	// Protocol holds the plan as stated before the first run and the end of the comparison; nil if there is no record
	// of them.
	Protocol *Protocol `json:"protocol,omitempty"`
	// Chapters are the caller's own; their graphs are among Graphs.
	Chapters []Chapter `json:"chapters,omitempty"`
	// Given is set in the report of numbers that were given; nil for runs.
	Given *Given `json:"-"`
	// Pages are the pages of the judged runs, by engine, test and block, base first.
	Pages []PageRef `json:"pages,omitempty"`
}

// State describes the end of a comparison.
type State struct {
	Complete bool         `json:"complete"`
	State    record.State `json:"state"`
	Why      string       `json:"why,omitempty"`
	Planned  int          `json:"blocks_planned"`
	Judged   int          `json:"blocks_judged"` // blocks whose runs were all there and valid
	// Cost is how many further blocks were judged by the cost of their operations alone, because others on the host
	// disturbed them.
	Cost int `json:"blocks_judged_by_cost,omitempty"`
	// Block is how long a block took, the mean; 0 where that is not known.
	Block time.Duration `json:"block_time,omitempty"`
}

// An ArmLabel is a variant. Label is its version if the versions distinguish the arms, or else its settings if each arm has
// some, otherwise its name. Settings are those of an arm that keeps its name, for titles.
type ArmLabel struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Settings string `json:"settings,omitempty"`
	Base     bool   `json:"base,omitempty"`
}

// An Engine is a database as tables name it. Label is for tables: Short unless two servers share it. All three are
// empty for a target whose database is not ours.
type Engine struct {
	Key   string `json:"key"`   // postgresql
	Label string `json:"label"` // PostgreSQL
	Full  string `json:"full"`  // PostgreSQL 15.18
}

// A NamedVerdict is a verdict with the names that people read.
type NamedVerdict struct {
	Engine    string          `json:"engine"`
	Arm       string          `json:"arm"`
	Name      string          `json:"name"` // of the database and, with several new arms, the arm
	Verdict   verdict.Verdict `json:"verdict"`
	Skipped   []record.Row    `json:"skipped,omitempty"` // endpoint, reason
	Secondary *verdict.Family `json:"further,omitempty"` // all other metrics; they decide nothing
	Shifts    []verdict.Shift `json:"shifts,omitempty"`  // where the distributions differ; they decide nothing
}

// EngineCapacity is the supported users of one engine: each arm pooled over the judged blocks, and the effect of each
// new arm.
type EngineCapacity struct {
	Engine string    `json:"engine"`
	Cells  []ArmCell `json:"arms"` // as Document.Arms
}

// ArmCell is one arm's supported users on one engine: the geometric mean of its runs with the interval of the
// verdict's level. Delta is against base, ByDatabase against the first engine; both are nil where there is nothing
// to compare with.
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

// Delta is a relative difference: Value 0.05 is 5 % more. Lo and Hi are its interval at Level, which is 0 where the text
// around it names the level.
type Delta struct {
	Value Number `json:"value"`
	Lo    Number `json:"lo"`
	Hi    Number `json:"hi"`
	Level Number `json:"level,omitempty"`
	// Bound is set if Value is not known but bounded: "<=", ">=", or "" for a value.
	Bound string `json:"bound,omitempty"`
	// FromBounds reports that some of the pairs are only bounds: the interval holds for every value within
	// them.
	FromBounds bool `json:"from_bounds,omitempty"`
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

// SearchEnds describes the end of the searches of one arm on one engine.
type SearchEnds struct {
	Engine    string  `json:"engine"`
	Arm       string  `json:"arm"`
	Searches  int     `json:"searches"`
	Rules     []Count `json:"rules"`                 // most frequent first
	AtLeast   int     `json:"at_least"`              // searches that ended at a limit of their own: lower bounds
	AtLeastBy []Count `json:"at_least_by,omitempty"` // the stop rules of those
	Stopped   []Count `json:"stopped"`               // stop rules, in words
	// Unstable is how many searches contradict themselves, and Reached and Held the medians of their two levels:
	// going up, and after an overload; 0 when none saw both.
	Unstable int      `json:"unstable,omitempty"`
	Reached  float64  `json:"reached,omitempty"`
	Held     float64  `json:"held,omitempty"`
	Margins  []Margin `json:"margins,omitempty"` // of all rules at the capacity
	// Named counts the limits of the runs by their evidence, most frequent first; Evidence is the sentence of the
	// first of them.
	Named    []Count `json:"named,omitempty"`
	Evidence string  `json:"evidence,omitempty"`
}

// Count is how often something was seen.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Margin is how much of its limit a rule used at the capacity: the median over the runs. 1 is the limit.
type Margin struct {
	Rule string `json:"rule"`
	Used Number `json:"used"`
	Runs int    `json:"runs"`
}

// OpTable is the operations of the measured phase on one engine.
type OpTable struct {
	Engine string  `json:"engine"`
	Rows   []OpRow `json:"rows"`
	// Gone and New name operations that only the base has, or only a new arm.
	Gone []string `json:"gone,omitempty"`
	New  []string `json:"new,omitempty"`
	// Schedule is how many operations were intended and begun, for each arm as in Document.Arms; nil where no run
	// recorded it.
	Schedule []OpSchedule `json:"schedule,omitempty"`
}

// OpSchedule compares the operations that the schedule of an arm's users intended in the measured phases with those
// that were begun. Told of Runs runs recorded it; with none, the rest is NaN. Percentiles are of all operations of
// the steady state, as measured and as if users had not waited, in milliseconds, NaN where the operations are too
// few.
type OpSchedule struct {
	Runs int `json:"runs"`
	Told int `json:"told"`
	// Unpaused counts the runs whose users made no pauses, to which the rest does not apply.
	Unpaused int    `json:"without_pauses,omitempty"`
	Achieved uint64 `json:"achieved"`
	Intended Number `json:"intended"`
	Share    Number `json:"share"`
	Least    Number `json:"least_share"` // of one run
	Marked   bool   `json:"marked"`      // a run is below record.LeastAchieved
	P50      Number `json:"p50_ms"`
	P95      Number `json:"p95_ms"`
	P99      Number `json:"p99_ms"`
	By50     Number `json:"p50_by_schedule_ms"`
	By95     Number `json:"p95_by_schedule_ms"`
	By99     Number `json:"p99_by_schedule_ms"`
}

// OpRow is one operation: each arm as in Document.Arms, all judged runs merged.
type OpRow struct {
	Name string   `json:"name"`
	Arms []OpCell `json:"arms"`
}

// OpCell is one operation of one arm. Rate is per second of measured time; Errors is a fraction; the percentiles are
// response times in milliseconds, NaN where the operations are too few for them. An arm without the operation has
// Count 0 and the rest NaN.
type OpCell struct {
	Count  uint64 `json:"count"`
	Failed uint64 `json:"failed"`
	Rate   Number `json:"rate"`
	Errors Number `json:"errors"`
	P50    Number `json:"p50_ms"`
	P95    Number `json:"p95_ms"`
	P99    Number `json:"p99_ms"`
	// Classes counts failed operations by class, most frequent first.
	Classes []Count `json:"classes,omitempty"`
	// Statuses counts those of the classes 4xx and 5xx by the status of the answer, most frequent first.
	Statuses []Count `json:"statuses,omitempty"`
	// Expected counts answers with a status from 400 on that the dialect knows as right; they are not failed.
	Expected []workload.ExpectedCount `json:"expected,omitempty"`
	// Of the operations that were under way at the end of a measured phase, Drained have ended since (they are not in
	// Rate) and Open have not: these are in the percentiles with their age, and AtLeast names those that are lower
	// bounds for it.
	Drained uint64   `json:"drained,omitempty"`
	Open    uint64   `json:"open,omitempty"`
	AtLeast []string `json:"at_least,omitempty"`
}

// RuleTable is the SLO rules of one engine: evaluated once over the measured phase of each run of the bounded test,
// and again and again during the search.
type RuleTable struct {
	Engine string    `json:"engine"`
	Rows   []RuleRow `json:"rows"`
}

// RuleRow is one rule and one arm.
type RuleRow struct {
	Rule  string `json:"rule"`
	Arm   string `json:"arm"`
	Unit  string `json:"unit"` // of Limit and the values: "s", "fraction" or ""
	Limit Number `json:"limit"`
	// Warning reports that the rule only warns: it breaks nothing.
	Warning bool `json:"warning,omitempty"`
	// Measured holds the bounded test's value of each judged run, in the order of the blocks.
	Measured []RuleValue `json:"measured,omitempty"`
	// Search sums up the evaluations of the unbounded test.
	Search *RuleSearch `json:"search,omitempty"`
}

// RuleValue is one evaluation. NoData reports that there was nothing to evaluate, TooFew that there were fewer
// operations than the rule requires, so that it did not decide.
type RuleValue struct {
	Block    int    `json:"block"`
	Value    Number `json:"value"`
	Violated bool   `json:"violated,omitempty"`
	NoData   bool   `json:"no_data,omitempty"`
	TooFew   bool   `json:"too_few,omitempty"`
	// Where is the part of the target that a broken expression's value was of, how far it went, and when.
	Where string `json:"where,omitempty"`
}

// RuleSearch sums up how a rule fared during the searches: how many evaluations, how many violated it, had no
// data or too few operations, and the median over the runs of the users at its first violation (NaN if it never was).
type RuleSearch struct {
	Evaluations int    `json:"evaluations"`
	Violated    int    `json:"violated"`
	NoData      int    `json:"no_data"`
	TooFew      int    `json:"too_few"`
	FirstUsers  Number `json:"first_users"`
	FirstRuns   int    `json:"first_runs"` // runs in which it was violated at all
}

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

// GateReading is a gate of the generator's health over the judged runs, or over all when none was judged. Limits and
// Worst are in Unit; Worst is NaN when no run measured it.
type GateReading struct {
	Name  string  `json:"name"`
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Amber float64 `json:"amber"`
	Red   float64 `json:"red"`
	Level string  `json:"level"` // the worst of the runs: "green", "amber", "red", "not measured" or "not applicable"
	Worst Number  `json:"worst"` // of all seconds
	// Measured of Runs measured the gate; Why is the reason why the last of the others did not.
	Measured int    `json:"measured"`
	Runs     int    `json:"runs"`
	Why      string `json:"why,omitempty"`
	// Seconds were read, AmberSeconds and RedSeconds of them beyond a limit.
	Seconds      int `json:"seconds"`
	AmberSeconds int `json:"amber_seconds"`
	RedSeconds   int `json:"red_seconds"`
}

// Voided is a block whose runs were kept and not judged. Repeated reports that it was run again, Missing that no
// attempt at it counts.
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

// again describes the repetition of the block.
func (v Voided) again() string {
	if v.Cost {
		v.Cost = false
		return v.again() + "; what its operations cost in CPU time is judged"
	}
	switch {
	case !v.Repeated:
		return "it was not run again"
	case v.Missing:
		return "it was run again, and was not valid then either"
	}
	return "it was run again"
}

// Absent names the graphs of a test of an engine of which no judged run has data, with the reason of
// each.
type Absent struct {
	Engine string   `json:"engine"`
	Test   string   `json:"test"`
	Names  []string `json:"names"`
	Why    []string `json:"why"` // as Names
}

// GraphData is one graph: all arms on the same clock.
type GraphData struct {
	Engine string `json:"engine"` // key
	Test   string `json:"test"`
	GraphSpec
	File string `json:"file"` // <engine>_<test>_0_<name>.png
	// Rule marks a graph of an SLO rule; Limit is its threshold in Unit. A graph of something else has the Limit of
	// LimitRule, which is about the same.
	Rule      string  `json:"rule,omitempty"`
	Limit     float64 `json:"limit,omitempty"`
	LimitRule string  `json:"limit_rule,omitempty"`
	// MeasuredFrom is when the measured phase begins, in seconds; 0 if unknown.
	MeasuredFrom float64   `json:"measured_from,omitempty"`
	Arms         []ArmLine `json:"arms"`
	// NoData is the reason why there is nothing to draw. Missing names arms without data where others
	// have some.
	NoData  string   `json:"no_data,omitempty"`
	Missing []string `json:"missing_arms,omitempty"`
	// Broken are the stretches in which the rule did not hold, Unknown those in which it had no value.
	Broken  []Stretch `json:"broken,omitempty"`
	Unknown []Stretch `json:"unknown,omitempty"`
	// Note is shown below the legend.
	Note string `json:"note,omitempty"`
}

// A Stretch is a stretch of time from From to To, in seconds since the test's start.
type Stretch struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// ArmLine is one arm's curve on the grid T, in seconds: the median over its runs of their means in a step of the
// grid, and the lowest and highest sample of all of them in it (nil for one run that has one sample a step). Where T
// jumps by more than a step of the grid there is no data. Each holds each run by itself while they are few.
type ArmLine struct {
	Arm    string    `json:"arm"` // label
	Index  int       `json:"index"`
	N      int       `json:"runs"`
	Of     int       `json:"of_runs"` // judged runs that carried out the test; those that are not among N have no data
	Step   float64   `json:"step"`
	T      []float64 `json:"t"`
	Median []float64 `json:"median"`
	Lo     []float64 `json:"lo,omitempty"`
	Hi     []float64 `json:"hi,omitempty"`
	Each   []Line    `json:"each,omitempty"`
}
