// Package system holds the verb for a system under test by itself: it starts, stops and verifies
// one.
package system

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/session"
	"plimsoll/target"
)

// Target starts, stops and looks at a plan's system under test, and verifies any server. "up" stays
// in the foreground: it supervises the programs, which never outlive it.
func Target(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
	engine, arm := a.PartFlags()
	asJSON := fs.Bool("json", false, "status, verify: write it as JSON")
	var vf verifyFlags
	fs.StringVar(
		&vf.tokenFile,
		"token-file",
		"",
		"verify: `file` with an administrator's token (environment: PLIMSOLL_ADMIN_TOKEN, or PLIMSOLL_ADMIN_PASSWORD)",
	)
	fs.StringVar(
		&vf.admin,
		"admin",
		"",
		"verify: login `name` of the administrator, with a password (default sysadmin)",
	)
	fs.StringVar(
		&vf.team,
		"team",
		"",
		"verify: `name` of the team that is used or created (default plimsoll-verify)",
	)
	fs.StringVar(&vf.only, "only", "", "verify: only these `actions`, separated by commas")
	fs.StringVar(
		&vf.ca,
		"ca",
		"",
		"verify: `file` with the certificate of a private authority, in PEM",
	)
	fs.IntVar(
		&vf.users,
		"users",
		100,
		"verify: `number` of users of the run that the settings of the server are compared with",
	)
	fs.DurationVar(&vf.timeout, "timeout", 10*time.Second, "verify: of one call")
	rest, err := a.Parse(1, 2)
	if err != nil {
		return err
	}
	dir := filepath.Join(*root, "target")
	switch {
	case rest[0] == "up" && len(rest) == 2:
		k := a.Known()
		k.ServerOnly = true
		p, err := a.ReadPlanFor(rest[1], k)
		if err != nil {
			return err
		}
		p, pt := a.Program().UpFor(p)
		pt.Arm, pt.Engine = *arm, *engine
		if p, err = a.Program().Narrow(p, &pt, 0); err != nil {
			return fmt.Errorf("%s: %w", rest[1], err)
		}
		return targetUp(ctx, a, p, pt, *root, dir)
	case rest[0] == "down" && len(rest) == 1:
		return target.Down(ctx, dir)
	case rest[0] == "status" && len(rest) == 1:
		return targetStatus(ctx, a, dir, *asJSON)
	case rest[0] == "verify" && len(rest) == 2:
		vf.asJSON = *asJSON
		return verify(ctx, a, &vf, rest[1])
	}
	return plan.Usagef("want up PLAN.yaml, down, status or verify URL; see plimsoll target -h")
}

func targetUp(
	ctx context.Context,
	a *app.App,
	p *plan.Plan,
	pt session.RunPart,
	root, dir string,
) error {
	if err := target.Free(dir); err != nil {
		return err
	}
	a.Clearance.Part = &pt
	if done, err := a.Program().Isolate(ctx, p, root); done || err != nil {
		return err
	}
	st, err := store.Open(root)
	if err != nil {
		return err
	}
	s, err := session.NewSession(a.Program(), p, st)
	if err != nil {
		return err
	}
	f := s.NewDeployments()
	f.Kept = true
	defer f.Close()
	sys, err := f.System(ctx, s.Need(pt))
	if err != nil {
		return err
	}
	s.Progress.End()
	if err := target.Save(dir, sys.Deployment, sys.Ready, time.Now()); err != nil {
		return err
	}
	defer func() { _ = target.Forget(dir) }()
	a.Printf("up: %s\n", sys.Deployment.URL())
	if p.Networked() {
		a.Tellf("it is in a network of its own: nsenter --net=/proc/%d/ns/net curl %s\n",
			os.Getpid(), sys.Deployment.URL())
	}
	a.Tellf("Ctrl-C, or plimsoll target down, stops it\n")
	<-ctx.Done()
	return nil
}

func targetStatus(ctx context.Context, a *app.App, dir string, asJSON bool) error {
	state, err := target.Load(dir)
	if err != nil {
		return err
	}
	asked := state
	asked.Ready = nil
	for _, u := range state.Ready {
		full, err := plan.Expand(u, a.Program().Lookup)
		if err != nil {
			return plan.Usagef("the target's ready address: %w", err)
		}
		asked.Ready = append(asked.Ready, full)
	}
	status := asked.Status(ctx, sandbox.DialOf(state))
	if asJSON {
		return a.JSON(struct {
			State  target.StateFile `json:"state"`
			Status target.Status    `json:"status"`
		}{state, status})
	}
	ready := "ready"
	if !status.Ready {
		ready = "NOT ready: " + status.Why
	}
	for _, u := range state.URLs {
		a.Printf("%s  %s, up since %s\n", u, ready, state.Started.Local().Format(time.DateTime))
	}
	for _, role := range slices.Sorted(maps.Keys(status.PIDs)) {
		a.Printf("  %s: pids %v\n", role, status.PIDs[role])
	}
	return nil
}
