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
