package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
)

const (
	imageFile  = "image"         // in the state directory
	mountDir   = "/run/plimsoll" // has one directory for each image that is mounted
	imageSlack = 2 << 30         // of an image beyond its data, bytes
	// until an image is free that was unmounted by a killed program, or without waiting.
	detachWait = 30 * time.Second
)

// mounted counts the images that this program has named.
var mounted atomic.Int64

func (s *Space) image() string { return filepath.Join(s.state, imageFile) }

// format makes an image with an empty file system and mounts it. The image has room for the data
// and for a second version of every block.
func (s *Space) format(ctx context.Context, bytes int64) error {
	if os.Geteuid() != 0 {
		return errors.New("an image for copy-on-write is mounted by root only")
	}
	mkfs := FindProgram("mkfs.xfs", "/usr/sbin", "/sbin") // which the PATH of users may lack
	if mkfs == "" {
		return errors.New(
			"no mkfs.xfs is installed; with the package xfsprogs a reset shares blocks instead of copying them",
		)
	}
	size := 2*bytes + imageSlack
	free, err := linux.Free(s.state)
	if err != nil {
		return fmt.Errorf("looking for free space in %s: %w", s.state, err)
	}
	if free < size {
		return fmt.Errorf("an image for copy-on-write may grow to %.1f GB, and %s has %.1f GB free",
			float64(size)/1e9, s.state, float64(free)/1e9)
	}
	f, err := os.OpenFile(s.image(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making an image: %w", err)
	}
	if err = errors.Join(f.Truncate(size), f.Close()); err == nil {
		err = Run(ctx, Spec{
			Name: "mkfs.xfs",
			Path: mkfs,
			Args: []string{"-q", "-K", "-m", "reflink=1", s.image()},
		})
	}
	if err != nil {
		return fmt.Errorf("making an image: %w", err)
	}
	return s.Open(ctx)
}

// Open mounts an image that is not mounted. Without an image it does nothing.
func (s *Space) Open(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil {
		return nil
	}
	if _, err := os.Stat(s.image()); err != nil {
		if errors.Is(err, os.ErrNotExist) && s.by != Image {
			return nil
		}
		return fmt.Errorf("opening the image of a database's state: %w", err)
	}
	mark, err := Mark()
	if err != nil {
		return err
	}
	if s.name == "" {
		s.name = fmt.Sprintf("%s-%d", mark, mounted.Add(1))
	}
	// Two file systems on one image would destroy it.
	for until := time.Now().Add(detachWait); attached(s.image()); time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Now().After(until) {
			return fmt.Errorf(
				"%w: another program has mounted %s; stop that program, or choose another directory",
				ErrInUse,
				s.image(),
			)
		}
	}
	done, err := UndoImage(s.name)
	if err != nil {
		return err
	}
	at := filepath.Join(mountDir, s.name)
	if err := os.MkdirAll(at, 0o711); err != nil {
		return fmt.Errorf("mounting an image: %w", err)
	}
	if err := mountImage(s.image(), at); err != nil {
		_ = os.Remove(at)
		done()
		return fmt.Errorf("mounting %s: %w", s.image(), err)
	}
	s.done = done
	if err := os.Chmod(at, 0o711); err != nil { // the server's user passes through
		return fmt.Errorf("mounting an image: %w", err)
	}
	return nil
}

// Close unmounts an image, and returns when all of it is on disk; a context that has ended leaves
// that to the kernel. The programs that use it must have ended. Closing a closed space does
// nothing.
func (s *Space) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		return nil
	}
	at := filepath.Join(mountDir, s.name)
	flags := 0
	if ctx.Err() != nil {
		flags = detach
	}
	err := unix.Unmount(at, flags)
	if errors.Is(err, unix.EBUSY) { // a process that was killed is not gone yet
		err = unix.Unmount(at, detach)
	}
	if err != nil {
		return fmt.Errorf("unmounting %s: %w", s.image(), err)
	}
	_ = os.Remove(at) // an empty directory does no harm
	s.done()
	s.done = nil
	return nil
}

// attached reports whether a loop device holds a file. The kernel has the path of it without
// symbolic links.
func attached(image string) bool {
	if real, err := filepath.EvalSymlinks(image); err == nil {
		image = real
	}
	all, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // a good pattern
	for _, name := range all {
		if b, err := os.ReadFile(name); err == nil && strings.TrimRight(string(b), "\n") == image {
			return true
		}
	}
	return false
}

// SweepImages unmounts the images of programs that do not run any more. The guard does so too,
// unless it was killed.
func SweepImages() error {
	entries, err := os.ReadDir(mountDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for mounted images: %w", err)
	}
	for _, e := range entries {
		if !Orphan(e.Name()) {
			continue
		}
		at := filepath.Join(mountDir, e.Name())
		if err := unix.Unmount(at, detach); err != nil && !errors.Is(err, unix.EINVAL) &&
			!errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("unmounting an image left over from an earlier run: %w", err)
		}
		_ = os.Remove(at) // the guard may have
	}
	return nil
}
