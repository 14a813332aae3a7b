package verbs

import (
	"flag"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/cmd/exit"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// Tests that are parallel mostly wait, for the start of a server or the end of a measured phase, and need a fifth of a
// core: more of them go at once than there are cores. Tests that need a quiet host are not parallel: they run one by
// one, before those.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(max(7, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err) // package testing has no such flag
	}
	testscript.Main(tidy{m}, map[string]func(){"plimsoll": func() { os.Exit(Main()) }})
}

// tidy removes the program that tests have built, when all have ended.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	defer func() {
		if builtIn != "" {
			_ = os.RemoveAll(builtIn)
		}
	}()
	return m.M.Run()
}

// Plans name error classes that package plan cannot import: both lists must agree.
func TestErrorClassesAgree(t *testing.T) {
	want := []string{"errors"}
	for c := measure.Class(1); c < measure.NumClasses; c++ {
		want = append(want, c.String())
	}
	if got := plan.ErrorClasses(); !slices.Equal(got, want) {
		t.Errorf("plan knows %v, measure has %v", got, want)
	}
}

// The kinds of a capacity are written by one package and read by another, which do not know each other.
func TestCapacityKindsAgree(t *testing.T) {
	for c, r := range map[capacity.Kind]string{capacity.Estimate: record.Estimate, capacity.AtLeast: record.AtLeast, capacity.Unstable: record.Unstable, capacity.Invalid: record.Invalid} {
		if string(c) != r {
			t.Errorf("control says %q, record says %q", c, r)
		}
	}
}

// A search that contradicts itself is not a success, and no fault of the run.
func TestAnUnstableSearchIsInconclusive(t *testing.T) {
	of := func(kind string) *record.Capacity { return &record.Capacity{Kind: kind} }
	for _, tt := range []struct {
		valid bool
		c     *record.Capacity
		want  int
	}{
		{true, nil, exit.OK}, {false, nil, exit.Invalid}, {true, of(record.Estimate), exit.OK}, {true, of(record.AtLeast), exit.OK},
		{true, of(record.Unstable), exit.Inconclusive}, {false, of(record.Unstable), exit.Invalid}, {true, of(record.Invalid), exit.Invalid},
	} {
		if got := foundStatus(tt.valid, tt.c); got != tt.want {
			t.Errorf("valid %v, %+v: got %d, want %d", tt.valid, tt.c, got, tt.want)
		}
	}
	if got := record.CapacityText(record.Unstable, 0); got != "unstable" {
		t.Errorf("ls prints %q, want unstable", got)
	}
}

func TestQuickstartIsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../examples/quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(example) != string(quickstart) {
		t.Error("cmd/verbs/quickstart.yaml and examples/quickstart.yaml differ; copy the one that is right")
	}
	p, err := known().Parse(quickstart)
	if err != nil {
		t.Fatal(err)
	}
	if len(dialects.WithDefaultRules(p).BoundedRules()) == 0 {
		t.Error("no rules")
	}
	duet, why := p.Duet()
	if load := time.Duration(p.Compare.Blocks*p.Seats()) * p.RunLength(true, true); !duet || load > 200*time.Second {
		t.Errorf("the demo is a duet: %v (%s), with %v of load; want at most 3m20s, as the rest of five minutes goes into deployments and resets", duet, why, load)
	}
}

func TestDefaultRules(t *testing.T) {
	nodes := []plan.Probe{{Kind: plan.ProbePrometheus, Role: "app", URL: "http://app:9100/metrics"}, {Kind: plan.ProbePrometheus, Role: "proxy", URL: "http://proxy-0:9100/metrics"}}
	for _, tt := range []struct {
		name            string
		p               plan.Plan
		rules, warnings int
		has             string
	}{
		{"our own server", plan.Plan{Target: plan.Target{Driver: "refchat"}}, 9, 2, "cpu(app) < 85%"},
		{"nothing but a client", plan.Plan{Target: plan.Target{Driver: "external"}}, 5, 0, "rate(timeout) < 0.025% min 8000"},
		{"a server with metrics", plan.Plan{Target: plan.Target{Driver: "external", MetricsURL: plan.Addresses{"http://app:8067/metrics"}}}, 6, 0, "mattermost_api_time_count"},
		{"and with node exporters", plan.Plan{Target: plan.Target{Driver: "external", MetricsURL: plan.Addresses{"/metrics"}}, Probes: nodes}, 10, 0, `{role="proxy"}`},
		{"with the proxy's alone", plan.Plan{Target: plan.Target{Driver: "external"}, Probes: nodes[1:]}, 6, 0, `{role="proxy"}`},
		{"with an agent of the proxy", plan.Plan{Target: plan.Target{Driver: "external"}, Probes: []plan.Probe{{Kind: plan.ProbeAgent, Role: "proxy"}}}, 6, 0, `{role="proxy"}`},
		{"another exporter is not a host's", plan.Plan{Target: plan.Target{Driver: "external"}, Probes: []plan.Probe{{Kind: plan.ProbePrometheus, Role: "proxy", URL: "http://proxy:9113/metrics"}}}, 5, 0, "p99(op) < 2s"},
	} {
		tt.p.Unbounded, tt.p.Workload.Behavior = &plan.Unbounded{MaxUsers: 1}, "mattermost"
		all := dialects.WithDefaultRules(&tt.p).Unbounded.SLO
		warnings, has := 0, false
		for _, r := range all {
			has = has || strings.Contains(r.Source, tt.has)
			if r.Warning {
				warnings++
			}
		}
		if len(all) != tt.rules || warnings != tt.warnings || !has {
			t.Errorf("%s: %d rules, %d of them warnings, want %d and %d, and %s:\n%v", tt.name, len(all), warnings, tt.rules, tt.warnings, tt.has, all)
		}
		if len(tt.p.Unbounded.SLO) != 0 {
			t.Errorf("%s: the caller's plan was changed", tt.name)
		}
	}
}
