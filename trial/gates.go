package trial

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/record"
	"plimsoll/workload"
)

// Gates are the limits of the generator's own health. The zero value means the defaults of [DefaultGates]. Each pair
// is amber, red.
type Gates struct {
	Lag   [2]time.Duration // p99 of lag
	Late  [2]float64       // share of actions that began more than 10 ms late
	CPU   [2]float64       // busy share of the generator's cores
	Users [2]float64       // active over wanted users in the measured phase, below
	Grace time.Duration    // how long a signal may be without data
}

// DefaultGates returns the limits of the validity table that the project's statistics are built on
// (amber and red): lag p99 5 and 20 ms, cores 70 and 85 %, users 99 and 97 %.
func DefaultGates() Gates {
	return Gates{
		Lag:   [2]time.Duration{5 * time.Millisecond, 20 * time.Millisecond},
		Late:  [2]float64{0.01, 0.05},
		CPU:   [2]float64{0.70, 0.85},
		Users: [2]float64{0.99, 0.97},
		Grace: 5 * time.Second,
	}
}

// lateBy is when an action counts as late.
const lateBy = 10 * time.Millisecond

func (r *run) gates() Gates {
	if r.Gates == (Gates{}) {
		return DefaultGates()
	}
	return r.Gates
}

// generatorFindings judges the generator over a stretch: lag and cores.
func (r *run) generatorFindings(st stretch) []record.Finding {
	g := r.gates()
	var out []record.Finding
	lag := st.merged(func(s string) bool { return s == workload.Schedule }).Lag
	if n := lag.Count(); n > 0 {
		p99 := lag.Quantile(0.99)
		if l := level(p99.Seconds(), g.Lag[0].Seconds(), g.Lag[1].Seconds()); l != "" && n >= 100 {
			out = append(out, record.Finding{Gate: "lag", Level: l, Value: p99.Seconds() * 1e3, Limit: limitOf(l, g.Lag[0].Seconds(), g.Lag[1].Seconds()) * 1e3, Unit: "ms",
				Text: fmt.Sprintf("the generator began 1 %% of its actions %v late or more (n %d)", p99.Round(100*time.Microsecond), n)})
		}
		late := float64(lag.CountOver(lateBy)) / float64(n)
		if l := level(late, g.Late[0], g.Late[1]); l != "" && n >= 100 {
			out = append(out, record.Finding{Gate: "late actions", Level: l, Value: late * 100, Limit: limitOf(l, g.Late[0], g.Late[1]) * 100, Unit: "%",
				Text: fmt.Sprintf("%.2f %% of the actions began more than %v late", late*100, lateBy)})
		}
	}
	if cpu, ok := st.cpu("generator"); ok {
		if l := level(cpu, g.CPU[0], g.CPU[1]); l != "" {
			out = append(out, record.Finding{Gate: "generator cpu", Level: l, Value: cpu * 100, Limit: limitOf(l, g.CPU[0], g.CPU[1]) * 100, Unit: "%",
				Text: fmt.Sprintf("the generator's cores were %.0f %% busy", cpu*100)})
		}
	}
	return out
}

// generatorFault returns the first red finding of the generator.
func (r *run) generatorFault(st stretch) (record.Finding, bool) {
	for _, f := range r.generatorFindings(st) {
		if f.Level == record.Red {
			return f, true
		}
	}
	return record.Finding{}, false
}

// gateMeasure judges the measured phase.
func (r *run) gateMeasure(st stretch) {
	v := &r.out.Validity
	for _, f := range r.generatorFindings(st) {
		v.Add(f)
	}
	if _, ok := st.cpu("generator"); !ok {
		v.Add(record.Finding{Gate: "generator cpu", Level: record.Red, Text: "the CPU use of the generator's cores was not measured"})
	}
	g := r.gates()
	worst := 1.0
	for _, sl := range st.in {
		if sl.desired > 0 {
			worst = min(worst, float64(sl.active)/float64(sl.desired))
		}
	}
	if l := level(-worst, -g.Users[0], -g.Users[1]); l != "" {
		v.Add(record.Finding{Gate: "users", Level: l, Value: worst * 100, Limit: -limitOf(l, -g.Users[0], -g.Users[1]) * 100, Unit: "%",
			Text: fmt.Sprintf("only %.1f %% of the wanted users were active at some moment of the measured phase; fewer users, or a longer ramp, may help", worst*100)})
	}
	if st.steady().Count() == 0 {
		v.Add(record.Finding{Gate: "operations", Level: record.Red, Text: "not one operation ended in the measured phase"})
	}
}

// overall adds the findings that are of the whole run.
func (r *run) overall() {
	if r.Signals == nil {
		return
	}
	_, _, failed := r.Driver.Users()
	if failed > 0 {
		r.out.Validity.Add(record.Finding{Gate: "failed users", Level: record.Red, Value: float64(failed),
			Text: fmt.Sprintf("%d simulated users could not go on; see the events", failed)})
	}
	fails := r.Signals.Failing()
	names := make([]string, 0, len(fails))
	for name := range fails {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if f := fails[name]; time.Since(f.Since) > r.gates().Grace {
			r.out.Validity.Add(record.Finding{Gate: "signals", Level: record.Red,
				Text: fmt.Sprintf("%s has had no data since %s: %s", name, f.Since.UTC().Format(time.TimeOnly), f.Why)})
		}
	}
	for _, f := range r.out.Validity.Findings {
		r.event(record.Event{At: r.now(), Kind: "finding", Level: f.Level, Rule: f.Gate, Value: f.Value, Limit: f.Limit, Text: f.Text})
	}
}

// level returns "", amber or red for a value that should stay below both limits.
func level(v, amber, red float64) string {
	switch {
	case v > red:
		return record.Red
	case v > amber:
		return record.Amber
	}
	return ""
}

func limitOf(level string, amber, red float64) float64 {
	if level == record.Red {
		return red
	}
	return amber
}
