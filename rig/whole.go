package rig

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/record"
	"plimsoll/run/live"
)

// whole publishes a comparison or sizing while it goes on. Its methods are safe for concurrent use, and do nothing on
// nil.
type whole struct {
	pub  *live.Publisher
	stop func(error)

	mu    sync.Mutex
	now   live.Whole
	duets map[string]*place // by run
	lines int
}

// openWhole begins to publish in a directory, until the function that it returns is called with how it ended. Without a
// socket nothing is published, and the progress has the reason.
func (s *Session) openWhole(ctx context.Context, dir string, like live.Whole) (end func(why string)) {
	w := &whole{now: like, stop: s.Stop, duets: map[string]*place{}}
	w.now.V, w.now.PID, w.now.Verb, w.now.Plan, w.now.Began = live.Version, os.Getpid(), s.Verb(), s.Plan.Name, time.Now().UTC()
	var err error
	if w.pub, err = live.Open(dir, w.order); err != nil {
		s.Progress.Say("plimsoll: nobody can watch this in a console: %v", err)
		return func(string) {}
	}
	s.whole = w
	s.Progress.hear(w.step, w.say)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.publish(ctx)
	}()
	return func(why string) {
		cancel()
		<-done
		s.Progress.hear(nil, nil)
		s.whole = nil
		state := "ended"
		if why != "" {
			state = string(record.Interrupted)
		}
		w.pub.Close(live.Ending{State: state, Why: why})
	}
}

// publish hands out a frame a second while somebody watches.
func (w *whole) publish(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.pub.Watched() {
			w.pub.Publish(w.frame(time.Now()))
		}
	}
}

func (w *whole) frame(at time.Time) live.Whole {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.now
	f.At = at.Sub(f.Began).Seconds()
	f.Seq = int64(f.At)
	f.Runs, f.Log = slices.Clone(f.Runs), slices.Clone(f.Log)
	for i := range f.Runs {
		if p := w.duets[f.Runs[i].ID]; p != nil {
			f.Runs[i].Turn = p.hasTurn()
		}
	}
	return f
}

func (w *whole) watched() bool { return w != nil && w.pub.Watched() }

func (w *whole) is(kind string) bool { return w != nil && w.now.Kind == kind }

// order stops all of it: nothing else can be done to a whole.
func (w *whole) order(o live.Order) (string, error) {
	switch {
	case o.Do != live.OrderStop:
		return "", fmt.Errorf("order %q: a comparison or sizing can be stopped only; its runs take orders of their own", o.Do)
	case w.stop == nil:
		return "", fmt.Errorf("this program cannot be stopped from here")
	}
	w.mu.Lock()
	w.now.Exploratory = "it was stopped by hand"
	w.mu.Unlock()
	w.stop(errStopped)
	return "It ends in order: users, servers and databases are stopped.", nil
}

// at sets the block, or the step of a sizing, that is under way.
func (w *whole) at(block int, again bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Block, w.now.Again, w.now.Runs = block, again, nil
}

// steps sets how many blocks there are, of a sizing whose steps are found while it goes on.
func (w *whole) steps(n int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Blocks = n
}

// step takes the line of the progress.
func (w *whole) step(step, text string, left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Step, w.now.Text, w.now.Left = step, text, max(left, 0).Seconds()
}

// say takes a line that stays.
func (w *whole) say(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines++
	w.now.Log = append(w.now.Log, live.LogLine{N: w.lines, At: time.Since(w.now.Began).Seconds(), Kind: "note", Text: plain.Excerpt(strings.TrimSpace(text), 400)})
	if len(w.now.Log) > shownLines {
		w.now.Log = slices.Delete(w.now.Log, 0, 1)
	}
}

// run takes the present of one of its runs.
func (w *whole) run(f *live.Frame, duet *place) {
	if w == nil {
		return
	}
	one := live.Now{ID: f.ID, Arm: f.Arm, Engine: f.Engine, Phase: f.Phase, Active: f.Users.Active, Ops: f.Ops, Errors: f.Errors.Total, Turn: duet == nil}
	if f.Response != nil {
		one.P95 = f.Response.P95
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Exploratory = cmp.Or(w.now.Exploratory, f.Exploratory)
	w.duets[f.ID] = duet
	i, ok := slices.BinarySearchFunc(w.now.Runs, f.ID, func(r live.Now, id string) int { return cmp.Compare(r.ID, id) })
	if ok {
		w.now.Runs[i] = one
		return
	}
	w.now.Runs = slices.Insert(w.now.Runs, i, one)
}

// over takes a run out.
func (w *whole) over(id string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.duets, id)
	w.now.Runs = slices.DeleteFunc(w.now.Runs, func(r live.Now) bool { return r.ID == id })
}

// wholeOf is a comparison before its first run.
func (s *Session) wholeOf(id string, duet bool) live.Whole {
	w := live.Whole{Kind: live.KindComparison, ID: id, Mode: "sequence", Step: "beginning", Blocks: s.Plan.Compare.Blocks, Engines: comparison.Engines(s.Plan)}
	if duet {
		w.Mode = "duet"
	}
	for _, a := range s.Plan.Compare.Arms {
		w.Arms = append(w.Arms, a.Name)
	}
	return w
}

// hasTurn reports whether the run has the turn at present.
func (p *place) hasTurn() bool {
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	return p.shared.of == &p.counts
}
