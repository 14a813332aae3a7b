package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/watch/profile/symbols"
)

const (
	// mostNodes bounds the stacks of addresses, and mostFolded those of functions: 30 MB in all.
	mostNodes  = 200_000
	mostFolded = 150_000
)

// A numbering numbers values in the order in which they first come.
type numbering[T comparable] struct {
	all []T
	ids map[T]uint32
}

func (f *numbering[T]) number(x T) uint32 {
	n, ok := f.ids[x]
	if !ok {
		if f.ids == nil {
			f.ids = map[T]uint32{}
		}
		n = uint32(len(f.all))
		f.all = append(f.all, x)
		f.ids[x] = n
	}
	return n
}

// frames are the places in files that were sampled, by number: file and offset.
type frames struct{ numbering[uint64] }

const offsetBits = 48

func (f *frames) id(file uint16, offset uint64) uint32 {
	return f.number(uint64(file)<<offsetBits | offset&(1<<offsetBits-1))
}

func (f *frames) at(n uint32) (file uint16, offset uint64) {
	return uint16(f.all[n]>>offsetBits) &^ perhaps, f.all[n] & (1<<offsetBits - 1)
}

func (f *frames) perhaps(n uint32) bool { return uint16(f.all[n]>>offsetBits)&perhaps != 0 }

// folded are stacks of functions: those of addresses, folded.
type folded struct {
	roles     int
	functions numbering[Symbol]
	programs  map[string]symbols.Executable // by the name of their file
	tally     *tally
}

func newFolded(roles int) *folded {
	return &folded{
		roles:    roles,
		programs: map[string]symbols.Executable{},
		tally:    newTally(roles),
	}
}

// child is that of the tally, as long as there is room: beyond it, a stack is its innermost
// function.
func (f *folded) child(role, parent, function uint32) uint32 {
	if len(f.tally.nodes) >= mostFolded {
		if _, ok := f.tally.index[uint64(parent)<<32|uint64(function)]; !ok {
			parent = role
		}
	}
	return f.tally.child(parent, function)
}

// fold turns the stacks of addresses counted so far into stacks of functions, and forgets them.
func (s *Sampler) fold() {
	l := newLexicon(s)
	defer l.close()
	s.foldBy(l.functions, l.frameless)
}

// foldBy is fold with the functions that return the functions of a frame, and whether it has no
// frame on its stack.
func (s *Sampler) foldBy(
	functions func(frame uint32) []uint32, frameless func(frame uint32) bool,
) {
	roles := uint32(len(s.roles))
	to := make([]uint32, len(s.tally.nodes)) // nodes of functions
	role := make([]uint32, len(s.tally.nodes))
	for n, node := range s.tally.nodes {
		if n < int(roles) {
			to[n], role[n] = uint32(n), uint32(n)
		} else {
			role[n], to[n] = role[node.parent], to[node.parent]
			line := functions(node.frame)
			if callee := s.tally.nodes[node.parent]; s.frames.perhaps(node.frame) {
				line = nil
				if frameless(callee.frame) {
					to[n] = to[callee.parent]
					line = slices.Concat(functions(node.frame), functions(callee.frame))
				}
			}
			for _, function := range line {
				to[n] = s.folded.child(role[n], to[n], function)
			}
		}
		s.folded.tally.nodes[to[n]].count += node.count
	}
	s.tally, s.frames = newTally(len(s.roles)), frames{}
}

// A lexicon reads the functions of frames.
type lexicon struct {
	*Sampler
	kernel kernelSymbols
	paths  []kernelPath
	tables []*symbols.SymbolTable // by binary; nil: not open
	opened []bool
	known  map[uint32][]uint32 // functions of a frame
}

func newLexicon(s *Sampler) *lexicon {
	n := len(s.processes.files.all)
	l := &lexicon{
		Sampler: s,
		paths:   make([]kernelPath, len(s.paths)+1),
		tables:  make([]*symbols.SymbolTable, n),
		opened:  make([]bool, n),
		known:   map[uint32][]uint32{},
	}
	for p, i := range s.paths {
		l.paths[i] = p
	}
	if len(s.paths) > 0 {
		l.kernel = loadKernel()
	}
	return l
}

func (l *lexicon) close() {
	for _, t := range l.tables {
		if t != nil {
			_ = t.Close() // it was read
		}
	}
}

