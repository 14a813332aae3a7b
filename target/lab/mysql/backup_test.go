package mysql_test

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/mysql"
)

// program stands for mariadb-backup: it wants to read its options, and makes the directory that it
// is to fill.
const program = `#!/bin/sh
for a in "$@"; do
	case $a in
	--defaults-file=*) cat "${a#*=}" >/dev/null || exit 1 ;;
	--target-dir=*) mkdir -p "${a#*=}" || exit 1 ;;
	esac
done
`

// TestBackupIntoARelativeDirectory: a directory counts from where this program is, and not from
// where its children are.
func TestBackupIntoARelativeDirectory(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{Dir: t.TempDir()})
	d, err := s.Describe(ctx)
	failure.None(t, err)
	bin := t.TempDir()
	failure.None(t, os.WriteFile(filepath.Join(bin, "mariadb-backup"), []byte(program), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Chdir(t.TempDir())
	b, err := mysql.Backup(ctx, s.DSN("mysql"), "work")
	if d.Name != "MariaDB" {
		if err == nil {
			t.Errorf("a backup was made of %s", d.Name)
		}
		return
	}
	failure.None(t, err)
	if made, err := filepath.Abs(filepath.Join("work", "backup")); err != nil || b.Data != made {
		t.Errorf("the data are in %s, want %s: %v", b.Data, made, err)
	}
	failure.None(t, failure.Of(os.Stat(filepath.Join("work", "backup"))))
}
