package report

// Line is one curve: T in seconds since the test's start, not decreasing, and the value at that
// time in the unit of its GraphSpec. It holds no NaN; T and V are of one length.
type Line struct {
	T []float64 `json:"t"`
	V []float64 `json:"v"`
}

// GraphSpec describes a graph. Scale is the factor that converts the source to Unit; the lines
// handed to From already are in Unit.
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

// GraphData is one graph: all arms on the same clock.
type GraphData struct {
	Engine string `json:"engine"` // key
	Test   string `json:"test"`
	GraphSpec
	File string `json:"file"` // <engine>_<test>_0_<name>.png
	// Rule marks a graph of an SLO rule; Limit is its threshold in Unit. A graph of something else
	// has the Limit of LimitRule, which is about the same.
	Rule      string  `json:"rule,omitempty"`
	Limit     float64 `json:"limit,omitempty"`
	LimitRule string  `json:"limit_rule,omitempty"`
	// MeasuredFrom is the beginning of the measured phase in seconds; 0 if unknown.
	MeasuredFrom float64   `json:"measured_from,omitempty"`
	Arms         []ArmLine `json:"arms"`
	// NoData is the reason why there is nothing to draw. Missing names arms without data where
	// others have some.
	NoData  string   `json:"no_data,omitempty"`
	Missing []string `json:"missing_arms,omitempty"`
	// Broken are the stretches in which the rule did not hold, Unknown those in which it had no
	// value.
	Broken  []Stretch `json:"broken,omitempty"`
	Unknown []Stretch `json:"unknown,omitempty"`
	// Note is shown below the legend.
	Note string `json:"note,omitempty"`
}

// Absent names the graphs of a test of an engine of which no judged run has data, with the reason
// of each.
type Absent struct {
	Engine string   `json:"engine"`
	Test   string   `json:"test"`
	Names  []string `json:"names"`
	Why    []string `json:"why"` // as Names
}

// A Stretch is a stretch of time from From to To, in seconds since the test's start.
type Stretch struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// ArmLine is one arm's curve on the grid T, in seconds: the median over its runs of their means in
// a step of the grid, and the lowest and highest sample of all of them in it (nil for one run that
// has one sample a step). Where T jumps by more than a step of the grid there is no data. Each
// holds one line per run while the runs are few.
type ArmLine struct {
	Arm   string `json:"arm"` // label
	Index int    `json:"index"`
	N     int    `json:"runs"`
	// judged runs that carried out the test; those that are not among N have no data
	Of     int       `json:"of_runs"`
	Step   float64   `json:"step"`
	T      []float64 `json:"t"`
	Median []float64 `json:"median"`
	Lo     []float64 `json:"lo,omitempty"`
	Hi     []float64 `json:"hi,omitempty"`
	Each   []Line    `json:"each,omitempty"`
}

// GridPoints is the largest number of points of a curve; at most fewRuns runs are drawn one by one.
const (
	GridPoints = 240
	fewRuns    = 3
)

// The tests of a run, as the keys of RunData.Series and in the names of graphs.
const (
	Bounded   = "bounded"
	Unbounded = "unbounded"
)
