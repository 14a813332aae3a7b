package system

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/run/preflight"
)

// verifyFlags are the flags of "target verify".
type verifyFlags struct {
	tokenFile, admin, team, only, ca string
	timeout                          time.Duration
	users                            int
	asJSON                           bool
}

// Verified is the result of "target verify" as JSON.
type Verified struct {
	URL     string `json:"url"`
	Version string `json:"server_version"`
	Users   int    `json:"users"`
	// Obstacles are settings of the server that stop a run of Users users, or make it less.
	Obstacles []dialect.Obstacle `json:"obstacles"`
	Counts    map[string]int     `json:"counts"` // by outcome
	Actions   []mattermost.Proof `json:"actions"`
}

// verify is "target verify": it carries out every action of the simulated users on a server, and
// has another client prove it.
func verify(ctx context.Context, a *app.App, f *verifyFlags, server string) error {
	cfg, err := verifyConfig(a, f, server)
	if err != nil {
		return err
	}
	v := Verified{URL: server, Users: f.users, Obstacles: []dialect.Obstacle{}}
	cfg.Before = func(list []dialect.Obstacle) {
		v.Obstacles = append(v.Obstacles, list...)
		if !f.asJSON {
			obstacles(a, &v)
		}
	}
	if v.Actions, err = mattermost.Verify(ctx, cfg); err != nil {
		return fmt.Errorf("verifying %s: %w", server, err)
	}
	v.count()
	if f.asJSON {
		err = a.JSON(v)
	} else {
		err = verifyTable(a, &v)
	}
	for _, p := range v.Actions {
		if p.Stack != "" {
			a.Caught.Add()
			a.Tellf("plimsoll: %s: %s: a defect of plimsoll; please report it with this stack\n%s\n",
				p.Action, p.Detail, plain.Block(p.Stack))
		}
	}
	if err == nil && v.Counts[string(mattermost.OutcomeFailed)] > 0 {
		return exit.StatusError(exit.Invalid) // so would be a run that counts these actions as done
	}
	return err
}

// verifyConfig returns the configuration that the flags and the environment state.
func verifyConfig(a *app.App, f *verifyFlags, server string) (mattermost.VerifyConfig, error) {
	cfg := mattermost.VerifyConfig{
		URL:          server,
		Timeout:      f.timeout,
		Params:       map[string]string{},
		Token:        a.Env("PLIMSOLL_ADMIN_TOKEN"),
		Password:     a.Env("PLIMSOLL_ADMIN_PASSWORD"),
		UserPassword: a.Env("PLIMSOLL_USER_PASSWORD"),
		Secrets:      a.Secrets,
		Users:        f.users,
	}
	if err := plan.CheckServer(server); err != nil {
		return cfg, plan.Usagef("target verify: %w", err)
	}
	if f.tokenFile != "" {
		b, err := files.ReadText(f.tokenFile, deploy.MaxSecret)
		if err != nil {
			return cfg, plan.Usagef("-token-file: %w", err)
		}
		if cfg.Token = strings.TrimSpace(string(b)); cfg.Token == "" {
			return cfg, plan.Usagef("-token-file %s: the file is empty", f.tokenFile)
		}
	}
	if cfg.Token == "" && cfg.Password == "" {
		return cfg, plan.Usagef(
			"target verify acts as an administrator: give -token-file FILE, or set PLIMSOLL_ADMIN_TOKEN or PLIMSOLL_ADMIN_PASSWORD",
		)
	}
	if f.ca != "" {
		if err := preflight.Trust(f.ca); err != nil {
			return cfg, plan.Usagef("-ca: %w", err)
		}
	}
	for key, value := range map[string]string{"admin": f.admin, "team": f.team} {
		if value != "" {
			cfg.Params[key] = value
		}
	}
	if err := mattermost.Check(cfg.Params); err != nil {
		return cfg, plan.UsageError{Err: err}
	}
	if f.only != "" {
		cfg.Only = strings.Split(f.only, ",")
		if err := mattermost.CheckActions(cfg.Only); err != nil {
			return cfg, plan.Usagef("-only: %w", err)
		}
	}
	cfg.Log = func(format string, args ...any) { plain.Fprintf(a.Stderr, format+"\n", args...) }
	cfg.Proven = func(p mattermost.Proof) {
		if a.Terminal {
			cfg.Log("%s: %s %s", p.Action, p.Outcome, p.Detail)
		}
	}
	return cfg, nil
}

// count counts the actions by outcome, and notes the version of the server.
func (v *Verified) count() {
	v.Counts = mattermost.Count(v.Actions)
	if len(v.Actions) > 0 {
		v.Version = v.Actions[0].ServerVersion
	}
}

// obstacles writes the settings of the server that matter to a run, before anything is proven.
func obstacles(a *app.App, v *Verified) {
	if len(v.Obstacles) == 0 {
		a.Printf("no setting of the server stops a run of %d users\n", v.Users)
		return
	}
	a.Printf("settings of the server that matter to a run of %d users (-users):\n", v.Users)
	for _, o := range v.Obstacles {
		mark := "note "
		if o.Stops {
			mark = "STOPS"
		}
		a.Printf("  %s  %v\n", mark, o)
	}
}

// verifyTable writes the outcomes that are not ok last, where they are seen.
func verifyTable(a *app.App, v *Verified) error {
	list := slices.Clone(v.Actions)
	slices.SortStableFunc(list, func(p, q mattermost.Proof) int {
		return cmp.Compare(
			slices.Index(mattermost.Outcomes, p.Outcome),
			slices.Index(mattermost.Outcomes, q.Outcome),
		)
	})
	tw := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "ACTION\tOUTCOME\tDETAIL\n")
	for _, p := range list {
		plain.Fprintf(tw, "%s\t%s\t%s\n", p.Action, p.Outcome, p.Detail)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var parts []string
	for _, o := range mattermost.Outcomes {
		parts = append(parts, fmt.Sprintf("%d %s", v.Counts[string(o)], o))
	}
	_, err := plain.Fprintf(
		a.Stdout,
		"%s, version %s: %d actions, %s\n",
		v.URL,
		v.Version,
		len(v.Actions),
		strings.Join(parts, ", "),
	)
	return err
}
