// Package container runs a server in a container of podman with runc: a root file system of only
// the program and the files its loader needs, and namespaces of its own for processes, mounts, host
// name and System V objects. The network is one that the caller has made.
//
// # Traces
//
// A container ends with this program in any way: podman's monitor and server are adopted
// (lab.Adopt). Podman's files are in the state directory, its mounts in a mount namespace that ends
// with it, and its control groups bear this program's mark.
//
// # Out of scope
//
// The server, its network, and the source of its state. It limits nothing.
package container
