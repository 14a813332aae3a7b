package postgresql

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// psql makes roles, and returns the command that runs a script as pg_dump's plain format needs it.
func (p *programs) psql(
	ctx context.Context,
	in *database.View,
	db string,
	roles []string,
) (lab.Spec, error) {
	path, err := database.FindClient(p.dir, "postgresql", "psql")
	if err != nil {
		return lab.Spec{}, err
	}
	for _, name := range roles {
		if err := execute(ctx, in, "CREATE ROLE "+quote(name)); err != nil {
			return lab.Spec{}, fmt.Errorf("making the role %s: %w", name, err)
		}
	}
	return lab.Spec{
		Name: "psql",
		Path: path,
		Args: []string{
			"-X",
			"-q",
			"-v",
			"ON_ERROR_STOP=1",
			"-h",
			in.SocketDir,
			"-p",
			strconv.Itoa(in.Port),
			"-U",
			role,
			"-d",
			db,
			"-f",
			"-",
		},
		Env: append(environment(), "PGOPTIONS=-c client_min_messages=warning"),
	}, nil
}
