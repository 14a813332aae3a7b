package verbs

import (
	"context"
	"flag"
	"strings"

	"plimsoll/run/preflight"
)

// doctor is the verb that examines this host. It changes nothing. Its status is 0 regardless of the findings:
// the other statuses have meanings of their own, and -json has the severity of each finding.
func (a *app) doctor(_ context.Context, fs *flag.FlagSet, args []string) error {
	role := fs.String("role", "agent", "role of this host in the test: "+strings.Join(preflight.HostRoles(), ", "))
	asJSON := fs.Bool("json", false, "write the findings as JSON")
	all := fs.Bool("all", false, "also show checks that passed")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	found, err := preflight.Examine(*role)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.json(found)
	}
	return found.Text(a.stdout, *all)
}
