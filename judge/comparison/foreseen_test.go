package comparison

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// never insists on no endpoint.
func never(string) bool { return false }

func endpointOf(t *testing.T, name string, margin float64) plan.Endpoint {
	t.Helper()
	e, err := plan.ParseEndpoint(name)
	if err != nil {
		t.Fatal(err)
	}
	e.Margin = margin
	return e
}

// TestForeseen: an endpoint is judged where the planned blocks find twice its margin at the level
// that it would have.
func TestForeseen(t *testing.T) {
	cost, post := endpointOf(t, "cost(app)", 0.05), endpointOf(t, "p95(post)", 0.10)
	op, errors := endpointOf(t, "p99(op)", 0.15), endpointOf(t, "errors", 0.025)
	const many, few = 10_000, 300
	six := record.Look{Blocks: 6, Alpha: 0.05}
	for _, tt := range []struct {
		name    string
		costs   bool
		at      record.Look
		post    [2]float64 // operations, sd
		op      [2]float64
		insists string
		out     string
	}{
		{"both can be decided", true, six, [2]float64{many, 0.02}, [2]float64{many, 0.03}, "", ""},
		{"one cannot", true, six, [2]float64{many, 0.02}, [2]float64{many, 0.2}, "", "p99(op)"},
		{"the plan insists on it", true, six, [2]float64{many, 0.02}, [2]float64{many, 0.2}, "p99(op)", ""},
		{"neither can", true, six, [2]float64{many, 0.2}, [2]float64{many, 0.2}, "", "p95(post) p99(op)"},
		{"one has too few operations", true, six, [2]float64{many, 0.02}, [2]float64{few, 0.02}, "", "p99(op)"},
		{"of four endpoints it cannot, of three it can", true, six, [2]float64{many, 0.064}, [2]float64{many, 0.2}, "", "p99(op)"},
		{"of three it cannot either", true, six, [2]float64{many, 0.07}, [2]float64{many, 0.2}, "", "p95(post) p99(op)"},
		{"more blocks can", true, record.Look{
			Blocks: 30,
			Alpha:  0.05,
		}, [2]float64{many, 0.07}, [2]float64{many, 0.2}, "", ""},
		{"errors alone would be left", false, six, [2]float64{many, 0.2}, [2]float64{many, 0.2}, "", ""},
		{"one beside the errors is left", false, six, [2]float64{many, 0.02}, [2]float64{many, 0.2}, "", "p99(op)"},
		{"five blocks carry no verdict", true, record.Look{
			Blocks: 5,
			Alpha:  0.05,
		}, [2]float64{many, 0.2}, [2]float64{many, 0.2}, "", ""},
	} {
		base := Numbers{
			Measured: time.Minute,
			Values:   map[string]float64{cost.Name: 1, errors.Name: 0},
			Had:      map[string]uint64{post.Name: uint64(tt.post[0]), op.Name: uint64(tt.op[0])},
			SD:       map[string]float64{post.Name: tt.post[1], op.Name: tt.op[1]},
		}
		if !tt.costs {
			base.Values[cost.Name] = math.NaN()
		}
		var out []string
		found := Foreseen([]plan.Endpoint{cost, post, op, errors}, func(name string) bool {
			return name == tt.insists
		}, base, tt.at)
		for _, x := range found {
			if x.NotJudged {
				out = append(out, x.Metric)
			}
		}
		if got := strings.Join(out, " "); got != tt.out {
			t.Errorf("%s: not judged %q, want %q: %+v", tt.name, got, tt.out, found)
		}
	}
}

