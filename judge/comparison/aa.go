package comparison

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// Copy is the arm that a comparison of a build with itself sets against base.
const Copy = "copy"

// Twins returns the plan with two arms: base, and a copy of it. The rest stays, so that the two
// show the noise of the plan's comparisons. The plan is not changed.
func Twins(p *plan.Plan) *plan.Plan {
	q, c := *p, *p.Compare
	base, _ := p.Compare.Arm(plan.Base)
	again := base
	again.Name = Copy
	c.Arms, c.Swap = []plan.Arm{base, again}, false // both are at the addresses of base
	q.Compare = &c
	return &q
}

// SameArms reports whether the plan's arms differ in nothing but their names.
func SameArms(p *plan.Plan) bool {
	first := p.Compare.Arms[0]
	for _, a := range p.Compare.Arms[1:] {
		a.Name = first.Name
		if !reflect.DeepEqual(a, first) {
			return false
		}
	}
	return true
}

// The tests that an endpoint can be of.
const (
	BoundedTest   = "bounded"
	UnboundedTest = "unbounded"
)

// TestOf returns which test an endpoint is of.
func TestOf(endpoint string) string {
	if endpoint == "capacity" {
		return UnboundedTest
	}
	return BoundedTest
}

// An Environment is the place of a measurement: only metrics of one environment have one noise.
type Environment struct {
	// Host is the digest of the host and of the cores of both sides, and HostText its readable
	// name.
	Host, HostText string
	// Duet is true if the arms take turns, which changes the noise.
	Duet bool
}

// Name returns the name of the environment for one test on one engine: a digest of the host and of
// the load. The load is the part of the plan that sets the offered operations, their duration, the
// kind of target and the data. It excludes the build, which changes from comparison to comparison,
// and seed, blocks, slices and margins.
func (e Environment) Name(p *plan.Plan, engine, test string) string {
	text := e.Host + "\n" + test + "\n" + load(p, engine, test).String()
	if e.Duet {
		text += plan.ModeDuet
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// load returns the part of a plan that makes the load of one test on one engine.
func load(p *plan.Plan, engine, test string) *plan.Plan {
	q := &plan.Plan{Name: "load", Workload: p.Workload, Database: plan.Database{}}
	q.Target = plan.Target{
		Driver:    p.Target.Driver,
		Profile:   p.Target.Profile,
		Instances: p.Target.Instances,
		Topology:  p.Target.Topology,
		Dataset:   p.Target.Dataset,
	}
	if p.Target.Driver == plan.External {
		q.Target.URL = baseURL(p)
	}
	// Where arms differ in their database or deployment, base is compared with itself.
	if engine = p.EngineOf(plan.Base, engine); engine != "" {
		q.Database.Engine = []string{engine}
	}
	if p.Compare != nil {
		if base, ok := p.Compare.Arm(plan.Base); ok && base.Deployment != nil {
			q.Setup = []plan.SetupRow{{
				Name:  "deployment",
				Value: fmt.Sprintf("%+v", *base.Deployment),
			}}
		}
	}
	together := p.Compare != nil && p.Compare.Combine
	if b := p.Bounded; b != nil && (test == BoundedTest || together) {
		one := *b
		if n, ok := b.UsersFor(engine); ok {
			one.Users = plan.PerEngine{"": n}
		}
		q.Bounded = &one
	}
	if u := p.Unbounded; u != nil && test == UnboundedTest {
		one := *u
		one.Start = nil // the start of a search does not change its result
		q.Unbounded = &one
	}
	return q
}

// baseURL returns the addresses of the base, or of the target in a plan without a comparison.
func baseURL(p *plan.Plan) plan.Addresses {
	if p.Compare == nil {
		return p.Target.URL
	}
	base, _ := p.Compare.Arm(plan.Base)
	return p.Target.With(base).URL
}

// LoadText is the load of one test on one engine in the words of people.
func LoadText(p *plan.Plan, engine, test string) string {
	parts := []string{
		strings.TrimSpace(p.Target.Driver + " " + p.Target.Profile),
		p.Workload.Behavior,
	}
	switch t := p.Target; {
	case t.Topology != nil:
		parts = append(parts, t.Topology.String())
	case t.Instances > 1:
		parts = append(parts, fmt.Sprintf("%d servers", t.Instances))
	case t.Driver == plan.External:
		if n := len(baseURL(p)); n > 1 {
			parts = append(parts, fmt.Sprintf("%d addresses", n))
		}
	}
	if w := p.Workload.Pace; w != 0 && w != 1 {
		parts = append(parts, fmt.Sprintf("pace %g", w))
	}
	if u := p.Unbounded; u != nil && test == UnboundedTest {
		parts = append(parts, fmt.Sprintf("search up to %d users in %v", u.MaxUsers, u.Budget))
	} else if b := p.Bounded; b != nil {
		n, _ := b.UsersFor(p.EngineOf(plan.Base, engine))
		parts = append(parts, fmt.Sprintf("%d users for %v", n, b.Measure))
	}
	return strings.Join(parts, ", ")
}

// AALines returns the lines of the registry that a comparison of a build with itself leaves: one
// for each arm, database and endpoint whose differences are numbers with an interval.
func AALines(
	c *record.Comparison,
	p *plan.Plan,
	arms []Judgement,
	env Environment,
	now time.Time,
) []record.AA {
	env.Duet = c.InTurns()
	var out []record.AA
	for _, j := range arms {
		for _, r := range j.Verdict.Results {
			if !r.HasInterval() || r.Censored() || math.IsNaN(r.SD) || math.IsInf(r.Lo, 0) ||
				math.IsInf(r.Hi, 0) {
				continue
			}
			test := TestOf(r.Name)
			load := LoadText(p, j.Engine, test)
			if env.Duet {
				load += ", duet"
			}
			out = append(out, record.AA{
				Comparison:  c.ID,
				At:          now,
				Tool:        c.Tool,
				Environment: env.Name(p, j.Engine, test),
				Host:        env.HostText,
				Load:        load,
				Engine:      j.Engine,
				Test:        test,
				Arm:         j.Arm,
				Metric:      r.Name,
				Unit:        r.Unit,
				Absolute:    r.Absolute,
				Pairs:       r.N,
				SD:          r.SD,
				Effect:      r.Effect,
				Lo:          r.Lo,
				Hi:          r.Hi,
				Alpha:       r.Alpha,
				Kind:        string(r.Kind),
			})
		}
	}
	return out
}

// Pool makes the noise floors of the registry's lines: one for each environment, database and
// metric, in that order. The standard deviations are pooled by their degrees of freedom.
func Pool(lines []record.AA) []record.Noise {
	type key struct{ environment, engine, test, metric string }
	at := map[key]int{}
	var out []record.Noise
	var squares []float64
	var freedom []int
	comparisons := map[key]map[string]bool{}
	for _, l := range lines {
		k := key{l.Environment, l.Engine, l.Test, l.Metric}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, record.Noise{
				Environment: l.Environment,
				Engine:      l.Engine,
				Test:        l.Test,
				Metric:      l.Metric,
			})
			squares, freedom = append(squares, 0), append(freedom, 0)
			comparisons[k] = map[string]bool{}
		}
		n := &out[i]
		n.Host = l.Host
		n.Load = l.Load
		n.Unit = l.Unit
		n.Absolute = l.Absolute
		comparisons[k][l.Comparison] = true
		n.Comparisons = len(comparisons[k])
		n.Pairs += l.Pairs
		n.Lines++
		if l.False() {
			n.False++
		}
		squares[i] += float64(l.Pairs-1) * l.SD * l.SD
		freedom[i] += l.Pairs - 1
	}
	for i := range out {
		out[i].SD = math.Sqrt(squares[i] / float64(freedom[i]))
	}
	slices.SortStableFunc(out, func(a, b record.Noise) int {
		return cmp.Or(
			cmp.Compare(a.Environment, b.Environment),
			cmp.Compare(a.Engine, b.Engine),
			cmp.Compare(a.Test, b.Test),
		)
	})
	return out
}

