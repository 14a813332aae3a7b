package report

import (
	"plimsoll/judge/suspects"
	"plimsoll/judge/verdict"
	"plimsoll/record"
)

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

// FormatVersion is the version of the JSON form of a [Document].
const FormatVersion = 1

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

func baseName(d Document) string {
	if len(d.Arms) == 0 {
		return ""
	}
	return d.Arms[0].Name
}

// on begins a sentence about an engine.
func (d *Document) on(engine string) string { return prefix(d.engineLabel(engine)) }

// baseLabel names the base.
func (d *Document) baseLabel() string { return d.armLabel(baseName(*d)) }

func (d *Document) engineLabel(key string) string {
	for _, e := range d.Engines {
		if e.Key == key {
			return e.Label
		}
	}
	return key
}

// userLabel names an arm on an engine.
func (d *Document) userLabel(u UsersOf) string {
	if e := d.engineLabel(u.Engine); e != "" {
		return e + ", " + d.armLabel(u.Arm)
	}
	return d.armLabel(u.Arm)
}

func (d *Document) armLabel(name string) string {
	for _, a := range d.Arms {
		if a.Name == name {
			return a.Label
		}
	}
	return name
}
