// Package target defines a deployed system under test: its description, its addresses, and the
// reset of its state.
//
// A [Driver] makes a [Deployment] of a [Spec]. The drivers are subpackages, which only the command
// introduces: process runs any program, with or without a database, on this host; external is a URL
// of a system run by others. A Deployment begins and ends every run in the same state, because the
// run is the unit of replication: [Deployment].Reset puts the state back and restarts the programs.
//
// A detached target is found again by its state file: see [Save], [Load] and [Down].
//
// # Out of scope
//
// The program and its protocol. It requests one URL until the program is ready, that is, until the
// status is 2xx. Which database engines exist: a driver is given them, as a [Database].
//
// # Secrets
//
// Values in [Spec].Secrets and DSNs go to the program's environment and nowhere else. A
// [Description] and a state file hold names of secret variables, never values.
package target
