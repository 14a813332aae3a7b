package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/live"
	"plimsoll/run/trial"
)

const (
	mostOver = 600 // seconds over which users may come
	// mostTimes is how many times the users of the plan a person may set: sockets and memory are for the plan's.
	mostTimes = 10
)

// audience is who watches a run: the readers of its socket. It is a [trial.Audience].
type audience struct {
	pub       *live.Publisher // nil: the socket could not be made
	broadcast *live.Broadcast // the comparison or sizing that the run belongs to; nil for none
	like      live.Frame      // the fields that stay
	most      int             // users that may be set
	bound     string          // why no more
	stop      func(error)     // ends the invocation; nil where nobody may
	duet      *DuetPlace      // nil outside a duet
	fleet     interface {     // nil: this process has the users
		States() []fleet.AgentState
	}
	own func(key string) (float64, time.Time, bool)

	mu     sync.Mutex
	orders []live.Order
	over   bool // the trial carries out no more of them
	phase  string
	hand   string // how it was steered
	log    []live.LogLine
	newest *live.Frame // that was published
	at     time.Time   // when
	ended  chan struct{}
	wg     sync.WaitGroup
}

// watchable opens the socket of a run. Without one the run goes on, and its log has the reason.
func (s *Session) watchable(w *record.Writer, pt RunPart, run *clock.Clock, sys *deploy.System) *audience {
	m := w.Manifest()
	a := &audience{broadcast: s.broadcast, ended: make(chan struct{}), duet: pt.Place, stop: s.Stop,
		like: live.Frame{ID: m.ID, Began: m.Epoch.UTC(), PID: os.Getpid(), Verb: s.Verb(), Plan: m.Name, Arm: m.Arm, Engine: m.Engine, Storms: stormKinds(sys)}}
	a.most, a.bound = mostUsers(s.Users(pt), sys.Mix)
	if m.Comparison != "" {
		a.like.Of = &live.PartOf{ID: m.Comparison, Block: m.Block, Order: m.Order, Pilot: m.Pilot, Duet: pt.Place != nil}
		if c := s.Plan.Compare; c != nil && s.broadcast.Is(live.KindComparison) {
			a.like.Of.Blocks = c.Blocks
		}
	}
	var err error
	if a.pub, err = live.Open(w.Dir(), a.order); err != nil {
		_ = w.Event(record.Event{At: run.Now(), Kind: "note", Text: "nobody can watch this run in a console: " + err.Error()})
	}
	w.Hear(a.hear)
	a.wg.Go(func() { a.wait(time.Second, waitsFor) })
	return a
}

// waitsFor is after how long without a frame of the trial the agents are shown anew: it waits for one of them.
const waitsFor = 1500 * time.Millisecond

// wait shows the agents, how long they have been silent and the log while the trial publishes nothing, because it waits for
// an agent, until the audience ends.
func (a *audience) wait(every, after time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-a.ended:
			return
		case <-tick.C:
		}
		a.mu.Lock()
		f, at := a.newest, a.at
		a.mu.Unlock()
		if f == nil || a.fleet == nil || time.Since(at) < after || !a.Watched() {
			continue
		}
		again := *f
		a.show(&again)
	}
}

// Verb is the verb of the invocation.
func (pr *Program) Verb() string {
	if len(pr.Args) == 0 {
		return ""
	}
	return pr.Args[0]
}

// hear keeps the last lines of the log.
func (a *audience) hear(n int, e record.Event) {
	if e.Routine() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, live.LogLine{N: n, At: e.At.Seconds(), Kind: e.Kind, Text: e.Line(), Level: e.Level})
	if len(a.log) > live.ShownLines {
		a.log = slices.Delete(a.log, 0, 1)
	}
}

// Watched implements [trial.Audience].
func (a *audience) Watched() bool { return a.pub.Watched() || a.broadcast.Watched() }

