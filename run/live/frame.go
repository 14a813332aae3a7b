package live

import "time"

// The kinds of publishers.
const (
	KindRun        = "run"
	KindComparison = "comparison"
	KindSizing     = "sizing"
	KindEnd        = "end" // the last line of a stream
)

// Version is the version of the format of frames.
const Version = 1

// The colors of a gate.
const (
	Green = "green"
	Amber = "amber"
	Red   = "red"
	Gray  = "gray" // not measured, or not applicable
)

// The states of a rule.
const (
	Holds     = "holds"
	Broken    = "broken"
	NoData    = "no data"
	Undecided = "undecided"
)

// The states of an agent.
const (
	Here   = "here"
	Silent = "silent" // it has not answered for SilentAfter; it may come back
	Lost   = "lost"
	Ended  = "ended" // its users were stopped
)

// SilentAfter is the time after which an agent that owes an answer is silent. An agent that has
// answered owes none while the run waits for others.
const SilentAfter = 3 * time.Second

// The readings of a window of a search.
const (
	Held    = "held"
	Unsound = "unsound" // the generator was at its limit
)

// A Frame is a run in one second. Latencies are milliseconds, shares fractions of 1, times seconds
// of the run's clock. It is a value: who has one may keep it, and nobody changes it.
type Frame struct {
	V           int                `json:"v"`
	Kind        string             `json:"kind"`
	ID          string             `json:"id"`
	Seq         int64              `json:"seq"` // whole seconds of the run's clock
	At          float64            `json:"at"`
	Began       time.Time          `json:"began"`
	PID         int                `json:"pid"`
	Verb        string             `json:"verb"`
	Plan        string             `json:"plan"`
	Mode        string             `json:"mode"` // fixed, search or both
	Arm         string             `json:"arm,omitempty"`
	Engine      string             `json:"engine,omitempty"`
	Of          *PartOf            `json:"of,omitempty"`
	Exploratory string             `json:"exploratory,omitempty"`
	Phase       string             `json:"phase"`
	Phases      []PhaseSpan        `json:"phases"`
	Left        float64            `json:"left,omitempty"`
	Users       UserCount          `json:"users"`
	Ops         float64            `json:"ops"` // per second
	Response    *Quantiles         `json:"response,omitempty"`
	Delivery    *Delivery          `json:"delivery,omitempty"`
	Errors      Errors             `json:"errors"`
	CPU         map[string]float64 `json:"cpu,omitempty"` // by role: generator, app, database
	Believe     *GateNow           `json:"believe,omitempty"`
	Gates       []GateNow          `json:"gates"`
	Rules       []Rule             `json:"rules"`
	Search      *SearchNow         `json:"search,omitempty"`
	Operations  []Operation        `json:"operations,omitempty"`
	More        int                `json:"more_operations,omitempty"` // that found no place
	Failures    []FailureRow       `json:"failures,omitempty"`
	Log         []LogLine          `json:"log,omitempty"`
	Agents      []AgentRow         `json:"agents,omitempty"`
	Storms      []string           `json:"storms,omitempty"`
}

// A PartOf is the place of a run in a comparison or sizing.
type PartOf struct {
	ID     string `json:"id"`
	Block  int    `json:"block,omitempty"`
	Blocks int    `json:"blocks,omitempty"`
	Order  int    `json:"order,omitempty"`
	Pilot  bool   `json:"pilot,omitempty"`
	Duet   bool   `json:"duet,omitempty"`
	Turn   bool   `json:"turn,omitempty"`
}

// A PhaseSpan is a phase of the run; To is nil while it lasts.
type PhaseSpan struct {
	Name string   `json:"name"`
	From float64  `json:"from"`
	To   *float64 `json:"to,omitempty"`
}

// A UserCount counts the users of a run.
type UserCount struct {
	Wanted int `json:"wanted"`
	Active int `json:"active"`
	Failed int `json:"failed,omitempty"`
}

// Quantiles of a second, in milliseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Delivery describes the delivery of messages in a second.
type Delivery struct {
	Quantiles
	Rate float64 `json:"rate"`
}

// Errors are failed operations since the start, and in the last second.
type Errors struct {
	Total   uint64            `json:"total"`
	Rate    float64           `json:"rate"`
	Classes map[string]uint64 `json:"classes,omitempty"`
}

// A GateNow is one of the generator's health, with the sentence that gives the reason for its
// color.
type GateNow struct {
	Name  string `json:"name"`
	Color string `json:"color"`
	Text  string `json:"text"`
}

// A Rule and its reading.
type Rule struct {
	Rule      string   `json:"rule"`
	Value     *float64 `json:"value,omitempty"`
	Limit     float64  `json:"limit"`
	Less      bool     `json:"less"`
	Unit      string   `json:"unit,omitempty"` // s, share or none
	Status    string   `json:"status"`
	BrokenFor float64  `json:"broken_for,omitempty"`
	Warning   bool     `json:"warning,omitempty"`
}

