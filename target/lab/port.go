package lab

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// FreePort returns a TCP port without a listener. See [FreePorts].
func FreePort() (int, error) { return FreePorts(1) }

// FreePorts returns the first of n consecutive TCP ports without listeners. It takes them from
// outside the range that the kernel uses for outgoing connections, so that a generator with
// thousands of connections cannot take a server's port while the server restarts. Another program
// may still take a port between this call and its use.
func FreePorts(n int) (int, error) {
	if n < 1 || n > 1000 {
		return 0, fmt.Errorf("finding free ports: cannot find %d in a row", n)
	}
	lo, hi := portRange()
	var seed [4]byte
	// never fails; where to begin does not matter, only that programs differ
	_, _ = crand.Read(seed[:])
	span := hi - lo - n
	at := int(binary.LittleEndian.Uint32(seed[:])) % span
	for tries := 0; tries < span; {
		k := freeRun(lo+at, n)
		if k == n {
			return lo + at, nil
		}
		at = (at + k + 1) % span
		tries += k + 1
	}
	return 0, errors.New("finding free ports: every port of this host is in use")
}

// freeRun returns how many of the n ports from first on are free, up to the first that is not.
func freeRun(first, n int) int {
	for i := range n {
		l, err := net.Listen("tcp4", ":"+strconv.Itoa(first+i))
		if err != nil {
			return i
		}
		l.Close()
	}
	return n
}

// portRange returns the larger of the two ranges of ports outside the kernel's range for outgoing
// connections, without the ports below 10,000, where well-known services live.
func portRange() (lo, hi int) {
	lo, hi = 10000, 32768
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return lo, hi
	}
	var first, last int
	if _, err := fmt.Sscan(string(b), &first, &last); err != nil {
		return lo, hi
	}
	below, above := first-10000, 65536-last-1
	switch {
	case below >= above && below > 2000:
		return 10000, first
	case above > 2000:
		return last + 1, 65536
	default:
		return lo, 65536 // the kernel uses nearly all ports itself: nothing is outside its range
	}
}
