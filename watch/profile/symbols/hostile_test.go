package symbols

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"plimsoll/internal/failure"
)

// A changed is a file with some bytes changed, cut to size.
type changed struct {
	file  []byte
	at    int64
	patch []byte
	size  int64
}

func (c *changed) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= c.size {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), c.size-off)], c.file[off:])
	for i, b := range c.patch {
		if j := c.at + int64(i) - off; j >= 0 && j < int64(n) {
			p[j] = b
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A victim is a program, and the places in its file that tables are read from.
type victim struct {
	file   []byte
	places []int64
}

// victims are programs of Go and C.
func victims(t testing.TB) []victim {
	t.Helper()
	var all []victim
	for _, exe := range []string{
		build(t, "-trimpath", "-ldflags=-s -w"),
		build(t, "-buildmode=pie", "-ldflags=-s -w"),
		compiled(t, "native.c", "-pie", "-fPIE"),
	} {
		file, err := os.ReadFile(exe)
		failure.None(t, err)
		table := opened(t, exe)
		v := victim{file: file, places: []int64{0, 64, int64(binary.LittleEndian.Uint64(file[40:]))}}
		if g := table.golang; g != nil {
			f, _ := g.find((g.text + g.end) / 2)
			module := bytes.LastIndex(file, binary.LittleEndian.AppendUint64(nil, g.addr))
			v.places = append(v.places, g.m.offset(g.addr), g.names, g.units, g.files, g.pcs, g.funcs,
				f.rest, f.tree, g.inlined, int64(module))
		}
		if n := table.native; n != nil {
			v.places = append(v.places, n.names)
		}
		all = append(all, v)
	}
	return all
}

// try reads a changed program, and finds functions in all of it.
func try(t testing.TB, c *changed, step uint64) {
	t.Helper()
	table, err := newTable(c)
	if err != nil {
		return
	}
	adjust := table.Adjust(0x1000, 0x400000)
	addrs := []uint64{0, 1, 1 << 63, 1<<64 - 1}
	for _, s := range table.image.segments {
		addrs = append(addrs, s.addr-1, s.addr+s.size)
	}
	if g := table.golang; g != nil {
		for i := range uint64(64) {
			addrs = append(addrs, g.text+i*step)
		}
	}
	if n := table.native; n != nil {
		for _, s := range n.symbols[:min(len(n.symbols), 64)] {
			addrs = append(addrs, s.addr, s.addr+s.size)
		}
	}
	for _, addr := range addrs {
		adjust(addr)
		frames := table.Lookup(addr)
		if len(frames) > maxInlined+1 {
			t.Fatalf("%d frames", len(frames))
		}
		for _, f := range frames {
			if len(f.Function) > 2*maxName || len(f.File) > 3*maxName {
				t.Fatalf("names of %d and %d bytes", len(f.Function), len(f.File))
			}
			Kind(f, table.Program())
		}
	}
}

// TestHostile cuts and corrupts programs: nothing may panic, hang or take much memory.
func TestHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(38, 1))
	values := []uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<32 - 1, 1 << 40, 0x7fffffff}
	var before, after runtime.MemStats
	for _, v := range victims(t) {
		for range 200 {
			c := &changed{file: v.file, size: int64(len(v.file))}
			switch r.IntN(4) {
			case 0:
				c.size = r.Int64N(c.size)
			case 1:
				c.at = r.Int64N(c.size)
				c.patch = binary.LittleEndian.AppendUint64(nil, r.Uint64())
			default:
				c.at = v.places[r.IntN(len(v.places))] + r.Int64N(512)&^3
				c.patch = binary.LittleEndian.AppendUint64(nil, values[r.IntN(len(values))])
			}
			runtime.ReadMemStats(&before)
			try(t, c, r.Uint64N(1<<14))
			runtime.ReadMemStats(&after)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 128 {
				t.Errorf("%d bytes with %x at %#x: took %d MB", c.size, c.patch, c.at, took)
			}
		}
	}
}

// TestHostileSizes reads files that are as large as their headers say: of sections, of symbols, of
// places that look like tables of Go.
func TestHostileSizes(t *testing.T) {
	v := victims(t)[0]
	table, err := newTable(bytes.NewReader(v.file))
	failure.None(t, err)
	const large = 64 << 20
	header := make([]byte, 72)
	for name, change := range map[string]func(b []byte){
		"tables": func(b []byte) {
			binary.LittleEndian.PutUint64(b[40:], 0) // no sections that show the true one
			at := table.image.offset(table.golang.addr)
			b[at+8]++ // nor does the module's data fit it
			copy(header, b[at:])
			for i := range (large - len(v.file)) / 96 {
				copy(b[len(v.file)&^7+96*i:], header)
			}
		},
		"sections": func(b []byte) {
			binary.LittleEndian.PutUint64(b[40:], uint64(len(v.file)))
			binary.LittleEndian.PutUint16(b[60:], 0)
			binary.LittleEndian.PutUint64(b[len(v.file)+32:], 1<<20)
		},
		"symbols": func(b []byte) {
			at := len(v.file)
			binary.LittleEndian.PutUint64(b[40:], uint64(at))
			binary.LittleEndian.PutUint16(b[60:], 2)
			binary.LittleEndian.PutUint16(b[62:], 0)
			s := b[at+64:]
			binary.LittleEndian.PutUint32(s[4:], 2)
			binary.LittleEndian.PutUint64(s[24:], uint64(at+128))
			binary.LittleEndian.PutUint64(s[32:], large)
			binary.LittleEndian.PutUint64(s[56:], 24)
			for i := at + 128; i+24 < len(b); i += 24 {
				b[i+4], b[i+6] = 2, 1
			}
		},
	} {
		b := slices.Concat(v.file, make([]byte, large-len(v.file)))
		phs := int(binary.LittleEndian.Uint16(b[56:]))
		for i := range phs { // data reaches to the end of the file
			ph := b[64+56*i:]
			if binary.LittleEndian.Uint32(ph) == 1 && binary.LittleEndian.Uint32(ph[4:]) == 6 {
				binary.LittleEndian.PutUint64(ph[32:], large-binary.LittleEndian.Uint64(ph[8:]))
			}
		}
		change(b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		try(t, &changed{file: b, size: large}, 100)
		runtime.ReadMemStats(&after)
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: took %d MB", name, took)
		if took > 192 {
			t.Errorf("%s: took %d MB in all, want at most 192", name, took)
		}
	}
}

// FuzzTable changes and cuts programs.
func FuzzTable(f *testing.F) {
	all := victims(f)
	for i, v := range all {
		for place := range v.places {
			f.Add(uint8(i), uint8(place), int32(8), int32(0), []byte("\xff\xff\xff\x7f"))
		}
	}
	f.Fuzz(func(t *testing.T, which, place uint8, offset, cut int32, patch []byte) {
		v := all[int(which)%len(all)]
		size := int64(len(v.file))
		try(t, &changed{
			file:  v.file,
			at:    v.places[int(place)%len(v.places)] + int64(offset),
			patch: patch[:min(len(patch), 4096)],
			size:  max(size-int64(max(cut, 0)), 0),
		}, 977)
	})
}
