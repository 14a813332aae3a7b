package own

import "plimsoll/internal/built"

// Version returns the version of this program, "devel" for one that was built from a work tree.
func Version() string { return built.This().Version }
