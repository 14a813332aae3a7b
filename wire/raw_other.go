//go:build !unix

package wire

import "net"

// stale cannot tell here; a request on a closed connection fails or is repeated.
func stale(net.Conn) bool { return false }

type readiness struct{}

func newReadiness(net.Conn, *reader) *readiness { return nil }

func (r *readiness) wait() error { return nil }
