package sharedhost

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"plimsoll/plan"
)

// OneHost returns a caution if servers of two arms of a duet elsewhere are on one host, or on this
// one, or if that is unknown because a name has no address; empty otherwise. With a nil look,
// nothing is said of names, nor of addresses that are references.
func OneHost(p *plan.Plan, look LookUp) string {
	own := ownAddresses()
	const here = "this host"
	armAt := map[string]string{} // by host
	unknown := ""
	for _, a := range p.Compare.Arms {
		for _, server := range a.URL {
			u, err := url.Parse(server)
			if err != nil || strings.Contains(server, "${") {
				continue
			}
			hosts := []string{strings.ToLower(u.Hostname())}
			all, err := addressesOf(u.Hostname(), look)
			if err != nil && unknown == "" {
				unknown = fmt.Sprintf(
					"compare.mode: whether the arms are on hosts of their own is not "+
						"known, because %s, of %s, could not be looked up: %v",
					u.Hostname(),
					a.Name,
					err,
				)
			}
			for _, addr := range all {
				if own.has(addr) {
					hosts = []string{here}
					break
				}
				hosts = append(hosts, addr.String())
			}
			for _, host := range hosts {
				if other := armAt[host]; other != "" && other != a.Name {
					return fmt.Sprintf(
						"compare.mode: %s and %s are both on %s, and nothing is paused in a "+
							"duet of servers elsewhere: "+
							"what one does in the background falls into the turns of the other; give each arm a host "+
							"of its own, or write mode: sequence",
						other,
						a.Name,
						host,
					)
				}
				armAt[host] = a.Name
			}
		}
	}
	return unknown
}

// OneServer returns a caution if two arms have addresses that differ in the plan and lead to one
// port of one host, as aliases and references do; empty otherwise, and where a name has no address.
// full is the plan without references.
func OneServer(p, full *plan.Plan, look LookUp) string {
	type server struct{ arm, url string }
	serverAt := map[netip.AddrPort]server{}
	for i, a := range full.Compare.Arms {
		for k, address := range a.URL {
			u, err := url.Parse(address)
			if err != nil {
				continue
			}
			text := p.Compare.Arms[i].URL[k]
			for _, at := range endpointsOf(u, look) {
				other, taken := serverAt[at]
				switch {
				case !taken:
					serverAt[at] = server{a.Name, text}
				case other.arm != a.Name && other.url != text:
					return fmt.Sprintf(
						"compare.arms: %s and %s both lead to %s: unless a proxy there tells "+
							"them apart by their names, they are one server, "+
							"and both arms measure what was installed last; give each arm a server of its own",
						other.arm,
						a.Name,
						at,
					)
				}
			}
		}
	}
	return ""
}
