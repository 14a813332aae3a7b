package session

import (
	"context"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/run/deploy"
	"plimsoll/run/users"
)

// NewDeployments returns the deployments of a session, with none yet. The caller calls Close.
func (s *Session) NewDeployments() *deploy.Deployments {
	return deploy.New(deploy.Config{
		Resolver:  s.Resolver,
		Plan:      s.Plan,
		Root:      s.Store.Root(),
		Tool:      s.Version,
		Generator: s.generator,
		Targets:   s.targets,
		Progress:  s.Progress,
		Admit: func(ctx context.Context, url string, mix []engine.Part, n int) error {
			_, err := users.LayOut(ctx, s.Plan, s.crew, url, mix, n)
			return err
		},
		Provision: func(ctx context.Context, env workload.Env, mix []engine.Part, n int) error {
			return users.Provision(ctx, env, mix, n, s.accounts)
		},
		Survey: s.survey,
	})
}

// Need names the system of a part.
func (s *Session) Need(pt RunPart) deploy.Need {
	return deploy.Need{
		Arm:        pt.Arm,
		Engine:     pt.Engine,
		Comparison: pt.Comparison,
		Block:      pt.Block,
		Users:      s.Users(pt),
	}
}
