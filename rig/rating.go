package rig

import (
	"bufio"
	"bytes"
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
	"plimsoll/run/users"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// rate makes sure that the session has a rating, if it may take the time. A rating that fails is reported and does
// not prevent a run: the gates then have none.
func (s *Session) rate(ctx context.Context, allowed bool) {
	if !allowed {
		if r, known, err := keptRating(s.Store.Root(), ratedAs(probe.Fingerprint())); err == nil && known {
			s.rating = &r
		}
		return
	}
	r, known, err := s.Calibrated(ctx, false, 0)
	if err != nil {
		s.Progress.Say("no rating of the generator: %v", err)
		return
	}
	if !known {
		for line := range strings.Lines(DescribeCalibration(r)) { // a line of the progress is one line
			s.Progress.Say("%s", strings.TrimSuffix(line, "\n"))
		}
	}
	s.rating = &r
}

// ratedAs identifies a host with the cores that this process may use, and this program: a rating is of these.
func ratedAs(host probe.Host) string {
	return fmt.Sprintf("%s-%d-%s", host.Digest(), runtime.GOMAXPROCS(0), ownBuild())
}

// ownBuild identifies this program by its file; a program whose file cannot be read is like all such.
var ownBuild = sync.OnceValue(func() string {
	build, err := join.Build()
	if err != nil {
		return "unknown"
	}
	return build
})

// ratingDirs are where ratings are kept: for all working directories and stores of a user, and in the store, for other
// users of it.
func ratingDirs(root string) []string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return []string{root}
	}
	return []string{filepath.Join(cache, "plimsoll"), root}
}

// keptRating returns the rating of a host that is kept; false without one. A file that cannot be understood is an error
// unless another has it.
func keptRating(root, digest string) (calibration.Result, bool, error) {
	var errs []error
	for _, dir := range ratingDirs(root) {
		r, known, err := calibration.Load(dir, digest)
		if known {
			return r, true, nil
		}
		errs = append(errs, err)
	}
	return calibration.Result{}, false, errors.Join(errs...)
}

// keepRating keeps a rating where it can. It is an error if that is nowhere.
func keepRating(root string, r calibration.Result) error {
	var errs []error
	for _, dir := range ratingDirs(root) {
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = calibration.Save(dir, r)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) < len(ratingDirs(root)) {
		return nil
	}
	return errors.Join(errs...)
}

// memoryOfUsers is how much of a host's memory users may take, by a rating, in bytes.
func memoryOfUsers(host probe.Host) uint64 { return host.MemoryBytes / 2 }

// Calibrated returns the rating of this host with the session's cores: a kept one, or a new one, which takes length.
func (s *Session) Calibrated(ctx context.Context, force bool, length time.Duration) (r calibration.Result, known bool, err error) {
	host := probe.Fingerprint()
	digest := ratedAs(host)
	if !force {
		if r, known, err = keptRating(s.Store.Root(), digest); known || err != nil {
			return r, known, err
		}
	}
	limits, err := probe.ReadLimits()
	if err != nil {
		return r, false, err
	}
	s.Progress.Doing("calibrating", length)
	url, stop, err := s.startNull(ctx)
	if err != nil {
		return r, false, fmt.Errorf("calibration: starting the null server: %w", err)
	}
	defer stop()
	r, err = calibration.Measure(ctx, calibration.Config{
		Env: workload.Env{URL: url, Seed: 1, Timeout: opTimeout, Secret: func(name string) string {
			if name == "admin_password" {
				return "Aa1!calibration" // of a server that asks for none
			}
			return ""
		}},
		Behavior: s.Dialects.Behaviors()[s.Rated](), Cores: runtime.GOMAXPROCS(0), Sockets: max(4, limits.Files-limits.FilesOpen-users.ReserveFiles),
		Memory: memoryOfUsers(host), Length: length, Progress: func(what string) { s.Progress.Doing("calibrating: "+what, 0) },
	})
	if err != nil {
		return r, false, err
	}
	r.Digest, r.Tool, r.CPUs = digest, s.Version, s.generator
	return r, false, keepRating(s.Store.Root(), r)
}

// startNull starts the null server in a process of its own, on the target's cores.
func (s *Session) startNull(ctx context.Context) (url string, stop func(), err error) {
	exe, err := lab.Executable()
	if err != nil {
		return "", nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	env := os.Environ()
	if n := len(s.targets); n > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", n))
	}
	p, err := lab.Start(ctx, lab.Spec{Name: s.Null, Path: exe, Args: []string{s.Null, "-listen", "127.0.0.1:0"}, Env: env, CPUs: s.targets, Stdout: w})
	w.Close()
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.Stop(ctx) // a child that does not end is killed with us
	}
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		stop()
		return "", nil, err
	}
	line, err := bufio.NewReader(r).ReadBytes('\n')
	_, at, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" on "))
	if err != nil || !ok {
		stop()
		return "", nil, errors.Join(fmt.Errorf("it does not say where it listens: %s", p.Tail()), err)
	}
	return string(at), stop, nil
}

// DescribeCalibration describes the result of a rating in lines for people.
func DescribeCalibration(r calibration.Result) string {
	var b strings.Builder
	plain.Fprintf(&b, "generator on %d core(s): %.0f requests/s in a closed loop (%.1f us of CPU each), %.0f ops/s of simulated users (%.1f us each)\n",
		r.Cores, r.OpsPerSecond, r.CPUPerOp, r.PacedOps, r.PacedCPUPerOp)
	why := map[string]string{"cpu": "its cores", "files": "the limit of open files", "memory": "its memory"}[r.LimitedBy]
	plain.Fprintf(&b, "at most %d users at pace 1 in one process, limited by %s; %d sockets, %.0f KiB per connected user\n", r.Users, why, r.Sockets, r.KiBPerUser)
	return b.String()
}
