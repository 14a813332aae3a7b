package session

import (
	"context"
	"fmt"

	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
)

// CarriedError is the exit status of another process of this program, which has carried the whole
// invocation out and printed the reason.
type CarriedError struct{ Status int }

// Error implements error.
func (c CarriedError) Error() string { return fmt.Sprintf("status %d", c.Status) }

// Isolate runs the whole invocation again in a network of its own if the plan's target has
// networks, see [sandbox.Isolate]. done reports that the other program did the work; err is then
// its exit status. The preflight of the plan comes first, with the store at root.
func (pr *Program) Isolate(ctx context.Context, p *plan.Plan, root string) (done bool, err error) {
	if err := pr.preflight(ctx, p, root); err != nil {
		return false, err
	}
	if p.Compare != nil && p.Compare.Limited() || p.Networked() {
		if err := sandbox.Sweep(ctx); err != nil {
			return false, err
		}
	}
	if !p.Networked() {
		return false, nil
	}
	done, status, err := sandbox.Isolate(ctx, sandbox.Invocation{
		Args: pr.Args, Env: pr.Env, Stdin: p.String(), Stdout: pr.ChildOut, Stderr: pr.ChildErr,
	})
	if status > 0 {
		err = CarriedError{status} // the other program has printed the reason
	}
	return done, err
}
