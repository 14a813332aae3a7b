package record

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"plimsoll/plain"
)

// The modes of what is kept: answers of a target stand in it, and it is this user's alone.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// A Disk is the operations of a file system by which runs and comparisons are kept. Tests give others than [OS]: one that is full, one that loses at a
// power failure all that was not synced. Its methods are safe for concurrent use.
type Disk interface {
	// Mkdir makes a directory whose parent is there. The error wraps [fs.ErrExist] when it is there already.
	Mkdir(dir string) error
	// Create makes a file for writing, or empties the one that is there; with fresh that is an error which wraps [fs.ErrExist].
	Create(path string, fresh bool) (io.WriteCloser, error)
	// Rename puts a file in the place of another, in one step.
	Rename(from, to string) error
	Remove(path string) error
	// Sync returns when the content of a file, or the names in a directory, would survive a power failure.
	Sync(path string) error
}

// OS is the file system of this host.
type OS struct{}

// Mkdir implements [Disk].
func (OS) Mkdir(dir string) error { return os.Mkdir(dir, dirMode) }

// Create implements [Disk].
func (OS) Create(path string, fresh bool) (io.WriteCloser, error) {
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if fresh {
		flag |= os.O_EXCL
	}
	return os.OpenFile(path, flag, fileMode)
}

// Rename implements [Disk].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements [Disk].
func (OS) Remove(path string) error { return os.Remove(path) }

// Sync implements [Disk].
func (OS) Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) { // a file system that cannot, as some have it for directories
		err = nil
	}
	return errors.Join(err, f.Close())
}

// MkdirAll makes a directory with its parents, and returns when the names of those that it made would survive a power failure. One that is there is no error.
func MkdirAll(disk Disk, dir string) error {
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(disk, parent); err != nil {
			return err
		}
	}
	if err := disk.Mkdir(dir); err != nil {
		if fi, serr := os.Stat(dir); serr == nil && fi.IsDir() { // another process was faster
			return nil
		}
		return err
	}
	return disk.Sync(parent)
}

// WriteJSON is [WriteJSONTo] without secrets, on the file system of this host.
func WriteJSON(path string, v any) error { return WriteJSONTo(OS{}, path, v, nil) }

// WriteJSONTo writes v, indented, without the secrets and for this user alone to path in one step: a reader sees the old file or the new one, never half,
// also after a power failure. When it returns without an error, the new one is there to stay.
func WriteJSONTo(disk Disk, path string, v any, secrets *plain.Secrets) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return replace(disk, path, append(secrets.JSON(b), '\n'))
}

// replace puts a file with this content in the place of path. The order matters: the content is on disk before the name leads to it.
func replace(disk Disk, path string, content []byte) error {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	tmp := filepath.Join(dir, ".tmp-"+hex.EncodeToString(random[:]))
	err := put(disk, tmp, content)
	if err == nil {
		err = disk.Sync(tmp)
	}
	if err == nil {
		err = disk.Rename(tmp, path)
	}
	if err != nil {
		if rerr := disk.Remove(tmp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return err
	}
	return disk.Sync(dir)
}

func put(disk Disk, path string, content []byte) error {
	f, err := disk.Create(path, true)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// syncAll returns when everything below dir would survive a power failure. Others may have written it, such as the series.
func syncAll(disk Disk, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		return disk.Sync(path)
	})
}
