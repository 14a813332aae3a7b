package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/judge/bisect"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// ErrMake is wrapped by the error of a build that cannot be made.
var ErrMake = errors.New("it cannot be made")

// most empty steps of one build: then it is skipped as one that gives no valid block.
const mostEmpty = 2

// A Bisection carries out the steps of a record.
type Bisection struct {
	*Record
	// Make returns the program of a build; the error wraps [ErrMake] if it cannot be made.
	Make func(ctx context.Context, b Build) (binary string, err error)
	// Measure compares two builds in blocks, as the comparison of an id, and returns the logarithms
	// of the ratios of the valid blocks, also when ctx ends.
	Measure func(ctx context.Context, id string, against, build Build, blocks int) ([]float64, error)
	// Recall returns the ratios of a comparison that was cut; none if it is not there.
	Recall func(id string) ([]float64, error)
	// Suspects looks for the commits from which the search starts, when a comparison has shown that
	// the ends differ; nil for no such search.
	Suspects func(ctx context.Context, comparison string) (*suspects.SuspectSearch, error)
	Save     func() error
	Say      func(format string, args ...any)
	// Until is when no more steps begin; zero for never.
	Until time.Time
	Now   func() time.Time
}

// errInvalid is the reason why a build is skipped that could be made.
var errInvalid = errors.New("no block of it is valid")

// errBudget is the reason why a search stopped whose time is over.
var errBudget = errors.New("its budget was used up")

// Carry carries out the search until it is over, or until ctx ends, which is no error: the record
// says so.
func (b *Bisection) Carry(ctx context.Context) error {
	if b.State == record.Sealed {
		return nil
	}
	b.State, b.Why = record.Running, ""
	if err := b.recall(); err != nil {
		return err
	}
	err := b.steps(ctx)
	b.conclude()
	switch {
	case err == nil:
		b.State = record.Sealed
	case ctx.Err() != nil:
		b.State, b.Why, err = record.Interrupted, context.Cause(ctx).Error(), nil
	case errors.Is(err, errBudget):
		b.State, b.Why, err = record.Interrupted, err.Error(), nil
	default:
		b.State, b.Why = record.Interrupted, err.Error()
	}
	return errors.Join(err, b.Save())
}

// OverBudget reports whether the search stopped because its time was over.
func (r *Record) OverBudget() bool { return r.Why == errBudget.Error() }

// MakeEnds makes the builds of both ends.
func (b *Bisection) MakeEnds(ctx context.Context) error {
	_, err := b.ready(ctx, bisect.NextStep{Build: len(b.Builds) - 1})
	return err
}

// recall takes the blocks of a step that was cut.
func (b *Bisection) recall() error {
	for i := range b.Steps {
		step := &b.Steps[i]
		if step.Done {
			continue
		}
		ratios, err := b.Recall(step.Comparison)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		step.Ratios, step.Done, step.Cut = ratios, true, true
	}
	return nil
}

// steps carries out steps until none is left.
func (b *Bisection) steps(ctx context.Context) error {
	for {
		next := b.conclude()
		if b.Answer.Outcome != bisect.Open {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !b.Until.IsZero() && !b.Now().Before(b.Until) {
			return errBudget
		}
		if next.Purpose != bisect.Ends && b.Suspects != nil && b.Record.Suspects == nil {
			if err := b.suspect(ctx); err != nil {
				return err
			}
			continue
		}
		ready, err := b.ready(ctx, next)
		if err != nil {
			return err
		}
		if !ready {
			continue
		}
		if err := b.step(ctx, next); err != nil {
			return err
		}
	}
}

// conclude updates the answer, and returns the next step.
func (b *Bisection) conclude() bisect.NextStep {
	s := b.search()
	next, answer := s.Next()
	b.Answer, b.Probabilities = answer, nil
	if answer.Probability > 0 {
		b.Probabilities = s.Posterior().First
	}
	return next
}

// suspect looks for suspects, and weighs the builds by them.
func (b *Bisection) suspect(ctx context.Context) error {
	ends := slices.MaxFunc(b.Steps, func(x, y StepRecord) int { // cut ones have less to show
		return cmp.Compare(len(x.Ratios), len(y.Ratios))
	})
	found, err := b.Suspects(ctx, ends.Comparison)
	if err != nil {
		return err
	}
	weights := map[int]float64{}
	for _, s := range found.Suspects {
		for i, build := range b.Builds {
			if build.Name == s.Commit && i > 0 {
				weights[i] = s.Weight
				b.Say("suspect: %d of %d, %s %q %s", i+1, len(b.Builds), build.Short(), build.Title, s.Reason)
			}
		}
	}
	b.Record.Suspects = found
	b.Prior = bisect.Weighted(len(b.Builds), weights)
	return b.Save()
}

// ready makes the builds of a step. It reports false if one of them was skipped.
func (b *Bisection) ready(ctx context.Context, next bisect.NextStep) (bool, error) {
	for _, i := range []int{next.Against, next.Build} {
		build := &b.Builds[i]
		if build.Binary != "" {
			continue
		}
		b.Say("making build %d of %d, %s %s", i+1, len(b.Builds), build.Short(), build.Title)
		binary, err := b.Make(ctx, *build)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err != nil && !errors.Is(err, ErrMake):
			return false, err
		case err != nil:
			return false, b.skip(i, err)
		}
		build.Binary = binary
	}
	return true, nil
}

// skip leaves a build out. The ends cannot be left out.
func (b *Bisection) skip(i int, why error) error {
	build := &b.Builds[i]
	if i == 0 || i == len(b.Builds)-1 {
		return plan.Usagef("both ends of the range are needed, choose another: build %d of %d, %s: %w",
			i+1, len(b.Builds), build.Short(), why)
	}
	b.Say("build %d of %d, %s is skipped: %v", i+1, len(b.Builds), build.Short(), why)
	build.Skipped = why.Error()
	return b.Save()
}

// step carries out one step.
func (b *Bisection) step(ctx context.Context, next bisect.NextStep) error {
	id := store.NewID(b.Now(), fmt.Sprintf("%s-%d-%d", b.Name, next.Build+1, next.Against+1))
	b.Steps = append(b.Steps, StepRecord{
		Build:      next.Build,
		Against:    next.Against,
		Purpose:    next.Purpose,
		Blocks:     next.Blocks,
		Comparison: id,
	})
	if err := b.Save(); err != nil { // a step that is cut by the end of this process is recalled
		return err
	}
	build, against := b.Builds[next.Build], b.Builds[next.Against]
	b.Say("step %d (%s): build %d of %d, %s, against build %d, %s; blocks: %d", len(b.Steps),
		next.Purpose, next.Build+1, len(b.Builds), build.Short(), next.Against+1, against.Short(),
		next.Blocks)
	ratios, err := b.Measure(ctx, id, against, build, next.Blocks)
	last := &b.Steps[len(b.Steps)-1]
	last.Ratios, last.Done, last.Cut = ratios, err == nil, ctx.Err() != nil
	if err != nil {
		return err
	}
	b.conclude()
	b.Say("  %s", b.Progress())
	if len(ratios) == 0 && ctx.Err() == nil && b.empty(next.Build) >= mostEmpty {
		if err := b.skip(next.Build, errInvalid); err != nil {
			return err
		}
	}
	return b.Save()
}

// empty returns how many steps of a build had no valid block.
func (b *Bisection) empty(build int) int {
	n := 0
	for _, s := range b.Steps {
		if s.Build == build && s.Done && !s.Cut && len(s.Ratios) == 0 {
			n++
		}
	}
	return n
}
