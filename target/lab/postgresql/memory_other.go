//go:build !linux

package postgresql

// removeMemory is for the memory that a killed server leaves on Linux.
func removeMemory(string) error { return nil }
