package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The modes of created files and directories: they hold answers of a target, and only this user may
// read them.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// A Disk is the operations of a file system by which runs and comparisons are kept. Tests give
// others than [OS]: one that is full, one that loses at a power failure all that was not synced.
// Its methods are safe for concurrent use.
type Disk interface {
	// Mkdir makes a directory whose parent is there. The error wraps [fs.ErrExist] when it is there
	// already.
	Mkdir(dir string) error
	// Create makes a file for writing, or empties an existing one; with fresh an existing file is
	// an error that wraps [fs.ErrExist].
	Create(path string, fresh bool) (io.WriteCloser, error)
	// Rename puts a file in the place of another, in one step.
	Rename(from, to string) error
	Remove(path string) error
	// Sync returns when the content of a file, or the names in a directory, would survive a power
	// failure.
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
	// Some file systems cannot sync directories.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// MkdirAll makes a directory with its parents, and returns once the new names would survive a power
// failure. An existing directory is not an error.
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

// Replace puts a file with this content, readable by this user alone, in the place of path. A
// reader gets the old content or the new one, never a part, also after a power failure. After an
// error the old file is unchanged, unless the last sync failed.
func Replace(disk Disk, path string, content []byte) error {
	tmp, err := beside(path)
	if err != nil {
		return err
	}
	if err := put(disk, tmp, content); err != nil {
		return errors.Join(err, remove(disk, tmp))
	}
	return Settle(disk, tmp, path)
}

// ReplaceMode is [Replace] on the file system of this host, with the permissions that
// [os.WriteFile] gives a new file.
func ReplaceMode(path string, content []byte, mode os.FileMode) error {
	tmp, err := beside(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(tmp, content, mode); err != nil {
		return errors.Join(err, remove(OS{}, tmp))
	}
	return Settle(OS{}, tmp, path)
}

// beside returns a fresh name in the directory of path: two programs that replace one file do not
// share it.
func beside(path string) (string, error) {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(path), ".tmp-"+hex.EncodeToString(random[:])), nil
}

func put(disk Disk, path string, content []byte) error {
	f, err := disk.Create(path, true)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// Settle puts a file that was written beside another, and closed, in its place: the file is synced
// before the name leads to it, and its directory after. When that fails, the file that was written
// is removed.
func Settle(disk Disk, written, path string) error {
	err := disk.Sync(written)
	if err == nil {
		err = disk.Rename(written, path)
	}
	if err != nil {
		return errors.Join(err, remove(disk, written))
	}
	return disk.Sync(filepath.Dir(path))
}

// remove removes a file that need not be there.
func remove(disk Disk, path string) error {
	if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncAll returns when everything below dir would survive a power failure. Others may have written
// it, such as the series.
func SyncAll(disk Disk, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		return disk.Sync(path)
	})
}
