package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"time"

	"plimsoll/run/health/sources"
	"plimsoll/run/trial"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// Signals answer a trial's questions about hosts and series, in the time of the run's clock. They
// implement [trial.Signals].
type Signals struct {
	*GateReader
	cores  map[string][]int // of the roles with their own cores on this host
	stat   *os.File
	turns  *probe.Turns // of the run; nil: all time is its own
	db     *series.DB
	runner *probe.Runner
	began  time.Duration // of the run's clock
}

// NewSignals opens /proc/stat for roles with their own cores on this host. A role without cores is
// not known, except "generator", which then is this process. CPU times are measured over turns;
// nil: all time is the run's.
func NewSignals(cores map[string][]int, h *GateReader, turns *probe.Turns, db *series.DB,
	runner *probe.Runner) (*Signals, error) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return nil, err
	}
	return &Signals{
		GateReader: h,
		cores:      cores,
		stat:       f,
		turns:      turns,
		db:         db,
		runner:     runner,
		began:      h.clock.Now(),
	}, nil
}

// Close closes /proc/stat.
func (s *Signals) Close() { _ = s.stat.Close() }

// Busy returns the busy and the whole CPU time of a role's cores in seconds.
func (s *Signals) Busy(role string) (busy, total float64, err error) {
	cores := s.cores[role]
	if role == "app" && len(cores) == 0 {
		cores = s.cores["target"] // all of them
	}
	if len(cores) == 0 {
		if role == "generator" {
			return s.ownCPU()
		}
		return s.elsewhere(role)
	}
	if s.turns != nil {
		return s.turns.Cores(cores)
	}
	// More than 16 KiB beyond 200 cores.
	stat, err := io.ReadAll(io.NewSectionReader(s.stat, 0, math.MaxInt64))
	if err != nil {
		return 0, 0, err
	}
	return CoreTimes(stat, cores)
}

// elsewhere returns the CPU time of all hosts of a role that have an agent, or that a Prometheus
// server watches.
func (s *Signals) elsewhere(role string) (busy, total float64, err error) {
	seen := false
	for _, st := range s.runner.Status() {
		of, instance, ok := sources.Host(st.Name)
		if !ok || of != role {
			continue
		}
		seen = true
		b, all, err := s.cpuOfHost(st.Name, fmt.Sprintf("{instance=%q,role=%q}", instance, role))
		if err != nil {
			return 0, 0, err
		}
		busy += b
		total += all
	}
	if seen {
		return busy, total, nil
	}
	if busy, ok := s.processes(role); ok {
		return busy, s.passed() * float64(runtime.NumCPU()), nil
	}
	return 0, 0, fmt.Errorf(
		"the CPU of role %q is not seen from here; a probe of kind agent on its "+
			"host would see it, one of kind pid or container on this host, or a Prometheus server "+
			"(metrics)",
		role,
	)
}

// cpuOfHost returns the CPU time of the host of a probe, by the labels of its series.
func (s *Signals) cpuOfHost(probe, labels string) (busy, total float64, err error) {
	for range 3 { // both are of one sample; a new one may come between the two
		busy, at, ok := s.last("plimsoll_agent_cpu_busy_seconds_total" + labels)
		all, then, known := s.last("plimsoll_agent_cpu_seconds_total" + labels)
		if !ok || !known || s.age(at) > fresh {
			return 0, 0, fmt.Errorf("%s has reported no CPU time for more than %v", probe, fresh)
		}
		if at.Equal(then) {
			return busy, all, nil
		}
	}
	return 0, 0, fmt.Errorf("the samples of %s come too quickly", probe)
}

// passed returns the time since the beginning, in seconds.
func (s *Signals) passed() float64 { return (s.clock.Now() - s.began).Seconds() }

// processes returns the CPU time of a role's processes on this host if the role has no cores to
// itself.
func (s *Signals) processes(role string) (busy float64, ok bool) {
	for _, mode := range []string{"user", "system"} {
		key := fmt.Sprintf("plimsoll_process_cpu_seconds_total{mode=%q,role=%q}", mode, role)
		v, at, seen := s.last(key)
		if !seen || s.age(at) > fresh {
			return 0, false
		}
		busy += v
	}
	return busy, true
}

