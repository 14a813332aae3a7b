package execute

import (
	"context"
	_ "embed"
	"fmt"

	"plimsoll/cmd/internal/app"
	"plimsoll/plan"
	"plimsoll/run/compare"
)

//go:embed quickstart.yaml
var quickstart []byte

// Demo is compare with the built-in quickstart plan. Its last line is whether the planted slowdown
// was found.
func Demo(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
	fault := fs.String(
		"fault",
		"cpu:25%",
		"the slowdown planted in the arm \"new\", or none for a comparison of a build with itself",
	)
	blocks := fs.Int(
		"blocks",
		0,
		"number of blocks instead of the plan's; below 6 a verdict is only indicative",
	)
	seed := fs.Uint64("seed", 0, "seed instead of the plan's")
	keep := a.KeepFlag()
	a.ConsoleFlag()
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	p, err := a.Known().Parse(quickstart)
	if err != nil {
		return fmt.Errorf("the built-in plan: %w", err)
	}
	if *blocks != 0 {
		p.Compare.Blocks, p.Compare.Budget = *blocks, 0
		if _, err := a.Known().Parse([]byte(p.String())); err != nil {
			return plan.Usagef("-blocks %d: %w", *blocks, err)
		}
	}
	for i := range p.Compare.Arms {
		arm := &p.Compare.Arms[i]
		if arm.Name == plan.Base {
			continue
		}
		arm.Args = nil
		arm.Version = "the same build"
		if *fault != "none" {
			arm.Args = []string{"-fault=" + *fault}
			arm.Version = "with " + *fault
		}
	}
	if *seed > 0 {
		p.Seed = *seed
	}
	if p, err = a.Known().Parse([]byte(p.String())); err != nil {
		return plan.Usagef("-fault %s: %w", *fault, err)
	}
	planted := *fault
	if planted == "none" {
		planted = ""
	}
	// The demo's load is far below what any host can drive: its twenty seconds are better spent on
	// it.
	return comparePlan(ctx, a, comparing{
		Options: compare.Options{AA: planted == "", Keep: *keep},
		plan:    p,
		root:    *root,
		json:    *asJSON,
		planted: &planted,
	})
}
