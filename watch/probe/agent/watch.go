package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/files"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// What selects the parts of this host to watch. Role is needed, the rest is not.
type What struct {
	// Role is the label role of every series that is not about the processes of another.
	Role string
	// CPUs are the cores of the role when it shares this host with others. Counters of single
	// cores, and plimsoll_cpu_busy_ratio, are then of these alone. Empty means all.
	CPUs []int
	// Processes are watched with their children and their control groups.
	Processes []Processes
	// NICs are the names of network devices.
	NICs []string
	// Nginx and Pprof are addresses of pages, see probe.NewNginx and probe.NewPprof.
	Nginx, Pprof string
	// Panicked is called with panics of probes and of requests; it may be nil. It is called from
	// any goroutine.
	Panicked func(*boundary.Panic)
}

// SetCPUs sets the cores of the role in the kernel's notation, such as "0,2-3". A core that this
// host lacks is an error.
func (w *What) SetCPUs(list string) (err error) {
	if w.CPUs, err = lab.ParseCPUs(list); err == nil {
		err = lab.CheckCPUs(w.CPUs)
	}
	return err
}

// Processes are the processes of one role: numbers, or files that hold one, which are read again at
// each sample.
type Processes struct {
	Role string
	From []string
}

// mostPIDFile is the largest file that holds a number, in bytes.
const mostPIDFile = 32

// check reports a file that can never hold a number. A missing file is not one: its process may
// start later.
func (p Processes) check() error {
	for _, from := range p.From {
		if _, err := strconv.Atoi(from); err == nil {
			continue
		}
		f, err := files.Open(from)
		if err == nil {
			err = f.Close()
		}
		if _, irregular := errors.AsType[*files.IrregularError](err); irregular {
			return fmt.Errorf("role %s: %w that holds a process number", p.Role, err)
		}
	}
	return nil
}

// pids returns the numbers. The error names each file that cannot be used.
func (p Processes) pids() (out []int, err error) {
	var errs []error
	for _, from := range p.From {
		n, err := strconv.Atoi(from)
		if err != nil {
			b, ferr := files.Read(from, mostPIDFile)
			if ferr != nil {
				errs = append(errs, ferr)
				continue
			}
			if n, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
				err = errors.New("holds no process number")
			}
		}
		if err == nil && n <= 0 {
			err = errors.New("is not a process number")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %w", from, err))
			continue
		}
		out = append(out, n)
	}
	return out, errors.Join(errs...)
}

type closing interface {
	probe.Probe
	Close() error
}

// located is a probe of processes that names the file that fails to give their numbers.
type located struct {
	closing
	of []Processes
}

func (l located) Sample(ctx context.Context, t time.Time) ([]series.Sample, error) {
	s, err := l.closing.Sample(ctx, t)
	if err == nil {
		return s, nil
	}
	for _, p := range l.of {
		if _, perr := p.pids(); perr != nil {
			err = errors.Join(err, fmt.Errorf("role %s: %w", p.Role, perr))
		}
	}
	return s, err
}

// A watch is the set of probes of one reader.
type watch struct {
	what    What
	probes  []*watched
	running sync.WaitGroup
}

type watched struct {
	name  string
	probe closing
	// holds the result of the sample under way, with room for one; nil when there is none
	busy chan sampled
}

type sampled struct {
	began   time.Time
	samples []series.Sample
	err     error
	took    time.Duration
}

