package symbols

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	maxSymbols = 1 << 20
	maxNested  = 32 // symbols in another one that a search passes over
	debugFiles = "/usr/lib/debug/.build-id"
)

// A symbol is a function of a symbol table of ELF.
type symbol struct {
	addr, size uint64
	name       uint32 // offset into the table of names
	local      bool
}

// A nativeTable has the symbols of the functions of a file.
type nativeTable struct {
	m       *image // of the file with the symbols
	names   int64  // position of the table of names
	symbols []symbol
	file    io.Closer // of symbols that are not in the program's file; nil if they are
}

// findNative returns the symbols of a file, or nil: .symtab, or that of its debugging file, or
// .dynsym. Those of Go's own functions are left out.
func (t *SymbolTable) findNative(f *elf.File) *nativeTable {
	if n := t.readSymbols(t.image, f, elf.SHT_SYMTAB); n != nil {
		return n
	}
	if n := t.debugging(); n != nil {
		return n
	}
	return t.readSymbols(t.image, f, elf.SHT_DYNSYM)
}

// debugging returns the symbols of the file with debugging information of the same build ID.
func (t *SymbolTable) debugging() *nativeTable {
	id := t.program.BuildID
	if len(id) < 4 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil
	}
	file, err := os.Open(filepath.Join(debugFiles, id[:2], id[2:]+".debug"))
	if err != nil {
		return nil
	}
	if f, err := elf.NewFile(&budget{r: file, left: maxHeaders}); err == nil {
		m := &image{r: file}
		if n := t.readSymbols(m, f, elf.SHT_SYMTAB); n != nil {
			n.file = file
			return n
		}
	}
	_ = file.Close()
	return nil
}

// readSymbols reads the first table of symbols of a type. It returns nil if there is none.
func (t *SymbolTable) readSymbols(m *image, f *elf.File, kind elf.SectionType) *nativeTable {
	i := slices.IndexFunc(f.Sections, func(s *elf.Section) bool {
		return s.Type == kind && s.Link < uint32(len(f.Sections))
	})
	if i < 0 {
		return nil
	}
	s := f.Sections[i]
	n := &nativeTable{m: m, names: int64(f.Sections[s.Link].Offset)}
	m.each(int64(s.Offset), elf.Sym64Size, int(min(s.FileSize/elf.Sym64Size, 1<<26)), func(
		b []byte,
	) bool {
		info, section := b[4], binary.LittleEndian.Uint16(b[6:])
		sym := symbol{
			name:  binary.LittleEndian.Uint32(b),
			addr:  binary.LittleEndian.Uint64(b[8:]),
			size:  binary.LittleEndian.Uint64(b[16:]),
			local: elf.ST_BIND(info) == elf.STB_LOCAL,
		}
		ofGo := t.golang != nil && sym.addr >= t.golang.text && sym.addr < t.golang.end
		function := elf.ST_TYPE(info) == elf.STT_FUNC || elf.ST_TYPE(info) == elf.STT_GNU_IFUNC
		if function && section != uint16(elf.SHN_UNDEF) && !ofGo {
			n.symbols = append(n.symbols, sym)
		}
		return len(n.symbols) < maxSymbols
	})
	if len(n.symbols) == 0 {
		return nil
	}
	slices.SortStableFunc(n.symbols, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	return n
}

func (n *nativeTable) close() error {
	if n == nil || n.file == nil {
		return nil
	}
	return n.file.Close()
}

// frames returns the function whose symbol covers an address. Of several at one address it takes
// the one that names it best, so that two builds agree: not a local one, the fewest underscores in
// front, the first by its name.
func (n *nativeTable) frames(addr uint64) []Call {
	if n == nil {
		return nil
	}
	i := sort.Search(len(n.symbols), func(i int) bool { return n.symbols[i].addr > addr }) - 1
	var found []symbol
	for range maxNested {
		if i < 0 || len(found) > 0 && n.symbols[i].addr != found[0].addr {
			break
		}
		s := n.symbols[i]
		// A size of 0 is that of assembly: up to the next symbol.
		if addr-s.addr < s.size || s.size == 0 && len(found) == 0 && n.next(i) > addr {
			found = append(found, s)
		}
		i--
	}
	var best, name string
	for _, s := range found {
		text := n.m.text(n.names + int64(s.name))
		if text == "" {
			continue
		}
		key := strings.TrimLeft(text, "_")
		key = string(rune('0'+min(len(text)-len(key), 9))) + text
		if s.local {
			key = "9" + key
		}
		if best == "" || key < best {
			best, name = key, text
		}
	}
	if name == "" {
		return nil
	}
	return []Call{{Function: plainName(name)}}
}

// next returns the address of the first symbol after symbol i that begins elsewhere.
func (n *nativeTable) next(i int) uint64 {
	addr := n.symbols[i].addr
	j := sort.Search(len(n.symbols), func(j int) bool { return n.symbols[j].addr > addr })
	if j == len(n.symbols) {
		return addr + pageSize
	}
	return n.symbols[j].addr
}

// plainName returns the name of a function in its source: without the marks of C++ and Rust, and
// without the suffix of a part or a variant that an optimizer made of it.
func plainName(symbol string) string {
	name := demangle.Filter(symbol, demangle.NoParams, demangle.NoClones, demangle.MaxLength(12))
	if name != symbol {
		return name
	}
	for _, mark := range []string{".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv."} {
		name, _, _ = strings.Cut(name, mark)
	}
	return cmp.Or(name, symbol)
}
