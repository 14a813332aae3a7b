package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/cmd/exit"
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

// verification is the result of "target verify" as JSON.
type verification struct {
	URL     string `json:"url"`
	Version string `json:"server_version"`
	Users   int    `json:"users"`
	// Obstacles are settings of the server that stop a run of Users users, or make it less.
	Obstacles []dialect.Obstacle `json:"obstacles"`
	Counts    map[string]int     `json:"counts"` // by outcome
	Actions   []mattermost.Proof `json:"actions"`
}

// verify is "target verify": every action of the simulated users is carried out on a server and proven by another
// client.
func (a *app) verify(ctx context.Context, f *verifyFlags, server string) error {
	if err := plan.CheckServer(server); err != nil {
		return plan.Usagef("target verify: %w", err)
	}
	cfg := mattermost.VerifyConfig{URL: server, Timeout: f.timeout, Params: map[string]string{},
		Token: a.env("PLIMSOLL_ADMIN_TOKEN"), Password: a.env("PLIMSOLL_ADMIN_PASSWORD"), UserPassword: a.env("PLIMSOLL_USER_PASSWORD"), Secrets: a.secrets, Users: f.users}
	if f.tokenFile != "" {
		b, err := files.ReadText(f.tokenFile, deploy.MaxSecret)
		if err != nil {
			return plan.Usagef("-token-file: %w", err)
		}
		if cfg.Token = strings.TrimSpace(string(b)); cfg.Token == "" {
			return plan.Usagef("-token-file %s: the file is empty", f.tokenFile)
		}
	}
	if cfg.Token == "" && cfg.Password == "" {
		return plan.Usagef("target verify acts as an administrator: give -token-file FILE, or set PLIMSOLL_ADMIN_TOKEN or PLIMSOLL_ADMIN_PASSWORD")
	}
	if f.ca != "" {
		if err := preflight.Trust(f.ca); err != nil {
			return plan.Usagef("-ca: %w", err)
		}
	}
	if f.admin != "" {
		cfg.Params["admin"] = f.admin
	}
	if f.team != "" {
		cfg.Params["team"] = f.team
	}
	if err := mattermost.Check(cfg.Params); err != nil {
		return plan.UsageError{Err: err}
	}
	if f.only != "" {
		cfg.Only = strings.Split(f.only, ",")
		known := a.dialects().Known().Actions[mattermost.Dialect.Weighted]
		for _, name := range cfg.Only {
			if !slices.Contains(known, name) {
				return plan.Usagef("-only: no action %q; there are %s", name, strings.Join(known, ", "))
			}
		}
	}
	cfg.Log = func(format string, args ...any) { plain.Fprintf(a.stderr, format+"\n", args...) }
	cfg.Proven = func(p mattermost.Proof) {
		if a.terminal {
			cfg.Log("%s: %s %s", p.Action, p.Outcome, p.Detail)
		}
	}
	v := verification{URL: server, Users: f.users, Counts: map[string]int{}, Obstacles: []dialect.Obstacle{}}
	cfg.Before = func(list []dialect.Obstacle) {
		v.Obstacles = append(v.Obstacles, list...)
		if !f.asJSON {
			a.obstacles(&v)
		}
	}
	proofs, err := mattermost.Verify(ctx, cfg)
	if err != nil {
		return fmt.Errorf("verifying %s: %w", server, err)
	}
	v.Actions = proofs
	for _, o := range outcomes {
		v.Counts[string(o)] = 0
	}
	for _, p := range proofs {
		v.Version = p.ServerVersion
		v.Counts[string(p.Outcome)]++
	}
	if f.asJSON {
		err = a.json(v)
	} else {
		err = a.verifyTable(&v)
	}
	for _, p := range proofs {
		if p.Stack != "" {
			a.caught.Add()
			plain.Fprintf(a.stderr, "plimsoll: %s: %s: a defect of plimsoll; please report it with this stack\n%s\n", p.Action, p.Detail, plain.Block(p.Stack))
		}
	}
	if err == nil && v.Counts[string(mattermost.OutcomeFailed)] > 0 {
		return exit.StatusError(exit.Invalid) // so would be a run that counts these actions as done
	}
	return err
}

var outcomes = []mattermost.Outcome{mattermost.OutcomeOK, mattermost.OutcomeAbsent, mattermost.OutcomeLicense, mattermost.OutcomeFailed}

// obstacles writes what a run of so many users meets on the server, before anything is proven.
func (a *app) obstacles(v *verification) {
	if len(v.Obstacles) == 0 {
		plain.Fprintf(a.stdout, "no setting of the server stops a run of %d users\n", v.Users)
		return
	}
	plain.Fprintf(a.stdout, "settings of the server that matter to a run of %d users (-users):\n", v.Users)
	for _, o := range v.Obstacles {
		mark := "note "
		if o.Stops {
			mark = "STOPS"
		}
		plain.Fprintf(a.stdout, "  %s  %v\n", mark, o)
	}
}

// verifyTable writes the outcomes that are not ok last, where they are seen.
func (a *app) verifyTable(v *verification) error {
	list := slices.Clone(v.Actions)
	slices.SortStableFunc(list, func(p, q mattermost.Proof) int {
		return cmp.Compare(slices.Index(outcomes, p.Outcome), slices.Index(outcomes, q.Outcome))
	})
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "ACTION\tOUTCOME\tDETAIL\n")
	for _, p := range list {
		plain.Fprintf(tw, "%s\t%s\t%s\n", p.Action, p.Outcome, p.Detail)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var parts []string
	for _, o := range outcomes {
		parts = append(parts, fmt.Sprintf("%d %s", v.Counts[string(o)], o))
	}
	_, err := plain.Fprintf(a.stdout, "%s, version %s: %d actions, %s\n", v.URL, v.Version, len(v.Actions), strings.Join(parts, ", "))
	return err
}
