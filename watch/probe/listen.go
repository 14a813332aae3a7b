package probe

import (
	"bytes"
	"encoding/binary"
	encoding "encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The states of a socket in /proc/net/tcp.
const (
	socketEstablished = "01"
	socketListens     = "0A"
)

// Listeners returns the processes of this host that accept connections at an address, without the
// ones that another of them started: an nginx is its master. pids is empty, although listens is
// true, where the socket belongs to another user's process, which only root can see, or to this
// process or one of its ancestors.
func Listeners(at netip.AddrPort) (pids []int, listens bool, err error) {
	return listeners("/proc", os.Getpid(), at)
}

func listeners(proc string, self int, at netip.AddrPort) (pids []int, listens bool, err error) {
	sockets, err := readSockets(proc)
	if err != nil {
		return nil, false, err
	}
	inodes := map[string]bool{}
	// A socket of the address itself precedes a socket of all addresses.
	for _, host := range [][]netip.Addr{{at.Addr()}, {netip.IPv4Unspecified(), netip.IPv6Unspecified()}} {
		for _, s := range sockets {
			if s.state == socketListens && s.local.Port() == at.Port() &&
				slices.Contains(host, s.local.Addr()) &&
				(at.Addr().Is4() || s.local.Addr() != netip.IPv4Unspecified()) {
				inodes[s.inode] = true
			}
		}
		if len(inodes) > 0 {
			break
		}
	}
	parents, err := parentsIn(proc)
	if err != nil || len(inodes) == 0 {
		return nil, false, err
	}
	for pid := range parents {
		if slices.ContainsFunc(socketsOf(proc, pid), func(inode string) bool {
			return inodes[inode]
		}) {
			pids = append(pids, pid)
		}
	}
	for pid := self; pid > 0; pid = parents[pid] {
		if slices.Contains(pids, pid) {
			return nil, true, nil
		}
	}
	// The first process holds the sockets that it starts services for.
	pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == 1 })
	slices.Sort(pids)
	return rootsOf(parents, pids), true, nil
}

// rootsOf returns the processes that none of the others started, directly or not.
func rootsOf(parents map[int]int, pids []int) (roots []int) {
	for _, pid := range pids {
		if !below(parents, parents[pid], pids) {
			roots = append(roots, pid)
		}
	}
	return roots
}

// below reports whether a process is one of some others or started by one of them, directly or not.
func below(parents map[int]int, pid int, roots []int) bool {
	for ; pid > 0; pid = parents[pid] {
		if slices.Contains(roots, pid) {
			return true
		}
	}
	return false
}

// Family returns the processes and their descendants, in ascending order.
func Family(pids []int) (all []int, err error) {
	parents, err := parentsIn("/proc")
	for pid := range parents {
		if below(parents, pid, pids) {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all, err
}

// Callees returns the addresses that processes and their descendants have connections to, of ports
// at which a process of this host listens.
func Callees(pids []int) ([]netip.AddrPort, error) {
	all, err := Family(pids)
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, pid := range all {
		for _, inode := range socketsOf("/proc", pid) {
			open[inode] = true
		}
	}
	sockets, err := readSockets("/proc")
	if err != nil {
		return nil, err
	}
	listens := listeningPorts(sockets)
	var out []netip.AddrPort
	for _, s := range sockets {
		if s.state == socketEstablished && open[s.inode] && listens[s.remote.Port()] &&
			!slices.Contains(out, s.remote) {
			out = append(out, s.remote)
		}
	}
	return out, nil
}

// A Connection is a TCP connection to an address at whose port a process of this host listens.
type Connection struct{ To, From netip.AddrPort }

// Connections returns the connections of this host, also the ones that were closed within the last
// minute or so.
func Connections() (map[Connection]bool, error) {
	sockets, err := readSockets("/proc")
	if err != nil {
		return nil, err
	}
	listens, out := listeningPorts(sockets), map[Connection]bool{}
	for _, s := range sockets {
		if s.state == socketListens {
			continue
		}
		for _, c := range []Connection{{s.local, s.remote}, {s.remote, s.local}} {
			if listens[c.To.Port()] {
				out[c] = true
			}
		}
	}
	return out, nil
}

func listeningPorts(sockets []socket) map[uint16]bool {
	ports := map[uint16]bool{}
	for _, s := range sockets {
		if s.state == socketListens {
			ports[s.local.Port()] = true
		}
	}
	return ports
}

// Command returns the name of a process's program; empty for one that has ended.
func Command(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}

// parentsIn returns the parent of each process. One that ends while it is read is left out.
func parentsIn(proc string) (map[int]int, error) {
	dir, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := pidsIn(dir, nil)
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		var x process
		if text, err := os.ReadFile(filepath.Join(proc, name, "stat")); err == nil &&
			x.parseStat(text) == nil {
			parents[pid] = x.parent
		}
	}
	return parents, nil
}

// socketsOf returns the inodes of the sockets that a process has open; none where its files cannot
// be read.
func socketsOf(proc string, pid int) (inodes []string) {
	dir := filepath.Join(proc, strconv.Itoa(pid), "fd")
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		at, _ := os.Readlink(filepath.Join(dir, f.Name()))
		if inode, ok := strings.CutPrefix(at, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// A socket is a line of /proc/net/tcp or tcp6. Addresses of IPv4 in the latter are unmapped.
type socket struct {
	local, remote netip.AddrPort
	state, inode  string
}

// readSockets reads the TCP sockets of this network namespace. A host without IPv6 has no tcp6.
func readSockets(proc string) (out []socket, err error) {
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join(proc, "net", name))
		if err != nil {
			if os.IsNotExist(err) {
				continue
			}
			return nil, err
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			f := bytes.Fields(line)
			if i == 0 || len(f) < 10 {
				continue
			}
			local, err1 := socketAddr(string(f[1]))
			remote, err2 := socketAddr(string(f[2]))
			if err1 != nil || err2 != nil {
				return nil, fmt.Errorf(
					"%s/net/%s: line %d: %.60q has no addresses",
					proc,
					name,
					i+1,
					line,
				)
			}
			out = append(out, socket{local, remote, string(f[3]), string(f[9])})
		}
	}
	return out, nil
}

// socketAddr reads an address such as 0100007F:1F90: words of the host's byte order, and a port.
func socketAddr(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	b, err := encoding.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := 0; i+4 <= len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is not an address", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