// functions returns the functions of a frame: that of its address, and those whose calls were
// inlined into it, outermost first.
func (l *lexicon) functions(frame uint32) []uint32 {
	if out, ok := l.known[frame]; ok {
		return out
	}
	file, offset := l.frames.at(frame)
	var out []uint32
	switch file {
	case unknownBinary:
		out = []uint32{l.unknown("")}
	case kernelBinary:
		name := l.kernel.frame(l.paths[offset])
		out = []uint32{l.folded.functions.number(Symbol{Name: name, Kind: symbols.Kernel})}
	default:
		out = l.of(file, offset)
	}
	l.known[frame] = out
	return out
}

// unknown returns the function of all addresses in a file that belong to no known one.
func (l *lexicon) unknown(binary string) uint32 {
	fn := Symbol{Name: "[unknown]", Binary: binary, Kind: symbols.Unknown}
	if strings.HasPrefix(binary, "[") { // the kernel's own, [vdso]
		fn.Name, fn.Kind = binary, symbols.Library
	}
	return l.folded.functions.number(fn)
}

// of returns the functions at an offset in a file.
func (l *lexicon) of(file uint16, offset uint64) (out []uint32) {
	x := &l.processes.files.all[file]
	t := l.table(file)
	if t == nil {
		return []uint32{l.unknown(x.name)}
	}
	found := t.Lookup(x.address(t, offset))
	if len(found) == 0 {
		return []uint32{l.unknown(x.name)}
	}
	for _, f := range slices.Backward(found) {
		out = append(out, l.folded.functions.number(Symbol{
			Name: f.Function, File: f.File, Line: f.StartLine,
			Binary: x.name, Kind: symbols.Kind(f, t.Program()),
		}))
	}
	return out
}

// address returns the address of the symbols of an offset.
func (x *mapped) address(t *symbols.SymbolTable, offset uint64) uint64 {
	if x.file == nil {
		return offset
	}
	page := offset &^ 0xfff
	return t.Adjust(page, page)(offset)
}

// frameless reports whether a frame is not on its stack, which hides its caller.
func (l *lexicon) frameless(frame uint32) bool {
	file, offset := l.frames.at(frame)
	if file < firstBinary {
		return false
	}
	t := l.table(file)
	return t != nil && t.Frameless(l.processes.files.all[file].address(t, offset))
}

// table opens the symbols of a file; nil if it has none.
func (l *lexicon) table(file uint16) *symbols.SymbolTable {
	if l.opened[file] {
		return l.tables[file]
	}
	l.opened[file] = true
	x := &l.processes.files.all[file]
	var t *symbols.SymbolTable
	var err error
	switch {
	case x.file != nil:
		t, err = symbols.Open(fmt.Sprintf("/proc/self/fd/%d", x.file.Fd()))
	case x.pid != 0:
		t, err = symbols.OpenPerfMap(x.pid)
	default:
		return nil
	}
	if err != nil {
		return nil // its functions are unknown
	}
	l.tables[file] = t
	if _, ok := l.folded.programs[x.name]; !ok {
		l.folded.programs[x.name] = t.Program()
	}
	return t
}

// stored returns the profile of a role, with the functions and files that it has.
func (f *folded) stored(role int) (p Stored) {
	var functions numbering[Symbol]
	samples := map[string]int64{} // by the file of the outermost function of a program
	roles := uint32(f.roles)
	for n := roles; n < uint32(len(f.tally.nodes)); n++ {
		count := int64(f.tally.nodes[n].count)
		if count == 0 || f.tally.role(n, roles) != uint32(role) {
			continue
		}
		st := SampledStack{Samples: count}
		for _, fn := range f.tally.stack(n, roles) {
			st.Functions = append(st.Functions, int32(functions.number(f.functions.all[fn])))
		}
		p.Stacks = append(p.Stacks, st)
		for _, id := range st.Functions {
			at := functions.all[id].Binary
			if program, ok := f.programs[at]; ok && !program.Library {
				samples[at] += count
				break
			}
		}
	}
	p.Functions = functions.all
	for _, fn := range p.Functions {
		b := Binary{Name: fn.Binary, BuildID: f.programs[fn.Binary].BuildID}
		if fn.Binary != "" && !slices.Contains(p.Binaries, b) {
			p.Binaries = append(p.Binaries, b)
		}
	}
	slices.SortFunc(p.Binaries, func(a, b Binary) int {
		return cmp.Or(cmp.Compare(samples[b.Name], samples[a.Name]), cmp.Compare(a.Name, b.Name))
	})
	if len(p.Binaries) > 0 {
		if own := f.programs[p.Binaries[0].Name].Modules; len(own) > 0 {
			p.Module = own[0]
		}
	}
	return p
}
