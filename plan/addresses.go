package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Addresses are the base addresses of one target's servers. A plan writes one as a text and
// several as a list; one and a list of one are the same plan.
type Addresses []string

// First returns the first address; "" if there is none.
func (a Addresses) First() string {
	if len(a) == 0 {
		return ""
	}
	return a[0]
}

// Types of addresses: servers are whole ones, pages may be paths.
var (
	servers = addresses(text.checked(func(s string) error {
		if s == "" || hasReference(s) {
			return nil
		}
		return CheckServer(s)
	}))
	page = text.checked(func(s string) error {
		if hasReference(s) || addressRE.MatchString(s) {
			return nil
		}
		return fmt.Errorf("%s is not an address; "+
			"want a path such as /metrics, or a whole one that begins with http", address(s))
	})
	pages = addresses(page)
)

// addresses returns the type of one address, or of several.
func addresses(one valueType) valueType {
	all := list("an address, or a list such as [http://a:8065, http://b:8065]", one, "").
		filled("write an address, or remove the key").
		atMost(maxInstances, "addresses").distinct(address)
	write := all.write
	t := all.orOne(one)
	t.write = func(e *encoder, depth int, key string, v reflect.Value) {
		if v.Len() == 1 {
			e.line(depth, key, one.show(v.Index(0)))
			return
		}
		write(e, depth, key, v)
	}
	t.schema = func(valueType) object {
		several := all.schema(all)
		several["minItems"] = 1
		several["maxItems"] = maxInstances
		several["uniqueItems"] = true
		return anyOf(one.schema(one), several)
	}
	return t
}

// checkAddresses checks the addresses of a target's servers and of their metrics.
func (d *decoder) checkAddresses(t Target) {
	const url, metrics = "target.url", "target.metrics_url"
	d.checkPages(url, t.URL, metrics, t.MetricsURL)
	if t.Driver == External || !d.good("target.driver") {
		return
	}
	for path, list := range map[string]Addresses{url: t.URL, metrics: t.MetricsURL} {
		if len(list) > 1 && d.good(path) {
			d.at(path, "is a list, and the driver %s starts its servers itself; write one, "+
				"with ${PORT} where they differ, and their number in target.instances", t.Driver)
		}
	}
	if t.Instances < 2 || !d.good("target.instances") {
		return
	}
	one := t.URL.First()
	if !t.Proxied() && one != "" && !strings.Contains(one, "${") {
		d.at(
			url,
			"is the address of each of the %d servers; write http://127.0.0.1:${PORT}, or remove it",
			t.Instances,
		)
	}
	if slices.ContainsFunc(t.MetricsURL, fixed) {
		d.at(
			metrics,
			"is the one page of metrics of all %d servers; write a path, or ${PORT1} in the address",
			t.Instances,
		)
	}
}

// checkProtocol checks the protocol against the addresses of the target and of the arms.
func (d *decoder) checkProtocol(p *Plan) {
	const path = "target.http"
	t := p.Target
	if t.HTTP != HTTP2 || !d.good("target.driver") {
		return
	}
	if t.Driver != External {
		d.at(path, "has no effect, because the driver %s starts servers without TLS; remove it",
			t.Driver)
		return
	}
	all := map[string]Addresses{"target.url": t.URL}
	for _, a := range p.arms() {
		all["compare.arms."+a.Name+".url"] = a.URL
	}
	for at, list := range all {
		for _, v := range list {
			if len(v) > 5 && strings.EqualFold(v[:5], "http:") {
				d.at(
					at,
					"%s is http, and HTTP/2 is agreed over TLS; write an address with https, or remove %s",
					address(v),
					path,
				)
			}
		}
	}
}

// checkPages requires one page of metrics for each server, or one path. Both are at paths of the
// plan.
func (d *decoder) checkPages(url string, servers Addresses, metrics string, pages Addresses) {
	n := len(servers)
	m := len(pages)
	if n < 2 || m == 0 || m == n || !d.good(url, metrics) {
		return
	}
	if m > 1 || strings.Contains(pages[0], "://") {
		d.at(metrics, "has %d for the %d addresses of %s; "+
			"write one for each of them, or one path that all have", m, n, url)
	}
}

// CheckServer returns the defect of a server's address. A good one is http://HOST[:PORT][/PATH] or
// https; the case of the scheme and of the host name does not matter.
func CheckServer(v string) error {
	m := urlRE.FindStringSubmatch(v)
	if m != nil && strings.Count(m[1], ":") > 1 && m[1][0] != '[' {
		return fmt.Errorf(
			"%s has an IPv6 address without brackets; write it as in http://[::1]:8065", address(v))
	}
	var host []string
	if m != nil && pathRE.MatchString(m[2]) {
		host = hostRE.FindStringSubmatch(m[1])
	}
	switch {
	case host == nil:
		return fmt.Errorf(
			"%s is not an address of a server; want http://HOST[:PORT][/PATH] or https, "+
				"without user and query", address(v))
	case host[1] != "" && host[1][0] != '$' && !isPort(host[1]):
		return fmt.Errorf("%s has the port %s; want one from 1 to 65535", address(v), host[1])
	case apiRE.MatchString(v):
		return fmt.Errorf("%s ends in the path of the API; write the server's own address: %s",
			address(v), apiRE.ReplaceAllString(v, ""))
	}
	return nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// checkInstances checks whether the driver can start the number of servers.
func (d *decoder) checkInstances(t Target, k Known) {
	const path = "target.instances"
	switch {
	case t.Instances < 2 || !d.good("target.driver"):
	case t.Driver == External:
		d.at(path,
			"the driver external has no way to start %d instances; remove it, and write the "+
				"address of each in a list in target.url", t.Instances)
	case t.Topology == nil && k.Topologies != nil && !slices.Contains(k.Topologies, t.Driver):
		d.at(path, "%d servers, and the driver %s starts one; want 1, or one of the drivers %s",
			t.Instances, t.Driver, strings.Join(k.Topologies, ", "))
	}
}
