package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
)

// ShownLines is the largest number of log lines in a frame.
const ShownLines = 8

// A Broadcast publishes a comparison or sizing while it goes on. Its methods are safe for
// concurrent use, and do nothing on nil.
type Broadcast struct {
	pub     *Publisher
	stop    func()
	publish sync.WaitGroup
	cancel  context.CancelFunc

	mu    sync.Mutex
	now   Whole
	turns map[string]func() bool // whether a run has the turn, by its id
	lines int
}

// OpenBroadcast publishes in a directory, one frame a second while somebody watches, until Close is
// called or ctx ends. like holds the fields that stay, and the time at which all began. stop ends
// the invocation in order; nil where nobody may do that.
func OpenBroadcast(ctx context.Context, dir string, like Whole, stop func()) (*Broadcast, error) {
	b := &Broadcast{now: like, stop: stop, turns: map[string]func() bool{}}
	b.now.V = Version
	var err error
	if b.pub, err = Open(dir, b.order); err != nil {
		return nil, err
	}
	ctx, b.cancel = context.WithCancel(ctx)
	b.publish.Go(func() { b.everySecond(ctx) })
	return b, nil
}

// Close publishes how it ended, as the last line.
func (b *Broadcast) Close(end Ending) {
	if b == nil {
		return
	}
	b.cancel()
	b.publish.Wait()
	b.pub.Close(end)
}

func (b *Broadcast) everySecond(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if b.pub.Watched() {
			b.pub.Publish(b.frame(time.Now()))
		}
	}
}

func (b *Broadcast) frame(at time.Time) Whole {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.now
	f.At = at.Sub(f.Began).Seconds()
	f.Seq = int64(f.At)
	f.Runs = slices.Clone(f.Runs)
	f.Log = slices.Clone(f.Log)
	for i := range f.Runs {
		if turn := b.turns[f.Runs[i].ID]; turn != nil {
			f.Runs[i].Turn = turn()
		}
	}
	return f
}

// Watched reports whether anybody reads the frames.
func (b *Broadcast) Watched() bool { return b != nil && b.pub.Watched() }

// Is reports whether it is of a kind, [KindComparison] or [KindSizing].
func (b *Broadcast) Is(kind string) bool { return b != nil && b.now.Kind == kind }

// order stops all of it: nothing else can be done to a whole.
func (b *Broadcast) order(o Order) (string, error) {
	switch {
	case o.Do != OrderStop:
		return "", fmt.Errorf("order %q: a comparison or sizing can be stopped only; "+
			"its runs take orders of their own", o.Do)
	case b.stop == nil:
		return "", fmt.Errorf("this program cannot be stopped from here")
	}
	b.mu.Lock()
	b.now.Exploratory = "it was stopped by hand"
	b.mu.Unlock()
	b.stop()
	return "It ends in order: users, servers and databases are stopped.", nil
}

// SetBlock sets the block, or the step of a sizing, that is under way, before its first run.
func (b *Broadcast) SetBlock(block int, again bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.Block = block
	b.now.Again = again
	b.now.Runs = nil
}

// SetBlocks sets how many blocks there are, for a sizing whose steps are found while it goes on.
func (b *Broadcast) SetBlocks(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.Blocks = n
}

// SetStep sets the line of progress.
func (b *Broadcast) SetStep(step, text string, left time.Duration) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.Step = step
	b.now.Text = text
	b.now.Left = max(left, 0).Seconds()
}

// Say adds a line to the log.
func (b *Broadcast) Say(text string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines++
	at := time.Since(b.now.Began).Seconds()
	text = plain.Excerpt(strings.TrimSpace(text), 400)
	b.now.Log = append(b.now.Log, LogLine{N: b.lines, At: at, Kind: "note", Text: text})
	if len(b.now.Log) > ShownLines {
		b.now.Log = slices.Delete(b.now.Log, 0, 1)
	}
}

// Show takes the newest frame of one of its runs. turn reports whether a run of a duet has the
// turn; nil for a run that has all the time.
func (b *Broadcast) Show(f *Frame, turn func() bool) {
	if b == nil {
		return
	}
	one := Now{
		ID: f.ID, Arm: f.Arm, Engine: f.Engine, Phase: f.Phase, Turn: turn == nil,
		Active: f.Users.Active, Ops: f.Ops, Errors: f.Errors.Total,
	}
	if f.Response != nil {
		one.P95 = f.Response.P95
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.Exploratory = cmp.Or(b.now.Exploratory, f.Exploratory)
	b.turns[f.ID] = turn
	byID := func(r Now, id string) int { return cmp.Compare(r.ID, id) }
	i, ok := slices.BinarySearchFunc(b.now.Runs, f.ID, byID)
	if ok {
		b.now.Runs[i] = one
		return
	}
	b.now.Runs = slices.Insert(b.now.Runs, i, one)
}

// Over takes out a run that has ended.
func (b *Broadcast) Over(id string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.turns, id)
	b.now.Runs = slices.DeleteFunc(b.now.Runs, func(r Now) bool { return r.ID == id })
}