// Progress implements [trial.Audience].
func (a *audience) Progress(phase string, exploratory bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

// Orders implements [trial.Audience].
func (a *audience) Orders() []live.Order {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.orders
	a.orders = nil
	return out
}

// LastOrders implements [trial.Audience].
func (a *audience) LastOrders() []live.Order {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	return a.Orders()
}

// Publish implements [trial.Audience].
func (a *audience) Publish(f *live.Frame) {
	f.ID, f.Began, f.PID, f.Verb, f.Plan, f.Arm, f.Engine, f.Of, f.Storms = a.like.ID, a.like.Began, a.like.PID, a.like.Verb, a.like.Plan, a.like.Arm,
		a.like.Engine, a.like.Of, a.like.Storms
	if a.duet != nil { // its clock stands without a turn: this second was its own
		of := *f.Of
		of.Turn = true
		f.Of = &of
	}
	a.mu.Lock()
	a.newest, a.at = f, time.Now()
	a.mu.Unlock()
	again := *f
	a.show(&again)
}

// show publishes a frame with the agents and the log as they are now.
func (a *audience) show(f *live.Frame) {
	f.Agents = a.agents(f)
	a.mu.Lock()
	f.Log = slices.Clone(a.log)
	f.Exploratory = cmp.Or(a.hand, f.Exploratory)
	a.mu.Unlock()
	a.broadcast.Show(f, a.duet.turn())
	a.pub.Publish(f)
}

// agents are the processes that have the users.
func (a *audience) agents(f *live.Frame) []live.AgentRow {
	if a.fleet == nil {
		out := slices.Clone(f.Agents)
		for i := range out {
			if v, at, ok := a.own("plimsoll_generator_cpu_ratio"); ok && time.Since(at) < live.SilentAfter {
				out[i].CPU = v
			}
		}
		return out
	}
	var out []live.AgentRow
	for _, st := range a.fleet.States() {
		out = append(out, agentRow(st))
	}
	return out
}

func agentRow(st fleet.AgentState) live.AgentRow {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	one := live.AgentRow{Name: st.Name, Users: st.Users, Lag: ms(st.Lag), CPU: st.CPU, Clock: ms(st.Ahead), Heard: ms(st.Heard) / 1e3, State: live.Here}
	switch {
	case st.Lost:
		one.State = live.Lost
	case st.Ended:
		one.State = live.Ended
	case st.Owes > live.SilentAfter:
		one.State = live.Silent
	}
	return one
}

// order accepts or refuses an order.
func (a *audience) order(o live.Order) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.Over < 0 || o.Over > mostOver {
		return "", fmt.Errorf("over %g s: want 0 to %d", o.Over, mostOver)
	}
	if a.over && (o.Do == live.OrderUsers || o.Do == live.OrderStorm) {
		return "", errors.New("users can be set, and storms injected, until the bounded test ends, and it has ended")
	}
	switch o.Do {
	case live.OrderStop:
		if a.stop == nil {
			return "", errors.New("this program cannot be stopped from here")
		}
		a.hand = cmp.Or(a.hand, "it was stopped by hand")
		a.stop(errStopped)
		return "It ends in order: users, servers and databases are stopped.", nil
	case live.OrderUsers:
		switch {
		case o.Users < 0 || o.Users > a.most:
			return "", fmt.Errorf("%d users: want 0 to %d, %s", o.Users, a.most, a.bound)
		case !slices.Contains([]string{"ramp", "settle", "soak", "measure"}, a.phase):
			return "", fmt.Errorf("users can be set while a bounded test has its users, and this is the phase %q: a search sets them itself", a.phase)
		}
		a.orders = append(a.orders, o)
		return fmt.Sprintf("%d users are wanted from the next tick on. The run is exploratory now.", o.Users), nil
	case live.OrderStorm:
		switch {
		case !slices.Contains(a.like.Storms, o.Kind):
			return "", fmt.Errorf("storm %q: these users take part in %v", o.Kind, a.like.Storms)
		case !(o.Share > 0 && o.Share <= 1):
			return "", fmt.Errorf("share %g: want more than 0, at most 1", o.Share)
		case a.phase != "measure":
			return "", fmt.Errorf("a storm can be injected in the phase measure, and this is the phase %q", a.phase)
		}
		a.orders = append(a.orders, o)
		return fmt.Sprintf("The storm %s begins with the next tick. The run is exploratory now.", o.Kind), nil
	}
	return "", fmt.Errorf("order %q: want %s, %s or %s", o.Do, live.OrderStop, live.OrderUsers, live.OrderStorm)
}

// errStopped is the cause of the end of an invocation that was stopped from a console.
var errStopped = errors.New("stopped by hand in the console")

// steered returns how the run was steered; empty when it was not.
func (a *audience) steered(out *trial.Outcome) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(out.Exploratory, a.hand)
}

// end tells the readers how the run ended.
func (a *audience) end(v record.Validity, why string) {
	end := live.Ending{State: "ended", Why: why, Valid: &v.Valid}
	if why != "" {
		end.State = string(record.Interrupted)
	}
	close(a.ended)
	a.wg.Wait()
	a.broadcast.Over(a.like.ID)
	a.pub.Close(end)
}

// mostUsers returns how many users a person may set in a run that was made ready for so many, and why no more.
func mostUsers(ready int, mix []engine.Part) (most int, bound string) {
	most, bound = max(mostTimes*ready, 1000), fmt.Sprintf("the most that a run of %d users takes", ready)
	for _, part := range mix {
		b, ok := part.Behavior.(workload.Limited)
		if !ok || part.Share <= 0 {
			continue
		}
		// One more was provisioned than the share, for what rounding deals to a part.
		if n, ok := b.Most(); ok && float64(n-1)/part.Share < float64(most) {
			most, bound = int(float64(n-1)/part.Share), "the users that have accounts: a plan for more makes more"
		}
	}
	return max(most, ready), bound
}

// stormKinds are the kinds of storms in which the users of a mix take part.
func stormKinds(sys *deploy.System) []string {
	var out []string
	for _, part := range sys.Mix {
		if x, ok := part.Behavior.(workload.StormKinds); ok {
			out = append(out, x.StormKinds()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
