// Package dump keeps the data of a database server in a directory, so that a state that took
// minutes to make is restored in seconds, and verifies that it is unchanged.
//
// # Layout
//
//	dataset.json   the manifest: the server that wrote the data, its content, its origin, a checksum of every file
//	data/          the server's own data directory, after a clean shutdown
//	files/         attachments, for servers that keep them outside the database; optional
//
// The directory may be moved, or packed with tar, to a machine with the same processor architecture
// and the same major version of the same server; owners of files do not matter. The manifest's
// digest names the dump: see [Dump.Digest].
//
// # Checks
//
// [Dump.VerifyFiles] compares every file with its SHA-256; [Tables] counts the rows of a running
// database and sums a checksum over all of their cells, and [Compare] compares them with the
// manifest. The first finds a flipped byte anywhere, the second a row that is missing or different
// after a restore, or after a load elsewhere. [Dump.Whole], which [For] calls, finds a dump that
// was copied in part: it looks at the sizes alone.
//
// The package does not know the meaning of the rows, nor how to start a server. It never repeats a
// DSN, which holds a password.
package dump
