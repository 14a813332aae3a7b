package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		failure.None(t, os.WriteFile(file, got, 0o666))
	}
	want, err := os.ReadFile(file)
	failure.None(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf(
			"%s is not what the code makes (-want +got; rewrite with -update):\n%s",
			file,
			diff,
		)
	}
}

// examples returns the plans of the directory examples by file name.
func examples(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d examples, want at least 4 (%v)", len(files), err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		src, err := os.ReadFile(f)
		failure.None(t, err)
		all[filepath.Base(f)] = src
	}
	return all
}

func mustParse(t testing.TB, src string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(src))
	if err != nil {
		t.Fatalf("Parse:\n%v\nof\n%s", err, src)
	}
	return p
}

// rule returns the rule stat(arg) < threshold, over so many operations at least.
func rule(source, stat, arg string, threshold float64, unit string, least int) plan.SLO {
	return plan.SLO{
		Source: source, Stat: stat, Arg: arg, Less: true,
		Threshold: threshold, Unit: unit, Min: least,
	}
}

func TestExamples(t *testing.T) {
	for name, src := range examples(t) {
		t.Run(name, func(t *testing.T) {
			p := mustParse(t, string(src))
			if want := strings.TrimSuffix(name, ".yaml"); p.Name != want {
				t.Errorf("name %q, want %q as the file", p.Name, want)
			}
			again := mustParse(t, p.String())
			if diff := cmp.Diff(p, again); diff != "" {
				t.Errorf("the canonical form is another plan (-first +second):\n%s", diff)
			}
		})
	}
}

// The plan of the design, spelled as there; every value must arrive.
const full = `name: demo
seed: 7
target:   {driver: server, instances: 1}
database: {engine: [postgresql, mysql]}
placement: {generator: [1], target: [0], memory: 512MB}
workload: {behavior: poster, share: 90%, with: {reader: 10%}, pace: 0.1, login: warm, mix: busy, weights: {post: 2.5, react: 0}}
bounded:
  users: {postgresql: 400, mysql: 300}
  ramp: 5s
  settle: 3s
  measure: 10s
  slo: ["p95(op) < 300ms", rate(disconnected) < 1%]
  stages: [{at: 2s, storm: reconnect, share: 50%, over: 2s}, {at: 5s, storm: mention, params: {posts: 5}}]
unbounded:
  max_users: 5000
  slo: ["p99(op) < 2s", "mean(op) < 100ms", "rate(5xx) < 0.025% min 8000", "cpu(app) < 85% for 30s", "promql: rate(x[1m]) < 0.5"]
sizing: {steps: [50, 200], ramp: 10/s, hold: 90s, offer: CX23}
prices:
  - {name: CX23, vcpu: 2, memory: 4GB, price: 6.5, currency: EUR}
  - {name: "t3 small", vcpu: 1, memory: 512 MiB, price: 30, currency: USD}
compare:
  arms: {new: {args: [-fault=cpu:25%]}, base: {}}
  combine: true
  margin: {capacity: 3%, p99(op): 20%}
  profile: false
setup: {zebra: none, alpha: "…"}
report: {comments: "Boring is *good*.\nReally.", action_items: [Ship it., "Ask: why?"]}
`

