//go:build race

package race

// Enabled reports whether this program was built with -race.
const Enabled = true
