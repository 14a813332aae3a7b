package trial

import (
	"context"
	"fmt"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// A LevelTest finds the number of users at which the target uses a part of its cores and breaks no
// rule of the Config.
type LevelTest struct {
	capacity.LevelConfig
	// Used reads the CPU time that each role of the target has used and could have used so far, in
	// seconds. A role that is not seen is not in it.
	Used func() map[string][2]float64
	// Ramp is the time in which users come, Window the time of one reading; whole seconds. Windows
	// are read until the work that arrivals cause is done.
	Ramp, Window time.Duration
}

const (
	// settling is the most windows that the work of arrivals may take.
	settling = 6
	// A use that fell by more than falling of itself, and by more than a hundredth of the cores,
	// may fall on; one of almost all cores may be a queue of arrivals.
	falling   = 0.1
	leastFall = 0.01
	allCores  = 0.95
)

// A FoundLevel is the result of a [LevelTest].
type FoundLevel struct {
	capacity.LevelResult
	Role string // the busiest
	// Arrival is the time of all its cores that a user costs by arriving, at the dearest level.
	Arrival time.Duration
}

// Predict makes it a level of other users, whose use grows with them. The text goes on after
// "predicted".
func (f *FoundLevel) Predict(users int, text string) {
	f.Utilization *= float64(users) / float64(f.Users)
	f.Users = users
	f.Capped = false
	f.Short = "predicted" + text
}

// findLevel carries the test out.
func (r *run) findLevel(ctx context.Context) error {
	l := r.Level
	r.beginPhase("pilot")
	defer r.endPhase()
	search := capacity.NewLevelSearch(l.LevelConfig)
	began := r.now()
	users := -1
	role := ""
	before := ""
	var arrival time.Duration
	for act := search.First(); !act.Done; {
		windows := 1
		from := l.Used()
		reached := r.now()
		if act.Users != users {
			if err := r.reachLevel(ctx, act); err != nil {
				return err
			}
			windows = settling
		}
		o := capacity.LevelReading{Users: act.Users}
		var err error
		if role, o.Utilization, err = r.settledUse(ctx, windows); err != nil {
			return err
		}
		if added := act.Users - max(users, 0); added > 0 {
			_, all := busiest(from, l.Used())
			more := (all - o.Utilization) * float64(r.now()-reached)
			arrival = max(arrival, time.Duration(more)/time.Duration(added))
		}
		o.At = r.now() - began
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
		r.event(record.Event{Kind: "note", Phase: r.phase, Users: users, Text: levelText(o, role)})
		act = search.Step(o)
	}
	found, ok := search.Result()
	if !ok {
		r.red("level", "no number of users was carried: "+found.Short)
		return nil
	}
	r.out.Level = &FoundLevel{found, role, arrival}
	return nil
}

// settledUse reads windows, so many at most, until the use of the busiest role does not fall any
// more, and returns the last.
func (r *run) settledUse(ctx context.Context, windows int) (role string, used float64, err error) {
	for k := range windows {
		was, before := used, r.Level.Used()
		if err := r.stay(ctx, r.Level.Window, nil); err != nil {
			return "", 0, err
		}
		if role, used = busiest(before, r.Level.Used()); role == "" {
			return "", 0, plan.Usagef(
				"bounded.users: auto needs the CPU of the target, which is not seen from here; " +
					"write a number, or add a probe of kind agent, pid or container, or metrics of its hosts",
			)
		}
		if k > 0 && used < allCores && was-used <= max(falling*was, leastFall) {
			break
		}
	}
	return role, used, nil
}

// reachLevel brings the users to the level of an action.
func (r *run) reachLevel(ctx context.Context, act capacity.LevelAction) error {
	l, rest := r.Level, time.Duration(0)
	if act.Rest {
		rest = 2 * l.Window
	}
	if err := r.Driver.SetUsers(act.Users, l.Ramp); err != nil {
		return err
	}
	return r.stay(ctx, l.Ramp+rest, nil)
}

func levelText(o capacity.LevelReading, role string) string {
	text := fmt.Sprintf(
		"at %d users %s uses %.0f %% of its cores",
		o.Users,
		role,
		100*o.Utilization,
	)
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

// carriedLevel reads how long users waited in the window that ends now, and whether they are
// carried. The number of their operations is no sign: a new user looks at more than an old one.
func (r *run) carriedLevel(ctx context.Context, w stretch, o *capacity.LevelReading) {
	if t := w.userSeconds(); t > 0 {
		o.Waiting = min(w.steady().Response.Sum().Seconds()/t, 1)
	}
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
