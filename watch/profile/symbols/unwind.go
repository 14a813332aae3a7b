package symbols

import (
	"debug/elf"
	"fmt"
	"sort"
)

// An unwindTable has the bounds of the functions of a file without symbols, as its section
// .eh_frame_hdr holds them. See the Linux Standard Base, Core, section 10.6.2.
type unwindTable struct {
	m     *image
	addr  uint64 // of the section
	table int64  // position of the sorted pairs of starts and descriptions
	count int
	build string // which names have, since an address means nothing in another build
}

// findUnwind returns the bounds of functions, or nil. It reads the encodings that GNU and LLVM
// linkers write: 4 bytes, relative to the section.
func (t *SymbolTable) findUnwind(f *elf.File) *unwindTable {
	for _, p := range f.Progs[:min(len(f.Progs), maxSegments)] {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		at := t.image.offset(p.Vaddr)
		const encodings = 0x3b031b01 // version 1, pcrel sdata4, udata4, datarel sdata4
		if t.image.uint(at, 4) != encodings {
			return nil
		}
		id := t.program.BuildID
		return &unwindTable{
			m:     t.image,
			addr:  p.Vaddr,
			table: at + 12,
			count: int(t.image.uint(at+8, 4)),
			build: id[:min(len(id), 8)],
		}
	}
	return nil
}

// relative returns the address that 4 bytes at a position hold, relative to base.
func (u *unwindTable) relative(at int64, base uint64) uint64 {
	return base + uint64(int32(u.m.uint(at, 4)))
}

// frames returns a name for the function that holds an address: the address of its start.
func (u *unwindTable) frames(addr uint64) []Call {
	if u == nil || u.build == "" {
		return nil
	}
	u.m.short = false
	i := sort.Search(u.count, func(i int) bool {
		return u.relative(u.table+8*int64(i), u.addr) > addr
	}) - 1
	if i < 0 {
		return nil
	}
	start := u.relative(u.table+8*int64(i), u.addr)
	description := u.relative(u.table+8*int64(i)+4, u.addr)
	at := u.m.offset(description) + 8 // after its length and the place of what it shares with others
	if u.relative(at, description+8) != start || addr-start >= u.m.uint(at+4, 4) || u.m.short {
		return nil
	}
	return []Call{{Function: fmt.Sprintf("%#x (no symbol, build %s)", start, u.build)}}
}
