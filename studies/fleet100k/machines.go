package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// mostMachines is how many hosts a [netns.LAN] has room for, less a few.
const mostMachines = 190

// serverPort is that of every null server, each of which has an address of its own.
const serverPort = 8075

// machines are the processes of a try, and their network.
type machines struct {
	*study.Lab
	agents         []*lab.Process
	links          []io.ReadWriteCloser
	sent, received atomic.Int64 // bytes of all links
	servers        []*lab.Process
	urls           []string
}

// start makes the network and starts the null servers and the agents. The caller must call Down,
// also after an error.
func (s *task) start(ctx context.Context) (*machines, error) {
	m := &machines{Lab: new(study.Lab)}
	var err error
	var hosts []string
	for k := range s.servers {
		hosts = append(hosts, serverName(k))
	}
	for k := range s.agents {
		hosts = append(hosts, agentName(k))
	}
	if m.Lab, err = study.NewLab(ctx, "", netns.LANConfig{Hosts: hosts}); err != nil {
		return m, err
	}
	if err := m.address(ctx, s); err != nil {
		return m, err
	}
	for k := range s.servers {
		if err := m.serve(ctx, s, k); err != nil {
			return m, fmt.Errorf("null server %d: %w", k, err)
		}
	}
	for k := range s.agents {
		if err := m.join(ctx, s, k); err != nil {
			return m, fmt.Errorf("agent %d: %w", k, err)
		}
	}
	return m, nil
}

// manyAddresses is how many addresses an agent dials from: with one, the kernel spends more on
// looking for a port, past those that rest for a minute after the logins, than all else takes
// together.
const manyAddresses = 16

// sources are the addresses that agent k dials from.
func sources(k int) (out []netip.Addr) {
	for i := range byte(manyAddresses) {
		out = append(out, netip.AddrFrom4([4]byte{198, 19, byte(k), 1 + i}))
	}
	return out
}

// address gives the agents their addresses, and the servers the way to them: by way of the agent's
// address in the LAN, so that a server has a neighbor for each agent and not one for each of its
// addresses. The kernel keeps 1,024 neighbors of all namespaces together
// (net.ipv4.neigh.default.gc_thresh3), and beyond these connections time out.
func (m *machines) address(ctx context.Context, s *task) error {
	for k := range s.agents {
		for _, a := range sources(k) {
			if err := m.Host(agentName(k)).IP(ctx, "addr", "add", a.String()+"/32", "dev", netns.HostDevice); err != nil {
				return err
			}
		}
	}
	for k := range s.servers {
		for a := range s.agents {
			to, via := netip.PrefixFrom(sources(a)[0], 24).Masked(), m.Addr(agentName(a))
			if err := m.Host(serverName(k)).IP(ctx, "route", "add", to.String(), "via", via); err != nil {
				return err
			}
		}
	}
	return nil
}

func serverName(k int) string { return fmt.Sprintf("server-%d", k) }
func agentName(k int) string  { return fmt.Sprintf("agent-%d", k) }

// one keeps a process to one thread of Go code, which is all that it needs.
func one() []string { return append(os.Environ(), "GOMAXPROCS=1") }

// serve starts null server k and waits until it listens.
func (m *machines) serve(ctx context.Context, s *task, k int) error {
	name := serverName(k)
	addr := net.JoinHostPort(m.Addr(name), fmt.Sprint(serverPort))
	p, err := m.Start(ctx, name, lab.Spec{
		Name: name,
		Path: s.program,
		Env:  one(),
		CPUs: s.server,
		Args: []string{
			"refnull",
			"-listen=" + addr,
			fmt.Sprint("-push=", s.push),
			fmt.Sprint("-number=", k),
		},
	})
	if err != nil {
		return err
	}
	at, err := study.Listening(ctx, p)
	if err != nil {
		return err
	}
	m.servers, m.urls = append(m.servers, p), append(m.urls, at)
	return bound(p.PID(), s.files)
}

// join starts agent k.
func (m *machines) join(ctx context.Context, s *task, k int) error {
	name := agentName(k)
	start := func(ctx context.Context, spec lab.Spec) (*lab.Process, error) {
		return m.Start(ctx, name, spec)
	}
	p, l, err := study.StartLinked(ctx, start, lab.Spec{
		Name: name,
		Path: s.self,
		Args: []string{agentVerb},
		Env:  one(),
		CPUs: s.agentCPU,
	})
	if err != nil {
		return err
	}
	m.agents = append(m.agents, p)
	m.links = append(m.links, study.Counted{
		ReadWriteCloser: l,
		Sent:            &m.sent,
		Received:        &m.received,
	})
	return bound(p.PID(), s.files)
}

// bound keeps a process to so many open files. It lowers the limit, and never raises it.
func bound(pid, files int) error {
	var have unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &have); err != nil {
		return fmt.Errorf("reading its limit of open files: %w", err)
	}
	if have.Max < uint64(files) {
		return fmt.Errorf("it may open %d files, and -files says %d", have.Max, files)
	}
	if have.Cur == uint64(files) && have.Max == uint64(files) {
		return nil
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{
		Cur: uint64(files),
		Max: uint64(files),
	}, nil); err != nil {
		return fmt.Errorf("setting its limit of open files: %w", err)
	}
	return nil
}
