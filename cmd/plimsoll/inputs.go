package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Limits of files that a person or a plan names, in bytes.
const (
	maxSmall  = 1 << 20  // plans, specs, mixes, texts of reports
	maxSecret = 64 << 10 // passwords, tokens, addresses
	maxAnswer = 16 << 20 // what a Prometheus server said
)

// readRegular reads a regular file of at most most bytes. What a plan names may stand for anything: a device has no end, and a named pipe is opened only
// when somebody writes to it. The error holds the file's name and what to do, and nothing of its content.
func readRegular(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		pe.Op = "open"
	}
	if err != nil {
		return nil, err
	}
	if kind := kindOf(info.Mode()); kind != "" {
		return nil, irregularError{path, kind}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become another since
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if kind := kindOf(info.Mode()); kind != "" {
		return nil, irregularError{path, kind}
	}
	// The size that is told is none that holds: files of /proc have none, and others grow.
	b, err := readUpTo(f, most)
	if errors.Is(err, errTooLarge) {
		return nil, fmt.Errorf("%s: %w: more than %d bytes; want a smaller file", path, errTooLarge, most)
	}
	return b, err
}

// irregularError is something else than a file.
type irregularError struct{ path, kind string }

func (e irregularError) Error() string { return e.path + " is " + e.kind + "; want a regular file" }

// unreadable reports whether a file that is there can never be read.
func unreadable(err error) bool {
	_, irregular := errors.AsType[irregularError](err)
	return irregular || errors.Is(err, errTooLarge)
}

// kindOf names what is no regular file; empty for one that is.
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

var errTooLarge = errors.New("too large")

// readUpTo reads all of r, or returns errTooLarge if that is more than most bytes.
func readUpTo(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, errTooLarge
	}
	return b, err
}
