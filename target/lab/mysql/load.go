package mysql

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// MaxPacket is the largest statement of a script that Load takes, in bytes; the server's
// max_allowed_packet must be as large.
const MaxPacket = 1 << 30

// script returns the command that runs a script as mysqldump writes it. The client takes no
// commands from the script but DELIMITER. Owners are not for this server: it keeps their names
// without them.
func (p *program) script(
	_ context.Context,
	in *database.View,
	db string,
	roles []string,
) (spec lab.Spec, err error) {
	if len(roles) > 0 {
		return spec, errors.New("roles of a dump are made on PostgreSQL only; leave them out")
	}
	path, err := database.FindClient(filepath.Join(p.base, "bin"), "mariadb", "mariadb", "mysql")
	return lab.Spec{
		Name: filepath.Base(path),
		Path: path,
		Args: []string{
			"--no-defaults", "--batch", "--binary-mode", "--default-character-set=utf8mb4", "--user=root",
			fmt.Sprint("--max-allowed-packet=", MaxPacket),
			"--socket=" + socket(in), "--database=" + db,
		},
		Env: p.environment(),
	}, err
}
