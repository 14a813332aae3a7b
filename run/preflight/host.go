package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"plimsoll/load/fleet/join"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/deploy/stores"
	"plimsoll/run/health"
	"plimsoll/run/users"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// hostChecks check this host.
func (f *Inspection) hostChecks() []Check {
	return []Check{
		{Name: "programs of this host", Do: f.programs},
		{Name: "networks and containers of this host", Do: func(ctx context.Context, log *Log) {
			problem(log, "target.topology", f.housable(ctx))
		}},
		{Name: "ports that the plan fixes", Do: f.ports},
		{Name: "limits of this host", Do: f.limits},
		{Name: "the mode of the comparison", Do: f.mode},
		{Name: "agents on other hosts", Do: f.agents},
		{Name: "room on the disk", Do: func(_ context.Context, log *Log) {
			if err := dump.CheckSpace(f.Root, f.need()); err != nil {
				log.Problem("", "the store (-store %s): %v", f.Root, err)
			}
		}},
		{Name: "what else uses this host", Do: f.busy},
	}
}

// programs checks that this host has the servers that are started around the target's own program.
func (f *Inspection) programs(_ context.Context, log *Log) {
	if !f.Plan.Target.OwnHost() {
		return
	}
	seen := map[string]bool{"": true}
	for _, a := range f.arms {
		for _, engine := range a.engines {
			if seen[engine] {
				continue
			}
			seen[engine] = true
			key := "database.engine"
			if a.own.Database == engine {
				key = a.at("database", true)
			}
			switch obtained, err := stores.Missing(engine); {
			case obtained:
				log.Caution(key, "%v", err)
			case err != nil:
				log.Problem(key, "%v", err)
			}
		}
	}
	if f.Plan.Target.Proxied() {
		problem(log, "target.topology.proxy", stores.MissingProxy())
	}
}

// housable returns an error if the plan's target cannot be set up with networks, containers or
// limits on this host.
func (f *Inspection) housable(ctx context.Context) error {
	if f.Plan.Networked() && f.Reached {
		return plan.Usagef("-serve, -remote-write: with deployment.network or " +
			"target.topology.hosts: netns the run is in a network of its own, which reaches no " +
			"other host; remove them, and use plimsoll serve afterwards")
	}
	return sandbox.Housable(ctx, f.Plan, f.Dialects.Contained())
}

// ports checks that nothing listens where the plan's own programs will.
func (f *Inspection) ports(_ context.Context, log *Log) {
	if f.Plan.Target.Driver != plan.Process || f.Plan.Networked() {
		return
	}
	for _, a := range f.arms {
		for _, at := range a.target.URL {
			u, err := url.Parse(at)
			if err != nil || u.Port() == "" { // a port that is filled in
				continue
			}
			l, err := net.Listen("tcp", net.JoinHostPort(u.Hostname(), u.Port()))
			switch {
			case err == nil:
				_ = l.Close() // the program opens it
			case errors.Is(err, syscall.EADDRINUSE):
				log.Problem(
					a.urlKey(),
					"port %s of this host is in use: another server would be measured; end that one (ss -ltnp names it), "+
						"or give this one another port, such as http://127.0.0.1:${PORT}",
					u.Port(),
				)
			}
		}
	}
}

// limits checks cores, memory and the connections of the users.
func (f *Inspection) limits(_ context.Context, log *Log) {
	for key, cpus := range map[string][]int{
		"placement.generator": f.Plan.Placement.Generator,
		"placement.target":    f.Plan.Placement.Target,
	} {
		if len(cpus) > 0 {
			if err := lab.CheckCPUs(cpus); err != nil {
				log.Problem(key, "%s", strings.TrimPrefix(err.Error(), "placement: "))
			}
		}
	}
	for i, text := range f.Plan.Placement.Source {
		if a, err := netip.ParseAddr(text); err == nil {
			problem(log, fmt.Sprintf("placement.source[%d]", i), users.CheckSource(a))
		}
	}
	if f.Plan.Placement.Agents != nil {
		return
	}
	mix, err := deploy.Mix(f.Dialects, f.Plan)
	if err != nil {
		problem(log, "workload.params", err)
		return
	}
	most, key := f.mostUsers()
	if l, err := probe.ReadLimits(); err == nil {
		_, err := users.Processes(most, users.Sockets(mix, most), l)
		problem(log, key, err)
	}
}

// mode checks that this host can carry the comparison out in its mode.
func (f *Inspection) mode(_ context.Context, log *Log) {
	if f.Plan.Compare == nil || f.Part != nil {
		return
	}
	m, _, err := ModeHere(&f.Resolver, f.Plan)
	if err == nil && m.Lacks != "" {
		err = ErrLacks(m)
	}
	problem(log, "compare.mode", err)
}

