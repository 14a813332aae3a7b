//go:build !linux

package wire

import "syscall"

// latePort has no equivalent here: bind chooses a port that is free towards every destination.
func latePort(_, _ string, _ syscall.RawConn) error { return nil }
