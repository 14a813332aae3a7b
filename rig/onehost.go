package rig

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
)

// lookUpTimeout bounds the look-up of one name of a host.
const lookUpTimeout = 2 * time.Second

// A lookUp returns the addresses of a host by its name.
type lookUp func(host string) ([]netip.Addr, error)

// sharedHost returns a caution if servers of two arms of a duet elsewhere are on one host, or on this one, or if that
// is not known because a name has no address; empty otherwise. With a nil look, names have none and nothing is said of
// them, nor of addresses that are references.
func sharedHost(p *plan.Plan, look lookUp) string {
	own := ownAddresses()
	const here = "this host"
	at := map[string]string{} // the arm by host
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
				unknown = fmt.Sprintf("compare.mode: whether the arms are on hosts of their own is not known, because %s, of %s, could not be looked up: %v", u.Hostname(), a.Name, err)
			}
			for _, addr := range all {
				if own.has(addr) {
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
	return unknown
}

// oneServer returns a caution if two arms have addresses that differ in the plan and lead to one port of one host, as
// aliases and references do; empty otherwise, and where a name has no address. full is the plan without references.
func oneServer(p, full *plan.Plan, look lookUp) string {
	type server struct{ arm, url string }
	at := map[netip.AddrPort]server{}
	for i, a := range full.Compare.Arms {
		for k, address := range a.URL {
			u, err := url.Parse(address)
			if err != nil {
				continue
			}
			text := p.Compare.Arms[i].URL[k]
			for _, key := range endpointsOf(u, look) {
				if other, taken := at[key]; taken && other.arm != a.Name && other.url != text {
					return fmt.Sprintf("compare.arms: %s and %s both lead to %s: unless a proxy there tells them apart by their names, they are one server, "+
						"and both arms measure what was installed last; give each arm a server of its own", other.arm, a.Name, key)
				} else if !taken {
					at[key] = server{a.Name, text}
				}
			}
		}
	}
	return ""
}

// endpointsOf returns the addresses and ports that a URL leads to; none for one without a port or an address, which the
// deployment reports.
func endpointsOf(u *url.URL, look lookUp) (out []netip.AddrPort) {
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]), 10, 16)
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

// has reports whether an address is of this host.
func (a addresses) has(addr netip.Addr) bool { return addr.IsLoopback() || a[addr] }

// addressesOf returns the addresses of a host; none, without an error, where look is nil and the name needs it.
func addressesOf(host string, look lookUp) ([]netip.Addr, error) {
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

// lookUpHost asks the system's resolver. It is a [lookUp].
func lookUpHost(host string) (out []netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTimeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, addr := range all {
		out = append(out, addr.Unmap())
	}
	return out, err
}

// modeOf is [ModeOf] for a comparison that begins, with further cautions. Two arms whose references lead to one address
// are refused where they would take turns.
func (pr *Program) modeOf(p *plan.Plan) (m CompareMode, cautions []string, err error) {
	full, err := pr.resolved(p)
	if err != nil {
		return m, nil, err
	}
	m = ModeOf(full, true)
	if duet, _ := p.Duet(); duet && !m.Duet && !p.Target.OwnHost() {
		return m, nil, plan.Usagef("%s, by the references of the plan; give each arm servers of its own, or write mode: sequence", m.Why)
	}
	if m.Caution != "" {
		cautions = append(cautions, m.Caution)
	}
	if one := oneServer(p, full, lookUpHost); one != "" {
		cautions = append(cautions, one)
	}
	return m, cautions, nil
}

// resolved returns a plan of which the addresses of the arms have no references.
func (pr *Program) resolved(p *plan.Plan) (*plan.Plan, error) {
	full, c := *p, *p.Compare
	full.Compare, c.Arms = &c, slices.Clone(c.Arms)
	for i, a := range c.Arms {
		t, err := pr.Resolve(plan.Target{URL: a.URL}, plan.Workload{})
		if err != nil {
			return nil, fmt.Errorf("compare.arms.%s: %w", a.Name, err)
		}
		c.Arms[i].URL = t.URL
	}
	return &full, nil
}
