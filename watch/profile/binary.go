package profile

import (
	"fmt"
	"os"
	"path"
	"strings"
)

const (
	unknownBinary = 0
	kernelBinary  = 1 // its offsets are indexes of paths
	firstBinary   = 2

	mostBinaries = 1 << 12 // that are told apart
	// perhaps marks a frame as that of the caller of its parent, if the parent has no frame on its
	// stack.
	perhaps  = 1 << 15
	mostOpen = 256 // files
)

// A mapped is a file that has frames, or the anonymous memory of a process.
type mapped struct {
	name string   // base name
	file *os.File // nil where it could not be opened
	pid  int      // of anonymous memory
}

// binaries are the files of the processes that were sampled. They stay open, so that one that is
// deleted or replaced can be read in the end.
type binaries struct {
	all  []mapped
	ids  map[fileID]uint16
	open int
}

func newBinaries() *binaries {
	return &binaries{all: make([]mapped, firstBinary), ids: map[fileID]uint16{}}
}

// id returns the number of the file of a mapping in a process; unknownBinary beyond the bound.
func (b *binaries) id(pid int, m mapping) uint16 {
	of := m.file
	if of.anonymous() {
		of = fileID{inode: uint64(pid), path: "//anon"}
	}
	if id, ok := b.ids[of]; ok {
		return id
	}
	if len(b.all) == mostBinaries {
		return unknownBinary
	}
	x := mapped{name: path.Base(strings.TrimSuffix(of.path, deleted))}
	switch {
	case m.file.anonymous():
		x.pid = pid
		x.name = fmt.Sprint("perf-", pid, ".map")
	case of.path[0] == '/' && b.open < mostOpen:
		if x.file = openMapped(pid, m); x.file != nil {
			b.open++
		}
	}
	id := uint16(len(b.all))
	b.all = append(b.all, x)
	b.ids[of] = id
	return id
}

// deleted ends the path of a file that is no more.
const deleted = " (deleted)"

// openMapped opens the file of a mapping; nil if it cannot be. The right to the first way is that
// of root; the others may find another file at the path, unless the kernel says that it is gone.
func openMapped(pid int, m mapping) *os.File {
	proc := fmt.Sprintf("/proc/%d", pid)
	ways := []string{fmt.Sprintf("%s/map_files/%x-%x", proc, m.start, m.end)}
	if program, err := os.Readlink(proc + "/exe"); err == nil && program == m.file.path {
		ways = append(ways, proc+"/exe")
	}
	if !strings.HasSuffix(m.file.path, deleted) {
		ways = append(ways, proc+"/root"+m.file.path, m.file.path)
	}
	for _, way := range ways {
		f, err := os.Open(way)
		if err != nil {
			continue
		}
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return f
		}
		f.Close()
	}
	return nil
}

// close closes the files.
func (b *binaries) close() {
	for _, x := range b.all {
		if x.file != nil {
			_ = x.file.Close() // it was read
		}
	}
	b.all = nil
}