// newWatch makes the probes. The caller closes the watch that it gets.
func newWatch(w What) (*watch, error) {
	out := &watch{what: w}
	var err error
	add := func(name string, p closing, failed error) {
		if failed == nil {
			out.probes = append(out.probes, &watched{name: name, probe: p})
		}
		err = cmp.Or(err, failed)
	}
	roles := map[string][]int{}
	if len(w.CPUs) > 0 {
		roles[w.Role] = w.CPUs
	}
	host, failed := probe.NewHost(probe.HostOptions{Roles: roles})
	add("host", host, failed)
	if len(w.Processes) > 0 {
		var rs []probe.Role
		for _, p := range w.Processes {
			rs = append(rs, probe.Role{
				Name: p.Role,
				PIDs: func() []int { n, _ := p.pids(); return n },
			})
		}
		add("process", located{probe.NewProcesses(rs), w.Processes}, nil)
		add("cgroup", located{probe.NewCgroups(rs), w.Processes}, nil)
	}
	for _, device := range w.NICs {
		n, failed := probe.NewNIC(device)
		add("nic "+device, n, failed)
	}
	if w.Nginx != "" {
		n, failed := probe.NewNginx(w.Nginx)
		add("nginx", n, failed)
	}
	if w.Pprof != "" {
		p, failed := probe.NewPprof(w.Pprof)
		add("pprof", p, failed)
	}
	if err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

// close waits for samples under way, whose contexts must have ended, and closes the probes.
func (w *watch) close() {
	w.running.Wait()
	for _, p := range w.probes {
		_ = p.probe.Close() // nothing was written
	}
}

// A failedProbe is a probe without a whole sample, and the reason.
type failedProbe struct {
	probe string
	err   error
}

// sample calls every probe at once and returns their samples until ctx ends; it never runs twice at
// once. A probe that is late has failed, and is not called again before it has ended.
func (w *watch) sample(ctx context.Context) (out series.Samples, failed []failedProbe) {
	now := time.Now()
	for _, x := range w.probes {
		if x.busy != nil {
			select {
			case <-x.busy: // too late for the answer before
			default:
				continue
			}
		}
		x.busy = make(chan sampled, 1)
		w.running.Go(func() {
			var s []series.Sample
			err := boundary.Do("probe "+x.name, func() (err error) {
				s, err = x.probe.Sample(ctx, now)
				return err
			})
			if p, ok := errors.AsType[*boundary.Panic](err); ok && w.what.Panicked != nil {
				w.what.Panicked(p)
			}
			x.busy <- sampled{now, s, err, time.Since(now)}
		})
	}
	for _, x := range w.probes {
		var got sampled
		select {
		case got = <-x.busy:
			x.busy = nil
		case <-ctx.Done():
			select { // both were ready
			case got = <-x.busy:
				x.busy = nil
			default:
				got = sampled{err: errors.New("it has not ended in time"), took: time.Since(now)}
			}
		}
		if got.err == nil && !got.began.Equal(now) {
			got = sampled{err: errors.New("the sample before has only just ended"), took: got.took}
		}
		up := 1.0
		if got.err != nil {
			up = 0
			failed = append(failed, failedProbe{x.name, got.err})
		}
		out = w.add(out, got.samples)
		ls := probe.Labels("probe", x.name, "role", w.what.Role)
		out.Add("plimsoll_probe_up", ls, up)
		out.Add("plimsoll_probe_seconds", ls, got.took.Seconds())
	}
	return out, failed
}

// add adds samples, each with its role.
func (w *watch) add(out, samples []series.Sample) []series.Sample {
	for _, s := range samples {
		role, labels := w.what.Role, s.Labels
		if i := slices.IndexFunc(s.Labels, func(l series.Label) bool {
			return l.Name == "role"
		}); i >= 0 {
			switch own := s.Labels[i].Value; {
			case own == "self":
				continue // the agent's own control group
			case own != "host":
				out = append(out, s)
				continue
			case len(w.what.CPUs) > 0:
				continue // the ratios of the role's cores stand for it
			}
			labels = slices.Delete(slices.Clone(s.Labels), i, i+1)
		}
		if !w.covers(s) {
			continue
		}
		s.Labels = slices.Concat(labels, probe.Labels("role", role))
		out = append(out, s)
	}
	return out
}

// covers reports whether a sample is about the role's cores, or about no single one. Packets stay:
// whichever core was interrupted, they may be the role's.
func (w *watch) covers(s series.Sample) bool {
	if len(w.what.CPUs) == 0 ||
		!strings.HasPrefix(s.Name, "node_cpu_") && !strings.HasPrefix(s.Name, "node_schedstat_") {
		return true
	}
	core, err := strconv.Atoi(label(s, "cpu"))
	return err == nil && slices.Contains(w.what.CPUs, core)
}
