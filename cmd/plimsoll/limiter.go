package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/measure"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/series"
	"plimsoll/verdict"
	"plimsoll/workload"
)

// mostLimiterPoints bounds the samples of an indicator; a longer run is read in coarser steps.
const mostLimiterPoints = 1200

// limiterOf names what stopped a run, from its series alone; nil for one that is under way or carried no test.
func limiterOf(ctx context.Context, r *record.Run, events []record.Event) (*verdict.Limiter, error) {
	o, span, ok := stopped(r, events)
	if !ok {
		return nil, nil
	}
	p, err := plan.Parse([]byte(r.Manifest.Plan))
	if err != nil {
		p = &plan.Plan{Workload: plan.Workload{Pace: 1}} // of another version
	}
	if len(o.Generator) == 0 && voidBy(r) == "" {
		if o.Failed, o.Failures, err = failedIn(r, p, events, o.Capacity); err != nil {
			return nil, err
		}
	}
	if len(o.Generator) > 0 || !o.Reached && o.Failed == "" {
		l := verdict.Diagnose(nil, o)
		return &l, nil
	}
	catalog := indicators()
	if err := readObserved(ctx, p, r, span, catalog, &o); err != nil {
		return nil, err
	}
	l := verdict.Diagnose(catalog, o)
	return &l, nil
}

// readObserved reads what a run showed between two instants of it: users, the rule that broke, who used CPU, all indicators.
func readObserved(ctx context.Context, p *plan.Plan, r *record.Run, span [2]time.Duration, catalog []verdict.Indicator, o *verdict.Observed) error {
	db, err := openSeries(r.Dir)
	if err != nil {
		return err
	}
	defer db.Close()
	x := newTraces(db, r, p, span)
	if err := x.observe(ctx, o); err != nil {
		return err
	}
	return x.indicators(ctx, catalog, o)
}

// indicators are those of every system, and what servers of the Mattermost family show of their WebSockets.
func indicators() []verdict.Indicator {
	// What counts waits for places of a pool is the same for each pool, and so is its limit: that of the pool of database connections.
	pool := func(limiter, name, what string) verdict.Indicator {
		waits := fmt.Sprintf(`sum by (role) (rate(refchat_pool_wait_seconds_total{pool=%q}[$w]))`, name)
		return verdict.Indicator{Limiter: limiter, Rank: verdict.Saturation, What: "requests under way that wait for " + what,
			Query: "(" + waits + ") / on() group_left() ($inflight > 0)", Dose: waits, Limit: 0.05, Unit: "ratio"}
	}
	return append(verdict.Indicators(),
		// The app's own count of the answers by which it refused says that it was the app, and nobody on the way.
		verdict.Indicator{Limiter: verdict.LimitRefusals, Rank: verdict.Loss, What: "requests that it answered with 429 or 503",
			Query: `sum by (role) (rate(mattermost_api_time_count{status_code=~"429|503"}[$w])) / on (role) (sum by (role) (rate(mattermost_api_time_count[$w])) > 0)`,
			Dose:  `sum by (role) (rate(mattermost_api_time_count{status_code=~"429|503"}[$w]))`, Limit: plan.DefaultFailures().Threshold, Unit: "ratio"},
		pool(verdict.LimitWorkers, "workers", "a worker"),
		pool(verdict.LimitOutbound, "outbound", "a connection to a service that is called"),
		// Unimportant events that are skipped for a slow reader are shed on purpose, and no loss; nor are those kept for a client that went away.
		verdict.Indicator{Limiter: verdict.LimitFanOut, Rank: verdict.Loss, What: "events lost on their way to WebSockets per second",
			Query: `sum by (role) (rate(refchat_websocket_dropped_total{reason="overflow"}[$w]))`, Limit: 0.1, Unit: "/s"},
		// By Little's law, of a hub's queue and the rate at which it fills: every instance's hubs get what any instance publishes (Mattermost
		// 5.37, app/web_hub.go, Publish). An event for one user goes to one hub only, so where those are many the wait is longer than this.
		// What is written to sockets (mattermost_websocket_broadcasts_total) is an event as often as it has readers, and no such rate.
		verdict.Indicator{Limiter: verdict.LimitFanOut, Rank: verdict.Saturation, What: "time that an event waits before it is sent to WebSockets",
			Query: `max by (role) (avg_over_time(mattermost_websocket_broadcast_buffer_size[$w])) / on (role) (sum by (role) (rate(mattermost_websocket_event_total[$w])) > 0)`,
			Limit: 0.1, Unit: "s"})
}

