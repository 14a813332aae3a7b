package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// FormatVersion is the version of the run format that this package writes.
const FormatVersion = 1

// State is the stage of a run's life.
type State string

// The states of a run.
const (
	Running     State = "running"
	Sealed      State = "sealed"
	Interrupted State = "interrupted" // ended early, in order, by a person or a fault
)

// A Manifest describes a run and its end. Offsets are nanoseconds from Epoch in JSON.
type Manifest struct {
	Format     int       `json:"format"`
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Tool       string    `json:"tool"` // version of plimsoll
	Epoch      time.Time `json:"epoch"`
	State      State     `json:"state"`
	Why        string    `json:"why,omitempty"` // of an interruption
	Plan       string    `json:"plan"`          // canonical YAML
	PlanDigest string    `json:"plan_digest"`
	Seed       uint64    `json:"seed"`
	Arm        string    `json:"arm"`
	Engine     string    `json:"engine"` // database engine, "" when not ours
	Comparison string    `json:"comparison,omitempty"`
	Block      int       `json:"block"` // from 1; 0 outside a comparison
	Order      int       `json:"order"` // position in the block's order, from 1
	Pilot      bool      `json:"pilot,omitempty"`
	// SharedHost is true if generator and target were on one machine.
	SharedHost bool  `json:"shared_host"`
	Generator  []int `json:"generator_cores,omitempty"`
	TargetCPUs []int `json:"target_cores,omitempty"`
	Processes  int   `json:"processes,omitempty"` // that had the users
	// the other hosts that had them, by name; none: this one
	Agents []string `json:"agents,omitempty"`
	// of those hosts, in whose proportion they had them; none: equally
	Ratings []int           `json:"ratings,omitempty"`
	Host    json.RawMessage `json:"host,omitempty"`   // fingerprint
	Target  json.RawMessage `json:"target,omitempty"` // the target's description of itself
	Clock   string          `json:"clock"`            // which clock stamped the instants
	// Exploratory describes the steering by a person, for which the run gets no verdict; empty for
	// a run that nobody steered.
	Exploratory string `json:"exploratory,omitempty"`
	// Accounts describes the file of accounts that the users had; nil if they were made.
	Accounts *AccountsFile `json:"users_file,omitempty"`
	// Script describes the script that users followed; nil without one.
	Script *Script `json:"script,omitempty"`
	// Duet records the turns of the run in its block; nil outside a duet.
	Duet *Duet `json:"duet,omitempty"`
	// Connections counts the reuse of the users' kept connections; nil while the run goes on, and
	// in runs of older versions.
	Connections *Connections `json:"connections,omitempty"`
	// Answers holds the use of the users' byte budget and the target's answers beyond a limit; nil
	// as for Connections.
	Answers  *Answers  `json:"answers,omitempty"`
	Phases   []Phase   `json:"phases"`
	Capacity *Capacity `json:"capacity,omitempty"`
	// Files holds the SHA-256 of each file of a sealed run, by path below the run's directory.
	Files map[string]string `json:"files,omitempty"`
	// InDigests is true if the file of the comparison or sizing that refers to this run carries
	// digests; a file without them was changed.
	InDigests bool `json:"in_digests,omitempty"`
	// Digest covers everything else in a sealed manifest; empty in a manifest of an earlier
	// version.
	Digest string `json:"digest,omitempty"`
}

// An AccountsFile describes a file of accounts without its content.
type AccountsFile struct {
	Name   string `json:"name"` // without its directory
	Rows   int    `json:"rows"`
	Digest string `json:"digest"` // of its bytes: "sha256:" and the hexadecimal SHA-256
	// Unseen is true if a reset before the run was checked with one of the accounts that have a
	// password, and the others were taken to be as they were.
	Unseen bool `json:"unseen,omitempty"`
}

