// Package agents tests the files that run agents elsewhere: the unit and the kernel settings, the
// cloud-init user data, the image and the chart. It holds only tests.
//
// It is a module beside the program's, because Helm's library is larger than the program. `make
// modules` runs it. The tools of other projects that it needs come from scripts/setup.sh; where CI
// is true, a missing one fails a test. The kernel settings are compared with the doctor's in
// package probe.
//
// No cluster, no machine of a provider and no systemd that boots has run these files yet: they are
// known to work in tests alone.
package agents
