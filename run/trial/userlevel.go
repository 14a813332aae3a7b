package trial

import (
	"context"
	"fmt"
	"time"

	"plimsoll/plan"
	"plimsoll/run/capacity"
	"plimsoll/run/record"
)

// A LevelTest finds the number of users at which the target uses a part of its cores and breaks no
// rule of the Config.
type LevelTest struct {
	capacity.LevelConfig
	// Used reads the CPU time that each role of the target has used and could have used so far, in
	// seconds. A role that is not seen is not in it.
	Used func() map[string][2]float64
	// Ramp is the time in which users come, Settle the time after it that is not read, Window the
	// time that is; whole seconds.
	Ramp, Settle, Window time.Duration
}

// A FoundLevel is the result of a [LevelTest].
type FoundLevel struct {
	capacity.LevelResult
	Role string // the busiest
}

// findLevel carries the test out.
func (r *run) findLevel(ctx context.Context) error {
	l := r.Level
	r.beginPhase("pilot")
	defer r.endPhase()
	search := capacity.NewLevelSearch(l.LevelConfig)
	began, users, role, before := r.now(), -1, "", ""
	for act := search.First(); !act.Done; {
		if act.Users != users {
			if err := r.reachLevel(ctx, act); err != nil {
				return err
			}
		}
		used := l.Used()
		if err := r.stay(ctx, l.Window, nil); err != nil {
			return err
		}
		o := capacity.LevelReading{At: r.now() - began, Users: act.Users}
		if role, o.Utilization = busiest(used, l.Used()); role == "" {
			return plan.Usagef("bounded.users: auto needs the CPU of the target, which is not seen from here; " +
				"write a number, or add a probe of kind agent, pid or container, or metrics of its hosts")
		}
		w := r.trail.last(l.Window)
		f, red := r.generatorFault(w)
		if users < 0 {
			before = f.Gate // was red without load to speak of: it is not for the users to lift
		}
		if red && f.Gate != before && !record.Foreign(f.Gate) {
			o.Broken = "the load generator was at its limit: " + f.Text
		}
		r.carriedLevel(ctx, w, &o)
		users = act.Users
		r.event(record.Event{At: r.now(), Kind: "note", Phase: r.phase, Users: users,
			Text: levelText(o, role)})
		act = search.Step(o)
	}
	found, ok := search.Result()
	if !ok {
		r.out.Validity.Add(record.Finding{Gate: "level", Level: record.Red,
			Text: "no number of users was carried: " + found.Short})
		return nil
	}
	r.out.Level = &FoundLevel{found, role}
	return nil
}

// reachLevel brings the users to the level of an action and lets them settle.
func (r *run) reachLevel(ctx context.Context, act capacity.LevelAction) error {
	l, settle := r.Level, r.Level.Settle
	if act.Rest {
		settle *= 3
	}
	if err := r.Driver.SetUsers(act.Users, l.Ramp); err != nil {
		return err
	}
	return r.stay(ctx, l.Ramp+settle, nil)
}

func levelText(o capacity.LevelReading, role string) string {
	text := fmt.Sprintf("at %d users %s uses %.0f %% of its cores", o.Users, role, 100*o.Utilization)
	if o.Broken != "" {
		text += ", and " + o.Broken
	}
	return text
}

// busiest returns the role that used the largest part of its CPU time between two readings, and the
// part; "" for none.
func busiest(from, to map[string][2]float64) (role string, part float64) {
	for name, t := range to {
		f, ok := from[name]
		if !ok || t[1] <= f[1] {
			continue
		}
		if p := (t[0] - f[0]) / (t[1] - f[1]); role == "" || p > part {
			role, part = name, p
		}
	}
	return role, part
}

// carriedLevel reads the operations of the window that ends now, and whether its users are carried.
func (r *run) carriedLevel(ctx context.Context, w stretch, o *capacity.LevelReading) {
	o.Ops = float64(w.steady().Count())
	desired, active, failed := r.Driver.Users()
	switch {
	case failed > 0:
		o.Broken = fmt.Sprintf("%d users failed for good", failed)
	case float64(active) < short*float64(desired):
		o.Broken = fmt.Sprintf("only %d of %d users came", active, desired)
	}
	for _, rd := range r.readings(ctx, w, true) {
		if o.Broken == "" && !rd.Warning && rd.Status() == capacity.Violated {
			o.Broken = rd.Rule + " breaks"
		}
	}
}