// TestForeseenCoarse: an endpoint is coarse where the blocks find twice its margin and not the
// margin, and the plan does not insist on it.
func TestForeseenCoarse(t *testing.T) {
	cost, op := endpointOf(t, "cost(app)", 0.05), endpointOf(t, "p99(op)", 0.15)
	errors := endpointOf(t, "errors", 0.025)
	for _, tt := range []struct {
		sd            float64
		insists, cost bool
		coarse        bool
	}{
		{0.02, false, true, false},
		{0.07, false, true, true},
		{0.07, true, true, false},
		{0.07, false, false, true},
		{0.20, false, true, false},  // left out
		{0.20, false, false, false}, // the errors alone would be left
	} {
		base := Numbers{
			Measured: time.Minute,
			Values:   map[string]float64{cost.Name: 1, errors.Name: 0},
			Had:      map[string]uint64{op.Name: 10_000},
			SD:       map[string]float64{op.Name: tt.sd},
		}
		if !tt.cost {
			base.Values[cost.Name] = math.NaN()
		}
		found := Foreseen([]plan.Endpoint{cost, op, errors}, func(string) bool { return tt.insists },
			base, record.Look{Blocks: 6, Alpha: 0.05})
		if len(found) != 1 || found[0].Coarse != tt.coarse {
			t.Errorf("%+v: %+v", tt, found)
		}
	}
}

// TestCoarseEndpointDecidesByAChange: p99(op) is that of a few uploads, whose times differ from run to
// run. Where no change of it is seen, the others decide.
func TestCoarseEndpointDecidesByAChange(t *testing.T) {
	const name = "p99(op)"
	for _, tt := range []struct {
		coarse bool
		change float64
		want   verdict.Kind
	}{
		{false, 0, verdict.Inconclusive},
		{true, 0, verdict.Same},
		{true, 1, verdict.Worse},
	} {
		b := newBench(t)
		b.extra = func(c record.ComparisonRun, _ int) []*measure.Window {
			ms := 200 * math.Exp(0.25*math.Sin(float64(2*c.Block)))
			if c.Arm == "new" {
				ms = 200 * (1 + tt.change) * math.Exp(0.25*math.Sin(float64(3*c.Block)))
			}
			return []*measure.Window{opsOf("upload", time.Duration(ms*float64(time.Millisecond)), 8)}
		}
		c := b.compare(0)
		c.Foreseen = []record.Expected{{Engine: "postgresql", Metric: name, Margin: 0.15, Blocks: 6,
			MDE: 0.25, Load: 4 * time.Minute, Coarse: tt.coarse}}
		arms, _ := b.judge(c)
		v, why := arms[0].Verdict, arms[0].Skipped[name]
		if v.Kind != tt.want {
			t.Errorf("%+v: %s", tt, v.Lead)
		}
		aside := tt.want == verdict.Same
		if strings.HasPrefix(why, "no change seen, of -") != aside ||
			strings.HasSuffix(why, "; 4 min of load for 15 %; 6 blocks can find 25 %") != aside ||
			strings.Contains(v.Lead, name+" could not be decided in this time") != aside {
			t.Errorf("%+v: %q, %q", tt, why, v.Lead)
		}
	}
}

