package plan

import "math"

// Limits of a search that is run. Package control holds it to them as well, and neither may import the other: a test
// of cmd/internal/app holds both together.
const (
	limitStep     = 0.2 // of the users
	limitRampRate = 1.0 // of the users per second of the clock
)

// checkSearch refuses a search that could not begin: in a combined run that would show once the bounded test is over.
// Stored plans stay readable: their bounded test may have been run by itself.
func (d *decoder) checkSearch(p *Plan, k Known) {
	run, ok := p.Search()
	if k.Drivers == nil || !ok {
		return
	}
	if d.good("unbounded.step") && run.Step >= limitStep {
		d.at("unbounded.step", "%s is out of range; want 0.01%% to less than %s", formatPercent(run.Step), formatPercent(limitStep))
	}
	if pace := p.Workload.Pace; d.good("unbounded.ramp_rate", "workload.pace") && run.RampRate >= limitRampRate {
		d.at("unbounded.ramp_rate", "%s divided by workload.pace %s is %s of the users per second; want less than %s: write less than %s here, or a larger pace",
			formatPercent(p.Unbounded.RampRate), formatNumber(pace), formatPercent(math.Round(run.RampRate*1e6)/1e6), formatPercent(limitRampRate), formatPercent(limitRampRate*pace))
	}
}
