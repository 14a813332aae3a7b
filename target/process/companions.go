package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"plimsoll/target"
	"plimsoll/target/lab"
)

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
		if d.companions == nil {
			d.companions = map[string]target.Companion{}
		}
		d.companions[role] = c
		d.state.Unlock()
	}
	return nil
}

// stopCompanions stops those that run, side by side: together they must not take longer than the slowest.
func (d *deployment) stopCompanions(ctx context.Context) error {
	d.state.Lock()
	companions := d.companions
	d.companions = nil
	d.state.Unlock()
	var wg sync.WaitGroup
	roles := slices.Sorted(maps.Keys(companions))
	errs := make([]error, len(roles))
	for i, role := range roles {
		wg.Go(func() {
			if err := companions[role].Stop(ctx); err != nil {
				errs[i] = fmt.Errorf("stopping the %s: %w", role, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
