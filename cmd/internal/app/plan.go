package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"plimsoll/cmd/internal/noplan"
	"plimsoll/dialect/script"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/users"
)

// Complete reads the file of weights that a plan names, found from the plan's own directory, and
// notes the digest of its file of accounts and where that and its script are, from any directory.
func (a *App) Complete(p *plan.Plan, planFile string) (*plan.Plan, error) {
	if file := p.Workload.Script; file != "" {
		at, err := filepath.Abs(beside(file, planFile))
		if err != nil {
			return nil, plan.Usagef("workload.script: %w", err)
		}
		if p, err = a.WithScript(p.WithScriptAt(at, "")); err != nil {
			return nil, err
		}
	}
	if file := p.Workload.UsersFile; file != "" {
		at, err := filepath.Abs(beside(file, planFile))
		if err != nil {
			return nil, plan.Usagef("workload.users_file: %w", err)
		}
		p = users.WithUsersAt(p, at)
	}
	file := p.Workload.MixFile()
	if file == "" {
		return p, nil
	}
	file = beside(file, planFile)
	src, err := files.Read(file, plan.MaxSource)
	if err != nil {
		return nil, plan.Usagef("workload.mix: %w", err)
	}
	weights, err := a.Known().ParseWeights(src)
	if err != nil {
		return nil, plan.UsageError{
			Err: plain.Below(err, "%s, named in workload.mix, is no good", file),
		}
	}
	return p.WithWeights(weights), nil
}

// WithScript returns a plan with the script that it names, which is read.
func (a *App) WithScript(p *plan.Plan) (*plan.Plan, error) {
	return script.Read(p, a.Program().Beforehand(p))
}

// beside returns the path of a file that a plan names.
func beside(file, planFile string) string {
	if filepath.IsAbs(file) || planFile == "-" {
		return file
	}
	return filepath.Join(filepath.Dir(planFile), file)
}

// ReadPlan reads a plan and checks it against the dialects of this program. All errors are the
// caller's.
func (a *App) ReadPlan(path string) (*plan.Plan, error) { return a.ReadPlanFor(path, a.Known()) }

// ReadPlanFor is readPlan with the names and parts that a plan may have.
func (a *App) ReadPlanFor(path string, k plan.Known) (*plan.Plan, error) {
	var src []byte
	var err error
	if path == "-" {
		if src, err = files.ReadUpTo(a.Stdin, plan.MaxSource); errors.Is(err, files.ErrTooLarge) {
			err = fmt.Errorf(
				"standard input is larger than %d bytes; plans are small, is this another file?",
				plan.MaxSource,
			)
		}
	} else {
		src, err = files.Read(path, plan.MaxSource)
		err = noplan.Hint(path, OrStdin(err))
	}
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	p, err := k.Parse(src)
	if err != nil {
		return nil, plan.UsageError{Err: plain.Below(err, "%s is no good plan", path)}
	}
	if a.Clearance != nil {
		a.Clearance.Source = src
	}
	if p, err = a.Complete(p, path); err == nil && !k.ServerOnly && !p.HasTest() {
		err = plan.Usagef("%s has neither bounded nor unbounded nor sizing, and its script no "+
			"options that say how many users there are, and how long; write one of them", path)
	}
	return p, err
}

// OrStdin adds to the error of an input that is not a file the use of standard input.
func OrStdin(err error) error {
	if _, irregular := errors.AsType[*files.IrregularError](err); irregular {
		return fmt.Errorf("%w, or - for standard input", err)
	}
	return err
}