// A Script describes the script of a run.
type Script struct {
	// Digest is of all that the script was bundled to.
	Digest string `json:"digest"`
	// Setup is the result of its setup as JSON, secrets masked, at most 64 KiB of SetupBytes.
	Setup      string `json:"setup,omitempty"`
	SetupBytes int    `json:"setup_bytes,omitempty"`
}

// A Phase is a stretch of a run: "ramp", "settle", "measure", "search".
type Phase struct {
	Name  string        `json:"name"`
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
	Users int           `json:"users"` // at its end
	// Ended is the reason for the end, where a stop rule of the plan could end it before its time.
	Ended string `json:"ended,omitempty"`
	// Tail counts the operations under way at the end of a measured phase; nil: not recorded.
	Tail *Tail `json:"tail,omitempty"`
	// Schedule is the schedule of a measured phase; nil if it was not recorded.
	Schedule *Schedule `json:"schedule,omitempty"`
}

// Phase returns the phase of this name.
func (m *Manifest) Phase(name string) (Phase, bool) {
	for _, p := range m.Phases {
		if p.Name == name && p.To > p.From {
			return p, true
		}
	}
	return Phase{}, false
}

// InTurns describes a capacity that was found in a duet. It is not the capacity of the server
// alone.
const InTurns = "found in turns (a duet): it compares the arms of a block, and is not the level of the server alone, whose caches stay warm, " +
	"whose timers see no pauses, and whose search ends where others disturb the host"

// CapacityText returns a capacity of some kind as tables print it: "420", "≥ 420", the kind itself
// where there is no number, "-" for none.
func CapacityText(kind string, users float64) string {
	switch kind {
	case Estimate:
		return fmt.Sprintf("%.0f", users)
	case AtLeast:
		return fmt.Sprintf("≥ %.0f", users)
	case Unstable, Invalid:
		return kind
	}
	return "-"
}

// Capacity is the result of an unbounded test.
type Capacity struct {
	Kind      string       `json:"kind"`  // "estimate", "at-least", "unstable", "invalid"
	Users     float64      `json:"users"` // 0 of an unstable or invalid one: it is not a number
	Lo        float64      `json:"lo"`    // 95 % interval within the run
	Hi        float64      `json:"hi"`
	Rule      string       `json:"rule"`      // the rule that stopped the search
	Estimator string       `json:"estimator"` // how Users was found
	Stopped   string       `json:"stopped"`   // which stop rule ended it, in words
	Why       string       `json:"why"`
	Margins   []RuleMargin `json:"margins,omitempty"`
	// Reached and Held are of an unstable search: the users up to which every rule held going up,
	// and up to which after an overload. A server with a memory has both; 0 when not seen. Of a
	// lower bound, Reached is the highest level at which every rule held for a window.
	Reached float64 `json:"reached,omitempty"`
	Held    float64 `json:"held,omitempty"`
	// Confirmed is the time for which the users of a lower bound were held without a violation, in
	// nanoseconds.
	Confirmed time.Duration `json:"confirmed,omitempty"`
	// Recommended is the number of users at which nine of ten plateaus of a staircase hold; 0
	// without a staircase.
	Recommended float64 `json:"recommended,omitempty"`
	// Forecast is the statement made before the search.
	Forecast *Forecast `json:"forecast,omitempty"`
}

// A Forecast holds the expected times of a search, in nanoseconds: the most for its ramp, the least
// from there to an estimate, and the most for the whole search.
type Forecast struct {
	Ramp  time.Duration `json:"ramp"`
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
	// Reach is the number of users that a ramp without a stop has at the end of the time; 0 in old
	// records.
	Reach float64 `json:"reach,omitempty"`
	// CPU is the limit in users that the CPU utilization of the ramp predicted; 0 without a
	// prediction.
	CPU float64 `json:"cpu,omitempty"`
}

