// Package shipped holds the notices of the licenses of other modules in the program, which the
// program prints. Its tests keep the notices current, and keep unneeded packages out: clients of
// clouds and clusters, which packages of Prometheus import for the sake of their configuration, and
// code that needs a C library.
//
// The package does not know the purpose of the program.
package shipped

import _ "embed"

// Notices are the licenses and notices of every module in the program, as plain text. make notices
// writes them.
//
//go:embed notices.txt
var Notices string
