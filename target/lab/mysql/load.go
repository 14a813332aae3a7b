package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"plimsoll/target/lab"
)

// MaxPacket is the largest statement of a script that Load takes, in bytes; the server's max_allowed_packet must be as
// large.
const MaxPacket = 1 << 30

// Load runs a script of SQL in a database with the server's own client, as mysqldump writes it, and then analyzes the
// tables. The script is streamed. Load ends at the first error, and its error names the line of the script; the
// database is then good for DropDatabase only. The client runs as the user of the server, and takes no commands from
// the script but DELIMITER. Owners are not for this server: it keeps their names without them.
func (s *Server) Load(ctx context.Context, name string, script io.Reader, owners []string) error {
	if len(owners) > 0 {
		return errors.New("roles of a dump are made on PostgreSQL only; leave them out")
	}
	client, err := s.bin.client("mariadb", "mysql")
	if err != nil {
		return err
	}
	s.mu.Lock()
	socket := s.socket()
	s.mu.Unlock()
	err = lab.Run(ctx, lab.Spec{
		Name: filepath.Base(client), Path: client, Journal: s.journal(), Dir: s.dir, UID: s.uid, GID: s.gid, CPUs: s.conf.CPUs,
		Args: []string{"--no-defaults", "--batch", "--binary-mode", "--default-character-set=utf8mb4", "--user=root",
			fmt.Sprint("--max-allowed-packet=", MaxPacket), "--socket=" + socket, "--database=" + name},
		Env: s.bin.environment(), Stdin: script, Stdout: io.Discard,
	})
	if err != nil {
		return err
	}
	if err := s.settle(ctx, name); err != nil {
		return fmt.Errorf("analyzing database %s: %w", name, err)
	}
	return nil
}

// client finds a client program by one of its names: beside the server's, else in PATH.
func (b binary) client(names ...string) (string, error) {
	for _, name := range names {
		if path := filepath.Join(b.base, "bin", name); isFile(path) {
			return path, nil
		}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s is installed; install the package mariadb-client", names[0])
}
