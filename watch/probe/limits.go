package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Limits are the bounds on the number of this process's connections.
type Limits struct {
	// that may be open: the soft limit, which the Go runtime raises to the hard one at start
	Files     int
	FilesOpen int // that are
	PortFirst int // of the range for outgoing connections, for each source address and destination
	PortLast  int //
}

// Ports returns how many ports the range has.
func (l Limits) Ports() int { return max(0, l.PortLast-l.PortFirst+1) }

// ReservedFiles are left free by every reckoning with open files: for probes, the files of a run,
// and children.
const ReservedFiles = 500

// ReadLimits reads the limits from the kernel.
func ReadLimits() (Limits, error) { return readLimits("/") }

func readLimits(root string) (Limits, error) {
	var l Limits
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return l, fmt.Errorf("reading the limit of open files: %w", err)
	}
	l.Files = int(min(lim.Cur, 1<<30))
	open, err := os.ReadDir(filepath.Join(root, "proc/self/fd"))
	if err != nil {
		return l, fmt.Errorf("counting open files: %w", err)
	}
	l.FilesOpen = len(open)
	b, err := os.ReadFile(filepath.Join(root, "proc/sys/net/ipv4/ip_local_port_range"))
	if err != nil {
		return l, fmt.Errorf("reading the range of ports: %w", err)
	}
	if _, err := fmt.Sscan(strings.TrimSpace(string(b)), &l.PortFirst, &l.PortLast); err != nil {
		return l, fmt.Errorf("reading the range of ports %q: %w", b, err)
	}
	return l, nil
}
