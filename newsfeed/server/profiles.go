package server

import (
	"net/http"
	"net/http/pprof"
	"net/netip"
)

// profiles serves the profiles of net/http/pprof to this host alone: they show the program's memory
// and cost its time, and the service has no password that others could give.
func profiles(mux *http.ServeMux) {
	for path, h := range map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/trace":   pprof.Trace,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/cmdline": pprof.Cmdline,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			from, err := netip.ParseAddrPort(r.RemoteAddr)
			proxied := r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != ""
			if err != nil || !from.Addr().Unmap().IsLoopback() || proxied {
				http.Error(w, "profiles are for this host alone", http.StatusForbidden)
				return
			}
			h(w, r)
		})
	}
}
