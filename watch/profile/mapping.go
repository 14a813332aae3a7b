package profile

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A fileID names a mapped file.
type fileID struct {
	major, minor uint32
	inode        uint64
	path         string // as the kernel shows it, also of a file that was deleted
}

// anonymous reports whether no file is mapped: memory for code that a program makes as it runs.
func (f fileID) anonymous() bool {
	return f.path == "" || strings.HasPrefix(f.path, "//anon") ||
		f.inode == 0 && !strings.HasPrefix(f.path, "[")
}

// A mapping is a part of a file in the memory of a process that can be executed.
type mapping struct {
	start, end uint64
	offset     uint64 // of start in the file
	file       fileID
	binary     uint16 // of the file, or of the anonymous memory of the process
}

// mostMappings bounds the mappings of one process.
const mostMappings = 4096

// readMappings reads the mappings that can be executed from a text of /proc/PID/maps.
func readMappings(r io.Reader) ([]mapping, error) {
	var out []mapping
	sc := bufio.NewScanner(r)
	for sc.Scan() && len(out) < mostMappings {
		var f [5][]byte
		rest := sc.Bytes()
		for i := range f {
			f[i], rest, _ = bytes.Cut(bytes.TrimLeft(rest, " "), []byte{' '})
		}
		if len(f[1]) < 3 || f[1][2] != 'x' {
			continue
		}
		var m mapping
		_, err := fmt.Sscanf(fmt.Sprintf("%s %s %s %s", f[0], f[2], f[3], f[4]),
			"%x-%x %x %x:%x %d", &m.start, &m.end, &m.offset,
			&m.file.major, &m.file.minor, &m.file.inode)
		if err != nil {
			return nil, fmt.Errorf("mappings: %.80q: %w", sc.Text(), err)
		}
		m.file.path = string(bytes.TrimLeft(rest, " "))
		out = append(out, m)
	}
	return out, sc.Err()
}

// mappingsOf reads the mappings of a process that can be executed.
func mappingsOf(pid int) ([]mapping, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readMappings(f)
}

// with returns the mappings, by their addresses, with a new one that replaces those that it covers.
func with(maps []mapping, m mapping) []mapping {
	out := make([]mapping, 0, len(maps)+1)
	for _, old := range maps {
		if old.end <= m.start || old.start >= m.end {
			out = append(out, old)
		}
	}
	if len(out) < mostMappings {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
	return out
}
