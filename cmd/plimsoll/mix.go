package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"plimsoll/boundary"
	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/trial"
	"plimsoll/workload"
)

// weighted is the behavior whose users draw their actions by weight.
const weighted = "mattermost"

// mixNames are the mixes that a plan can name, besides default and custom.
func mixNames() []string {
	names := []string{}
	for name := range mattermost.Mixes() {
		if name != plan.MixDefault {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// actionNames are what can have a weight, by behavior.
func actionNames() map[string][]string {
	return map[string][]string{weighted: slices.Sorted(maps.Keys(mattermost.Mixes()[plan.MixDefault]))}
}

// stormKinds are the storms that each behavior knows.
func stormKinds(behaviors dialect.Registry) map[string][]string {
	kinds := map[string][]string{}
	for name, make := range behaviors {
		if b, ok := make().(workload.StormKinds); ok {
			kinds[name] = b.StormKinds()
		}
	}
	return kinds
}

// inline reads the file of weights that a plan names, found from the plan's own directory.
func inline(p *plan.Plan, planFile string) (*plan.Plan, error) {
	file := p.Workload.MixFile()
	if file == "" {
		return p, nil
	}
	if !filepath.IsAbs(file) && planFile != "-" {
		file = filepath.Join(filepath.Dir(planFile), file)
	}
	src, err := readRegular(file, plan.MaxSource)
	if err != nil {
		return nil, usagef("workload.mix: %w", err)
	}
	weights, err := known().ParseWeights(src)
	if err != nil {
		return nil, usageError{plain.Below(err, "%s, named in workload.mix, is no good", file)}
	}
	return p.WithWeights(weights), nil
}

// weights returns the weights that a plan asks for; nil for those of the behavior itself.
func weights(w plan.Workload) map[string]float64 {
	if w.ActionMix == plan.MixDefault && len(w.Weights) == 0 {
		return nil
	}
	out := map[string]float64{}
	if w.ActionMix != plan.MixCustom {
		maps.Copy(out, mattermost.Mixes()[w.ActionMix])
	}
	maps.Copy(out, w.Weights)
	return out
}

// storms translates a plan's stages.
func storms(stages []plan.Stage) []trial.TimedStorm {
	var out []trial.TimedStorm
	for _, s := range stages {
		out = append(out, trial.TimedStorm{At: s.At, Storm: workload.Storm{Kind: s.Storm, Share: s.Share, Over: s.Over, Params: s.Params}})
	}
	return out
}

// A beforehand behavior wants to see the target before a run, for its audit.
type beforehand interface {
	Before(ctx context.Context, env workload.Env)
}

// auditor is the first behavior that can audit what was acknowledged; nil if none can.
func (s *system) auditor() workload.Auditor {
	for _, part := range s.mix {
		if a, ok := part.Behavior.(workload.Auditor); ok {
			return a
		}
	}
	return nil
}

// look lets the auditor see the target before a run. From the run's epoch on, users and arrivals change it.
func (s *system) look(ctx context.Context, env workload.Env) {
	if b, ok := s.auditor().(beforehand); ok {
		b.Before(ctx, env)
	}
}

// conduct is what a trial watches of the users: the mix, the messages, and the audit of what was acknowledged.
func conduct(sys *system, env workload.Env) trial.Conduct {
	c := trial.Conduct{Tally: env.Tally, Ledger: env.Ledger}
	if a := sys.auditor(); a != nil {
		c.Audit = func(ctx context.Context) (workload.AuditResult, error) {
			acked, share := env.Ledger.Messages()
			if len(acked) == 0 {
				return workload.AuditResult{Part: 1, Note: "nothing was acknowledged"}, nil
			}
			var res workload.AuditResult
			err := boundary.Do("the audit", func() (err error) {
				res, err = a.Audit(ctx, env, acked)
				return err
			})
			env.Panic(err)
			res.Part = share
			return res, err
		}
	}
	return c
}