// A SearchNow is the search for the capacity so far.
type SearchNow struct {
	Level    float64        `json:"level"`
	Step     string         `json:"step,omitempty"`
	Why      string         `json:"why,omitempty"`
	Estimate float64        `json:"estimate,omitempty"`
	Lo       float64        `json:"lo,omitempty"`
	Hi       float64        `json:"hi,omitempty"`
	Bound    float64        `json:"bound,omitempty"`
	Forecast string         `json:"forecast,omitempty"`
	Windows  []SearchWindow `json:"windows"`
	Result   string         `json:"result,omitempty"`
}

// A SearchWindow is a window of a search and its reading. N counts from 1.
type SearchWindow struct {
	N       int     `json:"n"`
	At      float64 `json:"at"`
	Users   float64 `json:"users"`
	Reading string  `json:"reading"`
	Ratio   float64 `json:"ratio,omitempty"` // of the rule nearest to its limit: 1 at the limit
	Rule    string  `json:"rule,omitempty"`
}

// An Operation has counts since the start, rate and quantiles over the last ten seconds, shares of
// its action.
type Operation struct {
	Name   string   `json:"name"`
	Count  uint64   `json:"count"`
	Errors uint64   `json:"errors,omitempty"`
	Rate   float64  `json:"rate"`
	P50    float64  `json:"p50,omitempty"`
	P95    float64  `json:"p95,omitempty"`
	P99    float64  `json:"p99,omitempty"`
	Asked  *float64 `json:"asked,omitempty"`
	Done   *float64 `json:"done,omitempty"`
}

// A FailureRow counts failures of operations, by class and operation.
type FailureRow struct {
	Class string  `json:"class"`
	Op    string  `json:"op"`
	Text  string  `json:"text,omitempty"`
	Count uint64  `json:"count"`
	First float64 `json:"first"`
	Last  float64 `json:"last"`
}

// A LogLine is one of the log. N is the number of its line in events.jsonl, from 1.
type LogLine struct {
	N     int     `json:"n"`
	At    float64 `json:"at"`
	Kind  string  `json:"kind"`
	Text  string  `json:"text"`
	Level string  `json:"level,omitempty"`
}

// An AgentRow is a process, or a host with some, that has users. Lag and clock are milliseconds,
// CPU a share of one core, Heard seconds since its last report. Lag is the longest of an operation
// or action in its last one to two seconds.
type AgentRow struct {
	Name  string  `json:"name"`
	Users int     `json:"users"`
	Lag   float64 `json:"lag,omitempty"`
	CPU   float64 `json:"cpu,omitempty"`
	Clock float64 `json:"clock,omitempty"`
	Heard float64 `json:"heard"`
	State string  `json:"state"`
}

// A Whole is a comparison or sizing in one second.
type Whole struct {
	V           int       `json:"v"`
	Kind        string    `json:"kind"`
	ID          string    `json:"id"`
	Seq         int64     `json:"seq"`
	At          float64   `json:"at"`
	Began       time.Time `json:"began"`
	PID         int       `json:"pid"`
	Verb        string    `json:"verb"`
	Plan        string    `json:"plan"`
	Mode        string    `json:"mode"` // duet, sequence or steps
	Exploratory string    `json:"exploratory,omitempty"`
	Step        string    `json:"step"`
	Text        string    `json:"text,omitempty"`
	Left        float64   `json:"left,omitempty"`
	Block       int       `json:"block,omitempty"`
	Blocks      int       `json:"blocks,omitempty"`
	Again       bool      `json:"again,omitempty"`
	Arms        []string  `json:"arms,omitempty"`
	Engines     []string  `json:"engines,omitempty"`
	Runs        []Now     `json:"runs,omitempty"`
	Log         []LogLine `json:"log,omitempty"`
}

// Now is a run under way of a comparison or sizing.
type Now struct {
	ID     string  `json:"id,omitempty"`
	Arm    string  `json:"arm"`
	Engine string  `json:"engine,omitempty"`
	Phase  string  `json:"phase,omitempty"`
	Turn   bool    `json:"turn,omitempty"`
	Active int     `json:"active"`
	Ops    float64 `json:"ops"`
	P95    float64 `json:"p95,omitempty"`
	Errors uint64  `json:"errors"`
}

// An Ending is the last line of a stream.
type Ending struct {
	Kind  string `json:"kind"`
	State string `json:"state"` // ended or interrupted
	Why   string `json:"why,omitempty"`
	Valid *bool  `json:"valid,omitempty"`
}

// The orders that a run takes.
const (
	OrderStop  = "stop"
	OrderUsers = "users"
	OrderStorm = "storm"
)

// An Order changes what publishes. Over is seconds.
type Order struct {
	Do    string  `json:"do"`
	Users int     `json:"users,omitempty"`
	Over  float64 `json:"over,omitempty"`
	Kind  string  `json:"kind,omitempty"`
	Share float64 `json:"share,omitempty"`
}

// MostBytes bounds a frame on the socket.
const MostBytes = 8 << 10
