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
	"strings"

	embedded "github.com/fergusstrange/embedded-postgres"

	"plimsoll/target/lab"
)

// embeddedVersion is the version that is obtained when the system has no PostgreSQL.
const embeddedVersion = embedded.PostgresVersion("18.3.0")

// findBinaries returns the directory of postgres and initdb.
func findBinaries(ctx context.Context) (string, error) {
	if dir, ok := installed(); ok {
		return dir, nil
	}
	return obtain(ctx)
}

// Missing returns what a start of a server lacks on this host, with the remedy; nil if it lacks
// nothing. What is missing is obtained then, which takes a network.
func Missing() error {
	if _, ok := installed(); ok {
		return nil
	}
	if home, err := home(); err == nil && complete(filepath.Join(home, "bin")) {
		return nil
	}
	return fmt.Errorf(
		"PostgreSQL is not installed on this host, and version %s is fetched at the first start; "+
			"without a network install the package postgresql",
		embeddedVersion,
	)
}

// home is the directory of the programs that were obtained.
func home() (string, error) {
	cache, err := lab.CacheDir()
	return filepath.Join(cache, "postgresql-"+string(embeddedVersion)), err
}

// complete reports whether a directory holds both programs.
func complete(dir string) bool {
	return lab.IsFile(filepath.Join(dir, "postgres")) && lab.IsFile(filepath.Join(dir, "initdb"))
}

// installed finds the system's own PostgreSQL: in PATH, then the newest in the directories of
// Debian's and Red Hat's packages.
func installed() (string, bool) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && complete(filepath.Dir(path)) {
			return filepath.Dir(path), true
		}
	}
	best, bestVersion := "", 0
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} {
		dirs, _ := filepath.Glob(pattern) // the patterns are well-formed
		for _, dir := range dirs {
			name := strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "pgsql-")
			if v, err := strconv.Atoi(name); err == nil && v > bestVersion && complete(dir) {
				best, bestVersion = dir, v
			}
		}
	}
	return best, best != ""
}

// obtain lets the embedded-postgres library fetch and unpack the programs. The library also
// prepares and starts a server, which it cannot do as root, nor with our supervision: a locale that
// does not exist makes it stop right after unpacking. It takes no context; when ours ends, its
// download is abandoned, not awaited.
func obtain(ctx context.Context) (string, error) {
	home, err := home()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(home, "bin")
	if complete(bin) {
		return bin, nil
	}
	tmp, err := os.MkdirTemp(filepath.Dir(home), "unpack-")
	if err != nil {
		return "", fmt.Errorf("obtaining PostgreSQL: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", fmt.Errorf("obtaining PostgreSQL: %w", err)
	}
	done := make(chan error, 1)
	go func() {
		done <- embedded.NewDatabase(embedded.DefaultConfig().
			Version(embeddedVersion).
			CachePath(filepath.Join(tmp, "cache")).
			RuntimePath(filepath.Join(tmp, "runtime")).
			BinariesPath(filepath.Join(tmp, "home")).
			DataPath(filepath.Join(tmp, "data")).
			Locale("plimsoll-wants-no-server").
			Logger(io.Discard)).Start()
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		return "", fmt.Errorf("obtaining PostgreSQL: %w", context.Cause(ctx))
	}
	if !complete(filepath.Join(tmp, "home", "bin")) {
		if err == nil {
			err = errors.New("the library unpacked no programs")
		}
		return "", fmt.Errorf(
			"PostgreSQL is not installed and could not be obtained: %w; install the package postgresql",
			err,
		)
	}
	if err := lab.SettleTree(filepath.Join(tmp, "home"), home); err != nil && !complete(bin) {
		return "", fmt.Errorf("obtaining PostgreSQL: %w", err)
	}
	return bin, nil
}
