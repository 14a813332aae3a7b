package comparison

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

const aaPlan = `
name: t
seed: 3
target: {driver: refchat, args: [-x], version: v1}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster}
bounded: {users: {postgresql: 20, mysql: 10}, ramp: 1s, settle: 1s, measure: 4s}
unbounded: {max_users: 1000, slo: ["mean(op) < 100ms"]}
compare: {arms: {new: {args: [-y]}, base: {args: [-b], version: old}, third: {}}, combine: true, blocks: 6}
`

func TestTwins(t *testing.T) {
	p := parsed(t, aaPlan)
	before := p.Digest()
	q := Twins(p)
	if p.Digest() != before {
		t.Error("the plan was changed")
	}
	if len(q.Compare.Arms) != 2 || q.Compare.Arms[0].Name != plan.Base ||
		q.Compare.Arms[1].Name != Copy ||
		fmt.Sprint(q.Compare.Arms[1].Args) != "[-b]" {
		t.Errorf("arms %+v", q.Compare.Arms)
	}
	if again := parsed(t, q.String()); again.Digest() != q.Digest() || again.Digest() == before {
		t.Error("the twins' plan does not read back")
	}
	if SameArms(p) || !SameArms(q) {
		t.Error("which arms are the same")
	}
	if q.Compare.Blocks != 6 || !q.Compare.Combine {
		t.Errorf("%+v", q.Compare)
	}
}

// A change that affects the noise makes another environment; a change of the build does not.
func TestEnvironment(t *testing.T) {
	env := Environment{Host: "h"}
	name := func(text string) string { return env.Name(parsed(t, text), "postgresql", BoundedTest) }
	base := name(aaPlan)
	for _, same := range []string{
		strings.Replace(aaPlan, "seed: 3", "seed: 4", 1), strings.Replace(aaPlan, "blocks: 6", "blocks: 9", 1), strings.Replace(aaPlan, "name: t", "name: other", 1),
		strings.Replace(aaPlan, "args: [-x], version: v1", "binary: /other, version: v2", 1), strings.Replace(aaPlan, "new: {args: [-y]}", "fresh: {}", 1),
		strings.Replace(aaPlan, "mysql: 10", "mysql: 11", 1), strings.Replace(aaPlan, "combine: true", "combine: true, margin: 3%", 1),
	} {
		if name(same) != base {
			t.Errorf("another environment by\n%s", same)
		}
	}
	for _, other := range []string{
		strings.Replace(aaPlan, "postgresql: 20", "postgresql: 21", 1), strings.Replace(aaPlan, "measure: 4s", "measure: 5s", 1),
		strings.Replace(aaPlan, "behavior: poster", "behavior: poster, pace: 0.5", 1), strings.Replace(aaPlan, "driver: refchat", "driver: refchat, instances: 2", 1),
	} {
		if name(other) == base {
			t.Errorf("the same environment by\n%s", other)
		}
	}
	p := parsed(t, aaPlan)
	full := *p
	full.Target.Profile = "full"
	if env.Name(&full, "postgresql", BoundedTest) == base ||
		LoadText(&full, "postgresql", BoundedTest) == LoadText(p, "postgresql", BoundedTest) {
		t.Error("a profile of the driver with other parts is the same environment")
	}
	for _, to := range []plan.Topology{{Apps: 1, Proxy: plan.ProxyNginx}, {Apps: 1, Replicas: 1}} {
		around := *p
		around.Target.Topology = &to
		if env.Name(&around, "postgresql", BoundedTest) == base ||
			LoadText(&around, "postgresql", BoundedTest) == LoadText(p, "postgresql", BoundedTest) {
			t.Errorf("%v around the server is the same environment", &to)
		}
	}
	for _, other := range []string{env.Name(p, "mysql", BoundedTest), env.Name(p, "postgresql", UnboundedTest), Environment{Host: "i"}.Name(p, "postgresql", BoundedTest)} {
		if other == base {
			t.Error("engine, test or host do not count")
		}
	}
}

