package process

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/target"
	"plimsoll/target/lab"
)

// startAnew starts the companions with empty state, and the program.
func (d *deployment) startAnew(ctx context.Context) error {
	if err := d.renewCompanions(ctx); err != nil {
		return err
	}
	return d.startApp(ctx)
}

// renewCompanions starts the companions with empty state, and stops first those that run.
func (d *deployment) renewCompanions(ctx context.Context) error {
	if err := d.stopCompanions(ctx); err != nil {
		return err
	}
	for _, role := range slices.Sorted(maps.Keys(d.conf.Companions)) {
		dir := filepath.Join(d.spec.Dir, role)
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("emptying the %s: %w", role, err)
		}
		if err := lab.MkdirState(dir); err != nil {
			return fmt.Errorf("making the %s's directory: %w", role, err)
		}
		c, err := d.conf.Companions[role](ctx, dir, d.spec.CPUs)
		if err != nil {
			return fmt.Errorf("starting the %s: %w", role, err)
		}
		d.state.Lock()
		d.companions[role] = c
		d.state.Unlock()
	}
	return nil
}

// stopCompanions stops those that run, side by side.
func (d *deployment) stopCompanions(ctx context.Context) error {
	companions := swap(d, &d.companions, map[string]target.Companion{})
	roles := slices.Sorted(maps.Keys(companions))
	return sideBySide(len(roles), func(i int) error {
		if err := companions[roles[i]].Stop(ctx); err != nil {
			return fmt.Errorf("stopping the %s: %w", roles[i], err)
		}
		return nil
	})
}
