package deploy

import (
	"strings"
	"testing"

	"plimsoll/plan"
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
		{
			"elsewhere",
			plan.External,
			"http://192.0.2.1:8065",
			nil,
			"write a number, or add a probe of kind agent",
		},
		{
			"elsewhere, with an agent",
			plan.External,
			"http://192.0.2.1:8065",
			[]plan.Probe{agent},
			"",
		},
		{"elsewhere, with a page of metrics", plan.External, "http://192.0.2.1:8065",
			[]plan.Probe{{
				Kind: plan.ProbePrometheus,
				Role: "app",
				URL:  "http://192.0.2.1/metrics",
			}}, "write a number"},
		{"on this host", plan.External, "http://127.0.0.1:8065", nil, ""},
		{"started here", plan.Process, "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan.Plan{
				Target: plan.Target{Driver: tt.driver, URL: plan.Addresses{tt.url}},
				Probes: tt.probes,
			}
			r := new(Resolver)
			err := r.CheckVisible(p, "")
			if tt.want == "" && err != nil ||
				tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}
