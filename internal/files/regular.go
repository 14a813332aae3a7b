package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrTooLarge reports a file of more bytes than are read.
var ErrTooLarge = errors.New("too large")

// An IrregularError reports something else than a file.
type IrregularError struct {
	Path string
	Kind string // with its article, such as "a named pipe"
}

func (e *IrregularError) Error() string {
	return e.Path + " is " + e.Kind + "; want a regular file"
}

// Open opens a regular file for reading. Anything else, also behind a symbolic link, is an
// [*IrregularError], at once: a named pipe is not waited for.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		pe.Op = "open"
	}
	if err != nil {
		return nil, err
	}
	if kind := kindOf(info.Mode()); kind != "" { // opening a device may do something
		return nil, &IrregularError{path, kind}
	}
	// it may have become another since
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil {
		if kind := kindOf(info.Mode()); kind != "" {
			err = &IrregularError{path, kind}
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of a regular file of at most most bytes; 0 or less for any number. The
// error of a larger one wraps [ErrTooLarge]; no error holds anything of the content. The size that
// the file has by its own account does not count: files of /proc have none, and others grow.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if most <= 0 {
		return io.ReadAll(f)
	}
	b, err := ReadUpTo(f, most)
	if errors.Is(err, ErrTooLarge) {
		return nil, fmt.Errorf(
			"%s: %w: more than %d bytes; want a smaller file",
			path,
			ErrTooLarge,
			most,
		)
	}
	return b, err
}

// ReadUpTo reads all of r, or returns [ErrTooLarge] when that is more than most bytes.
func ReadUpTo(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, ErrTooLarge
	}
	return b, err
}

// kindOf names the kind of an irregular file; empty for a regular one.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file"
}

// Unreadable reports whether err is the error of an existing file that can never be read: it is not
// a regular file, or is too large.
func Unreadable(err error) bool {
	_, irregular := errors.AsType[*IrregularError](err)
	return irregular || errors.Is(err, ErrTooLarge)
}

// IsDir reports whether there is a directory at path.
func IsDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
