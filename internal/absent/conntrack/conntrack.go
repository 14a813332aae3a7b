// Package conntrack has the names that Prometheus's HTTP client mentions of the package that counts
// and traces connections. Its dialers dial and count nothing. The package behind the name brings
// golang.org/x/net/trace and html/template, and a template calls methods by name: with it, the
// linker must keep every exported method in the program.
package conntrack

import (
	"context"
	"net"
)

type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// DialerOpt changes how a dialer dials.
type DialerOpt func(*dialing)

// DialWithName would name the dialer in its counts.
func DialWithName(string) DialerOpt { return func(*dialing) {} }

// DialWithTracing would trace connections.
func DialWithTracing() DialerOpt { return func(*dialing) {} }

// DialWithDialContextFunc dials through f.
func DialWithDialContextFunc(
	f func(ctx context.Context, network, address string) (net.Conn, error),
) DialerOpt {
	return func(d *dialing) { *d = f }
}

// NewDialContextFunc returns a dialer.
func NewDialContextFunc(
	opts ...DialerOpt,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := dialing((&net.Dialer{}).DialContext)
	for _, o := range opts {
		o(&d)
	}
	return d
}
