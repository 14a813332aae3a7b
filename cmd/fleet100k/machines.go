package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// mostMachines is how many hosts a [netns.LAN] has room for, less a few.
const mostMachines = 190

// serverPort is that of every null server, each of which has an address of its own.
const serverPort = 8075

// machines are the processes of a try, and their network.
type machines struct {
	lan     *netns.LAN
	agents  []*lab.Process
	links   []*link
	servers []*lab.Process
	urls    []string
}

// start makes the network and starts the null servers and the agents. The caller must call end, also after an error.
func (s *study) start(ctx context.Context) (*machines, error) {
	m := new(machines)
	var err error
	var hosts []string
	for k := range s.servers {
		hosts = append(hosts, serverName(k))
	}
	for k := range s.agents {
		hosts = append(hosts, agentName(k))
	}
	if m.lan, err = netns.NewLAN(ctx, netns.LANConfig{Hosts: hosts}); err != nil {
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

// manyAddresses is how many addresses an agent dials from: with one, the kernel spends more on looking for a port, past
// those that rest for a minute after the logins, than all else takes together.
const manyAddresses = 16

// sources are the addresses that agent k dials from.
func sources(k int) (out []netip.Addr) {
	for i := range byte(manyAddresses) {
		out = append(out, netip.AddrFrom4([4]byte{198, 19, byte(k), 1 + i}))
	}
	return out
}

// address gives the agents their addresses, and the servers the way to them: by way of the agent's address in the LAN,
// so that a server has a neighbor for each agent and not one for each of its addresses. The kernel keeps 1,024 neighbors
// of all namespaces together (net.ipv4.neigh.default.gc_thresh3), and beyond these connections time out.
func (m *machines) address(ctx context.Context, s *study) error {
	for k := range s.agents {
		for _, a := range sources(k) {
			if err := m.lan.Host(agentName(k)).IP(ctx, "addr", "add", a.String()+"/32", "dev", netns.HostDevice); err != nil {
				return err
			}
		}
	}
	for k := range s.servers {
		for a := range s.agents {
			to, via := netip.PrefixFrom(sources(a)[0], 24).Masked(), m.lan.Addr(agentName(a))
			if err := m.lan.Host(serverName(k)).IP(ctx, "route", "add", to.String(), "via", via); err != nil {
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
func (m *machines) serve(ctx context.Context, s *study, k int) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	name := serverName(k)
	addr := net.JoinHostPort(m.lan.Addr(name), fmt.Sprint(serverPort))
	p, err := lab.Start(ctx, lab.Spec{Name: name, Path: s.program, Env: one(), CPUs: s.server, Stdout: w, NetNS: m.lan.Host(name).Path(),
		Args: []string{"refnull", "-listen=" + addr, fmt.Sprint("-push=", s.push), fmt.Sprint("-number=", k)}})
	w.Close()
	if err != nil {
		return err
	}
	m.servers, m.urls = append(m.servers, p), append(m.urls, "http://"+addr)
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	if _, err := bufio.NewReader(r).ReadBytes('\n'); err != nil {
		return fmt.Errorf("it does not say that it listens: %w: %s", err, p.Tail())
	}
	return bound(p.PID(), s.files)
}

// join starts agent k.
func (m *machines) join(ctx context.Context, s *study, k int) error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, childIn.Close(), in.Close())
	}
	name := agentName(k)
	p, err := lab.Start(ctx, lab.Spec{Name: name, Path: s.self, Args: []string{agentVerb}, Env: one(), CPUs: s.agentCPU, Stdin: childIn, Stdout: childOut,
		NetNS: m.lan.Host(name).Path()})
	if err = errors.Join(err, childIn.Close(), childOut.Close()); err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	m.agents, m.links = append(m.agents, p), append(m.links, &link{in: in, out: out})
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
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(files), Max: uint64(files)}, nil); err != nil {
		return fmt.Errorf("setting its limit of open files: %w", err)
	}
	return nil
}

// end ends all processes and removes the network.
func (m *machines) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	var errs []error
	for _, l := range m.links {
		_ = l.Close() // by this an agent knows that it is alone; the fleet has closed it already
	}
	for _, p := range append(m.agents, m.servers...) {
		errs = append(errs, p.Stop(ctx))
	}
	if m.lan != nil {
		errs = append(errs, m.lan.Close(ctx))
	}
	return errors.Join(errs...)
}

// A link is both standard streams of an agent, and counts what it carries.
type link struct {
	in, out        *os.File // to it, and from it
	sent, received meter
}

func (l *link) Write(b []byte) (int, error) { return l.sent.count(l.in.Write(b)) }
func (l *link) Read(b []byte) (int, error)  { return l.received.count(l.out.Read(b)) }
func (l *link) Close() error                { return errors.Join(l.in.Close(), l.out.Close()) }

var _ io.ReadWriteCloser = (*link)(nil)
