package sharedhost

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"plimsoll/watch/probe"
)

// lookUpTimeout bounds the look-up of one name of a host.
const lookUpTimeout = 2 * time.Second

// A LookUp returns the addresses of a host by its name. Where one may be nil, names have no
// addresses.
type LookUp func(host string) ([]netip.Addr, error)

// Resolve asks the system's resolver, for at most two seconds. It is a [LookUp].
func Resolve(host string) (out []netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTimeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, addr := range all {
		out = append(out, addr.Unmap())
	}
	return out, err
}

// addressesOf returns the addresses of a host; none, without an error, where look is nil and the
// name needs it.
func addressesOf(host string, look LookUp) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	if strings.EqualFold(host, "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	if look == nil {
		return nil, nil
	}
	return look(host)
}

// endpointsOf returns the addresses and ports that a URL leads to; none for one without a port or
// an address, which the deployment reports.
func endpointsOf(u *url.URL, look LookUp) (out []netip.AddrPort) {
	usual := map[string]string{"http": "80", "https": "443"}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), usual[u.Scheme]), 10, 16)
	if err != nil {
		return nil
	}
	all, _ := addressesOf(u.Hostname(), look)
	for _, addr := range all {
		out = append(out, netip.AddrPortFrom(addr, uint16(port)))
	}
	return out
}

// addresses is a set of addresses of this host.
type addresses map[netip.Addr]bool

// ownAddresses returns the addresses of this host's network devices.
func ownAddresses() addresses {
	own := addresses{}
	all, _ := net.InterfaceAddrs() // without them, loopback addresses remain
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr().Unmap()] = true
		}
	}
	return own
}

// has reports whether this host has an address.
func (a addresses) has(addr netip.Addr) bool { return addr.IsLoopback() || a[addr] }

// Reached returns the addresses of this host that URLs lead to.
func Reached(urls []string) (out []netip.AddrPort) {
	own := ownAddresses()
	for _, at := range urls {
		u, err := url.Parse(at)
		if err != nil {
			continue
		}
		for _, x := range endpointsOf(u, Resolve) {
			if own.has(x.Addr()) {
				out = append(out, x)
			}
		}
	}
	return out
}

// Serves reports whether one of the URLs leads to a server of others on this host, so that the
// generator needs cores of its own. A server that is yet to be installed counts if install is set.
// One that cannot be looked up does not: its deployment reports it.
func Serves(urls []string, install bool) bool {
	for _, at := range Reached(urls) {
		pids, listens, err := probe.Listeners(at)
		if err == nil && (!listens && install || len(pids) > 0 && !tunnel(pids)) {
			return true
		}
	}
	return false
}
