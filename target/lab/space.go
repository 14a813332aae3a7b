package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"plimsoll/internal/linux"
)

// A Copying is a way to put a data directory back to its snapshot.
type Copying string

// The ways. Reflink and Image share the blocks of the snapshot, so that their time does not depend
// on the amount of data.
const (
	// the fastest of the others that this host has; for less than ImageFrom never an image.
	Auto  Copying = ""
	Plain Copying = "copy" // every byte is written, and on disk before the server starts
	// the file system of the state directory shares blocks between files.
	Reflink Copying = "reflink"
	Image   Copying = "image" // so does XFS, in an image file of the state directory
)

// ResetSetting is the name of a database's setting in its description that holds the way of its
// resets.
const ResetSetting = "plimsoll.reset"

// ImageFrom is the size of data in bytes from which Auto prefers an image to a copy.
const ImageFrom = 1 << 30

// A Space holds the data directory of a server and the snapshot of it, on one file system. Make it
// with [NewSpace]. Its methods may be called from several goroutines.
type Space struct {
	state string // the directory that keeps all of it
	by    Copying
	why   string

	mu   sync.Mutex
	name string // of an image's mount
	done func() // nothing is left for the guard; nil while the image is not mounted
}

// NewSpace returns the space of a state directory. With bytes of 0 it is the one that was there
// before, with its contents; else one for so many bytes of data, and what was there before is
// removed. Ways other than Auto are required: it is an error when this host lacks them.
func NewSpace(ctx context.Context, state string, bytes int64, way Copying) (*Space, error) {
	state, err := filepath.Abs(state)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := SweepImages(); err != nil {
		return nil, err
	}
	s := &Space{state: state, by: Plain}
	if bytes == 0 {
		switch _, err := os.Stat(s.image()); {
		case err == nil:
			s.by = Image
			return s, s.Open(ctx)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("state directory: %w", err)
		}
	} else {
		for _, old := range []string{"data", "snapshot", imageFile} {
			if err := os.RemoveAll(filepath.Join(state, old)); err != nil {
				return nil, fmt.Errorf("removing the data of before: %w", err)
			}
		}
	}
	if way == Plain || way == Auto && bytes == 0 && !clones(state) {
		return s, nil
	}
	if way != Image && clones(state) {
		s.by = Reflink
		return s, nil
	}
	if way == Reflink {
		return nil, fmt.Errorf(
			"the file system of %s shares no blocks between files; want XFS or Btrfs",
			state,
		)
	}
	if way == Auto && bytes < ImageFrom {
		return s, nil
	}
	err = s.format(ctx, bytes)
	if err == nil {
		s.by = Image
		return s, nil
	}
	err = errors.Join(err, os.RemoveAll(s.image()))
	if way == Image || ctx.Err() != nil {
		return nil, err
	}
	s.why = err.Error()
	return s, nil
}

// Dir returns the directory for data and snapshot. That of an image is empty while the space is
// closed.
func (s *Space) Dir() string {
	if s.by == Image {
		return filepath.Join(mountDir, s.name)
	}
	return s.state
}

// By returns the way in which a copy within the space is made: never Auto.
func (s *Space) By() Copying { return s.by }

// String describes the way for manifests. A plain copy of much data has the reason beside it.
func (s *Space) String() string {
	switch {
	case s.by == Image:
		return "image: XFS on a loop device shares the blocks of the snapshot"
	case s.by == Reflink:
		return "reflink: the file system shares the blocks of the snapshot"
	case s.why != "":
		return "copy: " + s.why
	}
	return string(Plain)
}

// clones reports whether the file system of a directory shares blocks between files.
func clones(dir string) bool {
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(dir, ".clone-")
		if err != nil {
			return false
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[i] = f
	}
	if _, err := files[0].WriteString("x"); err != nil {
		return false
	}
	return linux.Clone(int(files[1].Fd()), int(files[0].Fd())) == nil
}

// TreeBytes sums the blocks on disk of the regular files below a directory, in bytes.
func TreeBytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum, err
}
