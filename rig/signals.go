package rig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"plimsoll/run/trial"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// signals answers a trial's questions about hosts and series, in the time of the run's clock.
type signals struct {
	*health
	cores  map[string][]int // of the roles that have cores of their own on this host
	stat   *os.File
	turns  *probe.Turns // of the run; nil: all time is its own
	db     *series.DB
	runner *probe.Runner
	began  time.Duration // of the run's clock
}

// newSignals opens /proc/stat for the roles. A role without cores is not known, except "generator", which then is
// this process. CPU times are those of the run's turns; nil: all time is its own.
func newSignals(cores map[string][]int, h *health, turns *probe.Turns, db *series.DB,
	runner *probe.Runner) (*signals, error) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return nil, err
	}
	return &signals{health: h, cores: cores, stat: f, turns: turns, db: db, runner: runner, began: h.clock.Now()}, nil
}

func (s *signals) close() { _ = s.stat.Close() }

// Busy returns the busy and the whole CPU time of a role's cores in seconds.
func (s *signals) Busy(role string) (busy, total float64, err error) {
	cores, ok := s.cores[role]
	if !ok || len(cores) == 0 {
		if role == "generator" {
			return s.self()
		}
		return s.remote(role)
	}
	if s.turns != nil {
		return s.turns.Cores(cores)
	}
	stat, err := io.ReadAll(io.NewSectionReader(s.stat, 0, math.MaxInt64)) // more than 16 KiB beyond 200 cores
	if err != nil {
		return 0, 0, err
	}
	return coreTimes(stat, cores)
}

// remote is the CPU time of all hosts of a role that have an agent, or that a Prometheus server watches.
func (s *signals) remote(role string) (busy, total float64, err error) {
	seen := false
	for _, st := range s.runner.Status() {
		of, instance, ok := agentOf(st.Name)
		if !ok {
			of, instance, ok = watchedOf(st.Name)
		}
		if !ok || of != role {
			continue
		}
		seen = true
		of = fmt.Sprintf("{instance=%q,role=%q}", instance, role)
		// Both are of one sample; a new one may come between the two.
		for range 3 {
			b, at, ok1 := s.last("plimsoll_agent_cpu_busy_seconds_total" + of)
			all, then, ok2 := s.last("plimsoll_agent_cpu_seconds_total" + of)
			if !ok1 || !ok2 || age(s.clock, at) > fresh {
				return 0, 0, fmt.Errorf("%s has reported no CPU time for more than %v", st.Name, fresh)
			}
			if ok = at.Equal(then); ok {
				busy, total = busy+b, total+all
				break
			}
		}
		if !ok {
			return 0, 0, fmt.Errorf("the samples of %s come too quickly", st.Name)
		}
	}
	if !seen {
		if busy, ok := s.processes(role); ok {
			return busy, (s.clock.Now() - s.began).Seconds() * float64(runtime.NumCPU()), nil
		}
		return 0, 0, fmt.Errorf("the CPU of role %q is not seen from here; a probe of kind agent on its host would see it, one of kind pid or container on this host, or a Prometheus server (metrics)", role)
	}
	return busy, total, nil
}

// processes is the CPU time of a role's processes on this host, which has no cores of its own.
func (s *signals) processes(role string) (busy float64, ok bool) {
	for _, mode := range []string{"user", "system"} {
		v, at, seen := s.last(fmt.Sprintf("plimsoll_process_cpu_seconds_total{mode=%q,role=%q}", mode, role))
		if !seen || age(s.clock, at) > fresh {
			return 0, false
		}
		busy += v
	}
	return busy, true
}

// self is the CPU time of this process, and of the agents that it leads, against all the cores that it may use.
func (s *signals) self() (busy, total float64, err error) {
	used, err := s.turns.SelfCPU()
	if err != nil {
		return 0, 0, err
	}
	busy = used.Seconds()
	if s.agents > 0 {
		r := s.users("plimsoll_generator_cpu_seconds_total", 1, sum)
		if r.Why != "" {
			return 0, 0, errors.New(r.Why)
		}
		busy += r.Value
	}
	return busy, (s.clock.Now() - s.began).Seconds() * float64(runtime.GOMAXPROCS(0)), nil
}

// coreTimes adds up the lines of /proc/stat of some cores, in seconds (a tick is 10 ms, as in all Linux ABIs of our
// platforms). Everything but idle and iowait is busy; guest time is inside user time and not counted twice.
func coreTimes(stat []byte, cores []int) (busy, total float64, err error) {
	seen := 0
	for line := range bytes.Lines(stat) {
		f := bytes.Fields(line)
		if len(f) < 8 || !bytes.HasPrefix(f[0], []byte("cpu")) {
			continue
		}
		core, err := strconv.Atoi(string(f[0][3:]))
		if err != nil || !slices.Contains(cores, core) {
			continue
		}
		seen++
		for i, v := range f[1:min(len(f), 9)] {
			t, err := strconv.ParseFloat(string(v), 64)
			if err != nil {
				return 0, 0, fmt.Errorf("/proc/stat: %w", err)
			}
			total += t / 100
			if i != 3 && i != 4 {
				busy += t / 100
			}
		}
	}
	if seen != len(cores) {
		return 0, 0, fmt.Errorf("/proc/stat shows %d of the cores %v", seen, cores)
	}
	return busy, total, nil
}

// Query evaluates a PromQL expression that has one value, at present. The dates of the run's series are those of its
// clock, so a change of the wall clock must not make it query before or after all of them.
func (s *signals) Query(ctx context.Context, expr string) (float64, bool, error) {
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

// Whose names the instance, or else the role, of the highest or the lowest value of a PromQL expression, at present.
func (s *signals) Whose(ctx context.Context, expr string, highest bool) (string, bool, error) {
	r, ok, err := s.db.Worst(ctx, expr, s.clock.Date(s.clock.Now()), highest)
	if err != nil || !ok {
		return "", false, err
	}
	who := cmp.Or(r.Labels["instance"], r.Labels["role"])
	return who, who != "", nil
}

// Failing returns the probes that have no data at present, and the longest gap of the others, by dates of the run's
// clock.
func (s *signals) Failing() map[string]trial.Failure {
	out := map[string]trial.Failure{}
	for _, st := range s.runner.Status() {
		switch {
		case st.Samples == 0:
			err := st.LastErr
			if err == nil {
				err = errors.New("it never answered")
			}
			out[st.Name] = trial.Failure{Since: s.clock.Date(s.began), Why: err.Error()}
		case age(s.clock, st.LastOK) > 2*time.Second:
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
