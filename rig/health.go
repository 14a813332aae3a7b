package rig

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/fleet"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
	"plimsoll/target/lab"
)

// fresh is how old a sample may be that a gate is read from; the probes sample every second.
const fresh = 3 * time.Second

// notRated is why the gate headroom has no reading of this host.
const notRated = "this host was not calibrated"

// health reads the gates of the generator's health from the probes.
type health struct {
	last func(key string) (v float64, at time.Time, ok bool)
	// ofAgent is last for a metric of one of many agents, which have no series each; nil when they have.
	ofAgent func(agent int, metric string) (v float64, at time.Time, ok bool)
	// clock is the run's, whose dates the samples have.
	clock *clock.Clock
	// role names the cores to watch: "generator" when it has cores of its own, "host" when it may use all and the
	// target is elsewhere, "" when both use the same.
	role  string
	cores int
	ports float64 // in the ephemeral range, once for each source address; 0 if unknown
	// agents is the number of processes that have the users; 0 when it is this one. Clocks returns the distance of
	// their clocks from this one's.
	agents int
	// hosts are the cores of the other hosts that have them, agent k on the host k mod their number; empty for this one.
	hosts  []int
	clocks func() time.Duration
	// foreignOf are the percentages of the hosts' cores that others took.
	foreignOf []lately
	// driven returns which share of the calibrated ability a load needs; nil without a rating, and unrated has the
	// reason.
	driven  func(users int, ops float64) float64
	unrated string

	// stolen are the percentages of the target's cores that the hypervisor took.
	stolen lately
	// remote returns the keys of the samples of steal on the target's other hosts; nil for none.
	remote func() []string

	// opened holds by how much the open files grew between the last samples, and files and filesAt the last of them.
	opened  []float64
	files   float64
	filesAt time.Time

	// roles are the target's on this host, and targets is how many cores of its own it has there. The gate others needs
	// both: without roles, not all processes of the target are known.
	roles   []string
	targets int
	// foreign are the percentages of the target's cores that others took.
	foreign lately
	// wired are the target's cores when its packets go over wires of their own: the kernel's soft interrupts for
	// these then count as the target's. softirq is their time so far, in seconds.
	wired     []int
	softirq   float64
	softirqAt time.Time

	// shares reads the servers' own counts of requests; nil for a target of one server.
	shares *shares

	// device is the network device towards the target; "" if it is not known. oneStack means that the target is behind
	// the same network stack.
	device   string
	oneStack bool
	drops    drops
	dropsOf  []drops // of the hosts

	throttled, rate float64
	throttledAt     time.Time
}

func newHealth(last func(string) (float64, time.Time, bool), c *clock.Clock, placed []int, sharedHost bool) *health {
	h := &health{last: last, clock: c, cores: len(placed), unrated: notRated, oneStack: sharedHost}
	switch {
	case len(placed) > 0:
		h.role = "generator"
	case !sharedHost:
		h.role = "host"
	}
	if h.cores == 0 {
		cpus, _ := lab.AllowedCPUs(0) // without it the gate cpu is not measured
		h.cores = len(cpus)
	}
	h.ports = ephemeralPorts()
	return h
}

// health watches the generator, and the cores of a target on this host that are its own.
func (s *Session) health(sys *deploy.System, last func(string) (float64, time.Time, bool), c *clock.Clock) *health {
	targets := s.coresOf(sys)
	h := newHealth(last, c, s.generator, s.onOneHost(sys))
	if l := localOf(sys); l != nil && s.onOneHost(sys) && !l.apart {
		h.role = "" // the target may run on the generator's cores
	}
	h.device, h.oneStack, h.targets = sys.Device, h.oneStack || sys.Device == "lo", len(targets)
	if h.targets == 0 || !s.Plan.Target.OwnHost() { // of others, not all processes are known
		return h
	}
	if sys.Wired() {
		h.wired = targets
	}
	for _, r := range sys.Roles() {
		h.roles = append(h.roles, r.Name)
	}
	return h
}

