package refchat

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
)

// errOpen refuses a server that other hosts reach and anyone can administer.
var errOpen = errors.New(
	"other hosts reach this address, and the administrator has the default password, which is in the documentation",
)

// checkReach refuses an address beyond loopback without a password of one's own.
func (c *Config) checkReach() error {
	if c.AdminPassword == DefaultAdminPassword && !loopback(c.Listen) {
		return fmt.Errorf(
			"-listen %s: %w; set another in REFCHAT_ADMIN_PASSWORD, or listen on 127.0.0.1",
			c.Listen,
			errOpen,
		)
	}
	return nil
}

// loopback reports whether an address is of this host alone. A name is, if it is localhost; no host
// means all addresses.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// profiles serves the profiles of net/http/pprof: to this host, and to others only with the
// administrator's name and password (HTTP Basic), because they show the program's memory and cost
// its time.
func (s *Server) profiles(mux *http.ServeMux) {
	for path, h := range map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/trace":   pprof.Trace,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/cmdline": pprof.Cmdline,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if !near(r) && !s.administers(r) {
				w.Header().Set("WWW-Authenticate", `Basic realm="profiles"`)
				http.Error(
					w,
					"profiles are for this host, or for the administrator's name and password",
					http.StatusUnauthorized,
				)
				return
			}
			h(w, r)
		})
	}
}

// near reports whether a request comes from this host, and not through a proxy on it.
func near(r *http.Request) bool {
	return loopback(r.RemoteAddr) && r.Header.Get("X-Forwarded-For") == "" &&
		r.Header.Get("Forwarded") == ""
}

// administers reports whether a request has the configured administrator's name and password.
func (s *Server) administers(r *http.Request) bool {
	name, password, ok := r.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte(name),
		[]byte(s.cfg.AdminUser))&subtle.ConstantTimeCompare([]byte(password),
		[]byte(s.cfg.AdminPassword)) == 1
}
