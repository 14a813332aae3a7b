//go:build linux

package linux

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// NewNet is the clone flag that gives a child ([Child]) its own network namespace.
const NewNet = unix.CLONE_NEWNET

// CPUSet is a set of CPUs.
type CPUSet = unix.CPUSet

// Missing is the reason why this system carries out no run, nil on Linux.
func Missing() error { return nil }

// EnterNet moves the calling thread into the network namespace of an open file.
func EnterNet(fd int) error { return unix.Setns(fd, unix.CLONE_NEWNET) }

// Affinity reads the CPUs of a thread; 0 is the calling one.
func Affinity(tid int, set *CPUSet) error { return unix.SchedGetaffinity(tid, set) }

// SetAffinity binds a thread to CPUs; 0 is the calling one.
func SetAffinity(tid int, set *CPUSet) error { return unix.SchedSetaffinity(tid, set) }

// ThreadID returns the ID of the calling thread.
func ThreadID() int { return unix.Gettid() }

// Sync writes the file system of an open file to its disk.
func Sync(fd int) error { return unix.Syncfs(fd) }

// Clone lets a file share the blocks of another.
func Clone(to, from int) error { return unix.IoctlFileClone(to, from) }

// Reserve reserves the blocks of a file of size bytes.
func Reserve(fd int, size int64) error { return unix.Fallocate(fd, 0, 0, size) }

// Free is the number of bytes of a file system that a user without privileges may still write.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return int64(st.Bavail) * st.Bsize, err
}

// Punch frees n bytes of a file from at on.
func Punch(fd int, at, n int64) error {
	return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n)
}

// AwaitDeath waits for the end of a child and does not reap it.
func AwaitDeath(pid int) error {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}

// Child sets the signal that a child gets when the thread that starts it dies, and the new
// namespaces of the child (CLONE_NEW flags).
func Child(attr *syscall.SysProcAttr, death syscall.Signal, unshare uintptr) {
	attr.Pdeathsig, attr.Cloneflags = death, unshare
}
