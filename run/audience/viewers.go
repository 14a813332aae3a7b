package audience

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/record"
	"plimsoll/run/live"
)

// A Fleet is the agents on other hosts that have the users of a run.
type Fleet interface {
	States() []fleet.AgentState
}

// Viewers are the readers of a run's socket. They are a [trial.Audience].
type Viewers struct {
	pub       *live.Publisher // nil: the socket could not be made
	broadcast *live.Broadcast // the comparison or sizing that the run belongs to; nil for none
	like      live.Frame      // the fields that stay
	most      int             // users that may be set
	bound     string          // why no more
	stop      func(error)     // ends the invocation; nil where nobody may
	turn      func() bool     // reports whether the run has its turn; nil outside a duet
	fleet     Fleet           // nil: this process has the users
	own       func(key string) (float64, time.Time, bool)

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

// A Config describes a run to those who watch it.
type Config struct {
	Writer *record.Writer
	Clock  *clock.Clock
	Mix    []engine.Part
	// Users is the number for which the run was made ready.
	Users int
	// Verb is the verb of the invocation.
	Verb string
	// Blocks is the number of blocks of the comparison under way; 0 outside one.
	Blocks int
	// Broadcast is the comparison or sizing that the run belongs to; nil for none.
	Broadcast *live.Broadcast
	// Turn reports whether the run has its turn; nil outside a duet.
	Turn func() bool
	// Stop ends the invocation; nil where nobody may.
	Stop func(cause error)
}

// Open opens the socket of a run. Without one the run goes on, and its log has the reason.
// The caller calls End.
func Open(c Config) *Viewers {
	m := c.Writer.Manifest()
	a := &Viewers{broadcast: c.Broadcast, turn: c.Turn, stop: c.Stop, ended: make(chan struct{})}
	a.like = live.Frame{
		ID:     m.ID,
		Began:  m.Epoch.UTC(),
		PID:    os.Getpid(),
		Verb:   c.Verb,
		Plan:   m.Name,
		Arm:    m.Arm,
		Engine: m.Engine,
		Storms: stormKinds(c.Mix),
	}
	a.most, a.bound = mostUsers(c.Users, c.Mix)
	if m.Comparison != "" {
		a.like.Of = &live.PartOf{
			ID:    m.Comparison,
			Block: m.Block,
			Order: m.Order,
			Pilot: m.Pilot,
			Duet:  c.Turn != nil,
		}
		if c.Broadcast.Is(live.KindComparison) {
			a.like.Of.Blocks = c.Blocks
		}
	}
	var err error
	if a.pub, err = live.Open(c.Writer.Dir(), a.order); err != nil {
		_ = c.Writer.Event(record.Event{
			At:   c.Clock.Now(),
			Kind: "note",
			Text: "nobody can watch this run in a console: " + err.Error(),
		})
	}
	c.Writer.Hear(a.hear)
	a.wg.Go(func() { a.wait(time.Second, waitsFor) })
	return a
}

// Follow shows the processes with users: of a fleet, or of this process where fleet is nil, whose
// own use of CPU the function own reads.
func (a *Viewers) Follow(fleet Fleet, own func(key string) (float64, time.Time, bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleet, a.own = fleet, own
}

// waitsFor is after how long without a frame of the trial the agents are shown anew: it waits for
// one of them.
const waitsFor = 1500 * time.Millisecond

// wait shows the agents, how long they have been silent and the log while the trial publishes
// nothing, because it waits for an agent, until the audience ends.
func (a *Viewers) wait(every, after time.Duration) {
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

// hear keeps the last lines of the log.
func (a *Viewers) hear(n int, e record.Event) {
	if e.Routine() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, live.LogLine{
		N:     n,
		At:    e.At.Seconds(),
		Kind:  e.Kind,
		Text:  e.Line(),
		Level: e.Level,
	})
	if len(a.log) > live.ShownLines {
		a.log = slices.Delete(a.log, 0, 1)
	}
}

// Watched implements [trial.Audience].
func (a *Viewers) Watched() bool { return a.pub.Watched() || a.broadcast.Watched() }

// Progress implements [trial.Audience].
func (a *Viewers) Progress(phase string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

// Publish implements [trial.Audience].
func (a *Viewers) Publish(f *live.Frame) {
	f.ID = a.like.ID
	f.Began = a.like.Began
	f.PID = a.like.PID
	f.Verb = a.like.Verb
	f.Plan = a.like.Plan
	f.Arm = a.like.Arm
	f.Engine = a.like.Engine
	f.Of = a.like.Of
	f.Storms = a.like.Storms
	if a.turn != nil { // its clock stands without a turn: this second was its own
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
func (a *Viewers) show(f *live.Frame) {
	f.Agents = a.agents(f)
	a.mu.Lock()
	f.Log = slices.Clone(a.log)
	f.Exploratory = cmp.Or(a.hand, f.Exploratory)
	a.mu.Unlock()
	a.broadcast.Show(f, a.turn)
	a.pub.Publish(f)
}

// agents are the processes that have the users.
func (a *Viewers) agents(f *live.Frame) []live.AgentRow {
	if a.fleet == nil {
		out := slices.Clone(f.Agents)
		for i := range out {
			if v, at, ok := a.own("plimsoll_generator_cpu_ratio"); ok &&
				time.Since(at) < live.SilentAfter {
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
	one := live.AgentRow{
		Name:  st.Name,
		Users: st.Users,
		Lag:   ms(st.Lag),
		CPU:   st.CPU,
		Clock: ms(st.Ahead),
		Heard: ms(st.Heard) / 1e3,
		State: live.Here,
	}
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

// End tells the readers how the run ended.
func (a *Viewers) End(v record.Validity, why string) {
	end := live.Ending{State: "ended", Why: why, Valid: &v.Valid}
	if why != "" {
		end.State = string(record.Interrupted)
	}
	close(a.ended)
	a.wg.Wait()
	a.broadcast.Over(a.like.ID)
	a.pub.Close(end)
}
