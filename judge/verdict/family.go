package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/stats"
)

// FalseDiscoveries is the expected share of false ones among the findings of a [Family].
const FalseDiscoveries = 0.10

// FamilyFloor is the smallest change of a metric that is worth a finding: 3 %, or [Metric.Floor] if
// that is more.
const FamilyFloor = 0.03

// A Metric is one of many numbers of a run that are watched beside the primary endpoints: p95 of
// one operation, a store method, the CPU of a server. Pairs are the blocks in which both arms
// have it, with values above zero; their BaseOps and NewOps are of how many calls the values are.
type Metric struct {
	Name   string
	Unit   string // of the values and of Floor: "ms"
	Better plan.Direction
	// Floor is the smallest difference that matters, in Unit, besides [FamilyFloor]: 2 ms for a
	// latency, up or down.
	Floor float64
	// Mean is true if the values are means over the calls, so that calls times a difference is a
	// time.
	Mean bool
	// Alone keeps the metric out of the lending of variances: it is of another kind than the rest,
	// such as the number of connections beside latencies.
	Alone bool
	Pairs []Pair
}

// A Secondary is the conclusion about one metric.
type Secondary struct {
	Name   string         `json:"name"`
	Unit   string         `json:"unit,omitempty"`
	Better plan.Direction `json:"better"`
	N      int            `json:"n"` // pairs
	// Base and New are geometric means of the runs of the pairs.
	Base float64 `json:"base"`
	New  float64 `json:"new"`
	// BaseCalls and NewCalls are the mean numbers of calls per run; 0 for metrics that are not
	// about calls. Contribution, of a mean in ms, is the seconds that the calls of a run of the new
	// arm took longer than at the base's mean (negative: less long); nil for metrics that are not
	// means.
	BaseCalls    float64  `json:"base_calls,omitempty"`
	NewCalls     float64  `json:"new_calls,omitempty"`
	Contribution *float64 `json:"contribution_s,omitempty"`
	// Outliers are the blocks whose difference lies far from the others' (3.5·1.4826·MAD). They are
	// named and never left out.
	Outliers []int `json:"outliers,omitempty"`
	// Effect is new/base - 1, Lo and Hi its 95 % interval by itself, with the variance that the
	// family lends it.
	Effect float64 `json:"effect"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// Floor is the change, as a part of the base, up to which the metric counts as unchanged: the
	// larger of [FamilyFloor], which is a ratio and so reaches from 1/1.03 to 1.03, and the
	// metric's floor in its unit. From 1 on no fall is a finding: the base has less than the floor.
	Floor float64 `json:"floor"`
	T     float64 `json:"-"` // moderated; infinite when nothing varied
	P     float64 `json:"p"` // of "changed by no more than the floor"
	Q     float64 `json:"q"` // P adjusted by Benjamini and Hochberg
	// Kind is Worse or Better for a finding, and Inconclusive for everything else: a family never
	// concludes the same.
	Kind Kind `json:"kind"`
}

// A Family is the judgment on all metrics beside the primary endpoints. It finds where to look; it
// never decides a verdict or an exit status.
type Family struct {
	// Worsened and Improved are the findings, Unclear all others, each by falling |t|.
	Worsened []Secondary `json:"worsened"`
	Improved []Secondary `json:"improved"`
	Unclear  []Secondary `json:"unclear"`
	// Appeared and Vanished name operations that one arm alone has. They cannot be expressed as a
	// change in percent.
	Appeared []string `json:"appeared,omitempty"`
	Vanished []string `json:"vanished,omitempty"`
	// Tested is the number of metrics with enough pairs for a test; Refused gives the reason for
	// each of the others.
	Tested  int      `json:"tested"`
	Refused []string `json:"refused,omitempty"`
	// Prior is the number of degrees of freedom that each metric's variance borrowed from the
	// others, at most those that all have together.
	Prior float64 `json:"prior_df"`
	// Sentence is the conclusion as one sentence.
	Sentence string `json:"sentence"`
}

// FewestCalls is the number of operations or calls that both arms together must have had over all
// runs for a name to appear or vanish: when it is as likely in either, one arm has all of ten in
// two comparisons of a thousand.
const FewestCalls = 10

// JudgeFamily tests all metrics of one arm against the base: the hypothesis that a metric changed
// by no more than its floor, by a t test whose variances borrow from each other, at a false
// discovery rate of [FalseDiscoveries]. Metrics with fewer than six pairs are not tested. base and
// fresh hold how many operations each arm had by name, over the runs of all pairs; a name that only
// one of them has appeared or vanished.
//
// Floors in a unit are taken against the mean of the base over its runs; a fall must be as large in
// the unit as a rise.
func JudgeFamily(metrics []Metric, base, fresh map[string]int64) Family {
	f := Family{
		Appeared: missingFrom(base, fresh), Vanished: missingFrom(fresh, base),
		Worsened: []Secondary{}, Improved: []Secondary{}, Unclear: []Secondary{},
	}
	var all []candidate
	few := 0 // refused for too few pairs
	for _, m := range metrics {
		c, err := newCandidate(m)
		if err == nil {
			all = append(all, c)
			continue
		}
		f.Refused = append(f.Refused, m.Name+": "+err.Error())
		if errors.Is(err, errFewPairs) {
			few++
		}
	}
	prior := moderate(all)
	all = slices.DeleteFunc(all, func(c candidate) bool {
		why := ""
		switch {
		case c.test.SE != 0 || c.test.P != 0:
			return false
		case c.alone:
			why = "its differences do not vary: were they rounded?"
		case prior.DF == 0: // with nothing to borrow, they are rounded and not certain
			why = "its differences do not vary, and the other metrics' hardly do: were they rounded?"
		default:
			return false
		}
		f.Refused = append(f.Refused, c.Name+": "+why)
		return true
	})
	f.Tested = len(all)
	p := make([]float64, len(all))
	for i, c := range all {
		p[i] = c.test.P
		if !c.alone {
			f.Prior += float64(c.sample.N() - 1)
		}
	}
	f.Prior = min(f.Prior, prior.DF)
	for i, q := range stats.BenjaminiHochberg(p) {
		all[i].conclude(q)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(math.Abs(b.T), math.Abs(a.T)), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range all {
		switch c.Kind {
		case Worse:
			f.Worsened = append(f.Worsened, c.Secondary)
		case Better:
			f.Improved = append(f.Improved, c.Secondary)
		default:
			f.Unclear = append(f.Unclear, c.Secondary)
		}
	}
	f.Sentence = f.sentence(few == len(f.Refused))
	return f
}

// A candidate is a metric under test.
type candidate struct {
	Secondary
	sample stats.Sample // of the logarithms of the ratios
	floor  float64      // on the scale of sample
	alone  bool
	test   stats.ModeratedTest
}

// errFewPairs refuses a metric of too few blocks.
var errFewPairs = fmt.Errorf("want %d", stats.MinPairs)

// newCandidate returns a metric without its test, or the reason to refuse it.
func newCandidate(m Metric) (candidate, error) {
	e := plan.Endpoint{Name: m.Name, Better: m.Better, Margin: FamilyFloor, Unit: m.Unit}
	if err := check(e, m.Pairs, Options{}, stats.FixedAlpha); err != nil {
		return candidate{}, err
	}
	if !(m.Floor >= 0 && m.Floor <= Largest) {
		return candidate{}, fmt.Errorf("floor %v: want a number from 0 on", m.Floor)
	}
	if censored(m.Pairs) {
		return candidate{}, errors.New("it is censored")
	}
	r := newResult(e, m.Pairs, Options{})
	r.describeArms()
	if r.N < stats.MinPairs {
		return candidate{}, fmt.Errorf("%s, %w", Count(r.N, "pair"), errFewPairs)
	}
	s, part := r.raw(r.Pairs), m.Floor/r.Base.Mean
	c := candidate{sample: s, floor: logFloor(part, s.Mean()), alone: m.Alone, Secondary: Secondary{
		Name: m.Name, Unit: m.Unit, Better: m.Better, N: r.N, Base: r.Base.Mean, New: r.New.Mean,
		Effect: r.Unscale(s.Mean()), Floor: max(FamilyFloor, part), Kind: Inconclusive,
	}}
	c.calls(m, r.Pairs)
	for _, i := range stats.Outliers(s) {
		c.Outliers = append(c.Outliers, r.Pairs[i].Block)
	}
	return c, nil
}

// conclude takes over the test, whose adjusted p-value is q.
func (c *candidate) conclude(q float64) {
	t, mean := c.test, c.sample.Mean()
	half := stats.TQuantile(0.975, t.DF) * t.SE
	c.T = t.T
	c.P = t.P
	c.Q = q
	c.Lo, c.Hi = math.Expm1(mean-half), math.Expm1(mean+half)
	if q <= FalseDiscoveries {
		if c.Kind = Worse; (mean > 0) == (c.Better == plan.Higher) {
			c.Kind = Better
		}
	}
}

// logFloor returns the smallest change of a metric on the logarithmic scale, in the direction of
// mean, that exceeds a floor, given as a part of the base. It is infinite where the metric cannot
// fall by so much.
func logFloor(part, mean float64) float64 {
	least := math.Log1p(FamilyFloor)
	switch {
	case mean >= 0:
		return max(least, math.Log1p(part))
	case part >= 1:
		return math.Inf(1)
	}
	return max(least, -math.Log1p(-part))
}

// moderate tests all metrics: those that stand alone with their own variance, the others with
// variances that borrow from each other.
func moderate(all []candidate) stats.Prior {
	var pool []stats.Sample
	var floors []float64
	var of []int
	for i := range all {
		c := &all[i]
		if c.alone {
			one, _ := stats.ModeratedT([]stats.Sample{c.sample}, []float64{c.floor})
			c.test = one[0]
			continue
		}
		pool, floors = append(pool, c.sample), append(floors, c.floor)
		of = append(of, i)
	}
	tests, prior := stats.ModeratedT(pool, floors)
	for k, i := range of {
		all[i].test = tests[k]
	}
	return prior
}

// calls counts the calls behind a metric, and the sum of their change.
func (s *Secondary) calls(m Metric, pairs []Pair) {
	for _, p := range pairs {
		s.BaseCalls += float64(p.BaseOps)
		s.NewCalls += float64(p.NewOps)
	}
	s.BaseCalls /= float64(len(pairs))
	s.NewCalls /= float64(len(pairs))
	if m.Mean && m.Unit == "ms" && s.NewCalls > 0 {
		longer := s.NewCalls * (s.New - s.Base) / 1e3
		s.Contribution = &longer
	}
}

// missingFrom returns the names with operations in b and none in a, sorted.
func missingFrom(a, b map[string]int64) []string {
	var out []string
	for name, n := range b {
		if n > 0 && a[name] == 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// sentence concludes; few reports that all refused metrics had too few pairs.
func (f Family) sentence(few bool) string {
	var parts []string
	switch {
	case f.Tested == 0 && len(f.Refused) > 0:
		why := ""
		if few {
			why = fmt.Sprintf(": fewer than %d pairs", stats.MinPairs)
		}
		parts = append(parts, fmt.Sprintf(
			"none of %s could be tested%s",
			Count(len(f.Refused), "further metric"),
			why,
		))
	case f.Tested == 0:
		parts = append(parts, "there is no further metric")
	case len(f.Worsened)+len(f.Improved) == 0:
		parts = append(parts, fmt.Sprintf(
			"of %s none is found to have changed beyond its floor",
			Count(f.Tested, "further metric"),
		))
	default:
		parts = append(parts, fmt.Sprintf(
			"of %s %d worsened and %d improved beyond their floor (about one finding in ten is false)",
			Count(f.Tested, "further metric"),
			len(f.Worsened),
			len(f.Improved),
		))
	}
	if len(f.Appeared) > 0 {
		parts = append(parts, "appeared: "+strings.Join(f.Appeared, ", "))
	}
	if len(f.Vanished) > 0 {
		parts = append(parts, "vanished: "+strings.Join(f.Vanished, ", "))
	}
	return strings.Join(parts, "; ")
}
