package sharedhost

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"plimsoll/watch/probe"
)

// Programs that listen in the place of others, by their names.
var (
	tunnelNames = []string{"ssh", "kubectl"} // to another host
	proxyNames  = []string{"apache2", "caddy", "docker-proxy", "envoy", "haproxy", "httpd", "nginx",
		"rootlessport", "traefik"}
	databaseNames = []string{"mariadbd", "mysqld", "postgres"}
)

// tunnel reports whether processes listen for a server on another host.
func tunnel(pids []int) bool { return slices.Contains(tunnelNames, probe.Command(pids[0])) }

// programRole returns the role of a process by the name of its program, or another one if that is
// not known.
func programRole(pid int, other string) string {
	switch name := probe.Command(pid); {
	case slices.Contains(proxyNames, name):
		return "proxy"
	case slices.Contains(databaseNames, name):
		return "db"
	}
	return other
}

// roles holds the first processes of each role.
type roles map[string][]int

// add adds a process that has no role yet.
func (r roles) add(role string, pid int) {
	for _, pids := range r {
		if slices.Contains(pids, pid) {
			return
		}
	}
	r[role] = append(r[role], pid)
}

// follow adds the processes that listening ones hand requests to: the server behind a proxy that
// listens at front, and the server's databases.
func (r roles) follow(ctx context.Context, c Clues, front []netip.AddrPort) {
	if proxies := r["proxy"]; len(proxies) > 0 && len(r["app"]) == 0 {
		for _, pid := range slices.Concat(callees(proxies), behind(ctx, c, front)) {
			r.add(programRole(pid, "app"), pid)
		}
	}
	for _, pid := range callees(r["app"]) {
		if programRole(pid, "") == "db" {
			r.add("db", pid)
		}
	}
}

// callees returns the processes of this host that some others have connections to.
func callees(pids []int) []int {
	if len(pids) == 0 {
		return nil
	}
	to, _ := probe.Callees(pids)
	return listenersAt(to)
}

// listenersAt returns the processes that accept connections at the addresses that this host has.
func listenersAt(all []netip.AddrPort) (pids []int) {
	own := ownAddresses()
	for _, at := range all {
		if own.has(at.Addr()) {
			found, _, _ := probe.Listeners(at)
			pids = append(pids, found...)
		}
	}
	return pids
}

// knocks are the numbers of requests that are sent through a proxy to find the server behind it,
// one set after another: a proxy may open a connection for each of them alone, and other servers of
// the host do not get as many in each set by chance.
var knocks = []int{7, 20, 3}

// knockTime bounds the search for the server behind a proxy.
const knockTime = 10 * time.Second

// behind returns the processes behind a proxy at front: the one address that gets as many
// connections as requests for a page of the server are sent. It returns none if there are several.
func behind(ctx context.Context, c Clues, front []netip.AddrPort) []int {
	ctx, cancel := context.WithTimeout(ctx, knockTime)
	defer cancel()
	page := cmp.Or(c.Ready, c.URL)
	if strings.HasPrefix(page, "/") {
		page = strings.TrimSuffix(c.URL, "/") + page
	}
	var to []netip.AddrPort
	for i, n := range knocks {
		opened, err := knock(ctx, page, n)
		if err != nil {
			return nil
		}
		if i == 0 {
			to = slices.Collect(maps.Keys(opened))
		}
		to = slices.DeleteFunc(to, func(at netip.AddrPort) bool {
			fits := opened[at] == n || opened[at] == n+1
			return !fits || slices.Contains(front, at)
		})
	}
	if len(to) != 1 {
		return nil
	}
	return listenersAt(to)
}

// knock requests a page so often, and returns how many connections were opened meanwhile, by
// address.
func knock(ctx context.Context, page string, times int) (map[netip.AddrPort]int, error) {
	before, err := probe.Connections()
	if err != nil {
		return nil, err
	}
	for range times {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return nil, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return nil, err
		}
	}
	after, err := probe.Connections()
	opened := map[netip.AddrPort]int{}
	for connection := range after {
		if !before[connection] {
			opened[connection.To]++
		}
	}
	return opened, err
}
