package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/target/lab"
)

// A BackedUp is the copy of the data of a server that another has started.
type BackedUp struct {
	Data     string            // the directory, which Config.Data takes
	Version  string            // of the server
	Settings map[string]string // that the first server on the copy needs
}

// Backup copies the data of a running MariaDB server on this host, all its databases, to a new
// directory below dir. It uses mariadb-backup of the system's install, which reads the files of the
// server while that goes on. The user in the DSN needs the privileges RELOAD, PROCESS, LOCK TABLES
// and BINLOG MONITOR. The DSN is in no error.
func Backup(ctx context.Context, dsn, dir string) (b BackedUp, err error) {
	conf, err := driver.ParseDSN(strings.TrimPrefix(dsn, "mysql://"))
	if err != nil {
		return b, errors.New(
			"the DSN is no address of a MySQL server; want mysql://user:password@tcp(host:port)/database",
		)
	}
	conf.Logger = &driver.NopLogger{}
	program, err := exec.LookPath("mariadb-backup")
	if err != nil {
		return b, errors.New(
			"no mariadb-backup is installed; install the package mariadb-backup, or write a dump with mariadb-dump and use data restore",
		)
	}
	if b.Version, err = fit(ctx, conf); err != nil {
		return b, err
	}
	if dir, err = filepath.Abs(dir); err != nil { // mariadb-backup begins in it
		return b, fmt.Errorf("preparing a backup: %w", err)
	}
	if err := lab.MkdirState(dir); err != nil {
		return b, err
	}
	host, port, err := net.SplitHostPort(conf.Addr)
	address := "host=" + host + "\nport=" + port
	if conf.Net == "unix" {
		address, err = "socket="+conf.Addr, nil
	}
	if err != nil {
		return b, errors.New(
			"the DSN has no host and port; want mysql://user:password@tcp(host:port)/database",
		)
	}
	options := filepath.Join(dir, "client.cnf")
	password := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(conf.Passwd) + `"`
	if err := os.WriteFile(options, []byte("[mariadb-backup]\n"+address+"\nuser="+conf.User+"\npassword="+password+"\n"), 0o600); err != nil {
		return b, fmt.Errorf("preparing a backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(options)) }()
	b.Data = filepath.Join(dir, "backup")
	for _, args := range [][]string{
		{"--defaults-file=" + options, "--backup", "--target-dir=" + b.Data},
		{"--no-defaults", "--prepare", "--target-dir=" + b.Data},
	} {
		if err := lab.Run(ctx, lab.Spec{
			Name: "mariadb-backup",
			Path: program,
			Args: args,
			Dir:  dir,
		}); err != nil {
			return b, fmt.Errorf(
				"%w\nthe user needs the privileges RELOAD, PROCESS, LOCK TABLES and BINLOG MONITOR",
				err,
			)
		}
	}
	// Its root may have a password, or be another plugin's.
	uid, _ := lab.Unprivileged("mysql")
	home, err := lab.PrivateDir(dir, uid) // the server reads the file as its user
	if err != nil {
		return b, err
	}
	first := filepath.Join(home, "first.sql")
	if err := os.WriteFile(first, []byte("CREATE USER IF NOT EXISTS root@localhost;\n"+
		"GRANT ALL PRIVILEGES ON *.* TO root@localhost WITH GRANT OPTION;\nALTER USER root@localhost IDENTIFIED BY '';\n"), 0o644); err != nil {
		return b, fmt.Errorf("preparing a backup: %w", err)
	}
	b.Settings = map[string]string{"init_file": first}
	return b, nil
}

// fit makes sure that a server's files can be read here, and returns its version.
func fit(ctx context.Context, conf *driver.Config) (version string, err error) {
	connector, err := driver.NewConnector(conf)
	if err != nil {
		return "", errors.New(
			"the DSN is no address of a MySQL server; want mysql://user:password@tcp(host:port)/database",
		)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var dir string
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@datadir").Scan(&version, &dir); err != nil {
		return "", fmt.Errorf("connecting to the server: %w", err)
	}
	const instead = "write a dump there with mariadb-dump or mysqldump --single-transaction, and use data restore"
	if !strings.Contains(version, "MariaDB") {
		return "", fmt.Errorf(
			"the server is MySQL %s, whose files mariadb-backup cannot read; %s",
			version,
			instead,
		)
	}
	if _, err := os.Stat(filepath.Join(dir, "ibdata1")); err != nil {
		return "", fmt.Errorf(
			"the server's data directory %s is not to be read here (%w), as mariadb-backup does; run this on the server's host, or %s",
			dir,
			err,
			instead,
		)
	}
	return version, nil
}
