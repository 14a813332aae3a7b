package hosts

import (
	"context"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/run/preflight"
)

// Doctor is the verb that examines this host. It changes nothing. Its status is 0 regardless of the
// findings: the other statuses have meanings of their own, and -json has the severity of each
// finding.
func Doctor(_ context.Context, a *app.App) error {
	fs := a.Flags
	role := fs.String(
		"role",
		"agent",
		"role of this host in the test: "+strings.Join(preflight.HostRoles(), ", "),
	)
	asJSON := fs.Bool("json", false, "write the findings as JSON")
	all := fs.Bool("all", false, "also show checks that passed")
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	found, err := preflight.Examine(*role)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.JSON(found)
	}
	return found.Text(a.Stdout, *all)
}