func TestTakes(t *testing.T) {
	for want, x := range map[string]record.Expected{
		"40 min of load for 15 %; 6 blocks can find 57 %": {
			Margin: 0.15,
			Blocks: 6,
			MDE:    0.562,
			Load:   2390 * time.Second,
		},
		"no sensible time of load for 10 %; 6 blocks can find 900 %": {
			Margin: 0.10,
			Blocks: 6,
			MDE:    9,
		},
		"8 min of load for 15 %; too few operations": {
			Margin: 0.15,
			Blocks: 6,
			Load:   8 * time.Minute,
		},
	} {
		if got := Takes(x); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A tails simulates percentiles of n independent response times, with logarithms of a normal
// distribution of spread 1, as operations of different kinds together have.
type tails struct{ rng *rand.Rand }

// at returns the response times with the ascending ranks, from 1, among n.
func (s tails) at(n int, ranks ...int) []float64 {
	out := make([]float64, len(ranks))
	above, limit := n+1, 1.0
	for i, k := range slices.Backward(ranks) {
		if k < above {
			limit *= distuv.Beta{Alpha: float64(k), Beta: float64(above - k), Src: s.rng}.Rand()
		}
		above = k
		out[i] = math.Exp(distuv.UnitNormal.Quantile(limit))
	}
	return out
}

func rank(p float64, n int) int { return min(max(int(math.Ceil(p*float64(n))), 1), n) }

// run returns a percentile of a run, and the standard deviation that its counts show.
func (s tails) run(e plan.Endpoint, n int) (value, sd float64) {
	p, _ := e.Quantile()
	q := s.at(n, rank(oddsTimes(p, 1.0/3), n), rank(p, n), rank(oddsTimes(p, 3), n))
	return q[1], stats.QuantileSD(p, float64(n), func(x float64) float64 {
		if x < p {
			return q[0]
		}
		return q[2]
	})
}

func oddsTimes(p, factor float64) float64 { return factor * p / (1 - p + factor*p) }

// A simulated set of endpoints: n operations behind each percentile, 0 for a cost.
type simulated struct {
	e plan.Endpoint
	n int
}

// compare simulates a comparison of six blocks, in which deployments differ by 2 % and an endpoint
// by effect, as a ratio. It returns the verdict on all endpoints, the verdict on the endpoints that
// the rule keeps, and the names of the kept ones.
func (s tails) compare(
	set []simulated,
	changed string,
	effect float64,
) (all, judged verdict.Verdict, left map[string]bool) {
	base := Numbers{
		Measured: time.Minute,
		Values:   map[string]float64{},
		Had:      map[string]uint64{},
		SD:       map[string]float64{},
	}
	pairs := map[string][]verdict.Pair{}
	var endpoints []plan.Endpoint
	for _, x := range set {
		endpoints = append(endpoints, x.e)
		for block := 1; block <= 6; block++ {
			var value [2]float64
			for arm := range value {
				if x.n == 0 {
					value[arm] = math.Exp(0.005 * s.rng.NormFloat64())
				} else {
					v, sd := s.run(x.e, x.n)
					value[arm] = v
					if block == 1 && arm == 0 {
						base.SD[x.e.Name], base.Had[x.e.Name] = sd, uint64(x.n)
					}
				}
				value[arm] *= math.Exp(stats.PriorBetween / math.Sqrt2 * s.rng.NormFloat64())
			}
			if x.e.Name == changed {
				value[1] *= 1 + effect
			}
			pairs[x.e.Name] = append(pairs[x.e.Name], verdict.Pair{
				Block: block,
				Base:  value[0],
				New:   value[1],
			})
		}
		base.Values[x.e.Name] = 1
	}
	left = map[string]bool{}
	coarse := map[string]string{}
	for _, e := range endpoints {
		left[e.Name] = true
	}
	for _, x := range Foreseen(endpoints, never, base, record.Look{
		Blocks: 6,
		Alpha:  stats.FixedAlpha,
	}) {
		left[x.Metric] = !x.NotJudged
		if x.Coarse {
			coarse[x.Metric] = Takes(x)
		}
	}
	var results, rest []verdict.Result
	for _, e := range endpoints {
		r := verdict.Judge(e, pairs[e.Name], verdict.Fixed(6))
		results = append(results, r)
		if left[e.Name] {
			r.Coarse = coarse[e.Name]
			rest = append(rest, r)
		}
	}
	return verdict.Combine("", results), verdict.Combine("", rest), left
}

// TestWhatCannotBeDecidedDoesNotDecide compares a build with itself, and with one of another cost,
// by two costs and four tails of few operations: without the tails, verdicts are right, and as
// seldom false as with them.
func TestWhatCannotBeDecidedDoesNotDecide(t *testing.T) {
	t.Parallel()
	set := []simulated{
		{endpointOf(t, "cost(app)", 0.05), 0},
		{endpointOf(t, "cost(db)", 0.05), 0},
		{endpointOf(t, "p95(post)", 0.10), 100},
		{
			endpointOf(t, "p95(delivery)", 0.10),
			300,
		},
		{endpointOf(t, "p99(op)", 0.15), 700},
		{endpointOf(t, "p99(post)", 0.15), 500},
	}
	const comparisons = 500
	share := func(effect float64, kind verdict.Kind) (all, judged, wrong float64) {
		s := tails{rand.New(rand.NewPCG(3, 4))}
		for range comparisons {
			x, y, _ := s.compare(set, "cost(app)", effect)
			for to, hit := range map[*float64]bool{&all: x.Kind == kind, &judged: y.Kind == kind,
				&wrong: y.Kind != kind && y.Kind != verdict.Inconclusive} {
				if hit {
					*to += 1.0 / comparisons
				}
			}
		}
		t.Logf(
			"effect %v: %s in %.3f by all endpoints, in %.3f by those that are judged; false in %.3f",
			effect,
			kind,
			all,
			judged,
			wrong,
		)
		return all, judged, wrong
	}
	if all, judged, wrong := share(0, verdict.Same); all > 0.05 || judged < 0.75 || wrong > 0.06 {
		t.Errorf(
			"equal builds are the same in %v by all endpoints and in %v by those that are judged, and wrong in %v",
			all,
			judged,
			wrong,
		)
	}
	if _, judged, wrong := share(0.10, verdict.Worse); judged < 0.95 || wrong > 0.01 {
		t.Errorf("a cost of 10 %% more is worse in %v, and wrong in %v", judged, wrong)
	}
}

// TestWhatIsJudgedFindsTwiceItsMargin changes a tail by twice its margin, for numbers of operations
// from those with which the rule leaves it out mostly to those with which it never does: where it
// is judged, the change is found.
func TestWhatIsJudgedFindsTwiceItsMargin(t *testing.T) {
	t.Parallel()
	const comparisons = 250
	for _, e := range []plan.Endpoint{endpointOf(t, "p95(post)", 0.10), endpointOf(t, "p99(op)", 0.15)} {
		judged := 0
		found := 0
		wrong := 0
		for _, n := range []int{1000, 2000, 4000} {
			set := []simulated{
				{endpointOf(t, "cost(app)", 0.05), 0},
				{endpointOf(t, "cost(db)", 0.05), 0},
				{e, n},
			}
			s := tails{rand.New(rand.NewPCG(5, uint64(n)))}
			kept, seen := 0, 0
			for range comparisons {
				_, v, left := s.compare(set, e.Name, 2*e.Margin)
				if left[e.Name] {
					kept++
				}
				if left[e.Name] && len(v.Results) == 3 && v.Results[2].Kind == verdict.Worse {
					seen++
				}
				if _, v, _ = s.compare(set, "", 0); v.Kind == verdict.Worse ||
					v.Kind == verdict.Better {
					wrong++
				}
			}
			judged, found = judged+kept, found+seen
			t.Logf(
				"%s of %d operations: judged in %d of %d, and twice the margin found in %d",
				e.Name,
				n,
				kept,
				comparisons,
				seen,
			)
		}
		if judged < comparisons || float64(found) < 0.75*float64(judged) ||
			float64(wrong) > 0.06*3*comparisons {
			t.Errorf(
				"%s: judged in %d, found in %d of these; equal builds differ in %d",
				e.Name,
				judged,
				found,
				wrong,
			)
		}
	}
}

// An operation of an endpoint that the plan could not decide is among the further metrics.
func TestNotJudgedIsAFurtherMetric(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	c.Foreseen = []record.Expected{{
		Engine:    "postgresql",
		Metric:    "p95(post)",
		Margin:    0.10,
		Blocks:    6,
		MDE:       0.5,
		NotJudged: true,
	}}
	arms, _ := b.judge(c)
	further := func(f verdict.Family) int { return f.Tested + len(f.Refused) }
	left, all := arms[0], arms[1]
	if left.Skipped["p95(post)"] == "" || all.Skipped["p95(post)"] != "" ||
		further(left.Secondary) != further(all.Secondary)+1 {
		t.Errorf(
			"left out %v and %v; further metrics %+v and %+v",
			left.Skipped,
			all.Skipped,
			left.Secondary,
			all.Secondary,
		)
	}
}