func TestParseFull(t *testing.T) {
	got := mustParse(t, full)
	want := &plan.Plan{
		Name:     "demo",
		Seed:     7,
		Target:   plan.Target{Driver: "server", Instances: 1},
		Database: plan.Database{Engine: []string{"postgresql", "mysql"}},
		Placement: plan.Placement{
			Generator: []int{1},
			Target:    []int{0},
			Processes: 1,
			Memory:    512 << 20,
		},
		Workload: plan.Workload{
			Behavior:  "poster",
			Share:     0.9,
			With:      map[string]float64{"reader": 0.1},
			Pace:      0.1,
			Login:     "warm",
			ActionMix: "busy",
			Weights:   map[string]float64{"post": 2.5, "react": 0},
		},
		Bounded: &plan.Bounded{
			Users: plan.PerEngine{"postgresql": 400, "mysql": 300},
			Ramp:  5 * time.Second, Settle: 3 * time.Second, Measure: 10 * time.Second,
			SLO: []plan.SLO{
				rule("p95(op) < 300ms", "p95", "op", 0.3, "s", 0),
				rule("rate(disconnected) < 1% min 200", "rate", "disconnected", 0.01, "fraction", 200),
			},
			Stages: []plan.Stage{
				{At: 2 * time.Second, Storm: "reconnect", Share: 0.5, Over: 2 * time.Second},
				{
					At:     5 * time.Second,
					Storm:  "mention",
					Over:   time.Second,
					Params: map[string]string{"posts": "5"},
				},
			},
		},
		Unbounded: &plan.Unbounded{
			MaxUsers: 5000,
			Mode:     plan.Tracking,
			SLO: []plan.SLO{
				rule("p99(op) < 2s", "p99", "op", 2, "s", 0),
				rule("mean(op) < 100ms", "mean", "op", 0.1, "s", 0),
				rule("rate(5xx) < 0.025% min 8000", "rate", "5xx", 0.00025, "fraction", 8000),
				{
					Source:    "cpu(app) < 85% for 30s",
					Stat:      "cpu",
					Arg:       "app",
					Less:      true,
					Threshold: 0.85,
					Unit:      "fraction",
					For:       30 * time.Second,
				},
				{
					Source:    "promql: rate(x[1m]) < 0.5",
					Stat:      "promql",
					Arg:       "rate(x[1m])",
					Less:      true,
					Threshold: 0.5,
				},
			},
			Budget:    6 * time.Minute,
			RampRate:  0.002,
			Window:    15 * time.Second,
			Step:      0.005,
			Precision: 0.02,
		},
		Sizing: &plan.LoadSteps{
			Steps:  []int{50, 200},
			Ramp:   plan.Rates{From: 10, To: 10},
			Settle: time.Minute,
			Hold:   90 * time.Second,
			Offer:  "CX23",
		},
		Prices: []plan.Offer{
			{Name: "CX23", VCPU: 2, Memory: 4 << 30, Price: 6.5, Currency: "EUR"},
			{Name: "t3 small", VCPU: 1, Memory: 512 << 20, Price: 30, Currency: "USD"},
		},
		Compare: &plan.Compare{
			Arms:    []plan.Arm{{Name: "new", Args: []string{"-fault=cpu:25%"}}, {Name: "base"}},
			Combine: true,
			Blocks:  6,
			Retry:   52 * time.Minute,
			Margin: plan.Margin{
				"capacity":          {Value: 0.03},
				"p95(post)":         {Value: 0.1},
				"p99(op)":           {Value: 0.2},
				"typical(op)":       {Value: 0.05},
				"typical(delivery)": {Value: 0.10},
				"cost(app)":         {Value: 0.05},
				"cost(db)":          {Value: 0.05},
				"p95(delivery)":     {Value: 0.1},
				"errors":            {Value: 0.00025, Points: true},
			},
		},
		Setup: []plan.SetupRow{{Name: "zebra", Value: "none"}, {Name: "alpha", Value: "…"}},
		Report: plan.Report{
			Comments:    []string{"Boring is *good*.\nReally."},
			ActionItems: []string{"Ship it.", "Ask: why?"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	golden(t, "full.canonical.yaml", []byte(got.String()))
}

func TestDefaults(t *testing.T) {
	p := mustParse(t, `
name: d
target: {driver: server}
workload: {behavior: poster, with: {a: 10%, b: 20.5%}}
bounded: {users: 5}
unbounded: {max_users: 50}
compare: {arms: {base: {}, new: {}}, margin: 4%}
`)
	golden(t, "defaults.canonical.yaml", []byte(p.String()))
	if got := p.Compare.Margin["capacity"]; got != (plan.MarginValue{Value: 0.04}) {
		t.Errorf("a scalar margin gave capacity %v, want 4%%", got)
	}
	if p.Seed != 1 || p.Workload.Share != 0.695 {
		t.Errorf("seed %d and share %v, want 1 and 0.695", p.Seed, p.Workload.Share)
	}
}

func TestDigest(t *testing.T) {
	const same = "target: {driver: 'server'}\nseed: 1\nname: \"d\"\nbounded: {measure: 300s, users: 5}\nworkload: {share: 100.0%, behavior: poster} # note\n"
	a := mustParse(
		t,
		"name: d\ntarget: {driver: server}\nworkload: {behavior: poster}\nbounded: {users: 5}\n",
	)
	if b := mustParse(t, same); a.Digest() != b.Digest() {
		t.Errorf("two spellings of one plan differ:\n%s\n%s", a, b)
	}
	if d := a.Digest(); !strings.HasPrefix(d, "sha256:") || len(d) != len("sha256:")+64 {
		t.Errorf("digest %q, want sha256: and 64 digits", d)
	}
	for _, other := range []string{
		strings.Replace(same, "seed: 1", "seed: 2", 1),
		strings.Replace(same, "300s", "301s", 1),
		strings.Replace(same, "driver: 'server'", "driver: server, args: [x]", 1),
		strings.Replace(same, "users: 5", "users: 6", 1),
	} {
		if b := mustParse(t, other); a.Digest() == b.Digest() {
			t.Errorf("another plan has the same digest:\n%s", other)
		}
	}
	const arms = "name: d\ntarget: {driver: s}\nworkload: {behavior: p}\nbounded: {users: 5}\ncompare: {arms: {%s: {}, %s: {}}}\n"
	if x, y := mustParse(t, fmt.Sprintf(arms, "base", "new")), mustParse(t, fmt.Sprintf(arms, "new", "base")); x.Digest() == y.Digest() {
		t.Error("the order of the arms is not in the digest")
	}
}

func TestPace(t *testing.T) {
	p := mustParse(t, full)
	before := p.Digest()
	u, ok := p.Search()
	if !ok {
		t.Fatal("no search")
	}
	if u.Budget != 6*time.Minute || u.Window != 1500*time.Millisecond || u.RampRate != 0.02 {
		t.Errorf(
			"budget %v, window %v, ramp rate %v; want 6m, 1.5s, 0.02",
			u.Budget,
			u.Window,
			u.RampRate,
		)
	}
	clock := mustParse(t, strings.Replace(full, "unbounded:\n", "unbounded:\n  budget: 100s\n", 1))
	if u, _ := clock.Search(); u.Budget != 100*time.Second ||
		clock.RunLength(false, true) != 103*time.Second {
		t.Errorf(
			"a budget of 100s lasts %v at pace 0.1, and the run %v",
			u.Budget,
			clock.RunLength(false, true),
		)
	}
	if u.SLO[3].For != 3*time.Second {
		t.Errorf("for %v, want 3s", u.SLO[3].For)
	}
	if u.Step != 0.005 || u.Precision != 0.02 || u.MaxUsers != 5000 || u.SLO[2].Min != 8000 ||
		u.SLO[0].Threshold != 2 {
		t.Errorf("pace changed what has no time in it: %+v", u)
	}
	if p.Bounded.Measure != 10*time.Second {
		t.Errorf("measure %v, want 10s as written", p.Bounded.Measure)
	}
	if got := p.Workload.Wait(5 * time.Second); got != 500*time.Millisecond {
		t.Errorf("wait %v, want 500ms", got)
	}
	if got := (plan.Workload{}).Wait(time.Second); got != time.Second {
		t.Errorf("wait %v at the zero pace, want 1s", got)
	}
	if p.Digest() != before {
		t.Error("Search changed the plan")
	}
	p.Unbounded = nil
	if _, ok := p.Search(); ok {
		t.Error("a search without unbounded")
	}
}

func TestPerEngine(t *testing.T) {
	b := plan.Bounded{Users: plan.PerEngine{"": 7}}
	if n, ok := b.UsersFor("mysql"); n != 7 || !ok {
		t.Errorf("one number for all: %d %v", n, ok)
	}
	u := plan.Unbounded{Start: plan.PerEngine{"mysql": 3}}
	if n, ok := u.Start.For("mysql"); n != 3 || !ok {
		t.Errorf("number of the engine: %d %v", n, ok)
	}
	if n, ok := u.Start.For("postgresql"); n != 0 || ok {
		t.Errorf("number of an engine without one: %d %v", n, ok)
	}
}

func TestTargetWith(t *testing.T) {
	base := plan.Target{
		Driver:  "d",
		Binary:  "old",
		Args:    []string{"-a"},
		Env:     plan.Env{"": {"X": "1", "Y": "1"}, plan.MySQL: {"Y": "m", "M": "m"}},
		Version: "1",
	}
	arm := plan.Arm{
		Name:    "new",
		Binary:  "new",
		Args:    []string{"-b"},
		Env:     plan.Env{"": {"Y": "2"}},
		Version: "2",
	}
	got := base.With(arm)
	want := plan.Target{
		Driver:  "d",
		Binary:  "new",
		Args:    []string{"-a", "-b"},
		Env:     plan.Env{"": {"X": "1", "Y": "2"}, plan.MySQL: {"M": "m"}},
		Version: "2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("With (-want +got):\n%s", diff)
	}
	got.Args[0], got.Env[""]["X"] = "changed", "changed"
	if base.Args[0] != "-a" || base.Env[""]["X"] != "1" || base.Env[""]["Y"] != "1" {
		t.Error("With shares memory with the target")
	}
	if diff := cmp.Diff(base, base.With(plan.Arm{Name: "base"})); diff != "" {
		t.Errorf("an empty arm changed the target:\n%s", diff)
	}
	if diff := cmp.Diff(plan.Env{"": {"Z": "1"}}, (plan.Target{}).With(plan.Arm{Env: plan.Env{"": {"Z": "1"}}}).Env); diff != "" {
		t.Error(diff)
	}
}

func TestMix(t *testing.T) {
	p := mustParse(t, full)
	if diff := cmp.Diff(map[string]float64{
		"poster": 0.9,
		"reader": 0.1,
	}, p.Workload.Mix()); diff != "" {
		t.Error(diff)
	}
}

func ExampleParse() {
	_, err := plan.Parse([]byte(
		"name: spring\ntarget: {drivr: process}\nworkload: {behavior: poster, pace: fast}\nbounded: {users: 200, measure: 90}\n",
	))
	fmt.Println(err)
	// Output:
	// 2:9: target.driver: is missing; write it
	// 2:10: target.drivr: unknown key; did you mean "driver"?
	// 3:36: workload.pace: "fast" is not a number; want one such as 0.1 or 2
	// 4:32: bounded.measure: "90" has no unit; write 90s for seconds
}

func ExamplePlan_Search() {
	p, err := plan.Parse([]byte(
		"name: n\ntarget: {driver: process, binary: ./server}\nworkload: {behavior: poster, pace: 0.1}\nunbounded: {max_users: 500, budget: 30m}\n",
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	u, _ := p.Search()
	fmt.Println(p.Unbounded.Budget, u.Budget, u.Window)
	// Output: 30m0s 30m0s 1.5s
}
