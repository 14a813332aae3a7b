package trial

import (
	"context"
	"fmt"
	"time"

	"plimsoll/plan"
	"plimsoll/run/capacity"
	"plimsoll/run/record"
)

// A LevelTest finds the number of users at which the target uses a part of its cores and breaks no rule of the Config.
type LevelTest struct {
	capacity.LevelConfig
	// Roles are those of the target whose CPU may be seen; the busiest counts.
	Roles []string
	// Quota is the part of their cores that they may use, above 0 and at most 1.
	Quota float64
	// Ramp is the time in which users come, Settle the time after it that is not read, Window the time that is; whole
	// seconds.
	Ramp, Settle, Window time.Duration
}

// A FoundLevel is the result of a [LevelTest].
type FoundLevel struct {
	capacity.Level
	Role string // the busiest
}

// findLevel carries the test out.
func (r *run) findLevel(ctx context.Context) error {
	l := r.Level
	r.beginPhase("pilot")
	defer r.endPhase()
	search := capacity.NewLevelSearch(l.LevelConfig)
	began, users := r.now(), -1
	role := ""
	for act := search.First(); !act.Done; {
		if act.Users != users {
			if err := r.Driver.SetUsers(act.Users, l.Ramp); err != nil {
				return err
			}
			settle := l.Settle
			if act.Rest {
				settle *= 3
			}
			if err := r.stay(ctx, l.Ramp+settle, nil); err != nil {
				return err
			}
			users = act.Users
		}
		if err := r.stay(ctx, l.Window, nil); err != nil {
			return err
		}
		o, busiest, err := r.readLevel(ctx)
		if err != nil {
			return err
		}
		o.At, o.Users, role = r.now()-began, users, busiest
		r.event(record.Event{At: r.now(), Kind: "note", Phase: r.phase, Users: users, Text: levelText(o, role)})
		act = search.Step(o)
	}
	found, ok := search.Result()
	if !ok {
		r.out.Validity.Add(record.Finding{Gate: "level", Level: record.Red, Text: "no number of users was carried: " + found.Short})
		return nil
	}
	r.out.Level = &FoundLevel{found, role}
	return nil
}

func levelText(o capacity.LevelReading, role string) string {
	text := fmt.Sprintf("at %d users %s uses %.0f %% of its cores", o.Users, role, 100*o.Utilization)
	if o.Broken != "" {
		text += ", and " + o.Broken
	}
	return text
}

// readLevel reads the window that ends now, and returns the busiest role.
func (r *run) readLevel(ctx context.Context) (o capacity.LevelReading, role string, err error) {
	w := r.trail.last(r.Level.Window)
	for _, name := range r.Level.Roles {
		if u, ok := w.cpu(name); ok && (role == "" || u/r.Level.Quota > o.Utilization) {
			o.Utilization, role = u/r.Level.Quota, name
		}
	}
	if role == "" {
		return o, "", plan.Usagef("bounded.users: auto needs the CPU of the target, which is not seen from here; write a number, " +
			"or add a probe of kind agent, pid or container, or metrics of its hosts")
	}
	o.Ops = float64(w.steady().Count())
	desired, active, failed := r.Driver.Users()
	switch f, red := r.generatorFault(w); {
	case failed > 0:
		o.Broken = fmt.Sprintf("%d users failed for good", failed)
	case float64(active) < short*float64(desired):
		o.Broken = fmt.Sprintf("only %d of %d users came", active, desired)
	case red && !record.Foreign(f.Gate):
		o.Broken = "the load generator was at its limit: " + f.Text
	}
	for _, rd := range r.readings(ctx, w, true) {
		if o.Broken == "" && !rd.Warning && rd.Status() == capacity.Violated {
			o.Broken = rd.Rule + " breaks"
		}
	}
	return o, role, nil
}
