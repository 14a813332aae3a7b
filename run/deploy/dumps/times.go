package dumps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"plimsoll/plan"
	"plimsoll/run/deploy/stores"
)

// TimeReset times a reset of a database to its present state, as between two runs.
func TimeReset(ctx context.Context, s *stores.Server, database string) (seconds float64, err error) {
	if err := s.Snapshot(ctx, database); err != nil {
		return 0, err
	}
	began := time.Now()
	err = s.Restore(ctx, database)
	return time.Since(began).Seconds(), err
}

// TimeCopy times cp -a and the time until the copy is on disk, and removes the copy. Times are in
// seconds.
func TimeCopy(ctx context.Context, from, to string) (cp, sync float64, err error) {
	if _, err := os.Lstat(to); err == nil {
		return 0, 0, plan.Usagef(
			"%s, where -plain copies to, is there already; remove it, or restore to another directory",
			to,
		)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	for i, args := range [][]string{{"cp", "-a", from, to}, {"sync", "-f", to}} {
		began := time.Now()
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return 0, 0, fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
		*[]*float64{&cp, &sync}[i] = time.Since(began).Seconds()
	}
	return cp, sync, nil
}
