package report

import (
	"time"

	"plimsoll/dialect"
	"plimsoll/judge/attribution/statements"
	"plimsoll/judge/drift"
	"plimsoll/judge/limiter"
	"plimsoll/judge/suspects"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
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

// Input is everything a report is made of, already read from disk by the caller. From changes
// nothing in it.
type Input struct {
	// Comparison may not be nil. Plan may be; then its facts are left out.
	Comparison *record.Comparison
	Plan       *plan.Plan
	Arms       []Judged // new arms against base, one per (engine, arm)
	Databases  []Judged // engines against the first engine, one per (engine, arm)
	Runs       []RunData
	// Graphs lists the graphs that the target can give, in the order in which they are shown.
	// Further lists the graphs after them that are shown only where a run has them, or the reason
	// why it does not.
	Graphs, Further []GraphSpec
	// EngineNames holds the name and version that each database server reports, by engine: "mysql"
	// -> "MariaDB 10.11.19".
	EngineNames map[string]string
	// Setup holds the first rows of the Setup table, in order.
	Setup []record.Row
	// Comments and Actions are texts of a person that take the place of the drafted ones and of the
	// plan's; they may be empty.
	Comments, Actions []string
	// Suspects are the commits that touch what changed; nil where none were looked for.
	Suspects *suspects.SuspectSearch
	// Chapters are the caller's sections beside the tables that every report has. Their leads are
	// in the comments, unless a person has written these.
	Chapters []dialect.Supplement
}

// Judged holds the conclusions about one arm on one database.
type Judged struct {
	Engine, Arm string
	Verdict     verdict.Verdict
	// Skipped names endpoints that were not judged, with the reason.
	Skipped map[string]string
	// Secondary holds the results of the metrics beside the primary endpoints, nil for none; Shifts
	// the quantiles at which the distributions differ.
	Secondary *verdict.Family
	Shifts    []verdict.Shift
	// Costs are the attributions of the costs that were judged; nil where no run was profiled.
	// Statements is that of the execution time of the database; nil where no run has it.
	Costs      []Attributed
	Statements *statements.Difference
}

// RunData is one run of the comparison, as far as it could be read.
type RunData struct {
	Cell     record.ComparisonRun
	Manifest record.Manifest
	Validity record.Validity
	// Ops holds the measured phase by name; Events all events.
	Ops    map[string]*measure.Window
	Events []record.Event
	// Omitted holds the operations that were not begun in the measured phase because users waited,
	// by name; nil where the run has no record of them.
	Omitted map[string]*measure.Window
	// Server holds the measured phase as the target's own telemetry recorded it, under the names of
	// Ops where it is the same; nil without one.
	Server map[string]*measure.Window
	// Users holds the record of the users; nil for runs without one. Outside holds operations
	// beside the steady state.
	Users   *record.Users
	Outside record.Outside
	// Limiter is the resource that stopped the run, by its evidence; nil where it was not
	// determined.
	Limiter *limiter.Limiter
	// Drift lists the signals that moved in the measured phase; nil where it was not determined.
	Drift []drift.Drift
	// Waits are the target's waits for resources that its host shares; a test without a reading has
	// no entry.
	Waits []HostWait
	// Series holds the lines by test (Bounded, Unbounded) and name of graph, NoData why there is
	// none where there is none.
	Series map[string]map[string]Line
	NoData map[string]map[string]string
	// Pages are the pages that the caller writes about this run beside the report.
	Pages []PageRef
}

// A Document is a report as data. Numbers that are not known are null in JSON.
type Document struct {
	Format     int    `json:"format"`
	Title      string `json:"title"` // without markup: Performance Comparison v1 vs v2
	Name       string `json:"name"`
	Comparison string `json:"comparison"` // id
	State      State  `json:"state"`

	// Kind is the conclusion that decides over all databases and arms; Indicative reports that it
	// is inconclusive because there are fewer than six blocks.
	Kind       verdict.Kind `json:"kind"`
	Indicative bool         `json:"indicative,omitempty"`

	Arms    []ArmLabel `json:"arms"`    // base first
	Engines []Engine   `json:"engines"` // in the order of the tables

	Verdicts  []NamedVerdict `json:"verdicts"`            // new arms against base
	Databases []NamedVerdict `json:"databases,omitempty"` // engines against the first
	// BlocksForSame holds, for each undecided endpoint of Verdicts, the number of blocks it takes
	// to find it the same.
	BlocksForSame []BlocksFor `json:"blocks_for_same,omitempty"`

	// DraftedComments and DraftedActions report that the texts were generated from the findings,
	// not written by a person.
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
	// Why and Statements are where differences in cost come from, by engine, arm and role.
	Why        []Why          `json:"why,omitempty"`
	Statements []StatementsOf `json:"statements,omitempty"`
	// Suspects are the commits that touch what changed; nil where none were looked for.
	Suspects *suspects.SuspectSearch `json:"suspects,omitempty"`
	Ops      []OpTable               `json:"operations,omitempty"`
	Sides    []SideTable             `json:"client_and_server,omitempty"` // one per engine
	Rules    []RuleTable             `json:"rules,omitempty"`
	Users    []UsersOf               `json:"users,omitempty"` // one per engine and arm
	// AcknowledgedLost counts the messages that arms had acknowledged and that could not be read
	// back, in judged runs and in voided ones: a repeated block does not bring them back.
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
	// Protocol holds the plan as stated before the first run and the end of the comparison; nil if
	// there is no record of them.
	Protocol *Protocol `json:"protocol,omitempty"`
	// Chapters are the caller's own; their graphs are among Graphs.
	Chapters []Chapter `json:"chapters,omitempty"`
	// Given, Sizing and Trend are set in documents on other subjects than runs; each is all of its
	// document's JSON.
	Given  *Given      `json:"-"`
	Sizing *SizingPart `json:"-"`
	Trend  *TrendPart  `json:"-"`
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
	// Cost counts further blocks that were judged by the cost of their operations alone, because
	// others on the host disturbed them.
	Cost int `json:"blocks_judged_by_cost,omitempty"`
	// Block is the mean duration of a block; 0 where it is not known.
	Block time.Duration `json:"block_time,omitempty"`
}

// An ArmLabel is a variant. Label is its version if the versions distinguish the arms, or else its
// settings if each arm has some, otherwise its name. Settings are set for an arm that keeps its
// name, for titles.
type ArmLabel struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Settings string `json:"settings,omitempty"`
	Base     bool   `json:"base,omitempty"`
}