// A RuleMargin is the distance of one rule to its limit at the capacity: Value/Limit is 1 at the
// limit and more where it does not hold, for either side of the rule.
type RuleMargin struct {
	Rule  string  `json:"rule"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
}

// The kinds of capacity.
const (
	Estimate = "estimate"
	AtLeast  = "at-least"
	Unstable = "unstable" // the windows of the search contradict each other
	Invalid  = "invalid"
)

// ByGate begins the rule of a search that a gate of the run's health ended; the gate's name
// follows.
const ByGate = "gate "

// ByHealth begins the reason for the end of such a search; the gate's reading follows.
const ByHealth = "health of the run: "

// Gate returns the name of the gate that ended the search, and its reading where the gate is also
// why the search stopped; both empty for none.
func (c *Capacity) Gate() (name, reading string) {
	if gate, ok := strings.CutPrefix(c.Rule, ByGate); ok {
		name = gate
	}
	if text, ok := strings.CutPrefix(c.Stopped, ByHealth); ok {
		reading = text
	}
	return name, reading
}

// An Event is a line of events.jsonl.
type Event struct {
	At time.Duration `json:"at"`
	// "phase", "users", "slo", "decision", "finding", "error", "note", "storm", "storm over",
	// "audit", "gates", "crash", "panic", "agent", "steered", [WindowEvent], [SearchOverEvent],
	// [NotProfiledEvent].
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// Rule, Value, Limit, Count and Violated are of an SLO evaluation or a gate.
	Rule     string  `json:"rule,omitempty"`
	Value    float64 `json:"value,omitempty"`
	Limit    float64 `json:"limit,omitempty"`
	Count    uint64  `json:"count,omitempty"`
	Violated bool    `json:"violated,omitempty"`
	NoData   bool    `json:"no_data,omitempty"`
	// Undecided is true if there were fewer operations than the rule needs, or if its values are
	// not as old as the time for which it must be violated.
	Undecided bool `json:"undecided,omitempty"`
	// Span is the time that a rule looked back; 0 if it is the window of the search.
	Span  time.Duration `json:"span,omitempty"`
	Users int           `json:"users,omitempty"`
	Level string        `json:"level,omitempty"` // of a finding: "amber" or "red"
	Phase string        `json:"phase,omitempty"`
	// Readings holds the value that each gate read in the second that ends at At; a missing gate
	// was not measured.
	Readings map[string]float64 `json:"readings,omitempty"`
}

// Validity is the judgment whether a run is valid. A run with a red finding is not valid.
type Validity struct {
	Valid    bool      `json:"valid"`
	Findings []Finding `json:"findings"`
	// Gates holds every gate of the generator's health, in a fixed order, with or without a
	// finding.
	Gates []GateOutcome `json:"gates,omitempty"`
}

// A GateOutcome holds the readings of one gate over a run, and its limits, all in Unit.
type GateOutcome struct {
	Name  string  `json:"name"`
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Amber float64 `json:"amber"`
	Red   float64 `json:"red"`
	// Floor means that readings should stay above the limits.
	Floor  bool   `json:"floor,omitempty"`
	Source string `json:"source"`
	Level  string `json:"level"` // "green", "amber", "red", "not measured" or "not applicable"
	// Value is the reading over the measured phase; in a search the mean over its seconds, or the
	// reading over its held windows. It is nil when the gate was not measured.
	Value *float64 `json:"value"`
	// Worst is the worst of the Seconds read, AmberSeconds and RedSeconds of which lay beyond a
	// limit.
	Worst        *float64 `json:"worst"`
	Seconds      int      `json:"seconds"`
	AmberSeconds int      `json:"amber_seconds"`
	RedSeconds   int      `json:"red_seconds"`
	// Why is the reason why the gate was not measured or is not applicable, or why seconds beyond a
	// limit do not count.
	Why string `json:"why,omitempty"`
}

// Tolerated returns how many of a gate's seconds in a run may lie beyond a limit without a finding:
// one in ten, and three of a short phase.
func Tolerated(seconds int) int { return max(3, seconds/10) }

// A Finding is one gate that was amber or red.
type Finding struct {
	Gate  string  `json:"gate"`
	Level string  `json:"level"` // "amber" or "red"
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`
	Text  string  `json:"text"`
}

