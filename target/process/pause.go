package process

import (
	"context"
	"fmt"

	"plimsoll/target"
)

var _ target.Pauser = (*deployment)(nil)

// Pause implements [target.Pauser].
func (d *deployment) Pause(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused {
		return nil
	}
	if d.stopped {
		return fmt.Errorf("pausing %s: it is stopped", label(d.spec))
	}
	var err error
	if d.conf.Freezer != nil {
		err = d.conf.Freezer.Freeze(ctx)
	} else {
		var roots []int
		for _, pids := range d.PIDs() {
			roots = append(roots, pids...)
		}
		err = d.stopper.Stop(ctx, roots)
	}
	if err != nil {
		return fmt.Errorf("pausing %s: %w", label(d.spec), err)
	}
	d.paused = true
	return nil
}

// Continue implements [target.Pauser].
func (d *deployment) Continue() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resume()
}

// resume is Continue for callers that hold mu. Programs that stand still obey no stop signal.
func (d *deployment) resume() error {
	if !d.paused {
		return nil
	}
	var err error
	if d.conf.Freezer != nil {
		err = d.conf.Freezer.Thaw()
	} else {
		err = d.stopper.Continue()
	}
	if err != nil {
		return fmt.Errorf("continuing %s: %w", label(d.spec), err)
	}
	d.paused = false
	return nil
}

// PausedBy implements [target.Pauser].
func (d *deployment) PausedBy() string {
	if d.conf.Freezer != nil {
		return "freezer"
	}
	return "signals"
}
