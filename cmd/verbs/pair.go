package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"plimsoll/cmd/internal/contenders"
	"plimsoll/plan"
)

// pairMinutes is how long the comparison of two servers takes without -minutes.
const pairMinutes = 6

// pair returns the plan of "compare OLD NEW", also as YAML.
func (a *app) pair(ctx context.Context, names [2]string, root string) (*plan.Plan, string, error) {
	src, err := contenders.Plan(ctx, names, root)
	if err != nil {
		return nil, "", err
	}
	p, err := a.known().Parse([]byte(src))
	if err != nil {
		return nil, "", plan.Usagef("the plan of %s and %s: %w", names[0], names[1], err)
	}
	return p, src, nil
}

// savePlan writes a plan to a file that is not there yet; "" is none.
func savePlan(name, src string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return plan.Usagef("-save %s: it is there already; remove it, or name another file", name)
	}
	if err != nil {
		return plan.UsageError{Err: fmt.Errorf("-save: %w", err)}
	}
	_, err = f.WriteString(src)
	return errors.Join(err, f.Close())
}
