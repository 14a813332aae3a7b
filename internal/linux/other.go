//go:build !linux

package linux

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// NewNet is nothing here.
const NewNet = 0

// CPUSet is empty here.
type CPUSet [1]uint64

// Set does nothing.
func (*CPUSet) Set(int) {}

// IsSet returns false.
func (*CPUSet) IsSet(int) bool { return false }

// Missing is the reason why this system carries out no run.
func Missing() error {
	return fmt.Errorf(
		"plimsoll loads and starts servers on Linux, and this is %s: use another host or a container; judge, report, serve, ls, show and plan work here (docs/install.md)",
		runtime.GOOS,
	)
}

// EnterNet returns an error.
func EnterNet(int) error { return errors.ErrUnsupported }

// Affinity returns an error.
func Affinity(int, *CPUSet) error { return errors.ErrUnsupported }

// SetAffinity returns an error.
func SetAffinity(int, *CPUSet) error { return errors.ErrUnsupported }

// ThreadID is unknown here.
func ThreadID() int { return 0 }

// Sync writes one file to its disk.
func Sync(fd int) error { return unix.Fsync(fd) }

// Clone returns an error.
func Clone(int, int) error { return errors.ErrUnsupported }

// Reserve returns an error.
func Reserve(int, int64) error { return errors.ErrUnsupported }

// Free is the number of bytes of a file system that a user without privileges may still write.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return int64(st.Bavail) * int64(st.Bsize), err
}

// Punch returns an error.
func Punch(int, int64, int64) error { return errors.ErrUnsupported }

// AwaitDeath returns an error.
func AwaitDeath(int) error { return errors.ErrUnsupported }

// Child does nothing.
func Child(*syscall.SysProcAttr, syscall.Signal, uintptr) {}
