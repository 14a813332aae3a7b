package verbs

import (
	"context"

	"plimsoll/cmd/internal/contenders"
	"plimsoll/plan"
)

// pair returns the plan of "compare OLD NEW", also as YAML.
func (a *app) pair(ctx context.Context, names [2]string, root string) (*plan.Plan, string, error) {
	src, err := contenders.Plan(ctx, names, root)
	if err != nil {
		return nil, "", err
	}
	p, err := a.known().Parse([]byte(src))
	return p, src, err
}
