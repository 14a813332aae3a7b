package compare

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"plimsoll/record"
)

// TestVoidBlockWaitsAndIsRunAgain waits for a quiet host before each repeat, until the plan's time
// is used up: 12 minutes, of which a wait takes one and a block four. Then the comparison ends with
// the blocks that it has.
func TestVoidBlockWaitsAndIsRunAgain(t *testing.T) {
	b := newBench(t)
	for try := range 20 {
		b.invalid[fmt.Sprintf("3 new mysql %d", try+1)] = true
	}
	var most []time.Duration
	b.quiet = func(_ context.Context, d time.Duration) error {
		most = append(most, d)
		return nil
	}
	c := b.compare(3)
	if c.State != record.Sealed || len(c.Runs) != 2+24+3*4 || c.Retried != 12*time.Minute {
		t.Fatalf("%d runs, %v for what was run again, %s", len(c.Runs), c.Retried, c.State)
	}
	if fmt.Sprint(most) != "[30s 1m0s 2m0s]" {
		t.Errorf("waits of at most %v", most)
	}
	if arms, _ := b.judge(c); arms[1].Verdict.Results[0].N != 5 {
		t.Errorf("%d pairs judged", arms[1].Verdict.Results[0].N)
	}
}

// TestWaitIsInterrupted ends a comparison that waits.
func TestWaitIsInterrupted(t *testing.T) {
	b := newBench(t)
	b.invalid["3 new mysql 1"] = true
	ctx, cancel := context.WithCancelCause(t.Context())
	b.quiet = func(ctx context.Context, _ time.Duration) error {
		cancel(errors.New("interrupt"))
		return context.Cause(ctx)
	}
	p := parse(t)
	p.Compare.Retry = 12 * time.Minute
	if c := carriedOut(ctx, t, b.config(p)); c.State != record.Interrupted || len(c.Runs) != 2+24 ||
		c.Why != "interrupt" {
		t.Errorf("%s %s, %d runs", c.State, c.Why, len(c.Runs))
	}
}
