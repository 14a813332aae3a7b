package script

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/load/script"
	"plimsoll/plan"
)

// told is a shape and its problems in one text.
func told(s Shape, wrong []plan.Refusal) string {
	var b strings.Builder
	for _, w := range wrong {
		b.WriteString(w.Path + ": " + w.Text + "\n")
	}
	if len(wrong) > 0 {
		return b.String()
	}
	text, _ := json.Marshal([]any{s.Users, s.Ramp.String(), s.Measure.String(), s.Rate, s.InFlight, s.Iterations})
	b.Write(text)
	for _, r := range s.Rules {
		b.WriteString(" " + r.SLO.Source)
	}
	for _, n := range s.Notes {
		b.WriteString(" | " + strings.TrimPrefix(n.Path, "options."))
	}
	return b.String()
}

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, options, want string }{
		{"none", `null`, `[0,"0s","0s",0,0,0]`},
		{"users and time", `{"vus": 3, "duration": "1m30s"}`, `[3,"0s","1m30s",0,0,0]`},
		{"milliseconds", `{"vus": 3, "duration": 500}`, `[3,"0s","500ms",0,0,0]`},
		{"a day", `{"vus": 3, "duration": "1d2h"}`, `[3,"0s","26h0m0s",0,0,0]`},
		{"stages", `{"stages": [{"duration": "2s", "target": 4}, {"duration": "3s", "target": 10}, {"duration": "9s", "target": 10},
			{"duration": "2s", "target": 0}]}`, `[10,"5s","9s",0,0,0] | stages`},
		{"stages from users", `{"vus": 10, "stages": [{"duration": "9s", "target": 10}]}`, `[10,"0s","9s",0,0,0]`},
		{"a jump", `{"stages": [{"duration": "0s", "target": 7}, {"duration": "9s", "target": 7}]}`, `[7,"0s","9s",0,0,0]`},
		{"ramping-vus", `{"scenarios": {"a": {"executor": "ramping-vus", "startVUs": 0, "gracefulRampDown": "5s",
			"stages": [{"duration": "2s", "target": 4}, {"duration": "4s", "target": 4}]}}}`, `[4,"2s","4s",0,0,0]`},
		{"constant-vus", `{"scenarios": {"a": {"executor": "constant-vus", "vus": 6, "duration": "5s", "startTime": "3s"}}}`,
			`[6,"0s","5s",0,0,0] | scenarios.a.startTime`},
		{"constant-arrival-rate", `{"scenarios": {"a": {"executor": "constant-arrival-rate", "rate": 90, "timeUnit": "1m",
			"duration": "5s", "preAllocatedVUs": 20, "maxVUs": 30}}}`, `[0,"0s","5s",1.5,30,0]`},
		{"each", `{"scenarios": {"a": {"executor": "per-vu-iterations", "vus": 4, "iterations": 25, "maxDuration": "20s"}}}`,
			`[4,"0s","20s",0,0,25]`},
		{"shared", `{"vus": 5, "iterations": 200}`, `[5,"0s","10m0s",0,0,40] | iterations`},
		{"not shared evenly", `{"vus": 5, "iterations": 201}`,
			"options.iterations: 201 iterations are not the same number for each of 5 users; write a multiple of it, or a duration\n"},
		{"two plateaus", `{"stages": [{"duration": "2s", "target": 4}, {"duration": "3s", "target": 4}, {"duration": "2s", "target": 8}]}`,
			"options.stages[2]: 8 users are a second plateau, and a plan has one; search the number with plimsoll capacity, or load in steps with plimsoll sizing\n"},
		{"plateau below", `{"stages": [{"duration": "2s", "target": 8}, {"duration": "3s", "target": 8}, {"duration": "2s", "target": 4}, {"duration": "2s", "target": 4}]}`,
			"options.stages[3]: 4 users are a second plateau, and a plan has one; search the number with plimsoll capacity, or load in steps with plimsoll sizing\n"},
		{"no plateau", `{"stages": [{"duration": "2s", "target": 4}, {"duration": "3s", "target": 0}]}`,
			"options.stages: hold no number of users; write a stage with the same target as the one before it\n"},
		{"two scenarios", `{"scenarios": {"a": {"executor": "constant-vus", "duration": "1s"}, "b": {"executor": "ramping-arrival-rate"}}}`,
			"options.scenarios: has 2 scenarios (a, b), and a plan has one load; write a plan for each, or one scenario with `export const actions = {NAME: {weight: 10, run(user, data) {…}}}`\n" +
				"options.scenarios.b.executor: a plan has one rate of arrivals; use constant-arrival-rate, or search the highest rate with plimsoll capacity\n"},
		{"another function", `{"scenarios": {"a": {"executor": "externally-controlled", "exec": "buy", "env": {"A": "1"}}}}`,
			"options.scenarios.a.env: is not read for one scenario; write workload.params in the plan\n" +
				"options.scenarios.a.exec: buy is not the function that users run; write export default buy\n" +
				"options.scenarios.a.executor: users are steered in the console (plimsoll serve); use constant-vus\n"},
		{"both", `{"vus": 1, "scenarios": {"a": {"executor": "constant-vus", "duration": "1s"}}}`,
			"options.vus: stands beside options.scenarios; keep one of them\n"},
		{"many wrong", `{"vus": -1, "duration": "soon", "rps": 5, "durration": "1s", "hosts": {}, "systemTags": [], "batch": 20}`,
			"options.duration: \"soon\" is not a time; want one such as 30s\n" +
				"options.durration: is no option of k6; did you mean \"duration\"? remove it\n" +
				"options.hosts: has no meaning here; name the address as the target's URL\n" +
				"options.rps: has no meaning here; write workload: {arrival: {rate: N/s}} in the plan, or sleep() in the script\n" +
				"options.vus: -1 is out of range; want 0 to 10000000\n"},
		{"no object", `[1]`, "options: [1] is not an object\n"},
		{"notes", `{"vus": 1, "duration": "1s", "batch": 20, "userAgent": "x", "summaryTrendStats": ["avg"]}`, `[1,"0s","1s",0,0,0] | batch`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := told(Plan(json.RawMessage(tt.options))); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ metric, threshold, want string }{
		{"http_req_duration", `"p(95)<200"`, "p95(op) < 200ms min 0"},
		{"http_req_duration", `["p(99.9) <= 1500", "avg<0.5"]`, "p99.9(op) < 1.5s mean(op) < 500µs"},
		{"http_req_duration{name:article}", `["med<20", "max<2000"]`, "p50(article) < 20ms max(article) < 2s"},
		{"http_req_duration{expected_response:true,scenario:a}", `["p(100)<20"]`, "max(op) < 20ms"},
		{"http_req_duration{name:GET /articles/{id}}", `["p(90)<20"]`, "p90(GET /articles/{id}) < 20ms"},
		{"http_req_failed", `["rate<0.01"]`, "rate(errors) < 1% min 200"},
		{"checks", `["rate>0.9"]`, "rate(failed_checks) < 10% min 20"},
		{"checks", `["rate>=0.999"]`, "rate(failed_checks) < 0.1% min 2000"},
		{"checks", `[{"threshold": "rate>0.9", "abortOnFail": true, "delayAbortEval": "10s"}]`,
			"rate(failed_checks) < 10% min 20 | thresholds.checks[0]"},
		{"iteration_duration", `["p(95)<2000"]`, "p95(iteration default) < 2s"},
		{"group_duration{group:::cart::pay}", `["p(95)<2000"]`, "p95(group cart pay) < 2s"},
		{"ws_connecting", `["p(95)<50"]`, "p95(ws connect) < 50ms"},
		{"http_reqs", `["rate>100"]`, "!what is offered is set, not tested"},
		{"http_req_duration", `["p(20)<5"]`, "!p50 to p99.9"},
		{"http_req_duration", `["min<5"]`, "!min is no statistic of a latency"},
		{"http_req_duration", `["p(95)>5"]`, "!upper limit"},
		{"http_req_duration{status:200}", `["p(95)<5"]`, "!the tag status has no rule here"},
		{"http_req_failed", `["rate>0.5"]`, "!want rate<0.01 of http_req_failed"},
		{"my_trend", `["p(95)<5"]`, "!my_trend is no metric of k6"},
		{"checks", `["sometimes"]`, "!not a threshold that can be read"},
		{"checks", `[{"abortOnFail": true}]`, "!is not a threshold"},
		{"checks", `7`, "!7 is not a threshold"},
		{"checks", `["rate>1"]`, "!can never decide"},
	} {
		options, _ := json.Marshal(map[string]any{"thresholds": map[string]json.RawMessage{tt.metric: json.RawMessage(tt.threshold)}})
		s, wrong := Plan(options)
		got := told(s, wrong)
		want, bad := strings.CutPrefix(tt.want, "!")
		switch {
		case bad && (len(wrong) != 1 || !strings.Contains(wrong[0].Text, want) ||
			!strings.HasPrefix(wrong[0].Path, "options.thresholds."+tt.metric+"[")):
			t.Errorf("%s %s: %s", tt.metric, tt.threshold, got)
		case !bad && got != `[0,"0s","0s",0,0,0] `+strings.TrimSuffix(want, " min 0"):
			t.Errorf("%s %s: got %s, want %s", tt.metric, tt.threshold, got, want)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	shape := func(options string) Shape {
		s, wrong := Plan(json.RawMessage(options))
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		return s
	}
	slo := func(text string) plan.SLO {
		r, err := plan.ParseSLO(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	bounded := func(users int, d time.Duration, rules ...plan.SLO) *plan.Plan {
		return &plan.Plan{Bounded: &plan.Bounded{Users: plan.PerEngine{"": users}, Measure: d, SLO: rules}}
	}
	const said = `{"vus": 3, "duration": "30s", "thresholds": {"http_req_duration": ["p(95)<200"], "checks": ["rate>0.9"]}}`
	for _, tt := range []struct {
		name, options string
		plan          *plan.Plan
		want          string
	}{
		{"no test", said, &plan.Plan{}, "3 0s 30s rate(failed_checks) < 10% min 20, p95(op) < 200ms"},
		{"a plan that agrees", said, bounded(3, 30*time.Second, slo("p95(op) < 200ms"), slo("p99(op) < 1s")),
			"3 0s 30s p95(op) < 200ms, p99(op) < 1s, rate(failed_checks) < 10% min 20"},
		{"a plan that does not", said, bounded(4, time.Minute, slo("p95(op) < 300ms")),
			"bounded.users: is 4 in the plan and 3 in options of the script; write the same, or remove one of them\n" +
				"bounded.measure: is 1m0s in the plan and 30s in options of the script; write the same, or remove one of them\n" +
				"bounded.slo[0]: is p95(op) < 300ms in the plan and p95(op) < 200ms in options.thresholds.http_req_duration[0] of the script; write the same, or remove one of them\n"},
		{"no load in the options", `{"thresholds": {"checks": ["rate>0.9"]}}`, bounded(4, time.Minute), "4 0s 1m0s rate(failed_checks) < 10% min 20"},
		{"a search", said, &plan.Plan{Unbounded: &plan.Unbounded{}}, "search rate(failed_checks) < 10% min 20, p95(op) < 200ms"},
		{"users without a time", `{"vus": 3}`, &plan.Plan{}, "options.duration: is missing; write how long, as in 30s, or bounded in the plan\n"},
		{"users without a time in a plan", `{"vus": 4}`, bounded(4, time.Minute), "4 0s 1m0s "},
		{"rules alone", `{"thresholds": {"checks": ["rate>0.9"]}}`, &plan.Plan{},
			"options.thresholds: judge a test, and there is none; write options.vus and options.duration, or bounded in the plan\n"},
		{"arrivals", `{"scenarios": {"a": {"executor": "constant-arrival-rate", "rate": 50, "duration": "5s", "preAllocatedVUs": 7}}}`,
			&plan.Plan{}, "50/s 7 0 0s 5s "},
		{"arrivals that differ", `{"scenarios": {"a": {"executor": "constant-arrival-rate", "rate": 50, "duration": "5s", "preAllocatedVUs": 7}}}`,
			&plan.Plan{Workload: plan.Workload{Arrival: &plan.Arrival{Rate: 40}}},
			"workload.arrival.rate: is 40/s in the plan and 50/s in options.scenarios.a of the script; write the same, or remove one of them\n"},
		{"iterations", `{"vus": 5, "iterations": 200, "duration": "20s"}`, &plan.Plan{}, "40 iterations 5 0s 20s "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, _ := json.Marshal(tt.plan)
			got, wrong := Merge(tt.plan, shape(tt.options))
			text := ""
			for _, w := range wrong {
				text += w.Path + ": " + w.Text + "\n"
			}
			if got != nil {
				text = merged(got)
			}
			if text != tt.want {
				t.Errorf("got\n%s\nwant\n%s", text, tt.want)
			}
			if after, _ := json.Marshal(tt.plan); string(before) != string(after) {
				t.Error("Merge changed its plan")
			}
		})
	}
}

// merged is what Merge can set, as text.
func merged(p *plan.Plan) string {
	text := ""
	if a := p.Workload.Arrival; a != nil {
		text += a.Rate.String() + " " + strings.TrimSpace(jsonOf(a.InFlight)) + " "
	}
	if n := p.Workload.Params[script.Iterations]; n != "" {
		text += n + " iterations "
	}
	var rules []plan.SLO
	if b := p.Bounded; b != nil {
		text += jsonOf(b.Users[""]) + " " + b.Ramp.String() + " " + b.Measure.String() + " "
		rules = b.SLO
	}
	if u := p.Unbounded; u != nil {
		text += "search "
		rules = u.SLO
	}
	var sources []string
	for _, r := range rules {
		sources = append(sources, r.Source)
	}
	return text + strings.Join(sources, ", ")
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
