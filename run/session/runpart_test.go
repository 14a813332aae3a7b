package session

import (
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/run/deploy"
)

func TestVisible(t *testing.T) {
	agent := plan.Probe{Kind: plan.ProbeAgent, Role: "app"}
	tests := []struct {
		name   string
		driver string
		url    string
		probes []plan.Probe
		want   string
	}{
		{"elsewhere", plan.External, "http://192.0.2.1:8065", nil, "write a number, or add a probe of kind agent"},
		{"elsewhere, with an agent", plan.External, "http://192.0.2.1:8065", []plan.Probe{agent}, ""},
		{"elsewhere, with a page of metrics", plan.External, "http://192.0.2.1:8065",
			[]plan.Probe{{Kind: plan.ProbePrometheus, Role: "app", URL: "http://192.0.2.1/metrics"}}, "write a number"},
		{"on this host", plan.External, "http://127.0.0.1:8065", nil, ""},
		{"started here", plan.Process, "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan.Plan{Target: plan.Target{Driver: tt.driver, URL: plan.Addresses{tt.url}}, Probes: tt.probes}
			r := new(deploy.Resolver)
			err := r.CheckVisible(p, "")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

// A pilot takes a minute at the pace of people. A faster pace makes no server faster, so that its windows keep 3 s.
func TestLevelTimes(t *testing.T) {
	for pace, want := range map[float64][2]time.Duration{
		1:   {time.Minute, 5 * time.Second},
		0.1: {time.Minute, 3 * time.Second},
	} {
		p := &plan.Plan{Workload: plan.Workload{Pace: pace}, Bounded: &plan.Bounded{}}
		l := RunPart{Bounded: true, Start: 10, Most: 100}.Tests(p)
		if l.Bounded != nil || l.Level == nil {
			t.Fatalf("a pilot with the test %+v", l.Bounded)
		}
		if c := l.Level; c.Start != 10 || c.Max != 100 || [2]time.Duration{c.Budget, c.Window} != want {
			t.Errorf("pace %v: %+v; want %v", pace, c, want)
		}
	}
}
