// Package goleak has the names that helpers for tests in Prometheus's packages mention of the
// package that looks for goroutines.
package goleak

import "os"

// Option would let a goroutine be.
type Option struct{}

// IgnoreTopFunction does nothing.
func IgnoreTopFunction(string) Option { return Option{} }

// VerifyTestMain ends the program as failed: it would not look.
func VerifyTestMain(any, ...Option) { os.Exit(1) }
