package plan_test

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

func TestParseEndpoint(t *testing.T) {
	for _, tt := range []struct {
		name string
		want plan.Endpoint
	}{
		{"capacity", plan.Endpoint{Better: plan.Higher, Unit: "users", Stat: "capacity"}},
		{"errors", plan.Endpoint{Better: plan.Lower, Unit: "%", Absolute: true, Stat: "errors"}},
		{"cost(db)", plan.Endpoint{Better: plan.Lower, Unit: "ms", Stat: "cost", Of: "db"}},
		{"throughput(post)", plan.Endpoint{
			Better: plan.Higher,
			Unit:   "1/min",
			Stat:   "throughput",
			Of:     "post",
		}},
		{"p95(post)", plan.Endpoint{Better: plan.Lower, Unit: "ms", Stat: "p95", Of: "post"}},
		{"p99.9(op)", plan.Endpoint{Better: plan.Lower, Unit: "ms", Stat: "p99.9", Of: "op"}},
		{"typical(op)", plan.Endpoint{Better: plan.Lower, Unit: "ms", Stat: "typical", Of: "op"}},
		{"mean(op)", plan.Endpoint{Better: plan.Lower, Unit: "ms", Stat: "mean", Of: "op"}},
		{"service.p99(op)", plan.Endpoint{
			Better:  plan.Lower,
			Unit:    "ms",
			Stat:    "p99",
			Of:      "op",
			Service: true,
		}},
	} {
		tt.want.Name = tt.name
		got, err := plan.ParseEndpoint(tt.name)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "p95", "p95()", "speed(op)", "capacity(app)", "cost()", "service.throughput(op)", "service.typical(op)", "typical", "service.capacity", "p95(post) < 1s", "p0(op)"} {
		if e, err := plan.ParseEndpoint(bad); err == nil ||
			!strings.Contains(err.Error(), "endpoint") {
			t.Errorf("%q: got %+v, %v; want an error that says what an endpoint is", bad, e, err)
		}
	}
}

func TestQuantileOfAnEndpoint(t *testing.T) {
	for name, want := range map[string]float64{
		"p95(post)": 0.95,
		"p99.9(op)": 0.999,
		"mean(op)":  0,
		"capacity":  0,
		"cost(app)": 0,
	} {
		e, err := plan.ParseEndpoint(name)
		failure.None(t, err)
		if p, ok := e.Quantile(); math.Abs(p-want) > 1e-9 || ok != (want > 0) {
			t.Errorf("%s: %v, %v; want %v", name, p, ok, want)
		}
	}
}

// Endpoints come in the order of reports, those alone that a test of the plan answers, with margins
// on their own scale.
func TestEndpointsOfAPlan(t *testing.T) {
	p := &plan.Plan{
		Bounded:   &plan.Bounded{},
		Unbounded: &plan.Unbounded{},
		Compare:   &plan.Compare{Margin: plan.DefaultMargin()},
	}
	p.Compare.Margin["mean(op)"] = plan.MarginValue{Value: 0.2}
	names := func() string {
		var out []string
		for _, e := range p.Endpoints() {
			out = append(out, e.Name)
		}
		return strings.Join(out, " ")
	}
	if got, want := names(), "capacity cost(app) cost(db) typical(op) typical(delivery) p95(post) p99(op) p95(delivery) mean(op) errors"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	last := p.Endpoints()[9]
	if last.Margin != 0.025 || !last.Absolute {
		t.Errorf("errors: %+v, want a margin of 0.025 points", last)
	}
	p.Bounded = nil
	if got := names(); got != "capacity" {
		t.Errorf("without a bounded test: %s", got)
	}
	p.Bounded, p.Unbounded = &plan.Bounded{}, nil
	if got := names(); strings.Contains(got, "capacity") {
		t.Errorf("without a search: %s", got)
	}
}
