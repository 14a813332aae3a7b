package rig

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"plimsoll/plan"
)

// lookUpTimeout bounds the look-up of one name of a host.
const lookUpTimeout = 2 * time.Second

// sharedHost returns a caution if servers of two arms of a duet elsewhere are on one host, or on this one, as far as is
// known; empty otherwise. Names are looked up only on request. Addresses that are references are not known here.
func sharedHost(p *plan.Plan, lookUp bool) string {
	own := map[netip.Addr]bool{}
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				own[prefix.Addr().Unmap()] = true
			}
		}
	}
	const here = "this host"
	at := map[string]string{} // the arm by host
	for _, a := range p.Compare.Arms {
		for _, server := range a.URL {
			u, err := url.Parse(server)
			if err != nil || strings.Contains(server, "${") {
				continue
			}
			hosts := []string{strings.ToLower(u.Hostname())}
			for _, addr := range addressesOf(u.Hostname(), lookUp) {
				if addr.IsLoopback() || own[addr] {
					hosts = []string{here}
					break
				}
				hosts = append(hosts, addr.String())
			}
			for _, host := range hosts {
				if other := at[host]; other != "" && other != a.Name {
					return fmt.Sprintf("compare.mode: %s and %s are both on %s, and nothing is paused in a duet of servers elsewhere: "+
						"what one does in the background falls into the turns of the other; give each arm a host of its own, or write mode: sequence", other, a.Name, host)
				}
				at[host] = a.Name
			}
		}
	}
	return ""
}

// addressesOf returns the addresses of a host; none where they are not known.
func addressesOf(host string, lookUp bool) (out []netip.Addr) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}
	}
	if strings.EqualFold(host, "localhost") {
		return []netip.Addr{netip.IPv6Loopback()}
	}
	if !lookUp {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTimeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil { // the deployment waits for the server and reports what is wrong
		return nil
	}
	for _, addr := range all {
		out = append(out, addr.Unmap())
	}
	return out
}
