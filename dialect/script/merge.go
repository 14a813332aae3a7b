package script

import (
	"fmt"
	"maps"
	"strconv"

	"plimsoll/load/script"
	"plimsoll/plan"
)

// Merge returns the plan with what the script's options say, and the places where the two disagree.
// A plan without a test gets a bounded one; in a plan with one, users and times must be the same.
// Of a plan that only searches, the options' load has no say, and their thresholds are rules of the
// search. The plan given is not changed.
func Merge(p *plan.Plan, s Shape) (*plan.Plan, []plan.Refusal) {
	m := merging{old: p, s: s}
	q := *p
	m.load(&q)
	switch {
	case len(s.Rules) == 0:
	case q.Bounded != nil:
		b := *q.Bounded
		b.SLO = m.rules("bounded.slo", b.SLO)
		q.Bounded = &b
	case q.Unbounded != nil:
		u := *q.Unbounded
		u.SLO = m.rules("unbounded.slo", u.SLO)
		q.Unbounded = &u
	case q.Sizing == nil:
		m.refuse("options.thresholds", "judge a test, and there is none; write options.vus and "+
			"options.duration, or bounded in the plan")
	}
	if len(m.wrong) > 0 {
		return nil, m.wrong
	}
	return &q, nil
}

type merging struct {
	old *plan.Plan
	s   Shape
	refusals
}

// disagree notes two values that must be the same.
func (m *merging) disagree(key, planned, option, said string) {
	m.refuse(key, "is %s in the plan and %s in %s of the script; write the same, or remove one of them",
		planned, said, option)
}

// load puts users, times and arrivals into the plan, or compares them with its own.
func (m *merging) load(q *plan.Plan) {
	s := m.s
	if s.from == "" || m.old.Bounded == nil && m.old.HasTest() {
		return // nothing is said, or a search decides
	}
	if s.Rate > 0 {
		m.arrival(q)
	}
	if s.Iterations > 0 {
		params := maps.Clone(q.Workload.Params)
		if params == nil {
			params = map[string]string{}
		}
		said := strconv.Itoa(s.Iterations)
		if own, ok := params[script.Iterations]; ok && own != said {
			m.disagree("workload.params."+script.Iterations, own, s.from, said)
		}
		params[script.Iterations] = said
		q.Workload.Params = params
	}
	if s.Measure == 0 && m.old.Bounded == nil {
		m.refuse(s.from+".duration", "is missing; write how long, as in 30s, or bounded in the plan")
		return
	}
	b := m.old.Bounded
	if b == nil {
		q.Bounded = &plan.Bounded{
			Users: plan.PerEngine{"": s.Users}, Ramp: s.Ramp, Measure: s.Measure,
		}
		return
	}
	if n, ok := b.UsersFor(""); !ok || n != s.Users {
		planned := "auto"
		if ok {
			planned = strconv.Itoa(n)
		} else if !b.AutoUsers() {
			planned = "a number for each engine"
		}
		m.disagree("bounded.users", planned, s.from, strconv.Itoa(s.Users))
	}
	if s.Measure > 0 && b.Measure != s.Measure {
		m.disagree("bounded.measure", b.Measure.String(), s.from, s.Measure.String())
	}
	if s.Measure > 0 && b.Ramp != s.Ramp {
		m.disagree("bounded.ramp", b.Ramp.String(), s.from, s.Ramp.String())
	}
}

// arrival puts a rate into the plan, or compares it.
func (m *merging) arrival(q *plan.Plan) {
	if a := q.Workload.Arrival; a != nil {
		if a.Rate != m.s.Rate {
			m.disagree("workload.arrival.rate", a.Rate.String(), m.s.from, m.s.Rate.String())
		}
		return
	}
	// As in k6, an iteration for which no user is free is dropped.
	q.Workload.Arrival = &plan.Arrival{
		Rate: m.s.Rate, Process: plan.Constant, InFlight: max(m.s.InFlight, 1),
	}
}

// rules returns the rules of both; two of the same quantity must be the same.
func (m *merging) rules(key string, of []plan.SLO) []plan.SLO {
	out := append([]plan.SLO(nil), of...)
	for _, t := range m.s.Rules {
		found := false
		for i, r := range of {
			same := r.Stat == t.SLO.Stat && r.Arg == t.SLO.Arg && r.Service == t.SLO.Service
			if found = found || same; same && r.Threshold != t.SLO.Threshold {
				m.disagree(fmt.Sprintf("%s[%d]", key, i), r.Source, t.Path, t.SLO.Source)
			}
		}
		if !found {
			out = append(out, t.SLO)
		}
	}
	return out
}