// Event is the finding as an event, without its time.
func (f Finding) Event() Event {
	return Event{
		Kind:  "finding",
		Level: f.Level,
		Rule:  f.Gate,
		Value: f.Value,
		Limit: f.Limit,
		Text:  f.Text,
	}
}

// The levels of a finding, and the others of a gate.
const (
	Amber       = "amber"
	Red         = "red"
	Green       = "green"
	NotMeasured = "not measured"
	// NotApplicable is a gate that has nothing to read in this run, such as the rate of arrivals of
	// a run that has none.
	NotApplicable = "not applicable"
)

// Add appends f and clears Valid when it is red.
func (v *Validity) Add(f Finding) {
	v.Findings = append(v.Findings, f)
	if f.Level == Red {
		v.Valid = false
	}
}

// A Comparison records a set of runs in blocks: which run played which part. It refers to runs by
// id and by the digest of their manifest.
type Comparison struct {
	Format     int            `json:"format"`
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Tool       string         `json:"tool"`
	Plan       string         `json:"plan"`
	PlanDigest string         `json:"plan_digest"`
	UsersAt    string         `json:"users_at,omitempty"`  // path of the plan's file of accounts
	ScriptAt   string         `json:"script_at,omitempty"` // and of its script
	Started    time.Time      `json:"started"`
	Ended      time.Time      `json:"ended,omitzero"`
	State      State          `json:"state"`
	Why        string         `json:"why,omitempty"`
	Arms       []string       `json:"arms"` // base first
	Engines    []string       `json:"engines"`
	Blocks     int            `json:"blocks"` // planned
	Start      map[string]int `json:"search_start,omitempty"`
	// Unguided holds, by engine, the reason why the searches begin at the plan's start: the pilot
	// found nothing.
	Unguided map[string]string `json:"unguided,omitempty"`
	// UserLevels are the numbers of users that a pilot found, by engine; nil where the plan
	// declares them. Plan has the numbers.
	UserLevels []UserLevel     `json:"user_levels,omitempty"`
	Runs       []ComparisonRun `json:"runs"`
	Setup      []Row           `json:"setup,omitempty"`
	// the verdicts and limiters, as the report shows them
	Outcome json.RawMessage `json:"outcome,omitempty"`
	// Suspects are the commits between its builds that touch what changed, as package
	// judge/suspects has them; none where they were not looked for.
	Suspects json.RawMessage `json:"suspects,omitempty"`
	// Build is the digest of the program that carries it out.
	Build string `json:"build,omitempty"`
	// Retried is the time that waits for a quiet host and repeated blocks took so far, Waited the
	// part of the waits.
	Retried time.Duration `json:"retried,omitempty"`
	Waited  time.Duration `json:"waited,omitempty"`
	// Saved is the time of the last write of this file while runs were made.
	Saved time.Time `json:"saved,omitzero"`
	// Mode is plan.ModeSequence or plan.ModeDuet, and ModeWhy the reason for it; both are empty in
	// comparisons of older versions, which were sequences. Slice is the plan's length of a turn in
	// a duet; 0 if the length follows the latencies.
	Mode    string        `json:"mode,omitempty"`
	ModeWhy string        `json:"mode_why,omitempty"`
	Slice   time.Duration `json:"slice,omitempty"`
	// AA is true if all arms are one build, so that every difference is noise.
	AA bool `json:"aa,omitempty"`
	// Looks are the planned looks, in their order; nil for a comparison with a declared number of
	// blocks and one look at its end.
	Looks []Look `json:"looks,omitempty"`
	// Budget is the time after which no more blocks begin; 0 for a comparison with a declared
	// number of blocks.
	Budget time.Duration `json:"budget,omitempty"`
	// Before is the statement made before the first run.
	Before *Before `json:"before,omitempty"`
	// Foreseen holds, for each endpoint that is a percentile, the change that the plan can find by
	// the base's runs of the first whole block, and whether the endpoint is judged. It is set
	// before any block is judged.
	Foreseen []Expected `json:"foreseen,omitempty"`
	// Resumed holds the times that it went on after it had been cut.
	Resumed []Resumption `json:"resumed,omitempty"`
	// Digests holds the digest of every other member of the stored object, by its name in JSON
	// ([SaveComparison]). Undigested is true if the file had none.
	Digests    map[string]string `json:"digests,omitempty"`
	Undigested bool              `json:"-"`
	// Gathered is set for a comparison of stored runs; it is in no file.
	Gathered *Gathering `json:"-"`
}

