package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Addresses are those of the servers of one target. A plan writes one as a text and several as a list; one and a list
// of one are the same plan.
type Addresses []string

// First returns the first address; "" if there is none.
func (a Addresses) First() string {
	if len(a) == 0 {
		return ""
	}
	return a[0]
}

// oneAddress returns the addresses of a single text.
func oneAddress(text string) Addresses {
	if text == "" {
		return nil
	}
	return Addresses{text}
}

// checkAddresses checks the addresses of a target: those of its servers, of their metrics, and the one that reports
// that they are ready.
func (d *decoder) checkAddresses(t Target) {
	const url, metrics = "target.url", "target.metrics_url"
	d.each("target.ready", Addresses{t.Ready}, false)
	d.servers(url, t.URL, metrics, t.MetricsURL)
	for path, list := range map[string]Addresses{url: t.URL, metrics: t.MetricsURL} {
		if len(list) > 1 && t.Driver != External && d.good(path, "target.driver") {
			d.at(path, "is a list, and the driver %s starts its servers itself; write one, with ${PORT} where they differ, and their number in target.instances", t.Driver)
		}
	}
	if one := t.URL.First(); t.Driver != External && t.Instances > 1 && !t.Proxied() && one != "" && !strings.Contains(one, "${") && d.good(url, "target.instances") {
		d.at(url, "is the address of each of the %d servers; write http://127.0.0.1:${PORT}, or remove it", t.Instances)
	}
	if t.Driver != External && t.Instances > 1 && slices.ContainsFunc(t.MetricsURL, fixed) && d.good(metrics, "target.instances") {
		d.at(metrics, "is the one page of metrics of all %d servers; write a path, or ${PORT1} in the address", t.Instances)
	}
}

// checkProtocol checks the protocol of a target against its addresses, and those of the arms.
func (d *decoder) checkProtocol(p *Plan) {
	const path = "target.http"
	t := p.Target
	if d.known(path, "protocol", t.HTTP, protocols); t.HTTP != HTTP2 || !d.good(path, "target.driver") {
		return
	}
	if t.Driver != External {
		d.at(path, "has no effect, because the driver %s starts servers without TLS; remove it", t.Driver)
		return
	}
	all := map[string]Addresses{"target.url": t.URL}
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			all["compare.arms."+a.Name+".url"] = a.URL
		}
	}
	for at, list := range all {
		for _, v := range list {
			if d.good(at) && len(v) > 5 && strings.EqualFold(v[:5], "http:") {
				d.at(at, "%s is http, and HTTP/2 is agreed over TLS; write an address with https, or remove %s", address(v), path)
			}
		}
	}
}

// servers checks the addresses of servers and of their metrics, at two paths of the plan.
func (d *decoder) servers(url string, servers Addresses, metrics string, pages Addresses) {
	d.each(url, servers, true)
	d.each(metrics, pages, false)
	n, m := len(servers), len(pages)
	if n > 1 && m > 0 && m != n && d.good(url, metrics) && (m > 1 || strings.Contains(pages[0], "://")) {
		d.at(metrics, "has %d for the %d addresses of %s; write one for each of them, or one path that all have", m, n, url)
	}
}

// each checks every address of a list: those of servers, or others, which may be paths.
func (d *decoder) each(path string, list Addresses, servers bool) {
	if len(list) > maxInstances && d.good(path) {
		d.at(path, "has %d addresses; want at most %d", len(list), maxInstances)
	}
	seen := map[string]bool{}
	for i, v := range list {
		at := path
		if len(list) > 1 {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		if !d.good(path) || !d.good(at) {
			continue
		}
		switch d.secret(at, "", v); {
		case !d.good(at):
		case seen[v]:
			d.at(at, "%s is in the list already; remove it", address(v))
		case hasReference(v):
		case servers:
			if err := CheckServer(v); err != nil {
				d.at(at, "%v", err)
			}
		case !servers && !addressRE.MatchString(v):
			d.at(at, "%s is not an address; want a path such as /metrics, or a whole one that begins with http", address(v))
		}
		seen[v] = true
	}
}

// CheckServer returns the defect of a server's address. A good one is http://HOST[:PORT][/PATH] or https; the case of
// the scheme and of the host name does not matter.
func CheckServer(v string) error {
	m := urlRE.FindStringSubmatch(v)
	if m != nil && strings.Count(m[1], ":") > 1 && m[1][0] != '[' {
		return fmt.Errorf("%s has an IPv6 address without brackets; write it as in http://[::1]:8065", address(v))
	}
	var host []string
	if m != nil && pathRE.MatchString(m[2]) {
		host = hostRE.FindStringSubmatch(m[1])
	}
	switch {
	case host == nil:
		return fmt.Errorf("%s is not an address of a server; want http://HOST[:PORT][/PATH] or https, without user and query", address(v))
	case host[1] != "" && host[1][0] != '$' && !isPort(host[1]):
		return fmt.Errorf("%s has the port %s; want one from 1 to 65535", address(v), host[1])
	case apiRE.MatchString(v):
		return fmt.Errorf("%s ends in the path of the API; write the server's own address: %s", address(v), apiRE.ReplaceAllString(v, ""))
	}
	return nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// checkInstances checks whether the driver can start so many servers.
func (d *decoder) checkInstances(t Target, k Known) {
	const path = "target.instances"
	switch {
	case t.Instances < 2 || !d.good(path, "target.driver"):
	case t.Driver == External:
		d.at(path, "the driver external has no way to start %d instances; remove it, and write the address of each in a list in target.url", t.Instances)
	case t.Topology == nil && k.Topologies != nil && !slices.Contains(k.Topologies, t.Driver):
		d.at(path, "%d servers, and the driver %s starts one; want 1, or one of the drivers %s", t.Instances, t.Driver, strings.Join(k.Topologies, ", "))
	}
}
