package dumps

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/plan"
	"plimsoll/target/lab"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
)

// TestBackup takes a snapshot of a running server, which goes on, and whose writes after it are not
// in it.
func TestBackup(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	root := openDir(t)
	server, err := postgresql.Start(ctx, postgresql.Config{Dir: filepath.Join(root, "server")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(context.WithoutCancel(ctx)) }()
	if err := server.CreateDatabase(ctx, "theirs"); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, server.DSN("theirs"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range []string{"CREATE TABLE posts (id int)", "INSERT INTO posts SELECT generate_series(1, 500)", "CREATE ROLE weak LOGIN PASSWORD 'hunter2hunter2'"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	d, err := quietMaker().Backup(ctx, server.DSN("theirs"), filepath.Join(root, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "INSERT INTO posts VALUES (501)"); err != nil {
		t.Errorf("the server does not go on: %v", err)
	}
	m := d.Manifest
	if m.Engine != plan.PostgreSQL || m.Database != "theirs" || len(m.Tables) != 1 ||
		m.Tables[0].Rows != 500 ||
		!strings.HasPrefix(m.Origin, "backup of the database theirs of PostgreSQL 1") {
		t.Errorf("manifest %+v", m)
	}
	weak := strings.Replace(
		server.DSN("theirs"),
		"plimsoll:"+conn.Config().Password,
		"weak:hunter2hunter2",
		1,
	)
	_, err = quietMaker().Backup(ctx, weak, filepath.Join(root, "refused"))
	if err == nil || !strings.Contains(err.Error(), "needs the attribute REPLICATION") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a user who may not make a backup: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(root, ".dataset-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(filepath.Join(root, "refused")); !os.IsNotExist(err) {
		t.Errorf("the refused dump: %v", err)
	}
}

func TestDatabaseOf(t *testing.T) {
	for dsn, want := range map[string]string{
		"mysql://me:hunter2@tcp(127.0.0.1:3306)/chat":                  "chat",
		"mysql://me:hun@ter/2@tcp(127.0.0.1:3306)/chat?parseTime=true": "chat",
		"mysql://me@unix(/run/mysqld/mysqld.sock)/chat":                "chat",
		"mysql://me@unix(/run/mysqld/mysqld.sock)/":                    "",
		"mysql://me@/my%20chat":                                        "my chat",
		"mysql://me":                                                   "",
		"postgres://me:hunter2@127.0.0.1:5432/chat?sslmode=disable":    "chat",
		"postgresql:///chat?host=/run/postgresql":                      "chat",
	} {
		if got := databaseOf(dsn); got != want {
			t.Errorf("databaseOf(%q) = %q, want %q", dsn, got, want)
		}
	}
}

// TestBackupErrors names what is missing, without a server and without the password.
func TestBackupErrors(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for dsn, want := range map[string]string{
		"oracle://hunter2@127.0.0.1/x":              "neither postgres:// nor mysql://",
		"postgres://me:hunter2@127.0.0.1:1/":        "names no host with a database",
		"mysql://me:hunter2@tcp(127.0.0.1:1)/":      "names no host with a database",
		"mysql://me:hunter2@tcp(127.0.0.1:1)/chat":  "install the package mariadb-backup",
		"postgres://me:hunter2@127.0.0.1:1/chat":    "connecting to the server",
		"postgres://me:hunter2@127.0.0.1:port/chat": "names no host with a database",
	} {
		dir := filepath.Join(t.TempDir(), "kept")
		_, err := quietMaker().Backup(t.Context(), dsn, dir)
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", dsn, err, want)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: a directory is left: %v", dsn, err)
		}
	}
}

// The database of a halted deployment is not read: its next reset would change the files meanwhile.
func TestSnapshotOfAHaltedDeployment(t *testing.T) {
	deployed, into := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	state := filepath.Join(deployed, "postgresql")
	if err := errors.Join(os.MkdirAll(filepath.Join(state, "data"), 0o755), os.WriteFile(filepath.Join(state, "data", "PG_VERSION"), []byte("1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	held, err := process.Claim(t.Context(), deployed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := quietMaker().Snapshot(t.Context(), state, "chat", into); !errors.Is(
		err,
		lab.ErrInUse,
	) {
		t.Errorf("while another program has it: %v, want ErrInUse", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	// no server has this version
	if _, err := quietMaker().Snapshot(t.Context(), state, "chat", into); err == nil ||
		errors.Is(err, lab.ErrInUse) {
		t.Errorf("after it: %v", err)
	}
}