// NoiseOf returns the noise floors that hold for the plan in the environment, each under the plan's
// name of the engine. Where arms have their own databases that name is empty, while the registry's
// lines of the base alone may have one. The name of the environment includes the engine.
func NoiseOf(all []record.Noise, p *plan.Plan, env Environment) []record.Noise {
	var out []record.Noise
	for _, e := range Engines(p) {
		for _, ep := range p.Endpoints() {
			test := TestOf(ep.Name)
			name := env.Name(p, e, test)
			find := func(engine func(string) bool) int {
				return slices.IndexFunc(all, func(n record.Noise) bool {
					return n.Environment == name && engine(n.Engine) && n.Test == test &&
						n.Metric == ep.Name &&
						n.Absolute == ep.Absolute
				})
			}
			i := find(func(engine string) bool { return engine == e })
			if i < 0 && p.EngineOf(plan.Base, e) != "" {
				i = find(func(string) bool { return true })
			}
			if i >= 0 {
				n := all[i]
				n.Engine = e
				out = append(out, n)
			}
		}
	}
	return out
}

// The assumed spreads of runs where none were measured, relative to the number itself. Runs on a
// quiet host without other tenants have them; latencies spread about twice as much as capacity and
// throughput (docs/method/statistics.md). Results based on an assumption are marked.
const (
	assumedCapacity = 0.02
	assumedLatency  = 0.04
)

// Foresee returns, for each endpoint on each engine, the smallest change that the blocks of a
// statement about a comparison can find: by its noise where there is one, else by an assumption.
// Endpoints in points have no sensible assumption; they appear only with noise.
func Foresee(p *plan.Plan, b *record.Before) []record.Expected {
	at := LastLook(p, b)
	var out []record.Expected
	for _, e := range Engines(p) {
		for _, ep := range p.Endpoints() {
			var sd float64
			assumed := false
			i := slices.IndexFunc(b.Noise, func(n record.Noise) bool {
				return n.Engine == e && n.Metric == ep.Name
			})
			switch {
			case i >= 0:
				if sd = b.Noise[i].RunSD(); sd == 0 {
					continue // a spread of zero would make any change detectable
				}
			case ep.Absolute:
				continue
			default:
				sd, assumed = assumedLatency, true
				if ep.Better == plan.Higher { // capacity, throughput
					sd = assumedCapacity
				}
			}
			x := expectedOf(e, ep, sd, at)
			x.Assumed = assumed
			out = append(out, x)
		}
	}
	return out
}

// expectedOf returns the change of an endpoint on an engine that the blocks up to a look can find,
// by the spread of a run.
func expectedOf(engine string, e plan.Endpoint, sd float64, at record.Look) record.Expected {
	x := record.Expected{
		Engine:   engine,
		Metric:   e.Name,
		Unit:     e.Unit,
		Absolute: e.Absolute,
		Margin:   e.Margin,
		RunSD:    sd,
		Blocks:   at.Blocks,
		Alpha:    at.Alpha,
	}
	x.MDE, x.Needed = verdict.Foresee(e, sd, at.Blocks, at.Alpha)
	return x
}
