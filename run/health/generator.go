package health

import (
	"cmp"
	"math"
	"slices"
	"time"

	"plimsoll/run/trial"
)

// A generator is the load generator on this host.
type generator struct {
	// role names the cores to watch: "generator" when the generator has its own cores, "host" when
	// it may use all and the target is elsewhere, "" when both use the same.
	role  string
	cores int
	ports float64 // in the ephemeral range, once for each source address; 0 if unknown
	files filesTrail
	quota quota
}

// Series of the processes with users.
const (
	seriesCPU       = "plimsoll_generator_cpu_ratio"
	seriesFiles     = "plimsoll_generator_open_fds"
	seriesFileLimit = "plimsoll_generator_fds_limit"
	seriesTimeWait  = "node_sockstat_TCP_tw"
)

// sharedCores is the reading of cores that generator and target use both.
var sharedCores = trial.NoNeed("generator and target share their cores; see cpu, sched and steal")

func (h *GateReader) cpu() trial.Reading {
	if h.generator.cores == 0 {
		return trial.Unread("the cores that this process may use are not known")
	}
	return h.ofUsers(seriesCPU, 100/float64(h.generator.cores), sum)
}

func (h *GateReader) hottestCore() trial.Reading {
	if h.generator.role == "" {
		return sharedCores
	}
	return h.read(ofRole("plimsoll_cpu_busy_hottest_ratio", h.generator.role), 100)
}

func (h *GateReader) steal() trial.Reading {
	role := cmp.Or(h.generator.role, "host")
	return h.read(ofRole("plimsoll_cpu_steal_ratio", role), 100)
}

func (h *GateReader) openFiles() trial.Reading {
	open := h.ofUsers(seriesFiles, 1, math.Max)
	return both(open, h.ofUsers(seriesFileLimit, 1, math.Min), percent)
}

// filesOver is the number of samples that the growth of open files looks back.
const filesOver = 30

// A filesTrail holds the growth of the open files between the last samples.
type filesTrail struct {
	opened []float64
	open   float64 // at the last sample
	at     time.Time
}

// filesLeft returns how many more files can be opened than were opened between two samples of the
// last half minute: the rest matters only against the need of the run, which differs with its
// users.
func (h *GateReader) filesLeft() trial.Reading {
	open := h.ofUsers(seriesFiles, 1, math.Max)
	limit := h.ofUsers(seriesFileLimit, 1, math.Min)
	left := both(open, limit, func(n, of float64) float64 { return of - n })
	if left.Why != "" {
		return left
	}
	t := &h.generator.files
	if at := h.newest(seriesFiles); at.After(t.at) {
		if !t.at.IsZero() {
			t.opened = append(t.opened, max(0, open.Value-t.open))
			t.opened = t.opened[max(0, len(t.opened)-filesOver):]
		}
		t.open = open.Value
		t.at = at
	}
	if len(t.opened) > 0 {
		left.Value -= slices.Max(t.opened)
	}
	left.Value = max(0, left.Value)
	return left
}

// portsInUse is an upper bound: every open file of the processes with users may be a connection,
// and every socket in TIME_WAIT may have been one.
func (h *GateReader) portsInUse() trial.Reading {
	if h.generator.ports == 0 {
		return trial.Unread("the range of ephemeral ports is not known")
	}
	used := both(h.ofUsers(seriesFiles, 1, sum), h.read(seriesTimeWait, 1), sum)
	return both(used, trial.Reading{Value: h.generator.ports}, percent)
}

// usedMemory returns the share of a host's memory that is not available.
func usedMemory(read func(key string, scale float64) trial.Reading) trial.Reading {
	return both(read("node_memory_MemAvailable_bytes", 1), read("node_memory_MemTotal_bytes", 1),
		func(free, all float64) float64 { return 100 * (1 - free/all) })
}

// A quota is the last sample of the time that a CPU quota held this process back.
type quota struct {
	seconds float64
	rate    float64
	at      time.Time
}

// throttled returns the share of time in which a quota held this process back, since the sample
// before.
func (h *GateReader) throttled() trial.Reading {
	if len(h.agents.hosts) > 0 {
		return trial.NoNeed("the users are on other hosts, whose CPU quotas are not seen here; " +
			"plimsoll doctor there examines them")
	}
	q := &h.generator.quota
	v, at, ok := h.last(ofRole("container_cpu_cfs_throttled_seconds_total", "self"))
	if !ok || h.age(at) > fresh {
		return trial.Unread("no CPU quota holds for this process, or its counters are not seen")
	}
	first := q.at.IsZero()
	if at.After(q.at) {
		if !first {
			q.rate = (v - q.seconds) / at.Sub(q.at).Seconds()
		}
		q.seconds = v
		q.at = at
	}
	if first {
		return trial.Unread("one sample is not a rate")
	}
	return trial.Reading{Value: 100 * q.rate}
}
