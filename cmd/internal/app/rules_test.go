package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// TestEveryBoundedTestHasRules: a plan with nothing but bounded is judged by failed operations and,
// where its users keep WebSockets, by those that break; rules of its own are kept.
func TestEveryBoundedTestHasRules(t *testing.T) {
	const chat = "name: n\ntarget: {driver: external, url: \"http://h\"}\nworkload: {behavior: mattermost, share: 90%, with: {poster: 10%}}\n"
	posters := strings.Replace(chat, "mattermost, share: 90%, with: {poster: 10%}", "poster", 1)
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"the README's", chat + "bounded: {users: 200}\n", []string{plan.FailedOperations, dialect.DisconnectedUsers}},
		{"posters", posters + "bounded: {users: 200}\n", []string{plan.FailedOperations}},
		{"rules of its own", chat + "bounded: {users: 200, slo: [\"p99(op) < 2s\"]}\n", []string{"p99(op) < 2s", plan.FailedOperations, dialect.DisconnectedUsers}},
		{"limits of its own", chat + "bounded: {users: 200, slo: [\"rate(errors) < 5%\", \"rate(disconnected) < 50%\"]}\n", []string{"rate(errors) < 5% min 40", "rate(disconnected) < 50% min 4"}},
		{"a search's", chat + "bounded: {users: 200}\nunbounded: {max_users: 900, slo: [\"p99(op) < 2s\"]}\n", []string{"p99(op) < 2s", plan.FailedOperations}},
		{"its own, not the search's", chat + "bounded: {users: 200, slo: [\"rate(errors) < 5%\"]}\nunbounded: {max_users: 900, slo: [\"p99(op) < 2s\"]}\n", []string{"rate(errors) < 5% min 40", dialect.DisconnectedUsers}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := new(App).Known().Parse([]byte(tt.src))
			failure.None(t, err)
			before := p.String()
			var got []string
			for _, r := range new(App).Dialects().WithDefaultRules(p).BoundedRules() {
				got = append(got, r.Source)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if p.String() != before {
				t.Error("the caller's plan was changed")
			}
			if _, err := plan.Parse([]byte(new(App).Dialects().WithDefaultRules(p).String())); err != nil {
				t.Errorf("the stored plan is not readable: %v", err)
			}
		})
	}
}

// TestEverySearchLimitsFailedOperations: with default rules, with rules of its own, and in each
// example.
func TestEverySearchLimitsFailedOperations(t *testing.T) {
	const search = "name: n\ntarget: {driver: external, url: \"http://h\"}\nworkload: {behavior: poster}\nunbounded: {max_users: 9, slo: [%s]}\n"
	texts := map[string][]byte{}
	for name, slo := range map[string]string{
		"rules of its own":   `"p99(op) < 2s"`,
		"a warning":          `"rate(errors) < 5% warning"`,
		"a limit of its own": `"p99(op) < 2s", "rate(errors) < 5%"`,
	} {
		texts[name] = fmt.Appendf(nil, search, slo)
	}
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		p, err := new(App).Known().Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q := new(App).Dialects().WithDefaultRules(p)
		if q.Unbounded != nil && !slices.ContainsFunc(q.Unbounded.SLO, plan.SLO.LimitsErrors) {
			t.Errorf("%s: no rule limits failed operations: %v", name, q.Unbounded.SLO)
		}
		if own := !strings.HasPrefix(name, ".."); own && len(q.Unbounded.SLO) != 2 {
			t.Errorf("%s: %v, want two rules", name, q.Unbounded.SLO)
		}
		if why := p.Uncombined(); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

func TestDefaultRules(t *testing.T) {
	nodes := []plan.Probe{{
		Kind: plan.ProbePrometheus,
		Role: "app",
		URL:  "http://app:9100/metrics",
	}, {Kind: plan.ProbePrometheus, Role: "proxy", URL: "http://proxy-0:9100/metrics"}}
	for _, tt := range []struct {
		name            string
		p               plan.Plan
		rules, warnings int
		has             string
	}{
		{"our own server", plan.Plan{Target: plan.Target{Driver: "refchat"}}, 9, 2, "cpu(app) < 85%"},
		{"nothing but a client", plan.Plan{Target: plan.Target{Driver: "external"}}, 5, 0, "rate(timeout) < 0.025% min 8000"},
		{"a server with metrics", plan.Plan{Target: plan.Target{
			Driver:     "external",
			MetricsURL: plan.Addresses{"http://app:8067/metrics"},
		}}, 6, 0, "mattermost_api_time_count"},
		{"and with node exporters", plan.Plan{
			Target: plan.Target{Driver: "external", MetricsURL: plan.Addresses{"/metrics"}},
			Probes: nodes,
		}, 10, 0, `{role="proxy"}`},
		{"with the proxy's alone", plan.Plan{
			Target: plan.Target{Driver: "external"},
			Probes: nodes[1:],
		}, 6, 0, `{role="proxy"}`},
		{"with an agent of the proxy", plan.Plan{
			Target: plan.Target{Driver: "external"},
			Probes: []plan.Probe{{Kind: plan.ProbeAgent, Role: "proxy"}},
		}, 6, 0, `{role="proxy"}`},
		{"another exporter is not a host's", plan.Plan{
			Target: plan.Target{Driver: "external"},
			Probes: []plan.Probe{{
				Kind: plan.ProbePrometheus,
				Role: "proxy",
				URL:  "http://proxy:9113/metrics",
			}},
		}, 5, 0, "p99(op) < 2s"},
	} {
		tt.p.Unbounded, tt.p.Workload.Behavior = &plan.Unbounded{MaxUsers: 1}, "mattermost"
		all := new(App).Dialects().WithDefaultRules(&tt.p).Unbounded.SLO
		warnings, has := 0, false
		for _, r := range all {
			has = has || strings.Contains(r.Source, tt.has)
			if r.Warning {
				warnings++
			}
		}
		if len(all) != tt.rules || warnings != tt.warnings || !has {
			t.Errorf(
				"%s: %d rules, %d of them warnings, want %d and %d, and %s:\n%v",
				tt.name,
				len(all),
				warnings,
				tt.rules,
				tt.warnings,
				tt.has,
				all,
			)
		}
		if len(tt.p.Unbounded.SLO) != 0 {
			t.Errorf("%s: the caller's plan was changed", tt.name)
		}
	}
}

// Plans name error classes that package plan cannot import: both lists must agree.
func TestErrorClassesAgree(t *testing.T) {
	want := []string{"errors"}
	for c := measure.Class(1); c < measure.NumClasses; c++ {
		want = append(want, c.String())
	}
	if got := append(plan.ErrorClasses(), plan.ScriptExceptions); !slices.Equal(got, want) {
		t.Errorf("plan knows %v, measure has %v", got, want)
	}
}

// The kinds of a capacity are written by one package and read by another, which do not know each
// other.
func TestCapacityKindsAgree(t *testing.T) {
	for c, r := range map[capacity.Kind]string{
		capacity.Estimate: record.Estimate,
		capacity.AtLeast:  record.AtLeast,
		capacity.Unstable: record.Unstable,
		capacity.Invalid:  record.Invalid,
	} {
		if string(c) != r {
			t.Errorf("control says %q, record says %q", c, r)
		}
	}
}
