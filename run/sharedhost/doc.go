// Package sharedhost looks after a host that the generator of load and the target share: which
// cores each side has, which processes of this host belong to a target that others run, and whether
// the arms of a comparison are on one host. It keeps a target off the generator's cores for as long
// as it is measured.
//
// It knows addresses and processes, and neither systems nor runs.
package sharedhost
