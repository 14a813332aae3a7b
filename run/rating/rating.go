// Package rating measures the load that the load generator of this host can drive, and keeps the
// result for the host, its cores and this program. The gate headroom is read against it, and users
// are divided among hosts by it.
//
// It drives the null server, which is this program in a separate process. A [Control] measures the
// same server before each run of a comparison, as a negative control.
package rating

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/watch/probe"
)

// A Rater measures the generator of this host.
type Rater struct {
	Root     string // of the store
	Version  string // of this program
	Null     Null
	CPUs     []int // of the generator, for the record; none when it may use all
	Behavior func() workload.Behavior
	Timeout  time.Duration // of an operation
	// Doing reports progress, with how long it takes; 0 if that is not known.
	Doing func(what string, length time.Duration)
}

// Kept returns the rating of this host, with the cores that this process may use, from a store or
// the user's cache; false without one.
func Kept(root string) (r calibration.Result, known bool, err error) {
	return kept(root, digestOf(probe.Fingerprint()))
}

// Measure measures a rating, which takes length (0 for the default), and keeps it.
func (x Rater) Measure(
	ctx context.Context,
	length time.Duration,
) (r calibration.Result, err error) {
	limits, err := probe.ReadLimits()
	if err != nil {
		return r, err
	}
	x.Doing("calibrating", length)
	url, stop, err := x.Null.Start(ctx)
	if err != nil {
		return r, fmt.Errorf("calibration: starting the null server: %w", err)
	}
	defer stop()
	host := probe.Fingerprint()
	r, err = calibration.Measure(ctx, calibration.Config{
		Env:      workload.Env{URL: url, Seed: 1, Timeout: x.Timeout, Secret: nullSecret},
		Behavior: x.Behavior(),
		Cores:    runtime.GOMAXPROCS(0),
		Sockets:  max(4, limits.Files-limits.FilesOpen-probe.ReservedFiles),
		Memory:   memoryOfUsers(host),
		Length:   length,
		Progress: func(what string) { x.Doing("calibrating: "+what, 0) },
	})
	if err != nil {
		return r, err
	}
	r.Digest = digestOf(host)
	r.Tool = x.Version
	r.CPUs = x.CPUs
	return r, keep(x.Root, r)
}

// nullSecret returns the secrets of the null server, which asks for none.
func nullSecret(name string) string {
	if name == "admin_password" {
		return "Aa1!calibration"
	}
	return ""
}

// digestOf identifies a host with the cores that this process may use, and this program: a rating
// is of these.
func digestOf(host probe.Host) string {
	return fmt.Sprintf("%s-%d-%s", host.Digest(), runtime.GOMAXPROCS(0), ownBuild())
}

// ownBuild identifies this program by its file; a program whose file cannot be read is like all
// such.
var ownBuild = sync.OnceValue(func() string {
	build, err := join.Build()
	if err != nil {
		return "unknown"
	}
	return build
})

// dirs returns where ratings are kept: for all working directories and stores of a user, and in the
// store, for other users of it.
func dirs(root string) []string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return []string{root}
	}
	return []string{filepath.Join(cache, "plimsoll"), root}
}

// kept returns the rating of a host that is kept; false without one. A file that cannot be
// understood is an error unless another has it.
func kept(root, digest string) (calibration.Result, bool, error) {
	var errs []error
	for _, dir := range dirs(root) {
		r, known, err := calibration.Load(dir, digest)
		if known {
			return r, true, nil
		}
		errs = append(errs, err)
	}
	return calibration.Result{}, false, errors.Join(errs...)
}

// keep writes a rating to all directories that take it. It is an error if none does.
func keep(root string, r calibration.Result) error {
	var errs []error
	for _, dir := range dirs(root) {
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = calibration.Save(dir, r)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) < len(dirs(root)) {
		return nil
	}
	return errors.Join(errs...)
}

// memoryOfUsers returns how much of a host's memory users may take, by a rating, in bytes.
func memoryOfUsers(host probe.Host) uint64 { return host.MemoryBytes / 2 }

// OfHost returns the rating of this host for coordinators, with all cores that this process may
// use.
func OfHost(r calibration.Result) *join.Rating {
	users, _ := r.InProcesses(memoryOfUsers(probe.Fingerprint()))
	return &join.Rating{
		Users: users, OpsPerSecond: r.PacedOps, OpsPerUserSecond: r.OpsPerUserSecond, Date: r.Date,
	}
}

// Describe describes a rating in lines for people.
func Describe(r calibration.Result) string {
	var b strings.Builder
	plain.Fprintf(
		&b,
		"generator on %d core(s): %.0f requests/s in a closed loop (%.1f us of CPU each), "+
			"%.0f ops/s of simulated users (%.1f us each)\n",
		r.Cores,
		r.OpsPerSecond,
		r.CPUPerOp,
		r.PacedOps,
		r.PacedCPUPerOp,
	)
	why := map[string]string{
		"cpu":    "its cores",
		"files":  "the limit of open files",
		"memory": "its memory",
	}[r.LimitedBy]
	plain.Fprintf(&b, "at most %d users at pace 1 in one process, limited by %s; "+
		"%d sockets, %.0f KiB per connected user\n", r.Users, why, r.Sockets, r.KiBPerUser)
	return b.String()
}