// age returns how much time of a run has passed since a date of its clock.
func age(c *clock.Clock, date time.Time) time.Duration { return c.Now() - date.Sub(c.Epoch()) }

// read returns a sample times scale.
func (h *health) read(key string, scale float64) trial.Reading {
	v, at, ok := h.last(key)
	name, _, _ := strings.Cut(key, "{")
	return h.reading(name, v*scale, at, ok)
}

// reading is one if there is a sample, and it is not old.
func (h *health) reading(name string, v float64, at time.Time, ok bool) trial.Reading {
	switch {
	case !ok:
		return trial.Reading{Why: "there is no sample of " + name}
	case age(h.clock, at) > fresh:
		return trial.Reading{Why: fmt.Sprintf("the last sample of %s is older than %v", name, fresh)}
	}
	return trial.Reading{Value: v}
}

// agentSample returns the last sample of one of the processes that have the users, by its key without their label.
func (h *health) agentSample(k int, key string) (v float64, at time.Time, ok bool) {
	if h.ofAgent != nil {
		return h.ofAgent(k, key)
	}
	l := fleet.Label(k)
	if own, labeled := strings.CutSuffix(key, "}"); labeled {
		return h.last(fmt.Sprintf("%s,%s=%q}", own, l.Name, l.Value))
	}
	return h.last(fmt.Sprintf("%s{%s=%q}", key, l.Name, l.Value))
}

// agent reads it, times scale.
func (h *health) agent(k int, metric string, scale float64) trial.Reading {
	v, at, ok := h.agentSample(k, metric)
	return h.reading(metric, v*scale, at, ok)
}

// users reads a sample of the processes that have the users, combined.
func (h *health) users(metric string, scale float64, combine func(a, b float64) float64) trial.Reading {
	if h.agents == 0 {
		return h.read(metric, scale)
	}
	var all trial.Reading
	for k := range h.agents {
		r := h.agent(k, metric, scale)
		if k == 0 {
			all = r
		} else {
			all = both(all, r, combine)
		}
	}
	return all
}

func sum(a, b float64) float64 { return a + b }

// ofRole is read for the cores that are watched.
func (h *health) ofRole(metric string, role string, scale float64) trial.Reading {
	if role == "" {
		return trial.Reading{Why: "generator and target share their cores; see cpu, sched and steal", Inapplicable: true}
	}
	return h.read(metric+`{role="`+role+`"}`, scale)
}

// both combines two readings, if there are both.
func both(a, b trial.Reading, f func(a, b float64) float64) trial.Reading {
	switch {
	case a.Why != "":
		return a
	case b.Why != "":
		return b
	}
	return trial.Reading{Value: f(a.Value, b.Value)}
}

// othersOver is how many samples the gate others looks back, and othersLeast how many it needs. One second is not
// enough: the time of a process that has ended is known only when its parent waited for it, so a database that is
// busy ending connections shows too little in one second and too much in the next. The sum is right, so the
// differences keep their sign.
const (
	othersOver  = 10
	othersLeast = 5
)

// lately are the last samples of a reading.
type lately struct {
	values []float64
	at     time.Time
}

// fresh reports whether a sample is newer than the last that it was asked of.
func (l *lately) fresh(at time.Time) bool {
	if !at.After(l.at) {
		return false
	}
	l.at = at
	return true
}

func (l *lately) add(v float64) {
	l.values = append(l.values, v)
	l.values = l.values[max(0, len(l.values)-othersOver):]
}

// mean returns the mean of the last samples.
func (l *lately) mean() trial.Reading {
	if n := len(l.values); n < othersLeast {
		return trial.Reading{Why: fmt.Sprintf("%d samples are too few, want %d", n, othersLeast)}
	}
	total := 0.0
	for _, v := range l.values {
		total += v
	}
	return trial.Reading{Value: total / float64(len(l.values))}
}

// foreignMean is the mean of percentages that others took; it is not negative.
func (l *lately) foreignMean() trial.Reading {
	out := l.mean()
	out.Value = max(0, out.Value)
	return out
}

