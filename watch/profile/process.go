package profile

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"
)

const (
	noRole = -1

	mostProcesses = 1 << 16 // that are known
	mostDepth     = 128     // of a process below a root
	// againAfter is how long the mappings of a process are not read again.
	againAfter = time.Second
)

// A process is one of this host.
type process struct {
	role int // index; noRole for a stranger
	maps []mapping
	read bool // maps holds all
	at   time.Time
	last int // index of the mapping found last
}

// processes are the trees of processes of the roles. The kernel's records keep them up to date;
// what these do not show, because it was before them or was lost, is read from /proc.
type processes struct {
	roles []Roots
	roots [][]int
	known map[int]*process
	files *binaries
	now   func() time.Time
}

func newProcesses(roles []Roots) *processes {
	p := &processes{roles: roles, files: newBinaries(), now: time.Now}
	p.forget()
	return p
}

// forget reads everything again as it is needed.
func (p *processes) forget() {
	p.known = map[int]*process{}
	p.roots = p.roots[:0]
	for i, r := range p.roles {
		p.roots = append(p.roots, slices.Clone(r.PIDs()))
		for _, pid := range p.roots[i] {
			p.known[pid] = &process{role: i}
		}
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			p.of(pid)
		}
	}
}

// refresh notices roots that were started again.
func (p *processes) refresh() {
	for i, r := range p.roles {
		if !slices.Equal(p.roots[i], r.PIDs()) {
			p.forget()
			return
		}
	}
}

// members returns the processes of each role.
func (p *processes) members() [][]int {
	out := make([][]int, len(p.roles))
	for pid, x := range p.known {
		if x.role != noRole {
			out[x.role] = append(out[x.role], pid)
		}
	}
	return out
}

// of returns a process; nil if it is gone and was not known.
func (p *processes) of(pid int) *process {
	if x := p.known[pid]; x != nil {
		return x
	}
	var line []int // the process and its parents, up to one that is known
	role := noRole
	for at := pid; at > 1 && len(line) < mostDepth; {
		if x := p.known[at]; x != nil {
			role = x.role
			break
		}
		line = append(line, at)
		parent, ok := parentOf(at)
		if !ok {
			if at == pid {
				return nil
			}
			break
		}
		at = parent
	}
	if len(p.known)+len(line) > mostProcesses {
		p.known = map[int]*process{}
	}
	x := &process{role: role}
	for _, at := range line {
		p.known[at] = &process{role: role}
	}
	p.known[pid] = x
	return x
}

// parentOf returns the parent of a process; false if it is gone.
func parentOf(pid int) (int, bool) {
	f := statOf(pid)
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	return parent, err == nil
}

// childrenCPU returns the CPU time of the children of a process that have ended, to a hundredth of
// a second.
func childrenCPU(pid int) (t time.Duration) {
	if f := statOf(pid); len(f) > 14 {
		for _, field := range f[13:15] { // cutime and cstime of proc(5)
			n, _ := strconv.ParseInt(string(field), 10, 64)
			t += time.Duration(n) * time.Second / 100
		}
	}
	return t
}

// statOf returns the fields of /proc/PID/stat behind the command; none if the process is gone.
func statOf(pid int) [][]byte {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The command may contain blanks and parentheses.
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}

// forked notes a new process, which has the mappings of its parent.
func (p *processes) forked(pid, parent int) {
	of := p.of(parent)
	if of == nil || slices.ContainsFunc(p.roots, func(of []int) bool {
		return slices.Contains(of, pid)
	}) {
		return
	}
	if len(p.known) >= mostProcesses {
		p.known = map[int]*process{}
	}
	p.known[pid] = &process{role: of.role, maps: of.maps, read: of.read, at: of.at}
}

// executed notes that a process has begun another program: the records of its mappings follow.
func (p *processes) executed(pid int) {
	if x := p.known[pid]; x != nil {
		x.maps, x.read, x.last = nil, true, 0
		x.at = p.now()
	}
}

// ended notes the end of a process.
func (p *processes) ended(pid int) { delete(p.known, pid) }

// mapped notes a mapping of a process whose others are known.
func (p *processes) mapped(pid int, m mapping) {
	if x := p.known[pid]; x != nil && x.role != noRole && x.read {
		x.maps = with(x.maps, p.held(pid, m)) // a copy: a child may share them
	}
}

// find returns the file of an address of a process and the offset in it.
func (p *processes) find(pid int, x *process, at uint64) (file uint16, offset uint64, ok bool) {
	if x.last < len(x.maps) {
		if m := &x.maps[x.last]; at >= m.start && at < m.end {
			return m.binary, at - m.start + m.offset, true
		}
	}
	i, ok := x.search(at)
	if !ok && (!x.read || p.now().Sub(x.at) > againAfter) {
		p.load(pid, x)
		i, ok = x.search(at)
	}
	if !ok {
		return unknownBinary, 0, false
	}
	x.last = i
	m := &x.maps[i]
	return m.binary, at - m.start + m.offset, true
}

func (x *process) search(at uint64) (int, bool) {
	return slices.BinarySearchFunc(x.maps, at, func(m mapping, at uint64) int {
		switch {
		case m.end <= at:
			return -1
		case m.start > at:
			return 1
		}
		return 0
	})
}

// load reads the mappings of a process. Those of one that is gone stay as they are.
func (p *processes) load(pid int, x *process) {
	x.at, x.read = p.now(), true
	maps, err := mappingsOf(pid)
	if err != nil || len(maps) == 0 {
		return
	}
	for i := range maps {
		maps[i] = p.held(pid, maps[i])
	}
	x.maps, x.last = maps, 0
}

// held returns a mapping with the number of its file. Offsets in anonymous memory are addresses.
func (p *processes) held(pid int, m mapping) mapping {
	m.binary = p.files.id(pid, m)
	if m.file.anonymous() {
		m.offset = m.start
	}
	return m
}
