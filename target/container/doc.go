// Package container runs a server in a container: a root file system of only the program and the files its loader
// needs, and namespaces of its own for processes, mounts, host name and System V objects. The network is one that the
// caller has made.
//
// # Engines
//
// [Namespaces] makes the container itself: this program starts itself again as its first process (see [Init]),
// which mounts, changes its root, gives up all capabilities and becomes the server. The engine of [FindPodman] is
// podman with runc, with their additions: a seccomp filter, control groups, a monitor. Both join the same network,
// so that they differ in the runtime of the container and not in its network.
//
// # Traces
//
// A container ends with this program in any way: the first process of [Namespaces] is a child like any other;
// podman's monitor and server are adopted (lab.Adopt). Podman's files are in the state directory, its mounts in a
// mount namespace that ends with it, and its control groups bear this program's mark.
//
// # Out of scope
//
// The server, its network, and the source of its state. It limits nothing.
package container