// others is the share of the target's cores that other processes took, interrupts included: beyond it, neither
// latency nor capacity is the target's own.
func (h *health) others() trial.Reading {
	switch {
	case h.targets == 0:
		return trial.Reading{Why: "the target has no cores of its own on this host"}
	case len(h.roles) == 0:
		return trial.Reading{Why: "not all processes of a target that others started are known"}
	}
	used := trial.Reading{}
	for _, role := range h.roles {
		used = both(used, h.read(`plimsoll_process_cpu_ratio{role="`+role+`"}`, 1), sum)
	}
	const cores = `plimsoll_cpu_busy_ratio{role="target"}`
	now := both(h.read(cores, 1), used, func(busy, used float64) float64 { return 100 * (busy - used/float64(h.targets)) })
	if stolen := h.read(targetSteal, 100); stolen.Why == "" { // the cores count it as busy; it has a gate of its own
		now.Value -= stolen.Value
	}
	if now.Why != "" {
		return now
	}
	if _, at, _ := h.last(cores); h.foreign.fresh(at) {
		if own, ok := h.packets(); ok {
			h.foreign.add(now.Value - own)
		}
	}
	return h.foreign.foreignMean()
}

const targetSteal = `plimsoll_cpu_steal_ratio{role="target"}`

// stealOfTarget is the share of the target's cores that the hypervisor took: on this host where it has cores of its
// own, and on its other hosts that have a probe; of several hosts the worst. It is a mean over 10 samples: a guest is
// robbed in bursts, and single seconds are not representative.
func (h *health) stealOfTarget() trial.Reading {
	var keys []string
	if h.targets > 0 {
		keys = append(keys, targetSteal)
	}
	if h.remote != nil {
		keys = append(keys, h.remote()...)
	}
	if len(keys) == 0 {
		if h.role == "" {
			return trial.Reading{Why: "generator and target share their cores; see steal", Inapplicable: true}
		}
		return trial.Reading{Why: "the target's cores are not seen from here; a probe of kind agent on its host would see them"}
	}
	now, newest := trial.Reading{}, time.Time{}
	for _, key := range keys {
		now = both(now, h.read(key, 100), math.Max)
		if _, at, _ := h.last(key); at.After(newest) {
			newest = at
		}
	}
	if now.Why != "" {
		return now
	}
	if h.stolen.fresh(newest) {
		h.stolen.add(now.Value)
	}
	return h.stolen.mean()
}

// openedOver is how many samples the growth of open files looks back.
const openedOver = 30

// filesLeft is how many more files can be opened than were opened between two samples of the last half minute: the
// rest matters only against the need of the run, which differs with its users.
func (h *health) filesLeft(open, limit trial.Reading, at time.Time) trial.Reading {
	left := both(open, limit, func(n, of float64) float64 { return of - n })
	if left.Why != "" {
		return left
	}
	if at.After(h.filesAt) {
		if !h.filesAt.IsZero() {
			h.opened = append(h.opened, max(0, open.Value-h.files))
			h.opened = h.opened[max(0, len(h.opened)-openedOver):]
		}
		h.files, h.filesAt = open.Value, at
	}
	if len(h.opened) > 0 {
		left.Value -= slices.Max(h.opened)
	}
	left.Value = max(0, left.Value)
	return left
}

// packets is the share of the target's cores that went to soft interrupts since the sample before, in percent; 0
// without wires. It is not known at first.
func (h *health) packets() (percent float64, known bool) {
	if len(h.wired) == 0 {
		return 0, true
	}
	sum, at := 0.0, time.Time{}
	for _, core := range h.wired {
		v, t, ok := h.last(fmt.Sprintf(`node_cpu_seconds_total{cpu="%d",mode="softirq"}`, core))
		if !ok {
			return 0, false
		}
		sum, at = sum+v, t
	}
	was, then := h.softirq, h.softirqAt
	h.softirq, h.softirqAt = sum, at
	if then.IsZero() || !at.After(then) {
		return 0, false
	}
	return 100 * (sum - was) / at.Sub(then).Seconds() / float64(len(h.wired)), true
}