// A build and itself are at one address, so that they neither take turns elsewhere nor exchange
// addresses.
func TestTwinsElsewhere(t *testing.T) {
	p, err := (plan.Known{Drivers: []string{plan.External}}).Parse([]byte(`name: n
target: {driver: external, install: [x]}
workload: {behavior: poster}
bounded: {users: 5}
compare:
  arms: {base: {version: "1", url: "http://blue"}, new: {version: "2", url: "http://green"}}
  mode: duet
  swap: true
`))
	if err != nil {
		t.Fatal(err)
	}
	if duet, why := p.Duet(); !duet {
		t.Fatalf("the plan is no duet: %s", why)
	}
	q := Twins(p)
	if duet, why := q.Duet(); duet || !strings.Contains(why, "base and copy are both at") ||
		q.Compare.Swap {
		t.Errorf("duet %t (%s), swap %t", duet, why, q.Compare.Swap)
	}
}

// TestAALinesAndPool: the registry's standard deviation equals the standard deviation of the runs.
func TestAALinesAndPool(t *testing.T) {
	p := Twins(parsed(t, aaPlan))
	env := Environment{Host: "h", HostText: "a host"}
	rng := rand.New(rand.NewPCG(5, 5))
	const runSD, comparisons = 0.03, 40
	var lines []record.AA
	for i := range comparisons {
		var pairs []verdict.Pair
		for b := 1; b <= 6; b++ {
			pairs = append(pairs, verdict.Pair{
				Block: b,
				Base:  500 * math.Exp(runSD*rng.NormFloat64()),
				New:   500 * math.Exp(runSD*rng.NormFloat64()),
			})
		}
		few := verdict.Judge(plan.Endpoint{
			Name:   "p99(op)",
			Better: plan.Lower,
			Margin: 0.1,
		}, pairs[:2], verdict.Options{})
		r := verdict.Judge(plan.Endpoint{
			Name:   "capacity",
			Better: plan.Higher,
			Margin: 0.05,
			Unit:   "users",
		}, pairs, verdict.Fixed(6))
		c := &record.Comparison{ID: fmt.Sprintf("c%d", i), Tool: "v1"}
		got := AALines(c, p, []Judgement{{
			Engine:  "mysql",
			Arm:     Copy,
			Verdict: verdict.Combine("mysql", []verdict.Result{r, few}),
		}}, env, time.Unix(int64(i), 0))
		if len(got) != 1 || got[0].Metric != "capacity" || got[0].Pairs != 6 ||
			got[0].Test != UnboundedTest ||
			got[0].Kind != string(r.Kind) ||
			got[0].Host != "a host" {
			t.Fatalf("%+v", got)
		}
		got[0].Kind = "same" // one or two of forty are false by chance
		lines = append(lines, got...)
	}
	lines[3].Kind = "worse"
	noise := Pool(lines)
	if len(noise) != 1 || noise[0].Comparisons != comparisons || noise[0].Pairs != 6*comparisons ||
		noise[0].Lines != comparisons ||
		noise[0].False != 1 {
		t.Fatalf("%+v", noise)
	}
	if sd := noise[0].RunSD(); math.Abs(sd-runSD) > 0.003 { // 200 degrees of freedom: 5 %
		t.Errorf("run sd %v, want %v", sd, runSD)
	}
	if got := NoiseOf(noise, p, env); len(got) != 1 || got[0].Engine != "mysql" {
		t.Errorf("the plan's own noise: %+v", got)
	}
	if got := NoiseOf(noise, p, Environment{Host: "other"}); len(got) != 0 {
		t.Errorf("another host's noise was taken: %+v", got)
	}
	two := Pool([]record.AA{{
		Environment: "e",
		Metric:      "m",
		Comparison:  "a",
		Pairs:       3,
		SD:          0.01,
	}, {Environment: "e", Metric: "m", Comparison: "b", Pairs: 11, SD: 0.05}})
	if want := math.Sqrt((2*0.0001 + 10*0.0025) / 12); math.Abs(two[0].SD-want) > 1e-12 {
		t.Errorf("pooled %v, want %v", two[0].SD, want)
	}
}

