package symbols

import (
	"encoding/binary"
	"net/url"
	"path"
	"sort"
	"strings"
)

// The magic numbers of the tables of functions of Go, by the first release that wrote them.
// See cmd/link/internal/ld/pcln.go and runtime/symtab.go of Go.
const (
	go116 = 0xfffffffa
	go118 = 0xfffffff0
	go120 = 0xfffffff1
)

const (
	maxFunctions = 1 << 24
	maxInlined   = 64      // calls that are inlined into each other
	maxTable     = 1 << 20 // bytes of the table of one function
	maxTried     = 64      // places that may be the table of functions or the module's data
)

// A goTable is the table of functions of a Go program. Positions are offsets in the file.
type goTable struct {
	m                               *image
	version                         uint32
	addr                            uint64 // of the table
	names, units, files, pcs, funcs int64
	count                           int
	quantum                         uint64 // bytes of the smallest instruction
	text, end                       uint64 // addresses of code
	inlined                         int64  // of the trees of inlined calls; -1 if unknown
	main                            string // import path of package main
}

// findGo returns the table of functions of a Go program, or nil. at is the address of the table by
// the names of sections, or 0.
func findGo(m *image, at uint64) *goTable {
	if at != 0 {
		if t := newGoTable(m, at); t != nil {
			return t
		}
	}
	for _, version := range []uint32{go120, go118, go116} {
		var t *goTable
		tried := 0
		magic := binary.LittleEndian.AppendUint32(nil, version)
		m.search(append(magic, 0, 0), func(addr uint64) bool {
			if addr%8 == 0 && addr != at {
				t = newGoTable(m, addr)
				tried++
			}
			return t != nil || tried == maxTried
		})
		if t != nil {
			return t
		}
	}
	return nil
}

// newGoTable returns the table at an address, or nil if there is none that its module's data
// confirms.
func newGoTable(m *image, addr uint64) *goTable {
	m.short = false
	base := m.offset(addr)
	t := &goTable{m: m, version: uint32(m.uint(base, 4)), addr: addr, inlined: -1}
	first := int64(24) // of the offsets of tables
	switch t.version {
	case go120, go118:
		first = 32
	case go116:
	default:
		return nil
	}
	t.quantum = m.uint(base+6, 1)
	if t.quantum != 1 && t.quantum != 4 || m.uint(base+7, 1) != 8 {
		return nil
	}
	count := m.uint(base+8, 8)
	if count == 0 || count > maxFunctions {
		return nil
	}
	t.count = int(count)
	var offsets [5]uint64
	for i, position := range []*int64{&t.names, &t.units, &t.files, &t.pcs, &t.funcs} {
		offsets[i] = m.uint(base+first+8*int64(i), 8)
		if offsets[i] > 1<<40 {
			return nil
		}
		*position = base + int64(offsets[i])
	}
	if m.short || !t.findModule(addr+offsets[0], addr+offsets[4]) {
		return nil
	}
	return t
}

// findModule finds the module's data, which has the addresses of code and of inlined calls, and
// checks it against the table: its names, its functions and the address of the first one. The
// linkers of Go and GNU write addresses in a position-independent file too; that of LLVM leaves them
// to relocations, and such a program is not understood.
func (t *goTable) findModule(names, funcs uint64) bool {
	try := func(addr uint64) bool {
		const (
			namesAt, funcsAt, funcsLen = 1, 16, 17
			firstAt, textAt, endAt     = 20, 22, 23
		)
		w := t.m.words(addr, 45)
		if w == nil || w[namesAt] != names || w[funcsAt] != funcs ||
			w[funcsLen] != uint64(t.count)+1 {
			return false
		}
		t.text, t.end = w[textAt], w[endAt]
		if t.entry(0) != w[firstAt] {
			return false
		}
		// The address of go:func.*, which three words of Go 1.27 have moved. There it lies in the
		// table; before, the word is the capacity of a slice.
		calls := map[uint32]uint64{go118: w[38], go120: w[40]}[t.version]
		if t.version == go120 && w[43] > t.addr && w[43] <= w[44] {
			calls = w[43]
		}
		t.inlined = t.m.offset(calls)
		return true
	}
	tried := 0
	want := binary.LittleEndian.AppendUint64(nil, t.addr)
	var found bool
	t.m.search(want, func(addr uint64) bool {
		found = addr%8 == 0 && try(addr)
		tried++
		return found || tried == maxTried
	})
	return found
}

// entry returns the address of function i; that of i == count is the end of the last.
func (t *goTable) entry(i int) uint64 {
	if t.version == go116 {
		return t.m.uint(t.funcs+16*int64(i), 8)
	}
	return t.text + t.m.uint(t.funcs+8*int64(i), 4)
}

// A goFunc is one function of a table: the struct _func of runtime/runtime2.go.
type goFunc struct {
	t     *goTable
	entry uint64
	rest  int64 // position of the fields after the entry
	tree  int64 // of the calls that are inlined; -1 if there are none
	index uint64
}

// find returns the function that holds an address.
func (t *goTable) find(addr uint64) (f goFunc, ok bool) {
	if addr < t.text || addr >= t.end {
		return f, false
	}
	i := sort.Search(t.count, func(i int) bool { return t.entry(i) > addr }) - 1
	if i < 0 || addr >= t.entry(t.count) {
		return f, false
	}
	f = goFunc{t: t, entry: t.entry(i), tree: -1}
	var off, none uint64
	if t.version == go116 {
		off, none = t.m.uint(t.funcs+16*int64(i)+8, 8), 1<<64-1
		f.rest = t.funcs + int64(off) + 8
	} else {
		off, none = t.m.uint(t.funcs+8*int64(i)+4, 4), 1<<32-1
		f.rest = t.funcs + int64(off) + 4
	}
	if off == none || off > 1<<40 {
		return f, false // code that the linker of another language added
	}
	f.findTree()
	return f, true
}

