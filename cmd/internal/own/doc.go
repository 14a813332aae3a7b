// Package own starts the servers that this program contains, as targets of a test: refchat, the null server, and the
// news feed with its stores. It is the one registry of their drivers, and reads the telemetry that the news feed
// leaves behind.
package own

import "runtime/debug"

// Version returns the version of this program, "devel" for one that was built from a work tree.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