// An Engine is a database as tables name it. Label is for tables: Short unless two servers share
// it. All three are empty for a target whose database is not ours.
type Engine struct {
	Key   string `json:"key"`   // postgresql
	Label string `json:"label"` // PostgreSQL
	Full  string `json:"full"`  // PostgreSQL 15.18
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

// A Subject is the subject of a document.
type Subject uint8

// The subjects of documents.
const (
	Runs     Subject = 1 << iota // the runs of a comparison
	Numbers                      // numbers that were given
	Ladder                       // load steps
	Releases                     // releases over many comparisons
)

// Subject returns the subject of the document.
func (d Document) Subject() Subject {
	switch {
	case d.Given != nil:
		return Numbers
	case d.Sizing != nil:
		return Ladder
	case d.Trend != nil:
		return Releases
	}
	return Runs
}

// A part is one kind of content of the documents on some subjects. Where it is missing it has no
// sections.
type part struct {
	of Subject
	// title of the fold that HTML shows it in; neighbors with one title share a fold
	fold     string
	fill     func(*builder)           // takes its data from the input of [From]; nil for none
	sections func(Document) []section // nil for none
}

// parts returns the parts of all documents in the order in which they are read. [From] fills them
// in this order.
func parts() []part {
	const (
		results  = "Supported users, limiters and endpoints"
		protocol = "Protocol, other metrics and stability"
		users    = "Operations and users"
		validity = "Validity of the runs"
	)
	return []part{
		{Runs, "Comments and action items", nil, Document.textSections},
		{Runs, "Setup", (*builder).setup, Document.setupSections},
		{Runs, "Pages of the runs", (*builder).pages, Document.pageSections},
		{Runs, results, nil, Document.resultsHeads},
		{Runs, results, (*builder).capacities, Document.capacitySections},
		{Runs, results, (*builder).limiters, Document.limiterSections},
		{Runs, results, nil, Document.endpointSections},
		{Numbers, "", nil, Document.givenSections},
		{Runs | Numbers, results, nil, Document.blockSections},
		{Runs, results, nil, Document.databaseSections},
		{Numbers, "", nil, Document.asideSections},
		{Numbers, "", nil, Document.sourceSections},
		{Runs, "Why", (*builder).why, Document.whySections},
		{Runs, protocol, (*builder).canaries, Document.protocolSections},
		{Runs, protocol, nil, Document.shiftSections},
		{Runs, protocol, nil, Document.secondarySections},
		{Runs, protocol, (*builder).stability, Document.stabilitySections},
		{Runs, users, (*builder).operations, Document.opSections},
		{Runs, users, (*builder).sides, Document.sideSections},
		{Runs, users, (*builder).users, Document.userSections},
		{Runs, users, (*builder).acknowledgedLost, nil},
		{Runs, "Rules", (*builder).rules, Document.ruleSections},
		{Runs, validity, (*builder).runs, Document.validitySections},
		{Runs, validity, (*builder).gates, Document.gateSections},
		{Runs, validity, (*builder).disturbances, nil},
		{Runs, "Graphs", (*builder).graphs, Document.graphSections},
		{Runs, "More", (*builder).chapters, Document.chapterSections},
		{Ladder, "", nil, ofSizing((*SizingPart).methodSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).setupSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).stepSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).adviceSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).offerSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).failureSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).driftSection)},
		{Ladder, "", nil, ofSizing((*SizingPart).runSection)},
		{Releases, "", nil, Document.trendSections},
	}
}
