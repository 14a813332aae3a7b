package main

import (
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
)

// inline reads the file of weights that a plan names, found from the plan's own directory.
func inline(p *plan.Plan, planFile string) (*plan.Plan, error) {
	file := p.Workload.MixFile()
	if file == "" {
		return p, nil
	}
	if !filepath.IsAbs(file) && planFile != "-" {
		file = filepath.Join(filepath.Dir(planFile), file)
	}
	src, err := files.Read(file, plan.MaxSource)
	if err != nil {
		return nil, plan.Usagef("workload.mix: %w", err)
	}
	weights, err := known().ParseWeights(src)
	if err != nil {
		return nil, plan.UsageError{Err: plain.Below(err, "%s, named in workload.mix, is no good", file)}
	}
	return p.WithWeights(weights), nil
}
