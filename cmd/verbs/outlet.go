package verbs

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// An outlet is standard output or standard error. When its reader is gone, because a pipe or a
// terminal was closed, it ends the context: runs are sealed as interrupted. A Go program that
// writes to such a pipe by the descriptors 1 or 2 is killed by SIGPIPE, which leaves a run
// unsealed; and asking for that signal brings those of all sockets too, which are the target's. So
// an outlet writes by another descriptor of the same file.
type outlet struct {
	file *os.File // the original, for children
	by   *os.File
	end  context.CancelCauseFunc
}

// newOutlet returns the outlet of a file; the file itself where no other descriptor is to be had.
func newOutlet(f *os.File, end context.CancelCauseFunc) io.Writer {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	return &outlet{f, os.NewFile(uintptr(fd), f.Name()), end}
}

// closeOutlets closes the descriptors of outlets.
func closeOutlets(all ...io.Writer) {
	for _, w := range all {
		if o, ok := w.(*outlet); ok {
			_ = o.by.Close()
		}
	}
}

// Write implements [io.Writer].
func (o *outlet) Write(b []byte) (int, error) {
	n, err := o.by.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) { // EIO is of a terminal
		o.end(interrupted{syscall.SIGPIPE})
	}
	return n, err
}

// ForChild returns the file itself, so that it is a terminal for the child too.
func (o *outlet) ForChild() io.Writer { return o.file }

// unread reports whether an error means that the reader of this program's output is gone.
func unread(ctx context.Context, err error) bool {
	var by interrupted
	return errors.As(context.Cause(ctx), &by) && by.signal == syscall.SIGPIPE &&
		errors.Is(err, syscall.EPIPE)
}
