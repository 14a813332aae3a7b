// Package sandbox gives the programs of one system under test their surroundings on this host: the
// network that they are in, a control group with its limits, a container.
//
// A [Sandbox] is made before the programs start and removed after they have ended. It starts none
// of them itself: [Sandbox.Placed] is for the driver that does. The programs that simulate users
// are never inside. What a killed program of ours leaves behind is removed by [Sweep].
package sandbox