// voidBy returns the finding for which a run is not valid, but for those that say that the target was overloaded; "" when there is none.
func voidBy(r *record.Run) (void string) {
	for _, f := range r.Validity.Findings {
		if f.Level == record.Red && f.Gate != "level" && f.Gate != "search" {
			void = f.Gate + ": " + f.Text
		}
	}
	return void
}

// failedIn says how many operations of the users at capacity failed, how, and which part was whose doing, when these are more than the run's rule of failed operations
// allows, or than its default does: at nine tenths of the capacity and more in a search, in the measured phase of a bounded test. Two
// failures at least: one never decides.
func failedIn(r *record.Run, p *plan.Plan, events []record.Event, capacity float64) (text string, by map[string]float64, err error) {
	most := plan.DefaultFailures().Threshold
	ph, ok := r.Manifest.Phase("search")
	rules := p.BoundedRules()
	if u, searched := p.Search(); searched && ok {
		rules = u.SLO
	}
	if i := slices.IndexFunc(rules, plan.SLO.LimitsErrors); i >= 0 {
		most = rules[i].Threshold
	}
	if ok {
		// Users are noted once a second; the search's capacity may lie above all of them for a moment.
		for _, e := range events {
			if e.Kind == "users" && e.At > ph.From && e.At <= ph.To && float64(e.Users) >= 0.9*capacity {
				ph.From = e.At.Truncate(time.Second)
				break
			}
		}
	} else if ph, ok = r.Manifest.Phase("measure"); !ok {
		return "", nil, nil
	}
	merged, err := r.Merged(ph.From, ph.To)
	if err != nil {
		return "", nil, err
	}
	all := measure.NewWindow("op")
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if workload.Steady(name) {
			all.Merge(merged[name])
		}
	}
	if all.Errors() < 2 || float64(all.Errors()) < most*float64(all.Count()) {
		return "", nil, nil
	}
	answers, failed := workload.AnswersOf(merged, workload.Steady), float64(all.Errors())
	cut := uint64(0)
	for _, c := range []measure.Class{measure.Dial, measure.TLS, measure.Write, measure.Header, measure.Body, measure.WS} {
		cut += all.Classes[c]
	}
	by = map[string]float64{verdict.LimitRefusals: float64(answers["429"]+answers["503"]) / failed, verdict.LimitCut: float64(cut) / failed}
	return fmt.Sprintf("%d of %d operations failed there (%.3g %%): %s", all.Errors(), all.Count(), 100*failed/float64(all.Count()),
		workload.Failures(all, answers)), by, nil
}

// stopped says where a run's evidence is to be taken, and between which instants.
func stopped(r *record.Run, events []record.Event) (o verdict.Observed, span [2]time.Duration, ok bool) {
	m := r.Manifest
	for _, f := range r.Validity.Findings {
		if m.SharedHost && record.GateCause(f.Gate) == record.ByEither {
			continue
		}
		if f.Level == record.Red && record.GateCause(f.Gate) != record.ByTarget && slices.ContainsFunc(r.Validity.Gates, func(g record.Gate) bool { return g.Name == f.Gate }) {
			o.Foreign = record.Foreign(f.Gate) && (o.Foreign || len(o.Generator) == 0)
			o.Generator = append(o.Generator, f.Gate+": "+f.Text)
		}
	}
	bounded, isBounded := m.Phase("measure")
	search, isSearch := m.Phase("search")
	void := voidBy(r)
	switch c := m.Capacity; {
	case m.State == record.Running || m.State == record.Interrupted:
		return o, span, false
	case isSearch && c != nil:
		span = [2]time.Duration{search.From, search.To}
		o.Rule, o.Capacity = c.Rule, c.Users
		switch c.Kind {
		case record.Estimate:
			o.Reached = true
		case record.Unstable: // a rule stopped it, at more than one level
			if o.Reached, o.Capacity = c.Rule != "" && !strings.HasPrefix(c.Rule, record.ByGate), c.Reached; c.Held > 0 {
				o.Capacity = c.Held
			}
			o.Why = "the search is unstable: " + c.Why
		case record.Invalid: // violated even with the fewest users, or without data, or when the time was over and nothing had been healthy
			o.Rule = cmp.Or(c.Rule, brokenAtEnd(events))
			o.Reached, o.Capacity = o.Rule != "" && !noData(events, o.Rule), 0
			o.Why = "the search has no result: " + c.Why
		default:
			o.Why = c.Why
			if gate, ok := strings.CutPrefix(c.Rule, record.ByGate); ok && (!m.SharedHost || record.GateCause(gate) != record.ByEither) {
				o.Foreign = record.Foreign(gate) && (o.Foreign || len(o.Generator) == 0)
				o.Generator = append(o.Generator, c.Why)
			}
		}
	case isBounded:
		span = [2]time.Duration{0, bounded.To}
		o.Capacity = float64(bounded.Users)
		for _, e := range events {
			if e.Kind == "slo" && e.Phase == "measured" && e.Violated && e.Level != record.Amber && o.Rule == "" { // a warning breaks nothing
				o.Rule, o.Reached = e.Rule, true
			}
		}
		o.Why = "no rule broke in the measured phase"
	default:
		return o, span, false
	}
	if void != "" && len(o.Generator) == 0 {
		o.Reached, o.Void = false, void
	}
	return o, span, true
}