// A plan whose other arm has another database finds the noise of its base, although its twins have
// the engine's name and it has none; it does not find the noise of the other arm's engine.
func TestNoiseOfArmsWithTheirOwnDatabases(t *testing.T) {
	env := Environment{Host: "h"}
	for _, arms := range []string{"{base: {}, new: {database: mysql}}", "{base: {database: postgresql}, new: {database: mysql}}"} {
		p := parsed(t, `
name: t
target: {driver: refchat}
database: {engine: postgresql}
workload: {behavior: poster}
bounded: {users: 20, ramp: 1s, settle: 1s, measure: 4s}
unbounded: {max_users: 1000, slo: ["mean(op) < 100ms"]}
compare: {arms: `+arms+`, combine: true, blocks: 6}
`)
		twins := Twins(p)
		lines := func(engine string) []record.AA {
			var pairs []verdict.Pair
			for b := 1; b <= 6; b++ {
				pairs = append(pairs, verdict.Pair{Block: b, Base: 500, New: 500 + 5*float64(b%3)})
			}
			r := verdict.Judge(plan.Endpoint{
				Name:   "capacity",
				Better: plan.Higher,
				Margin: 0.05,
				Unit:   "users",
			}, pairs, verdict.Fixed(6))
			return AALines(&record.Comparison{ID: "c"}, twins, []Judgement{{
				Engine:  engine,
				Arm:     Copy,
				Verdict: verdict.Combine("", []verdict.Result{r}),
			}}, env, time.Unix(1, 0))
		}
		noise := NoiseOf(Pool(lines(Engines(twins)[0])), p, env)
		if len(noise) != 1 || noise[0].Engine != "" || noise[0].Metric != "capacity" {
			t.Errorf("%s: noise %+v, want that of capacity", arms, noise)
		}
		for _, x := range Foresee(p, &record.Before{Noise: noise}) {
			if x.Metric == "capacity" && (x.Assumed || x.RunSD == 0) {
				t.Errorf("%s: the noise is not used: %+v", arms, x)
			}
		}
		other := *twins
		other.Database.Engine = []string{"mysql"}
		c := *twins.Compare
		c.Arms = []plan.Arm{{Name: plan.Base}, {Name: Copy}}
		other.Compare = &c
		twins = &other
		if noise := NoiseOf(Pool(lines("mysql")), p, env); len(noise) != 0 {
			t.Errorf("%s: the noise of the other engine was taken: %+v", arms, noise)
		}
	}
}

func TestForesee(t *testing.T) {
	p := parsed(t, aaPlan)
	env := Environment{Host: "h"}
	noise := []record.Noise{{
		Environment: env.Name(p, "mysql", UnboundedTest),
		Engine:      "mysql",
		Test:        UnboundedTest,
		Metric:      "capacity",
		SD:          0.01 * math.Sqrt2,
	},
		{
			Environment: env.Name(p, "mysql", BoundedTest),
			Engine:      "mysql",
			Test:        BoundedTest,
			Metric:      "errors",
			Absolute:    true,
			SD:          0.02,
		}}
	got := map[string]record.Expected{}
	for _, x := range Foresee(p, &record.Before{Noise: NoiseOf(noise, p, env)}) {
		got[x.Engine+" "+x.Metric] = x
	}
	if x := got["mysql capacity"]; x.Assumed || math.Abs(x.RunSD-0.01) > 1e-12 ||
		math.Abs(x.MDE-0.0202) > 0.001 ||
		x.Needed != 6 {
		t.Errorf("measured: %+v; the study's table says 2.0 %% at six pairs and run sd 1 %%", x)
	}
	if x := got["postgresql capacity"]; !x.Assumed || x.RunSD != 0.02 ||
		math.Abs(x.MDE-0.0414) > 0.001 {
		t.Errorf("assumed: %+v; the study's table says 4.1 %% at six pairs and run sd 2 %%", x)
	}
	if x, ok := got["mysql errors"]; !ok || math.Abs(x.MDE-stats.MDE(0.02, 6, 0.05)) > 1e-12 {
		t.Errorf("errors: %+v", x)
	}
	if _, ok := got["postgresql errors"]; ok {
		t.Error("a spread of errors was assumed")
	}
	still := []record.Noise{{Engine: "mysql", Metric: "capacity"}}
	for _, x := range Foresee(p, &record.Before{Noise: still}) {
		if x.Engine == "mysql" && x.Metric == "capacity" {
			t.Errorf("of numbers that did not vary: %+v", x)
		}
	}
	looks := parsed(t, strings.Replace(aaPlan, "blocks: 6", "looks: [6, 9, 12]", 1))
	if x := Foresee(looks, new(record.Before))[0]; x.Blocks != 12 || x.Alpha != 0.0221 ||
		!(x.MDE > 0.02 && x.MDE < 0.04) {
		t.Errorf("looks: %+v", x)
	}
	few := parsed(t, strings.Replace(aaPlan, "blocks: 6", "blocks: 4", 1))
	if x := Foresee(few, new(record.Before))[0]; x.MDE != 0 || x.Needed < 6 {
		t.Errorf("four blocks: %+v", x)
	}
}
