package health

import (
	"math"
	"time"

	"plimsoll/load/clock"
	"plimsoll/run/trial"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// A Config describes a run whose health is read.
type Config struct {
	Last  LastSample
	Clock *clock.Clock // of the run, whose dates the samples have
	// Generator are the generator's own cores on this host; none when it may use all.
	Generator []int
	// SharedHost means that the target is on this host, and SharedCores that it may run on the
	// generator's cores even where these are listed.
	SharedHost, SharedCores bool
	// Device is the network device towards the target; "" if it is not known.
	Device string
	// Addresses is the number of source addresses of the users' connections; 0 for the usual one.
	Addresses int
	// Agents is the number of the processes that have the users; 0 when this process has them.
	// AgentCores are the cores of the other hosts that have them, agent k on the host k mod their
	// number; none when the users are on this host.
	Agents     int
	AgentCores []int
	// TargetCores are the target's own cores on this host; none where it has none.
	TargetCores []int
	// TargetRoles are the roles of all processes of the target on this host; none where not all are
	// known.
	TargetRoles []string
	// Wired means that the target's packets go over separate wires: soft interrupts on its cores
	// are its own work.
	Wired bool
	// Steal returns the keys of the samples of steal on the target's other hosts; nil for none.
	Steal    func() []string
	Shares   *Shares // nil for a target of one server
	Headroom Headroom
}

// A Headroom returns the part of the calibrated ability of the generator that a load needs. Share
// is nil without a rating, and Why has the reason.
type Headroom struct {
	Share func(users int, ops float64) float64
	Why   string
}

// A GateReader takes the readings of the gates. It is for one goroutine.
type GateReader struct {
	samples
	of        Config
	load      load
	generator generator
	agents    agents
	target    target
	drops     drops // of this host
}

// A load is the number of users and the operations a second of the moment.
type load struct {
	users int
	ops   float64
}

// New returns the health of a run that begins.
func New(c Config) *GateReader {
	h := &GateReader{
		of:        c,
		samples:   samples{last: c.Last, clock: c.Clock},
		generator: newGenerator(c),
	}
	for _, cores := range c.AgentCores {
		h.agents.hosts = append(h.agents.hosts, &agentsHost{cores: cores})
	}
	return h
}

func newGenerator(c Config) generator {
	g := generator{cores: len(c.Generator)}
	switch {
	case c.SharedCores:
	case g.cores > 0:
		g.role = "generator"
	case !c.SharedHost:
		g.role = "host"
	}
	if g.cores == 0 {
		cpus, _ := lab.AllowedCPUs(0) // without it the gate cpu is not measured
		g.cores = len(cpus)
	}
	if l, err := probe.ReadLimits(); err == nil { // else the gate ports is not measured
		g.ports = float64(l.Ports() * max(1, c.Addresses))
	}
	return g
}

// Lead names the driver of the agents: the distance of their clocks from this one's, and the last
// sample of a metric of one of many agents, which have no series each; nil when they have.
func (h *GateReader) Lead(clocks func() time.Duration,
	sample func(agent int, metric string) (float64, time.Time, bool)) {
	h.agents.clocks = clocks
	h.agents.sample = sample
}

// readings has the reading of each gate that is taken from samples, on this host.
var readings = map[string]func(*GateReader) trial.Reading{
	"cpu":  (*GateReader).cpu,
	"core": (*GateReader).hottestCore,
	"sched": func(h *GateReader) trial.Reading {
		return h.ofUsers("plimsoll_generator_sched_latency_p99_seconds", 1e3, math.Max)
	},
	"pause": func(h *GateReader) trial.Reading {
		return h.ofUsers("plimsoll_generator_pause_max_seconds", 1e3, math.Max)
	},
	"gc": func(h *GateReader) trial.Reading {
		return h.ofUsers("plimsoll_generator_gc_cpu_ratio", 100, math.Max)
	},
	"steal":        (*GateReader).steal,
	"target_steal": (*GateReader).targetSteal,
	"others":       (*GateReader).others,
	"shares":       func(h *GateReader) trial.Reading { return h.of.Shares.read(h.load.users) },
	"throttled":    (*GateReader).throttled,
	"drops":        (*GateReader).dropped,
	"fds":          (*GateReader).openFiles,
	"fds_free":     (*GateReader).filesLeft,
	"ports":        (*GateReader).portsInUse,
	"memory":       func(h *GateReader) trial.Reading { return usedMemory(h.read) },
	"clock":        (*GateReader).clockOffset,
	"headroom":     (*GateReader).headroomLeft,
}

// hostReadings has the readings that are taken of each host of agents, where the users are on other
// hosts. The worst host counts.
var hostReadings = map[string]func(*GateReader, int) trial.Reading{
	"cpu":    (*GateReader).cpuOf,
	"core":   (*GateReader).hottestCoreOf,
	"steal":  (*GateReader).stealOf,
	"others": (*GateReader).othersOf,
	"drops":  (*GateReader).droppedOf,
	"memory": (*GateReader).memoryOf,
	"ports":  (*GateReader).portsInUseOf,
}

// Health returns the present readings of all gates by name, under a load of this number of users
// and of operations a second.
func (h *GateReader) Health(users int, ops float64) map[string]trial.Reading {
	h.load = load{users: users, ops: ops}
	out := make(map[string]trial.Reading, len(readings))
	for name, read := range readings {
		if of := hostReadings[name]; of != nil && len(h.agents.hosts) > 0 {
			out[name] = h.worstHost(of)
		} else {
			out[name] = read(h)
		}
	}
	return out
}

func (h *GateReader) headroomLeft() trial.Reading {
	if h.of.Headroom.Share == nil {
		return trial.Reading{Why: h.of.Headroom.Why}
	}
	return trial.Reading{Value: 100 * max(1-h.of.Headroom.Share(h.load.users, h.load.ops), 0)}
}
