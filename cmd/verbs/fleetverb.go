package verbs

import (
	"context"
	"errors"
	"flag"
	"strings"
	"time"

	"plimsoll/run/users"
)

// fleetFlags adds the flags of where agents on other hosts come to.
func fleetFlags(fs *flag.FlagSet, d *users.Door) {
	fs.StringVar(&d.URL, "nats", "", "`URL` of a NATS cluster that agents join, tls://HOST:PORT (default: a server in this process)")
	fs.StringVar(&d.Listen, "fleet-listen", "", "`address` of that server, such as 10.0.0.4:4222 (default 127.0.0.1:4222)")
	fs.StringVar(&d.Keys, "fleet-keys", "", "`file` with the keys of the fleet (default fleet.json in the store)")
}

// fleet is the verb that says who has joined, and makes the tokens of new agents.
func (a *app) fleet(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	var d users.Door
	fleetFlags(fs, &d)
	fs.StringVar(&d.Keys, "token-file", "", "the same as -fleet-keys")
	fresh := fs.String("new-token", "", "make the token `file` of a new agent, named for the file")
	wait := fs.Duration("wait", 10*time.Second, "how long agents may take to answer")
	asJSON := fs.Bool("json", false, "write the list as JSON")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	if d.Keys == "" {
		d.Keys = users.KeyFile(*root)
	}
	if *fresh != "" {
		return users.NewToken(a.stdout, d.Keys, *fresh)
	}
	pr := a.program()
	roll, err := d.CallRoll(ctx, *wait, pr.Version, pr.Secrets, a.newProgress().Say)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.json(roll)
	}
	return roll.Text(a.stdout)
}

// labelFlag adds the flag for an agent's labels.
func labelFlag(fs *flag.FlagSet) map[string]string {
	labels := map[string]string{}
	fs.Func("label", "-join: a label of this agent, `NAME=VALUE`, for placement.agents.match; again for more", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" || v == "" {
			return errors.New("want NAME=VALUE")
		}
		labels[k] = v
		return nil
	})
	return labels
}
