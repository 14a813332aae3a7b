package verbs

import (
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/users"
)

// inline reads the file of weights that a plan names, found from the plan's own directory, and notes the digest of its
// file of accounts and where that is, from any directory.
func (a *app) inline(p *plan.Plan, planFile string) (*plan.Plan, error) {
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
	weights, err := a.known().ParseWeights(src)
	if err != nil {
		return nil, plan.UsageError{Err: plain.Below(err, "%s, named in workload.mix, is no good", file)}
	}
	return p.WithWeights(weights), nil
}

// beside returns the path of a file that a plan names.
func beside(file, planFile string) string {
	if filepath.IsAbs(file) || planFile == "-" {
		return file
	}
	return filepath.Join(filepath.Dir(planFile), file)
}
