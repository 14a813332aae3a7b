package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/record"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// leaveWithin is how long after the coordinator's death all users must have left: the silence that
// agents bear, the time over which users leave, and what ending processes takes.
func (s *show) leaveWithin() time.Duration { return silence + over + 15*time.Second }

const (
	// silence and over are the plan's fleet.leave and fleet.over.
	silence = 8 * time.Second
	over    = 5 * time.Second
)

// comparison is the plan of a comparison of the server with itself on the agents.
func (s *show) comparison(url string) string {
	return s.plan(url, fmt.Sprintf(
		"placement: {agents: %d, processes: %d}\nfleet: {resend: 5s, leave: %v, over: %v}",
		s.hosts*s.agents,
		s.processes,
		silence,
		over,
	)) +
		"compare: {mode: sequence, blocks: 1, arms: {base: {}, new: {}}, margin: {p95(post): 10%}}\n"
}

// resume is the scene: the coordinator of a comparison is killed while its second run is measured.
// The users leave, the first run stays as it is, and the same agents finish the comparison.
func resume(ctx context.Context, st *stage) error {
	if err := st.fresh(ctx); err != nil {
		return err
	}
	if err := st.join(ctx); err != nil {
		return err
	}
	file, store := filepath.Join(st.dir, "comparison.yaml"), filepath.Join(st.dir, "comparison")
	if err := os.WriteFile(file, []byte(st.comparison(st.url())), 0o644); err != nil {
		return err
	}
	flags := []string{
		"-store",
		store,
		"-calibrate=false",
		"-fleet-listen",
		st.door(),
		"-fleet-keys",
		st.keys(),
	}
	out := new(lab.Transcript)
	p, err := st.command(ctx, st.Side, out, append(append([]string{"compare"}, flags...), file)...)
	if err != nil {
		return err
	}
	each := st.ramp + st.settle + st.measure + time.Minute
	if err := st.second(ctx, p.Done(), store, 2*each); err != nil {
		return errors.Join(fmt.Errorf("%w\n%s", err, out), p.Stop(ctx))
	}
	before, err := digests(store)
	if err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		return err
	}
	<-p.Done()
	killed := time.Now()
	if err := st.alone(ctx, killed.Add(st.leaveWithin())); err != nil {
		return err
	}
	fmt.Printf(
		"killed in the second run; the users of all %d agents had left %v later\n",
		len(st.agents),
		time.Since(killed).Round(100*time.Millisecond),
	)
	out = new(lab.Transcript)
	if p, err = st.command(ctx, st.Side, out, append([]string{"compare", "-resume", "last"}, flags...)...); err != nil {
		return err
	}
	if err := st.ended(ctx, p, 3*each); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if err := finished(store, before, st.hosts*st.show.agents); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// second waits until the second run of a comparison is being measured.
func (st *stage) second(
	ctx context.Context,
	done <-chan struct{},
	store string,
	within time.Duration,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not within %v", within))
	defer cancel()
	for {
		dirs, err := filepath.Glob(filepath.Join(store, "runs", "*", record.ManifestFile))
		if err != nil {
			return err
		}
		if len(dirs) == 2 && st.carrying() == st.hosts*st.show.agents*st.processes {
			return study.Pause(ctx, st.ramp+st.settle+st.measure/2)
		}
		select {
		case <-done:
			return errors.New("the comparison has ended")
		case <-ctx.Done():
			return fmt.Errorf("waiting for the second run: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// carrying counts the processes with users that the agents have.
func (st *stage) carrying() (n int) {
	for _, p := range st.agents {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.PID()))
		if err != nil {
			continue // of a bad pattern
		}
		for _, file := range tasks {
			b, _ := os.ReadFile(file) // of a thread that has ended
			for child := range strings.FieldsSeq(string(b)) {
				line, _ := os.ReadFile("/proc/" + child + "/cmdline")
				if strings.Contains(string(line), "\x00-stdio\x00") {
					n++
				}
			}
		}
	}
	return n
}

// alone waits until no agent has a process with users.
func (st *stage) alone(ctx context.Context, until time.Time) error {
	for st.carrying() > 0 {
		if time.Now().After(until) {
			return fmt.Errorf("%d processes have users still", st.carrying())
		}
		if err := study.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// digests returns the digests of the manifests of the runs of a store that have ended, by
// directory.
func digests(store string) (map[string]string, error) {
	dirs, err := filepath.Glob(filepath.Join(store, "runs", "*"))
	out := map[string]string{}
	for _, dir := range dirs {
		r, oerr := record.Open(dir)
		if oerr == nil && r.Ended() {
			var d string
			d, oerr = record.DigestFile(filepath.Join(dir, record.ManifestFile))
			out[dir] = d
		}
		err = errors.Join(err, oerr)
	}
	return out, err
}

// finished checks that a comparison is complete on so many agents, and that the runs of before are
// as they were.
func finished(store string, before map[string]string, agents int) error {
	files, err := filepath.Glob(filepath.Join(store, "comparisons", "*", "comparison.json"))
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("there are %d comparisons, want one", len(files))
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var c record.Comparison
	if err := json.Unmarshal(b, &c); err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	if c.State != record.Sealed {
		return fmt.Errorf("the comparison is %s: %s", c.State, c.Why)
	}
	after, err := digests(store)
	if err != nil {
		return err
	}
	if len(before) == 0 {
		return errors.New("no run had ended before the coordinator was killed")
	}
	for dir, d := range before {
		if after[dir] != d {
			return fmt.Errorf("the run %s, which was there before, has changed", filepath.Base(dir))
		}
		r, err := record.Open(dir)
		if err != nil {
			return err
		}
		if len(r.Changed) > 0 {
			return fmt.Errorf(
				"the run %s, which was there before, is damaged: %v",
				filepath.Base(dir),
				r.Changed,
			)
		}
	}
	for _, run := range c.Runs {
		r, err := record.Open(filepath.Join(store, "runs", run.Run))
		if err != nil {
			return err
		}
		fmt.Printf(
			"run %s: arm %s, block %d, %d agents, valid: %v %s\n",
			run.Run,
			run.Arm,
			run.Block,
			len(r.Manifest.Agents),
			run.Valid,
			run.Why,
		)
		if len(r.Manifest.Agents) != agents {
			return fmt.Errorf(
				"the run %s has %d agents, want %d",
				run.Run,
				len(r.Manifest.Agents),
				agents,
			)
		}
	}
	return nil
}