// findTree finds the tree of inlined calls.
func (f *goFunc) findTree() {
	const treeData, indexData = 3, 2 // FUNCDATA_InlTree and PCDATA_InlTreeIndex
	m, tables := f.t.m, f.rest+36
	if f.t.version == go120 {
		tables += 4
	}
	pcdata, funcdata := int64(m.uint(f.rest+24, 4)), m.uint(tables-1, 1)
	if pcdata <= indexData || funcdata <= treeData || pcdata > maxTable {
		return
	}
	f.index = m.uint(tables+4*indexData, 4)
	data := tables + 4*pcdata
	switch {
	case f.index == 0:
	case f.t.version == go116:
		table := m.offset(f.t.addr)
		data += (data - table + int64(f.t.addr)) & 4
		f.tree = m.offset(m.uint(data+8*treeData, 8))
	case f.t.inlined >= 0:
		if off := m.uint(data+4*treeData, 4); off != 1<<32-1 {
			f.tree = f.t.inlined + int64(off)
		}
	}
}

// value returns the value at an address in one of the function's tables; -1 if it has none.
func (f *goFunc) value(table, addr uint64) int32 {
	if table == 0 {
		return -1
	}
	m := f.t.m
	at := f.t.pcs + int64(table)
	limit := at + maxTable
	number := func() (v uint32) {
		for shift := 0; shift < 35; shift += 7 {
			b := m.uint(at, 1)
			at++
			v |= uint32(b&0x7f) << shift
			if b&0x80 == 0 {
				break
			}
		}
		return v
	}
	value, pc := int32(-1), f.entry
	for at < limit && !m.short {
		delta := number()
		if delta == 0 && pc != f.entry {
			break
		}
		value += int32(delta>>1) ^ -int32(delta&1)
		pc += uint64(number()) * f.t.quantum
		if addr < pc {
			return value
		}
	}
	return -1
}

// frames returns the function that holds an address, after the calls that are inlined there.
func (t *goTable) frames(addr uint64) []Call {
	t.m.short = false
	f, ok := t.find(addr)
	if !ok {
		return nil
	}
	m := t.m
	var frames []Call
	for range maxInlined {
		i := int32(-1)
		if f.tree >= 0 {
			i = f.value(f.index, addr)
		}
		if i < 0 {
			line := 0
			if t.version == go120 {
				line = int(m.uint(f.rest+32, 4))
			}
			// The entry's: an instruction that has no inlined call may have the file of one.
			frames = append(frames, t.frame(m.uint(f.rest, 4), f.file(f.entry), line))
			break
		}
		// The struct inlinedCall has 16 bytes since Go 1.20, and 20 before.
		call := f.tree + 16*int64(i)
		name, parent, line := call+4, call+8, call+12
		if t.version != go120 {
			call = f.tree + 20*int64(i)
			name, parent, line = call+12, call+16, -1
		}
		first := 0
		if line >= 0 {
			first = int(m.uint(line, 4))
		}
		frames = append(frames, t.frame(m.uint(name, 4), f.file(addr), first))
		addr = f.entry + m.uint(parent, 4)
	}
	if m.short {
		return nil
	}
	return frames
}

// file returns the name of the source file of an address.
func (f *goFunc) file(addr uint64) string {
	m := f.t.m
	i := f.value(m.uint(f.rest+16, 4), addr)
	unit := m.uint(f.rest+28, 4)
	if i < 0 || unit == 1<<32-1 {
		return ""
	}
	off := m.uint(f.t.units+4*int64(unit+uint64(i)), 4)
	if off == 1<<32-1 {
		return ""
	}
	return m.text(f.t.files + int64(off))
}

func (t *goTable) frame(name uint64, file string, line int) Call {
	f := Call{Function: t.m.text(t.names + int64(name)), StartLine: line}
	f.File = t.source(f.Function, file)
	return f
}

// source returns the name of a source file as a program has it that was built with -trimpath, but
// without versions of modules: its package and its base name. So two builds have the same names.
func (t *goTable) source(function, file string) string {
	dir, base := path.Split(file)
	dir = path.Base(dir)
	pkg := goPackage(function)
	switch {
	case file == "" || strings.HasPrefix(file, "<"):
		return "<autogenerated>"
	case pkg == "" || dir == "runtime" && path.Base(pkg) != dir:
		return path.Join(dir, base) // assembly, or a function that the runtime has for others
	case pkg == "main" && t.main != "":
		pkg = t.main
	}
	return path.Join(pkg, base)
}

// trimGenerated cuts the prefixes of functions that the compiler makes for a type.
func trimGenerated(function string) string {
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "type..eq.", "type..hash."} {
		if s, ok := strings.CutPrefix(function, prefix); ok {
			return s
		}
	}
	return function
}

// goPackage returns the import path of the package of a Go function, "" for assembly without one.
func goPackage(function string) string {
	s, _, _ := strings.Cut(trimGenerated(function), "[")
	slash := strings.LastIndexByte(s, '/') + 1
	name, _, ok := strings.Cut(s[slash:], ".")
	if !ok {
		return ""
	}
	// The linker escapes dots in the last element of a path, such as gopkg.in/yaml%2ev3.
	if path, err := url.PathUnescape(name); err == nil {
		name = path
	}
	return s[:slash] + name
}
