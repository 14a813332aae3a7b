package symbols

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

const (
	maxMap   = 64 << 20 // bytes of a file of functions
	maxLines = 1 << 20
)

// A jitTable has the functions that a runtime has compiled.
type jitTable struct{ functions []jitFunction }

type jitFunction struct {
	addr, size uint64
	name       string
}

// OpenPerfMap reads the file /tmp/perf-PID.map that the runtime of process pid has written so far.
// Addresses of its Table are those of the process. The file is that of the process's own file
// system and process ID, in a container too.
func OpenPerfMap(pid int) (*SymbolTable, error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir + "/root")
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	name := fmt.Sprintf("tmp/perf-%d.map", innermostPID(string(status), pid))
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s of process %d: not a regular file", name, pid), err)
	}
	t, err := readPerfMap(f)
	if err != nil {
		return nil, fmt.Errorf("%s of process %d: %w", name, pid, err)
	}
	return &SymbolTable{program: Executable{Language: "JIT"}, jit: t}, nil
}

// innermostPID returns the ID of a process in its own namespace.
func innermostPID(status string, pid int) int {
	for line := range strings.Lines(status) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			for id := range strings.FieldsSeq(ids) {
				if n, err := strconv.Atoi(id); err == nil {
					pid = n // the last one
				}
			}
		}
	}
	return pid
}

// readPerfMap reads lines of "START SIZE NAME", numbers in hexadecimal digits. A line that is
// something else is left out: the last one may not be complete.
func readPerfMap(r io.Reader) (*jitTable, error) {
	t := &jitTable{}
	lines := bufio.NewScanner(io.LimitReader(r, maxMap))
	lines.Buffer(nil, maxName+64)
	for lines.Scan() && len(t.functions) < maxLines {
		start, rest, _ := strings.Cut(lines.Text(), " ")
		size, name, ok := strings.Cut(rest, " ")
		addr, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if ok && err1 == nil && err2 == nil && name != "" {
			t.functions = append(t.functions, jitFunction{addr: addr, size: n, name: name})
		}
	}
	// A runtime uses memory again: of functions at one address, the last one stands.
	slices.SortStableFunc(t.functions, func(a, b jitFunction) int {
		return cmp.Compare(a.addr, b.addr)
	})
	return t, lines.Err()
}

func (t *jitTable) frames(addr uint64) []Call {
	i := sort.Search(len(t.functions), func(i int) bool { return t.functions[i].addr > addr }) - 1
	if i < 0 || addr-t.functions[i].addr >= t.functions[i].size {
		return nil
	}
	return []Call{{Function: t.functions[i].name}}
}
