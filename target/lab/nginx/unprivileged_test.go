package nginx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/target/lab/nginx"
)

// TestWithoutRoot: nginx starts for every user. As root the test carries itself out again as
// nobody.
func TestWithoutRoot(t *testing.T) {
	need(t)
	if os.Geteuid() != 0 {
		s := start(t, nginx.Config{Upstreams: []string{upstream(t, "one")}})
		if got := get(t, "http://"+s.Addr()+"/"); got != "one" {
			t.Errorf("got %q", got)
		}
		return
	}
	const nobody = 65534
	//nolint:usetesting // a TempDir is closed to other users
	dir, err := os.MkdirTemp("", "nginx-test-")
	failure.None(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	own, err := os.ReadFile(os.Args[0])
	failure.None(t, err)
	path := filepath.Join(dir, "test")
	failure.None(t, errors.Join(
		os.WriteFile(path, own, 0o755),
		os.Chmod(path, 0o755),
		os.Chown(dir, nobody, nobody),
	))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = lab.Run(ctx, lab.Spec{
		Path: path,
		Args: []string{"-test.run=^TestWithoutRoot$"},
		Dir:  dir,
		UID:  nobody,
		GID:  nobody,
		Env:  append(os.Environ(), "TMPDIR="+dir, "HOME="+dir),
	})
	failure.None(t, err)
}