// Health returns the readings at present.
func (h *health) Health(users int, ops float64) map[string]trial.Reading {
	steal := h.role
	if steal == "" {
		steal = "host"
	}
	const open = "plimsoll_generator_open_fds"
	fds, files := h.users(open, 1, math.Max), h.users("plimsoll_generator_fds_limit", 1, math.Min)
	out := map[string]trial.Reading{
		"cpu":    {Why: "the cores that this process may use are not known"},
		"core":   h.ofRole("plimsoll_cpu_busy_hottest_ratio", h.role, 100),
		"sched":  h.users("plimsoll_generator_sched_latency_p99_seconds", 1e3, math.Max),
		"pause":  h.users("plimsoll_generator_pause_max_seconds", 1e3, math.Max),
		"gc":     h.users("plimsoll_generator_gc_cpu_ratio", 100, math.Max),
		"steal":  h.ofRole("plimsoll_cpu_steal_ratio", steal, 100),
		"others": h.others(),
		"shares": h.shares.read(users),

		"target_steal": h.stealOfTarget(),
		"throttled":    h.throttling(),
		"drops":        h.dropped(),
		"fds":          both(fds, files, func(n, of float64) float64 { return 100 * n / of }),
		"fds_free":     h.filesLeft(fds, files, h.sampled(open)),
		"ports":        {Why: "the range of ephemeral ports is not known"},
		"memory":       usedMemory(h.read),
		"clock":        {Value: 0}, // of users in the process that judges: one clock
		"headroom":     {Why: h.unrated},
	}
	if h.cores > 0 {
		out["cpu"] = h.users("plimsoll_generator_cpu_ratio", 100/float64(h.cores), sum)
	}
	if h.ports > 0 {
		// Every open file of these processes may be a connection, and every socket in TIME_WAIT may have been one: an
		// upper bound.
		out["ports"] = both(h.users(open, 1, sum), h.read("node_sockstat_TCP_tw", 1), func(n, tw float64) float64 { return 100 * (n + tw) / h.ports })
	}
	if len(h.hosts) > 0 {
		h.elsewhere(out)
	}
	if h.clocks != nil {
		out["clock"] = trial.Reading{Value: h.clocks().Seconds() * 1e3}
	}
	if h.driven != nil {
		out["headroom"] = trial.Reading{Value: 100 * max(1-h.driven(users, ops), 0)}
	}
	return out
}

// usedMemory is the share of a host's memory that is not available.
func usedMemory(read func(key string, scale float64) trial.Reading) trial.Reading {
	return both(read("node_memory_MemAvailable_bytes", 1), read("node_memory_MemTotal_bytes", 1),
		func(free, all float64) float64 { return 100 * (1 - free/all) })
}

// sampled returns when the processes that have the users were sampled last.
func (h *health) sampled(metric string) (newest time.Time) {
	if _, at, ok := h.last(metric); ok {
		newest = at
	}
	for k := range h.agents {
		if _, at, ok := h.agentSample(k, metric); ok && at.After(newest) {
			newest = at
		}
	}
	return newest
}

// throttling is the share of time in which a quota held this process back, since the sample before.
func (h *health) throttling() trial.Reading {
	v, at, ok := h.last(`container_cpu_cfs_throttled_seconds_total{role="self"}`)
	switch {
	case !ok || age(h.clock, at) > fresh:
		return trial.Reading{Why: "no CPU quota holds for this process, or its counters are not seen"}
	case h.throttledAt.IsZero():
		h.throttled, h.throttledAt = v, at
		return trial.Reading{Why: "one sample is not a rate"}
	case at.After(h.throttledAt):
		h.rate = (v - h.throttled) / at.Sub(h.throttledAt).Seconds()
		h.throttled, h.throttledAt = v, at
	}
	return trial.Reading{Value: 100 * h.rate}
}
