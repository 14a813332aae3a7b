package process

import (
	"context"
	"errors"
	"fmt"
)

// Halt stops the programs and the database and keeps the state, so that the deployment takes
// neither cores nor memory from another that is being measured. Reset starts everything again.
// Halting twice is not an error.
func (d *deployment) Halt(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.halt(ctx); err != nil {
		return fmt.Errorf("halting %s: %w", label(d.spec), err)
	}
	return nil
}

// halt stops everything that runs.
func (d *deployment) halt(ctx context.Context) error {
	err := errors.Join(d.resume(), d.stopApp(ctx), d.stopReplicas(ctx), d.stopCompanions(ctx))
	if d.db != nil {
		err = errors.Join(err, d.db.Stop(ctx))
	}
	return err
}
