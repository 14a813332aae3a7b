// Package shipped knows what the program carries of others: the notices of their licenses, which the program prints. Its
// tests hold the notices current, and hold out what nobody needs: clients of clouds and clusters, which packages of
// Prometheus import for the sake of their configuration, and code that needs a C library.
//
// The package refuses to know what the program does.
package shipped

import _ "embed"

// Notices are the licenses and notices of every module in the program, as plain text. make notices writes them.
//
//go:embed notices.txt
var Notices string
