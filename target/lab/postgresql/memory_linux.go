package postgresql

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Magic numbers of the System V segment and of the control segment in /dev/shm, and their layout.
const (
	headerMagic  = 679834894
	controlMagic = 0x9a503d32
	headerSize   = 56
	itemsAt      = 16
	itemSize     = 40
)

// memoryLimit bounds the wait for processes that still use the memory of a killed server.
const memoryLimit = time.Second

// removeMemory removes the shared memory of a server, or of initdb, that was killed in a data
// directory. The server does so at its next start in the same directory, but not once the directory
// was made anew or mounted again. The lock file names a System V segment, in which the inode of the
// directory and the process must be the expected ones; the segment leads to the files in /dev/shm.
// Memory that a process uses, or that may be another server's, stays.
func removeMemory(data string) error {
	lock, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // it ended by itself
	}
	if err != nil {
		return fmt.Errorf("reading the lock file of a killed server: %w", err)
	}
	var pid, key, id int
	lines := strings.Split(string(lock), "\n")
	if len(lines) < 7 {
		return nil // killed before it had memory
	}
	_, err = fmt.Sscan(lines[0]+" "+lines[6], &pid, &key, &id)
	if err != nil || !unused(key, id) {
		return nil
	}
	control, ok := controlOf(data, max(pid, -pid), id)
	if !ok {
		return nil
	}
	if control != 0 {
		if err := removeFiles(control); err != nil {
			return fmt.Errorf("removing the shared memory of a killed server: %w", err)
		}
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
		return fmt.Errorf("removing the shared memory of a killed server: segment %d: %w", id, err)
	}
	return nil
}

// unused waits until no process uses a System V segment, and reports whether it exists then.
func unused(key, id int) bool {
	for end := time.Now().Add(memoryLimit); ; time.Sleep(5 * time.Millisecond) {
		var d unix.SysvShmDesc
		_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d)
		if err != nil || d.Perm.Key != int32(key) || d.Segsz < headerSize {
			return false
		}
		if d.Nattch == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// controlOf returns the number of the control segment that a System V segment names, 0 when the
// server was killed before it made one. It is ok when process pid made the segment for the data
// directory.
func controlOf(data string, pid, id int) (control uint32, ok bool) {
	dir, err := os.Stat(data)
	if err != nil {
		return 0, false
	}
	sys, ok := dir.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	h, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return 0, false
	}
	defer unix.SysvShmDetach(h)
	order := binary.NativeEndian
	magic := order.Uint32(h)
	maker := order.Uint32(h[4:])
	inode := order.Uint64(h[48:])
	ok = magic == headerMagic && maker == uint32(pid) && inode == sys.Ino
	return order.Uint32(h[24:]), ok
}

// removeFiles removes a control segment and the segments that it lists.
func removeFiles(control uint32) error {
	b, err := os.ReadFile(shmPath(control))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	if len(b) < itemsAt || order.Uint32(b) != controlMagic {
		return os.Remove(shmPath(control)) // killed before it wrote the list
	}
	n := int(min(order.Uint32(b[4:]), uint32((len(b)-itemsAt)/itemSize)))
	for i := range n {
		item := b[itemsAt+i*itemSize:]
		if order.Uint32(item[4:]) == 0 {
			continue // not in use
		}
		err := os.Remove(shmPath(order.Uint32(item)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Remove(shmPath(control))
}

func shmPath(number uint32) string { return fmt.Sprintf("/dev/shm/PostgreSQL.%d", number) }
