package external

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/target"
	"plimsoll/target/lab"
)

// A Turn is the run for which a command is executed. Commands get it in their environment:
// PLIMSOLL_ARM, PLIMSOLL_VERSION, PLIMSOLL_ENGINE, PLIMSOLL_BLOCK, PLIMSOLL_RUN and PLIMSOLL_URL,
// which is a list with spaces where a target has several addresses.
type Turn struct {
	Block int // of a comparison, from 1; 0 outside of blocks
	Run   int // in the block, from 1; 0 outside of blocks
	// Log gets what the command writes, without secrets; nil for none.
	Log io.Writer
}

// Installs reports whether the target has an install command.
func (d *Site) Installs() bool { return len(d.spec.InstallCmd) > 0 }

// Resets reports whether the target has a reset command.
func (d *Site) Resets() bool { return len(d.spec.ResetCmd) > 0 }

// LookUp returns an error for a command whose program is not there.
func (d *Site) LookUp() error {
	for key, argv := range map[string][]string{
		"install": d.spec.InstallCmd,
		"reset":   d.spec.ResetCmd,
	} {
		if len(argv) == 0 {
			continue
		}
		at := argv[0]
		if d.spec.WorkDir != "" && strings.ContainsRune(at, filepath.Separator) &&
			!filepath.IsAbs(at) {
			at = filepath.Join(d.spec.WorkDir, at)
		}
		if _, err := exec.LookPath(at); err != nil {
			return fmt.Errorf(
				"target.%s: %w; a path counts from the working directory of plimsoll, and the file must be executable",
				key,
				err,
			)
		}
	}
	return nil
}

// Install runs the install command and waits until the target is ready. The error wraps
// [target.ErrStart] if only the latter failed.
func (d *Site) Install(ctx context.Context, turn Turn) error {
	return d.run(ctx, "install", d.spec.InstallCmd, d.driver.InstallTimeout, turn)
}

// ResetFor is Reset for a run.
func (d *Site) ResetFor(ctx context.Context, turn Turn) error {
	if !d.Resets() {
		return fmt.Errorf(
			"external target %s: %w; give a command that does it (target.reset)",
			d.spec.Name,
			target.ErrNoReset,
		)
	}
	return d.run(ctx, "reset", d.spec.ResetCmd, d.driver.ResetTimeout, turn)
}

// Reset implements [target.Deployment]: it is ResetFor a run that is in no block.
func (d *Site) Reset(ctx context.Context) error { return d.ResetFor(ctx, Turn{}) }

// run carries out a command and waits until the target is ready.
func (d *Site) run(
	ctx context.Context,
	name string,
	argv []string,
	limit time.Duration,
	turn Turn,
) error {
	log := turn.Log
	if log == nil {
		log = io.Discard
	}
	fmt.Fprintf(log, "# %s of %s: %s\n", name, d.spec.Name, d.hide(commandText(argv)))
	took, err := lab.GivenCommand{
		Name:    name + " command",
		Argv:    argv,
		Env:     d.environment(turn),
		Dir:     d.spec.WorkDir,
		Limit:   limit,
		Key:     "target.timeouts." + name,
		Log:     log,
		Secrets: d.driver.Secrets,
	}.Run(ctx)
	if err != nil {
		failed, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(log, "# failed after %v: %s\n", took, failed)
		return fmt.Errorf("%s of external target %s: %w", name, d.spec.Name, err)
	}
	fmt.Fprintf(log, "# done after %v\n", took)
	if err := d.waitReady(ctx); err != nil {
		fmt.Fprintf(log, "# the target is not ready: %s\n", d.hide(err.Error()))
		return fmt.Errorf(
			"external target %s after its %s: %w: %w",
			d.spec.Name,
			name,
			target.ErrStart,
			err,
		)
	}
	return nil
}

// environment holds the variables of a command besides this program's: those of the plan, and the
// turn.
func (d *Site) environment(turn Turn) (env []string) {
	for _, set := range []map[string]string{d.spec.Env, d.spec.Secrets} {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			env = append(env, k+"="+set[k])
		}
	}
	return append(
		env,
		"PLIMSOLL_ARM="+d.spec.Name,
		"PLIMSOLL_VERSION="+d.spec.Version,
		"PLIMSOLL_ENGINE="+d.spec.Engine,
		"PLIMSOLL_BLOCK="+strconv.Itoa(turn.Block),
		"PLIMSOLL_RUN="+strconv.Itoa(turn.Run),
		"PLIMSOLL_URL="+strings.Join(d.URLs(), " "),
	)
}

// hide removes secrets from text.
func (d *Site) hide(text string) string { return d.driver.Secrets.Redact(text) }

var _ target.Deployment = (*Site)(nil)