// ownCPU returns the CPU time of this process, and of the agents that it leads, against all the
// cores that it may use.
func (s *Signals) ownCPU() (busy, total float64, err error) {
	used, err := s.turns.SelfCPU()
	if err != nil {
		return 0, 0, err
	}
	busy = used.Seconds()
	if s.of.Agents > 0 {
		r := s.ofUsers("plimsoll_generator_cpu_seconds_total", 1, sum)
		if r.Why != "" {
			return 0, 0, errors.New(r.Why)
		}
		busy += r.Value
	}
	return busy, s.passed() * float64(runtime.GOMAXPROCS(0)), nil
}

// CPUTimes returns a function that reads the busy and the whole CPU times of roles, in seconds.
// Roles whose processes run on the target's cores share them, so together they are the role
// "target"; cores is their number, 0 for none.
func (s *Signals) CPUTimes(roles []string, cores float64) func() map[string][2]float64 {
	return func() map[string][2]float64 {
		out := map[string][2]float64{}
		for _, role := range roles {
			if busy, ok := s.processes(role); ok && cores > 0 {
				out["target"] = [2]float64{out["target"][0] + busy, s.passed() * cores}
			} else if busy, total, err := s.Busy(role); err == nil && cores == 0 {
				out[role] = [2]float64{busy, total}
			}
		}
		return out
	}
}

// Busyness returns a function that reads the CPU of generator, app and database since its last
// call, as shares of the cores of the role. A role that is not seen is not in it. targets is the
// number of the target's own cores on this host.
func (s *Signals) Busyness(targets int) func() map[string]float64 {
	roles := map[string]string{"generator": "generator", "app": "app", "database": "db"}
	var was map[string][2]float64
	return func() map[string]float64 {
		out, now := map[string]float64{}, map[string][2]float64{}
		for name, role := range roles {
			if role != "generator" && targets > 0 { // the role's cores are shared with others
				v, at, ok := s.last(ofRole("plimsoll_process_cpu_ratio", role))
				if ok && s.age(at) <= fresh {
					out[name] = min(max(v/float64(targets), 0), 1)
				}
				continue
			}
			busy, total, err := s.Busy(role)
			if err != nil {
				continue
			}
			now[name] = [2]float64{busy, total}
			if b, ok := was[name]; ok && total > b[1] {
				out[name] = min(max((busy-b[0])/(total-b[1]), 0), 1)
			}
		}
		was = now
		return out
	}
}

// Query evaluates a PromQL expression that has one value, at present. The series are dated by the
// run's clock, so a change of the wall clock must not move the query before or after all of them.
func (s *Signals) Query(ctx context.Context, expr string) (float64, bool, error) {
	res, err := s.db.Query(ctx, expr, s.clock.Date(s.clock.Now()))
	if err != nil {
		return 0, false, err
	}
	switch len(res) {
	case 0:
		return 0, false, nil
	case 1:
		return res[0].Value, true, nil
	}
	return 0, false, fmt.Errorf("promql %q has %d values, want one; aggregate it", expr, len(res))
}

// Whose names the instance, or else the role, of the highest or the lowest value of a PromQL
// expression, at present.
func (s *Signals) Whose(ctx context.Context, expr string, highest bool) (string, bool, error) {
	r, ok, err := s.db.Worst(ctx, expr, s.clock.Date(s.clock.Now()), highest)
	if err != nil || !ok {
		return "", false, err
	}
	who := cmp.Or(r.Labels["instance"], r.Labels["role"])
	return who, who != "", nil
}

// Failing returns the probes that have no data at present, and the longest gap of the others, by
// dates of the run's clock.
func (s *Signals) Failing() map[string]trial.Failure {
	out := map[string]trial.Failure{}
	for _, st := range s.runner.Status() {
		switch {
		case st.Samples == 0:
			err := st.LastErr
			if err == nil {
				err = errors.New("it never answered")
			}
			out[st.Name] = trial.Failure{Since: s.clock.Date(s.began), Why: err.Error()}
		case s.age(st.LastOK) > 2*time.Second:
			why := "no complete sample since"
			if st.LastErr != nil {
				why = st.LastErr.Error()
			}
			out[st.Name] = trial.Failure{Since: st.LastOK, Why: why}
		case st.Gap.To.Sub(st.Gap.From) > 2*time.Second:
			why := "it was not asked"
			if st.Gap.Err != nil {
				why = st.Gap.Err.Error()
			}
			out[st.Name] = trial.Failure{Since: st.Gap.From, Until: st.Gap.To, Why: why}
		}
	}
	return out
}
