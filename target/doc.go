// Package target is a deployed system under test: what it is, where it answers, how its state is reset.
//
// A [Driver] makes a [Deployment] of a [Spec]. The drivers are subpackages, which only the command
// introduces: process runs any program, with or without a database, on this host; external is a URL that
// somebody else looks after. A Deployment begins and ends every run in the same state, because the run is
// the unit of replication: [Deployment].Reset puts the state back and restarts the programs.
//
// A detached target is found again by its state file: see [Save], [Load] and [Down].
//
// # What it refuses to know
//
// What the program is and which protocol it speaks. It asks one URL whether the program is ready, and
// wants a status of the 200s. Which database engines exist: a driver is given them, as a [Database].
//
// # Secrets
//
// Values in [Spec].Secrets and DSNs go to the program's environment and nowhere else. A [Description] and a
// state file hold names of secret variables, never values.
package target