// brokenAtEnd is a rule that did not hold when it was last looked at in a search; "" when each held.
func brokenAtEnd(events []record.Event) string {
	seen := map[string]bool{}
	for _, e := range slices.Backward(events) {
		if e.Kind != "slo" || e.Phase != "search" || seen[e.Rule] {
			continue
		}
		seen[e.Rule] = true
		if e.Violated && !e.NoData && !e.Undecided && e.Level != record.Amber {
			return e.Rule
		}
	}
	return ""
}

func noData(events []record.Event, rule string) bool {
	for _, e := range slices.Backward(events) {
		if e.Kind == "slo" && e.Rule == rule {
			return e.NoData
		}
	}
	return true
}

// traces reads series of a run on one clock.
type traces struct {
	db       *series.DB
	from, to time.Time
	step     time.Duration
	window   time.Duration
	n        int
}

func newTraces(db *series.DB, r *record.Run, p *plan.Plan, span [2]time.Duration) *traces {
	x := &traces{db: db, to: r.Manifest.Epoch.Add(span[1]), step: time.Second}
	x.step = max(time.Second, ((span[1]-span[0])/mostLimiterPoints + time.Second - 1).Truncate(time.Second))
	x.window = rateWindow(p)
	// The first users come at once, and what they leave behind in queues is gone after a window at the latest.
	x.from = r.Manifest.Epoch.Add(min(span[0]+x.window, span[1]))
	x.n = int(x.to.Sub(x.from)/x.step) + 1
	return x
}

// rateWindow is how far rates look back: as far as the rules do, and over at least two scrapes that came late.
func rateWindow(p *plan.Plan) time.Duration {
	return max(time.Duration(float64(time.Minute)*p.Workload.Pace).Truncate(time.Second), 5*time.Second)
}

func (x *traces) lines(ctx context.Context, query string) ([]series.Line, error) {
	q := x.expand(query)
	lines, err := x.db.Range(ctx, q, x.from, x.to, x.step)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return lines, nil
}

// expand puts the run's window into a query.
func (x *traces) expand(query string) string {
	return strings.ReplaceAll(strings.ReplaceAll(query, "$inflight", inflight), "$w", x.window.String())
}

// inflight is PromQL for the requests under way, by Little's law: those that end per second times the time that they take.
const inflight = `sum(rate(plimsoll_ops_total{op="op"}[$w])) * avg(avg_over_time(plimsoll_op_seconds{op="op", stat="mean"}[$w]))`

// grid puts a line on the clock; where it has no value there is NaN.
func (x *traces) grid(l series.Line) []float64 {
	out := make([]float64, x.n)
	for i := range out {
		out[i] = math.NaN()
	}
	for i, t := range l.T {
		if k := int(t.Sub(x.from) / x.step); k >= 0 && k < x.n {
			out[k] = l.V[i]
		}
	}
	return out
}

