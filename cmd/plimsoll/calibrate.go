package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/engine/calibration"
	"plimsoll/lab"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/store"
	"plimsoll/workload"
)

// reserveFiles are left free by every reckoning: probes, files of the run, children.
const reserveFiles = 500

// calibrateFlag adds the flag that leaves the self-test out.
func (a *app) calibrateFlag(fs *flag.FlagSet) *bool {
	def := a.env("PLIMSOLL_CALIBRATE") != "false"
	return fs.Bool("calibrate", def, "rate this host's generator for 20 s when it has not been (environment PLIMSOLL_CALIBRATE=false: never)")
}

// calibrated is the behavior of the users that the generator is rated with.
const calibrated = "mattermost"

// calibrate is the verb that rates the generator on this host.
func (a *app) calibrate(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	force := fs.Bool("force", false, "measure again even if there is a result")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	length := fs.Duration("length", 20*time.Second, "how long it may take, 4s to 5m")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	if *length < 4*time.Second || *length > 5*time.Minute {
		return usagef("-length %v: want 4s to 5m", *length)
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	// The same placement as that of a plan whose target runs here.
	s, err := a.newSession(&plan.Plan{Target: plan.Target{Driver: "refnull"}}, st)
	if err != nil {
		return err
	}
	r, known, err := s.calibrated(ctx, *force, *length)
	s.prog.end()
	if err != nil {
		return err
	}
	if *asJSON {
		return a.json(r)
	}
	if known {
		plain.Fprintf(a.stdout, "measured %s; -force measures again\n", r.Date.Local().Format(time.DateTime))
	}
	_, err = io.WriteString(a.stdout, describeCalibration(r))
	return err
}

func describeCalibration(r calibration.Result) string {
	var b strings.Builder
	plain.Fprintf(&b, "generator on %d core(s): %.0f requests/s in a closed loop (%.1f us of CPU each), %.0f ops/s of simulated users (%.1f us each)\n",
		r.Cores, r.OpsPerSecond, r.CPUPerOp, r.PacedOps, r.PacedCPUPerOp)
	why := map[string]string{"cpu": "its cores", "files": "the limit of open files", "memory": "its memory"}[r.LimitedBy]
	plain.Fprintf(&b, "at most %d users at pace 1 in one process, limited by %s; %d sockets, %.0f KiB per connected user\n", r.Users, why, r.Sockets, r.KiBPerUser)
	return b.String()
}

// calibrated returns the rating of this host with the session's cores: a stored one, or a new one, which takes length.
func (s *session) calibrated(ctx context.Context, force bool, length time.Duration) (r calibration.Result, known bool, err error) {
	host := probe.Fingerprint()
	cores := runtime.GOMAXPROCS(0)
	digest := fmt.Sprintf("%s-%d", host.Digest(), cores)
	if !force {
		if r, known, err = calibration.Load(s.store.Root(), digest); known || err != nil {
			return r, known, err
		}
	}
	limits, err := probe.ReadLimits()
	if err != nil {
		return r, false, err
	}
	s.prog.doing("calibrating", length)
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
		Behavior: mattermost.Behaviors()[calibrated](), Cores: cores, Sockets: max(4, limits.Files-limits.FilesOpen-reserveFiles),
		Memory: host.MemoryBytes / 2, Length: length, Progress: func(what string) { s.prog.doing("calibrating: "+what, 0) },
	})
	if err != nil {
		return r, false, err
	}
	r.Digest, r.Tool, r.CPUs = digest, version(), s.generator
	return r, false, calibration.Save(s.store.Root(), r)
}

// startNull starts the null server in a process of its own, on the target's cores.
func (s *session) startNull(ctx context.Context) (url string, stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("finding this program: %w", err)
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
	p, err := lab.Start(ctx, lab.Spec{Name: "refnull", Path: exe, Args: []string{"refnull", "-listen", "127.0.0.1:0"}, Env: env, CPUs: s.targets, Stdout: w})
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

// rate makes sure that the session has a rating, if it may take the time. A rating that fails is said and is no reason
// not to run: the gates then know that there is none.
func (s *session) rate(ctx context.Context, allowed bool) {
	if !allowed {
		host := probe.Fingerprint()
		if r, known, err := calibration.Load(s.store.Root(), fmt.Sprintf("%s-%d", host.Digest(), runtime.GOMAXPROCS(0))); err == nil && known {
			s.rating = &r
		}
		return
	}
	r, known, err := s.calibrated(ctx, false, 0)
	if err != nil {
		s.prog.say("no rating of the generator: %v", err)
		return
	}
	if !known {
		s.prog.say("%s", strings.TrimSpace(describeCalibration(r)))
	}
	s.rating = &r
}