// ErrLacks returns the error of a comparison that this host cannot carry out in its mode.
func ErrLacks(m CompareMode) error {
	return plan.Usagef("compare.mode: %s; write mode: sequence, or compare fewer at once", m.Lacks)
}

// agents checks that the agents that the plan wants can join.
func (f *Inspection) agents(_ context.Context, log *Log) {
	if f.Plan.Placement.Agents == nil && !f.Plan.WatchedByAgents() {
		return
	}
	file := f.Keys
	keys, err := users.ReadKeys(file)
	if err != nil {
		problem(log, "placement.agents", err)
		return
	}
	if a := f.Plan.Placement.Agents; a != nil && len(keys.Agents) < a.Count {
		log.Problem(
			"placement.agents",
			"%d hosts are to have the users, and the key file %s knows %d agents; to add one: plimsoll fleet -new-token FILE",
			a.Count,
			file,
			len(keys.Agents),
		)
	}
	if f.Fleet.URL == "" {
		l, err := net.Listen("tcp", cmp.Or(f.Fleet.Listen, join.DefaultListen))
		if err != nil {
			log.Problem(
				"placement.agents",
				"agents join at this host, and its address is not free: %v; end what uses it, or name another (-fleet-listen)",
				err,
			)
			return
		}
		_ = l.Close() // it is opened again for the run
	}
}

// What a run and a target on this host write, in bytes: estimates that are rather high. A run of a
// minute with some hundred users has half a megabyte at its end, and its series are written twice
// until then.
const (
	runBytes       = 2 << 20
	secondBytes    = 20 << 10
	systemBytes    = 250 << 20 // a database with its snapshot
	serverBytes    = 20 << 20  // a server without one
	copiesOfData   = 2         // the snapshot, and what is in use
	agentsOfSeries = 4 << 10   // a second, of each host that is watched
)

// need estimates how many bytes the plan writes.
func (f *Inspection) need() int64 {
	p, runs := f.Plan, int64(1)
	length := p.RunLength(f.Part == nil || f.Part.Bounded, f.Part == nil || f.Part.Unbounded)
	switch {
	case p.Compare != nil && f.Part == nil:
		runs = int64(p.Compare.Blocks)
	case p.Sizing != nil && (f.Part == nil || !f.Part.Bounded && !f.Part.Unbounded):
		runs, length = int64(len(p.Sizing.Steps)), p.Sizing.Settle+p.Sizing.Hold+time.Minute
	}
	perSecond := int64(secondBytes + agentsOfSeries*len(p.Probes))
	each := runBytes + int64(math.Ceil(length.Seconds()))*perSecond
	data := datasetBytes(p.Target.Dataset, true)
	all := int64(0)
	for _, a := range f.arms {
		all += runs * each * int64(len(a.engines))
		for _, engine := range a.engines {
			switch {
			case !p.Target.OwnHost():
			case engine == "":
				all += serverBytes
			default:
				all += systemBytes + copiesOfData*data
			}
		}
	}
	if p.Bounded != nil && p.Bounded.Until > 0 {
		all += int64(p.Bounded.Until)
	}
	return all
}

// The cores of this host are watched for busyTime.
const busyTime = 500 * time.Millisecond

// busy cautions about other programs that use this host's cores.
func (f *Inspection) busy(ctx context.Context, log *Log) {
	cores, err := lab.AllowedCPUs(0)
	if err != nil {
		return
	}
	before, err := os.ReadFile("/proc/stat")
	if err != nil {
		return
	}
	own := ownCPU()
	select {
	case <-ctx.Done():
		return
	case <-time.After(busyTime):
	}
	after, err := os.ReadFile("/proc/stat")
	if err != nil {
		return
	}
	if taken := byOthers(before, after, cores, ownCPU()-own); taken != "" {
		log.Caution("", "others take %s: expect inconclusive latencies; cost will hold", taken)
	}
}

// byOthers names the cores of which others than this process, which has used own, take so much that
// latencies show it, by two states of /proc/stat.
func byOthers(before, after []byte, cores []int, own time.Duration) string {
	var taken []string
	for _, c := range cores {
		was, all, err := health.CoreTimes(before, []int{c})
		if err != nil {
			continue
		}
		is, total, err := health.CoreTimes(after, []int{c})
		if err != nil || total <= all {
			continue
		}
		if share := (is - was - own.Seconds()) / (total - all); share >= health.OthersLimit() {
			taken = append(taken, fmt.Sprintf("%.0f %% of core %d", 100*share, c))
		}
	}
	return strings.Join(taken, " and ")
}

// ownCPU returns the CPU time of this process.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