// observe reads users, the rule that broke, and who used CPU.
func (x *traces) observe(ctx context.Context, o *verdict.Observed) error {
	users, err := x.lines(ctx, `avg_over_time(plimsoll_users{state="active"}[$w])`)
	if err != nil {
		return err
	}
	if len(users) != 1 {
		return fmt.Errorf("the run has %d series of its active users, want one", len(users))
	}
	o.Users = x.grid(users[0])
	for i, u := range o.Users {
		if math.IsNaN(u) {
			o.Users[i] = 0
		}
	}
	if o.Rule != "" {
		// As it is written: a rule may have $window in its name, which is no window of ours.
		broken, err := x.db.Range(ctx, fmt.Sprintf(`max(plimsoll_slo_violated{rule=%q})`, o.Rule), x.from, x.to, x.step)
		if err != nil {
			return fmt.Errorf("when %s was violated: %w", o.Rule, err)
		}
		if len(broken) == 1 {
			o.Broken = make([]bool, x.n)
			for i, v := range x.grid(broken[0]) {
				o.Broken[i] = v > 0
			}
		}
	}
	if o.Capacity <= 0 {
		o.Capacity = meanBroken(*o)
	}
	cpu, err := x.lines(ctx, `sum by (role) (rate(plimsoll_process_cpu_seconds_total{role!="generator"}[$w]))`)
	if err != nil {
		return err
	}
	o.CPU, o.Shared = map[string][]float64{}, "target"
	for _, l := range cpu {
		o.CPU[l.Labels["role"]] = x.grid(l)
	}
	// Interrupts are nobody's process.
	busy, err := x.lines(ctx, `sum by (role) (rate(node_cpu_seconds_total{mode=~"user|nice|system", role=~".+", role!~"generator|host"}[$w]))`)
	if err != nil {
		return err
	}
	o.Busy = map[string][]float64{}
	for _, l := range busy {
		o.Busy[l.Labels["role"]] = x.grid(l)
	}
	o.Roles = slices.Sorted(maps.Keys(o.CPU))
	if !slices.Contains(o.Roles, "app") {
		o.Roles = append(o.Roles, "app")
	}
	return nil
}

// meanBroken is the load at which the rule was broken in a search that found no load at which it holds.
func meanBroken(o verdict.Observed) float64 {
	n, sum := 0, 0.0
	for i, b := range o.Broken {
		if b {
			n, sum = n+1, sum+o.Users[i]
		}
	}
	return sum / float64(max(n, 1))
}

func (x *traces) indicators(ctx context.Context, catalog []verdict.Indicator, o *verdict.Observed) error {
	for i, ind := range catalog {
		lines, err := x.lines(ctx, ind.Query)
		if err != nil {
			return err
		}
		doses := map[string][]float64{}
		if ind.Dose != "" {
			more, err := x.lines(ctx, ind.Dose)
			if err != nil {
				return err
			}
			for _, l := range more {
				doses[l.Labels["role"]] = x.grid(l)
			}
		}
		for _, l := range lines {
			role := l.Labels["role"]
			o.Traces = append(o.Traces, verdict.Trace{Indicator: i, Role: role, Values: x.grid(l), Dose: doses[role]})
		}
	}
	return nil
}

// printLimiter says what stopped a run; with all, also what was exonerated.
func printLimiter(w io.Writer, l *verdict.Limiter, all bool) {
	if l == nil {
		return
	}
	plain.Fprintf(w, "\n%s\n", l.Sentence)
	if l.Confidence != "" {
		plain.Fprintf(w, "  confidence: %s", l.Confidence)
		if len(l.Doubts) > 0 {
			plain.Fprintf(w, " (%s)", strings.Join(l.Doubts, "; "))
		}
		plain.Fprintf(w, "\n")
	}
	if l.Failed != "" && l.Name != verdict.LimitUnknown { // whose sentence has it
		plain.Fprintf(w, "  failures: %s\n", l.Failed)
	}
	for i, e := range l.Evidence {
		if i > 0 {
			plain.Fprintf(w, "  evidence: %s\n", e.Text())
		}
	}
	for _, s := range l.Others {
		plain.Fprintf(w, "  also: %s, %s\n", s.Name, s.Why)
	}
	if n := len(l.Exonerated); n > 0 && !all {
		plain.Fprintf(w, "  exonerated: %s; show lists their readings\n", strings.Join(innocent(l.Exonerated), ", "))
	}
	if all {
		for _, e := range l.Exonerated {
			plain.Fprintf(w, "  exonerated: %s: %s\n", e.Limiter, e.Text())
		}
	}
	if len(l.Unseen) > 0 {
		plain.Fprintf(w, "  not watched: %s (docs/probes.md)\n", strings.Join(l.Unseen, ", "))
	}
	if l.Advice != "" {
		plain.Fprintf(w, "  advice: %s\n", l.Advice)
	}
}

// innocent names each limiter and role once, in the order of the catalog.
func innocent(es []verdict.Evidence) (out []string) {
	for _, e := range es {
		if name := strings.TrimSpace(e.Limiter + " " + e.Role); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
