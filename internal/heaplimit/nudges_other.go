//go:build !linux

package heaplimit

// nudges does nothing: users are simulated on Linux.
func nudges() (end func()) { return func() {} }
