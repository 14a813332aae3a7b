package boundary

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// OwnPage reports whether a request comes from a page of this server, or from no page: another page
// cannot read the answer, but could make this host work.
func OwnPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" &&
		site != "none" {
		return false
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == scheme+"://"+r.Host
}

// Hostname returns a Host header without its port and brackets.
func Hostname(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
}

// Loopback reports whether host is an address of the loopback device, or localhost. Another name
// could be bound to that address by its owner, whose pages would then read this server as their
// own.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// Network reports whether host is an address, or a name that no stranger can bind to an address of
// this host: its own, one without a dot, or one of a private domain.
func Network(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	own, err := os.Hostname()
	private := []string{"internal", "local", "localhost", "lan", "svc"}
	_, domain, dotted := strings.Cut(host, ".")
	return !dotted || err == nil && strings.EqualFold(host, own) ||
		slices.Contains(private, strings.ToLower(domain[strings.LastIndexByte(domain, '.')+1:]))
}
