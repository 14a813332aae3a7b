package hosts

import (
	"context"
	"errors"
	"flag"
	"strings"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/run/users"
)

// Fleet is the verb that says who has joined, and makes the tokens of new agents.
func Fleet(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
	var d users.Door
	a.FleetFlags(&d)
	fs.StringVar(&d.Keys, "token-file", "", "the same as -fleet-keys")
	fresh := fs.String("new-token", "", "make the token `file` of a new agent, named for the file")
	wait := fs.Duration("wait", 10*time.Second, "how long agents may take to answer")
	asJSON := fs.Bool("json", false, "write the list as JSON")
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	if d.Keys == "" {
		d.Keys = users.KeyFile(*root)
	}
	if *fresh != "" {
		return users.NewToken(a.Stdout, d.Keys, *fresh)
	}
	pr := a.Program()
	roll, err := d.CallRoll(ctx, *wait, pr.Version, pr.Secrets, a.NewProgress().Say)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.JSON(roll)
	}
	return roll.Text(a.Stdout)
}

// labelFlag adds the flag for an agent's labels.
func labelFlag(fs *flag.FlagSet) map[string]string {
	labels := map[string]string{}
	fs.Func(
		"label",
		"-join: a label of this agent, `NAME=VALUE`, for placement.agents.match; again for more",
		func(s string) error {
			k, v, ok := strings.Cut(s, "=")
			if !ok || k == "" || v == "" {
				return errors.New("want NAME=VALUE")
			}
			labels[k] = v
			return nil
		},
	)
	return labels
}
