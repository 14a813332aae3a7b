package symbols

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

const (
	maxHeaders  = 4 << 20  // bytes of headers and their names
	maxInfo     = 64 << 20 // bytes that a search for build information reads
	maxSegments = 1 << 10
	maxNote     = 1 << 16
)

// A Call is a function at an address.
type Call struct {
	Function  string // full name; of C++ and Rust without parameters
	File      string // of Go: import path and base name, such as encoding/json/encode.go; else empty
	StartLine int    // of the function; 0 if unknown
}

// An Executable is what a file says of itself.
type Executable struct {
	Language string   // Go, C for all that are compiled to symbols of ELF, or JIT
	Modules  []string // paths of a Go program's own modules, the main one first; nil if unknown
	BuildID  string   // of the linker in hexadecimal digits, or else that of Go
	Library  bool     // a shared library, not a program
}

// A SymbolTable has the functions of one file. It is not safe for concurrent use.
type SymbolTable struct {
	program Executable
	file    io.Closer
	image   *image
	golang  *goTable
	native  *nativeTable
	unwind  *unwindTable
	jit     *jitTable
}

// Open reads the tables of the ELF file at path: 64 bits, little-endian. path may be a link of
// /proc to a file that is deleted. Functions of a file without symbols are unknown: no error.
func Open(path string) (*SymbolTable, error) {
	t, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("symbols of %s: %w", path, err)
	}
	return t, nil
}

func open(path string) (t *SymbolTable, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if t, err = newTable(f); err != nil {
		return nil, err
	}
	t.file = f
	return t, nil
}

// A budget is a reader that fails after left bytes: package debug/elf trusts the sizes in a file.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("malformed: its headers are too large")
	}
	return b.r.ReadAt(p, off)
}

// newTable reads the tables of a file.
func newTable(r io.ReaderAt) (t *SymbolTable, err error) {
	defer func() {
		if p := recover(); p != nil { // debug/elf does not promise to check what it reads
			t, err = nil, fmt.Errorf("malformed: %v", p)
		}
	}()
	f, err := elf.NewFile(&budget{r: r, left: maxHeaders})
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%v %v; want 64 bits, little-endian", f.Class, f.Data)
	}
	t = &SymbolTable{
		program: Executable{Language: "C"},
		image:   &image{r: r},
	}
	t.readHeaders(f)
	t.readGo(f)
	t.native = t.findNative(f)
	t.unwind = t.findUnwind(f)
	return t, nil
}

// readGo finds the table of functions of a Go program, and its module.
func (t *SymbolTable) readGo(f *elf.File) {
	info, err := buildinfo.Read(&budget{r: t.image.r, left: maxInfo})
	var at uint64
	for _, s := range f.Sections {
		if s.Name == ".gopclntab" || s.Name == ".data.rel.ro.gopclntab" {
			at = s.Addr
		}
	}
	if err != nil && at == 0 && len(f.Sections) > 0 {
		return
	}
	t.golang = findGo(t.image, at)
	if t.golang == nil && err != nil {
		return
	}
	t.program.Language = "Go"
	if err == nil {
		t.program.Modules = ownModules(info)
		if t.golang != nil {
			t.golang.main = info.Path
		}
	}
}

// ownModules returns the main module of a program and those that were built from directories beside
// it, which a replacement in its go.mod or a workspace names: they have no released version.
func ownModules(info *buildinfo.BuildInfo) []string {
	own := []string{info.Main.Path}
	for _, d := range info.Deps {
		source := d
		if d.Replace != nil {
			source = d.Replace
		}
		if source.Version == "(devel)" {
			own = append(own, d.Path)
		}
	}
	return own
}

// readHeaders takes in segments, the build ID, and what kind of file it is.
func (t *SymbolTable) readHeaders(f *elf.File) {
	m := t.image
	var interpreter bool
	var dynamic elf.ProgHeader
	var ids [2]string // of GNU, of Go
	for _, p := range f.Progs[:min(len(f.Progs), maxSegments)] {
		if p.Off+p.Filesz > 1<<62 || p.Off > 1<<62 {
			continue
		}
		switch p.Type {
		case elf.PT_LOAD:
			m.segments = append(m.segments, segment{
				addr:   p.Vaddr,
				offset: p.Off,
				size:   p.Filesz,
				code:   p.Flags&elf.PF_X != 0,
			})
		case elf.PT_INTERP:
			interpreter = true
		case elf.PT_DYNAMIC:
			dynamic = p.ProgHeader
		case elf.PT_NOTE:
			if p.Filesz <= maxNote {
				buildIDs(m.bytes(int64(p.Off), int(p.Filesz)), &ids)
			}
		default:
		}
	}
	slices.SortStableFunc(m.segments, func(a, b segment) int {
		return cmp.Compare(a.last(), b.last())
	})
	t.program.BuildID = cmp.Or(ids[0], ids[1])
	d := map[elf.DynTag]uint64{}
	m.each(int64(dynamic.Off), 16, int(min(dynamic.Filesz/16, 1<<12)), func(b []byte) bool {
		d[elf.DynTag(binary.LittleEndian.Uint64(b))] = binary.LittleEndian.Uint64(b[8:])
		return true
	})
	_, named := d[elf.DT_SONAME]
	t.program.Library = f.Type == elf.ET_DYN &&
		d[elf.DT_FLAGS_1]&uint64(elf.DF_1_PIE) == 0 && (named || !interpreter)
}

// buildIDs adds the build IDs of a note segment.
func buildIDs(notes []byte, ids *[2]string) {
	for len(notes) >= 12 {
		name := int64(binary.LittleEndian.Uint32(notes))
		size := int64(binary.LittleEndian.Uint32(notes[4:]))
		kind := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[12:]
		padded := (name+3)&^3 + (size+3)&^3
		if padded > int64(len(notes)) {
			return
		}
		desc := notes[(name+3)&^3:][:size]
		switch owner := string(bytes.TrimRight(notes[:name], "\x00")); {
		case owner == "GNU" && kind == 3:
			ids[0] = hex.EncodeToString(desc)
		case owner == "Go" && kind == 4:
			ids[1] = string(desc)
		}
		notes = notes[padded:]
	}
}

// Program returns what the file says of itself.
func (t *SymbolTable) Program() Executable { return t.program }

// Close closes the file.
func (t *SymbolTable) Close() error {
	err := t.native.close()
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
	}
	return err
}

// Adjust returns a function from addresses in a mapping of the file to addresses of [SymbolTable.Lookup].
// The mapping begins at offset in the file and at start in memory. It returns 0 for an address
// whose place in the file is not loaded.
func (t *SymbolTable) Adjust(offset, start uint64) func(ip uint64) uint64 {
	return func(ip uint64) uint64 {
		if t.jit != nil {
			return ip
		}
		for _, s := range slices.Backward(t.image.segments) { // code first
			if at := ip - start + offset - s.offset; at < s.size {
				return s.addr + at
			}
		}
		return 0
	}
}

// Lookup returns the functions at an address of the file, the innermost first: calls that are
// inlined there, then the function itself. It returns nil for an unknown function. A return address
// belongs to the call before it: subtract 1.
func (t *SymbolTable) Lookup(addr uint64) []Call {
	if t.jit != nil {
		return t.jit.frames(addr)
	}
	if t.golang != nil {
		if frames := t.golang.frames(addr); frames != nil {
			return frames
		}
	}
	if frames := t.native.frames(addr); frames != nil {
		return frames
	}
	return t.unwind.frames(addr)
}
