package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/stats"
)

// FalseDiscoveries is the expected share of false ones among the findings of a [Family].
const FalseDiscoveries = 0.10

// FamilyFloor is the smallest change of a metric that is worth a finding: 3 %, or [Metric.Floor] if that is more.
const FamilyFloor = 0.03

// A Metric is one of many numbers of a run that are watched beside the primary endpoints: p95 of one operation, a
// store method, the CPU of a server. Pairs are those blocks in which both arms have it, with values above zero; their
// BaseOps and NewOps are of how many calls the values are.
type Metric struct {
	Name   string
	Unit   string // of the values and of Floor: "ms"
	Better plan.Direction
	// Floor is the smallest difference that matters, in Unit, besides [FamilyFloor]: 2 ms for a latency, up or down.
	Floor float64
	// Mean is true if the values are means over the calls, so that calls times a difference is a
	// time.
	Mean bool
	// Alone keeps the metric out of the lending of variances: it is of another kind than the rest, such as the number
	// of connections beside latencies.
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
	// BaseCalls and NewCalls are the mean numbers of calls per run; 0 for metrics that are not about calls.
	// Contribution, of a mean in ms, is the seconds that the calls of a run of the new arm took longer than at the
	// base's mean (negative: less long); nil for metrics that are not means.
	BaseCalls    float64  `json:"base_calls,omitempty"`
	NewCalls     float64  `json:"new_calls,omitempty"`
	Contribution *float64 `json:"contribution_s,omitempty"`
	// Outliers are the blocks whose difference lies far from the others' (3.5·1.4826·MAD). They are named and never
	// left out.
	Outliers []int `json:"outliers,omitempty"`
	// Effect is new/base - 1, Lo and Hi its 95 % interval by itself, with the variance that the family lends it.
	Effect float64 `json:"effect"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// Floor is the change, as a part of the base, up to which the metric counts as unchanged: the larger of
	// [FamilyFloor], which is a ratio and so reaches from 1/1.03 to 1.03, and the metric's floor in its unit. From 1
	// on no fall is a finding: the base has less than the floor.
	Floor float64 `json:"floor"`
	T     float64 `json:"-"` // moderated; infinite when nothing varied
	P     float64 `json:"p"` // of "changed by no more than the floor"
	Q     float64 `json:"q"` // P adjusted by Benjamini and Hochberg
	// Kind is Worse or Better for a finding, and Inconclusive for everything else: a family never concludes the
	// same.
	Kind Kind `json:"kind"`
}

// A Family is the judgment on all metrics beside the primary endpoints. It finds where to look; it never decides a
// verdict or an exit status.
type Family struct {
	// Worsened and Improved are the findings, Unclear all others, each by falling |t|.
	Worsened []Secondary `json:"worsened"`
	Improved []Secondary `json:"improved"`
	Unclear  []Secondary `json:"unclear"`
	// Appeared and Vanished name operations that one arm alone has. They cannot be expressed as a
	// change in percent.
	Appeared []string `json:"appeared,omitempty"`
	Vanished []string `json:"vanished,omitempty"`
	// Tested is how many metrics had pairs enough to be tested; Refused gives the reason for each of
	// the others.
	Tested  int      `json:"tested"`
	Refused []string `json:"refused,omitempty"`
	// Prior is how many degrees of freedom each metric's variance borrowed from the others, at most those that all have
	// together.
	Prior float64 `json:"prior_df"`
	// Sentence is the conclusion as one sentence.
	Sentence string `json:"sentence"`
}

// FewestCalls is how many operations or calls both arms together must have had over all runs for a name to appear or
// vanish: when it is as likely in either, one arm has all of ten in two comparisons of a thousand.
const FewestCalls = 10

// JudgeFamily tests all metrics of one arm against the base: the hypothesis that a metric changed by no more than its
// floor, by a t test whose variances borrow from each other, at a false discovery rate of [FalseDiscoveries]. Metrics
// with fewer than six pairs are not tested. base and fresh hold how many operations each arm had by name, over the
// runs of all pairs; a name that only one of them has appeared or vanished.
//
// Floors in a unit are taken against the mean of the base over its runs; a fall must be as large in the unit as a rise.
func JudgeFamily(metrics []Metric, base, fresh map[string]int64) Family {
	f := Family{Appeared: missingFrom(base, fresh), Vanished: missingFrom(fresh, base), Worsened: []Secondary{}, Improved: []Secondary{}, Unclear: []Secondary{}}
	var tested []Secondary
	var samples []stats.Sample
	var floors []float64
	var alone []bool
	for _, m := range metrics {
		e := plan.Endpoint{Name: m.Name, Better: m.Better, Margin: FamilyFloor, Unit: m.Unit}
		err := check(e, m.Pairs, Options{}, stats.FixedAlpha)
		if err == nil && !(m.Floor >= 0 && m.Floor <= Largest) {
			err = fmt.Errorf("floor %v: want a number from 0 on", m.Floor)
		}
		if err == nil && censored(m.Pairs) {
			err = fmt.Errorf("it is censored")
		}
		if err != nil {
			f.Refused = append(f.Refused, m.Name+": "+err.Error())
			continue
		}
		r := newResult(e, m.Pairs, Options{})
		r.describeArms()
		if r.N < stats.MinPairs {
			f.Refused = append(f.Refused, fmt.Sprintf("%s: %s%s", m.Name, Count(r.N, "pair"), tooFewPairs))
			continue
		}
		s := r.raw(r.Pairs)
		floor := max(FamilyFloor, m.Floor/r.Base.Mean)
		one := Secondary{
			Name: m.Name, Unit: m.Unit, Better: m.Better, N: r.N, Base: r.Base.Mean, New: r.New.Mean,
			Effect: r.Unscale(s.Mean()), Floor: floor, Kind: Inconclusive,
		}
		one.calls(m, r.Pairs)
		for _, i := range stats.Outliers(s) {
			one.Outliers = append(one.Outliers, r.Pairs[i].Block)
		}
		tested = append(tested, one)
		samples, floors, alone = append(samples, s), append(floors, logFloor(m.Floor/r.Base.Mean, s.Mean())), append(alone, m.Alone)
	}
	tests, prior := moderate(samples, floors, alone)
	kept := 0
	for i, t := range tests {
		// With nothing to borrow, differences without any spread are rounded ones, not certain ones.
		if (alone[i] || prior.DF == 0) && t.SE == 0 && t.P == 0 {
			why := "its differences do not vary, and the other metrics' hardly do: were they rounded?"
			if alone[i] {
				why = "its differences do not vary: were they rounded?"
			}
			f.Refused = append(f.Refused, tested[i].Name+": "+why)
			continue
		}
		tested[kept], samples[kept], tests[kept], alone[kept] = tested[i], samples[i], t, alone[i]
		kept++
	}
	tested, samples, tests = tested[:kept], samples[:kept], tests[:kept]
	f.Tested = len(tested)
	for i, s := range samples {
		if !alone[i] {
			f.Prior += float64(s.N() - 1)
		}
	}
	f.Prior = min(f.Prior, prior.DF)
	p := make([]float64, len(tests))
	for i, t := range tests {
		p[i] = t.P
	}
	for i, q := range stats.BenjaminiHochberg(p) {
		m, t, mean := &tested[i], tests[i], samples[i].Mean()
		half := stats.TQuantile(0.975, t.DF) * t.SE
		m.T, m.P, m.Q = t.T, t.P, q
		m.Lo, m.Hi = math.Expm1(mean-half), math.Expm1(mean+half)
		if q <= FalseDiscoveries {
			if m.Kind = Worse; (mean > 0) == (m.Better == plan.Higher) {
				m.Kind = Better
			}
		}
	}
	slices.SortStableFunc(tested, func(a, b Secondary) int {
		switch x, y := math.Abs(a.T), math.Abs(b.T); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, m := range tested {
		switch m.Kind {
		case Worse:
			f.Worsened = append(f.Worsened, m)
		case Better:
			f.Improved = append(f.Improved, m)
		default:
			f.Unclear = append(f.Unclear, m)
		}
	}
	f.Sentence = f.sentence()
	return f
}

// logFloor is how far a metric must have moved on the logarithmic scale, in the direction of mean, to have changed by
// more than its floor, which is given as a part of the base. It is infinite where it cannot fall by so much.
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

// moderate tests all samples: those that stand alone with their own variance, the others with variances that borrow
// from each other.
func moderate(samples []stats.Sample, floors []float64, alone []bool) ([]stats.ModeratedTest, stats.Prior) {
	out := make([]stats.ModeratedTest, len(samples))
	var pool []stats.Sample
	var at []float64
	for i, s := range samples {
		if alone[i] {
			one, _ := stats.ModeratedT(samples[i:i+1], floors[i:i+1])
			out[i] = one[0]
			continue
		}
		pool, at = append(pool, s), append(at, floors[i])
	}
	tests, prior := stats.ModeratedT(pool, at)
	k := 0
	for i := range samples {
		if !alone[i] {
			out[i] = tests[k]
			k++
		}
	}
	return out, prior
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

// tooFewPairs ends the reason of a metric in too few blocks.
var tooFewPairs = fmt.Sprintf(", want %d", stats.MinPairs)

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

func (f Family) sentence() string {
	var parts []string
	switch {
	case f.Tested == 0 && len(f.Refused) > 0:
		why := fmt.Sprintf(": fewer than %d pairs", stats.MinPairs)
		if slices.ContainsFunc(f.Refused, func(s string) bool { return !strings.HasSuffix(s, tooFewPairs) }) {
			why = ""
		}
		parts = append(parts, fmt.Sprintf("none of %s could be tested%s", Count(len(f.Refused), "further metric"), why))
	case f.Tested == 0:
		parts = append(parts, "there is no further metric")
	case len(f.Worsened)+len(f.Improved) == 0:
		parts = append(parts, fmt.Sprintf("of %s none is found to have changed beyond its floor", Count(f.Tested, "further metric")))
	default:
		parts = append(parts, fmt.Sprintf("of %s %d worsened and %d improved beyond their floor (about one finding in ten is false)",
			Count(f.Tested, "further metric"), len(f.Worsened), len(f.Improved)))
	}
	if len(f.Appeared) > 0 {
		parts = append(parts, "appeared: "+strings.Join(f.Appeared, ", "))
	}
	if len(f.Vanished) > 0 {
		parts = append(parts, "vanished: "+strings.Join(f.Vanished, ", "))
	}
	return strings.Join(parts, "; ")
}