// A UserLevel is a number of users that a pilot found for a plan with "users: auto".
type UserLevel struct {
	Engine string `json:"engine"`
	Users  int    `json:"users"`
	// Role is the busiest of the target, and Utilization the part of its cores that was in use.
	Role        string  `json:"role"`
	Utilization float64 `json:"utilization"`
	// why the utilization is not from 40 to 50 %; empty if it is
	Why string `json:"why,omitempty"`
	Run string `json:"run"` // of the pilot
}

// String returns it as a clause.
func (l UserLevel) String() string {
	text := fmt.Sprintf(
		"auto → %d: %s uses %.0f %% of its cores",
		l.Users,
		l.Role,
		100*l.Utilization,
	)
	if l.Why != "" {
		text += " (" + l.Why + ")"
	}
	return text
}

// NotComplete returns why a comparison is not complete, beginning with a verb; empty for one that
// is.
func (c *Comparison) NotComplete() string {
	switch c.State {
	case Sealed:
		return ""
	case Interrupted:
		return "was " + Interruption(c.Why)
	case Running:
	}
	return "is under way, or was killed"
}

// Interruption returns a reason why something ended early as a phrase that begins with
// "interrupted".
func Interruption(why string) string {
	if strings.HasPrefix(why, "interrupted") {
		return why
	}
	return "interrupted: " + why
}

// A Row is a line of a table of settings.
type Row struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A ComparisonRun is one cell of a comparison.
type ComparisonRun struct {
	Run    string `json:"run"`
	Digest string `json:"digest"` // SHA-256 of the sealed manifest
	Block  int    `json:"block"`
	Order  int    `json:"order"`
	Arm    string `json:"arm"`
	Engine string `json:"engine"`
	Pilot  bool   `json:"pilot,omitempty"`
	Valid  bool   `json:"valid"`
	// Dropped is true if the block was repeated because of this run or another run of the block;
	// such runs are kept and not judged.
	Dropped bool   `json:"dropped,omitempty"`
	Why     string `json:"why,omitempty"`
	// Cause is the party that made the run invalid; empty if unknown. Disturbed is true if it is
	// invalid only because other processes on the host disturbed it ([Disturbed]).
	Cause     Cause `json:"cause,omitempty"`
	Disturbed bool  `json:"disturbed,omitempty"`
	// TargetToo is true if a gate of the target was red in a run that is void by the host, where no
	// gate of the host was more than amber ([TargetToo]).
	TargetToo bool `json:"target_too,omitempty"`
	// Cut is true if the comparison was interrupted in this block, which was run again whole; such
	// a run is Dropped too.
	Cut   bool      `json:"cut,omitempty"`
	Began time.Time `json:"began,omitzero"`
	// Canary is the number of requests per second that the null server answered on the target's
	// cores just before the run, while no target ran; 0 if it was not measured.
	Canary float64 `json:"canary,omitempty"`
}

// Counts reports whether verdicts may rest on a run: it is valid, is not a pilot, and was not taken
// out with its block. [Comparison.Judged] decides whether they do.
func (r ComparisonRun) Counts() bool { return r.Valid && !r.Pilot && !r.Dropped }
