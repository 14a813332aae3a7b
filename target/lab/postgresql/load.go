package postgresql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab"
)

// Load runs a script of SQL in a database with the server's own client, as pg_dump's plain format needs it, and then
// collects the planner's statistics. The script is streamed. Load ends at the first error, and its error names the line
// of the script; the database is then good for DropDatabase only. The client runs as the user of the server: a script
// may hold commands for it. The roles of owners is a list of roles that the script names and that are made first.
func (s *Server) Load(ctx context.Context, name string, script io.Reader, owners []string) error {
	psql, err := s.client("psql")
	if err != nil {
		return err
	}
	for _, o := range owners {
		if err := s.exec(ctx, "making the role "+o, "CREATE ROLE "+quote(o)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	host, port := s.sockets, strconv.Itoa(s.port)
	s.mu.Unlock()
	err = lab.Run(ctx, lab.Spec{
		Name: "psql", Path: psql, Journal: s.journal(), Dir: s.dir, UID: s.uid, GID: s.gid, CPUs: s.conf.CPUs,
		Args:  []string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", role, "-d", name, "-f", "-"},
		Env:   append(environment(), "PGOPTIONS=-c client_min_messages=warning"),
		Stdin: script, Stdout: io.Discard,
	})
	if err != nil {
		return err
	}
	if err := s.admin(ctx, name, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "VACUUM (ANALYZE)")
		return err
	}); err != nil {
		return fmt.Errorf("analyzing database %s: %w", name, err)
	}
	return nil
}

// client finds a client program: beside the server's, else in PATH.
func (s *Server) client(name string) (string, error) { return findClient(s.bin, name) }

func findClient(bin, name string) (string, error) {
	path := filepath.Join(bin, name)
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("no " + name + " is installed; install the package postgresql-client")
	}
	return path, nil
}
