package profile

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes a record as the kernel does.
func put(kind uint32, misc uint16, words ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(headerSize+8*len(words)))
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// pair is two numbers of 32 bits in one word.
func pair(a, b uint32) uint64 {
	return binary.NativeEndian.Uint64(binary.NativeEndian.AppendUint32(
		binary.NativeEndian.AppendUint32(nil, a), b))
}

// sampleOf is the record of a sample.
func sampleOf(pid uint32, time uint64, chain ...uint64) []byte {
	return put(recordSample, 0, slices.Concat(
		[]uint64{pair(pid, pid+1), time, uint64(len(chain))}, chain, []uint64{8, 0x55, 8})...)
}

func TestRecords(t *testing.T) {
	raw := slices.Concat(
		sampleOf(7, 30, chainKernel, 0xffff1, 0xffff2, chainUser, 0x10, 0x20),
		put(recordFork, 0, pair(9, 7), pair(9, 7), 20, pair(7, 7), 20),
		put(recordFork, 0, pair(7, 7), pair(12, 7), 21, pair(7, 7), 21), // a thread
		put(recordExit, 0, pair(7, 7), pair(12, 7), 22, pair(7, 7), 22), // of a thread
		put(recordLost, 0, 1, 5, pair(7, 7), 23),
		put(77, 0, 1),
		[]byte{9, 0, 0, 0, 0, 0, 200, 0}, // cut off
	)
	got := records(raw, nil)
	if len(got) != 5 {
		t.Fatalf("%d records, want 5", len(got))
	}
	kernel, user, top := got[0].chain(nil, nil)
	if got[0].pid() != 7 || top != 0x55 || got[0].time != 30 || !slices.Equal(kernel, []uint64{0xffff1, 0xffff2}) ||
		!slices.Equal(user, []uint64{0x10, 0x20}) {
		t.Errorf("sample of %d at %d: %x %x", got[0].pid(), got[0].time, kernel, user)
	}
	if parent, forked := got[1].parent(); !forked || parent != 7 || got[1].pid() != 9 {
		t.Errorf("fork of %d from %d, %v", got[1].pid(), parent, forked)
	}
	if _, forked := got[2].parent(); forked || got[3].leader() {
		t.Error("a thread is taken for a process")
	}
	if n := got[4].lost(); n != 5 || got[4].time != 23 {
		t.Errorf("%d lost at %d", n, got[4].time)
	}
}

func TestMappingOfRecord(t *testing.T) {
	words := []uint64{pair(7, 7), 0x1000, 0x2000, 0x300, pair(8, 1), 42, 0, pair(5, 2)}
	name := binary.NativeEndian.Uint64([]byte("/bin/x\x00\x00"))
	raw := put(recordMmap2, 0, slices.Concat(words, []uint64{name, pair(7, 7), 5})...)
	m, ok := records(raw, nil)[0].mapping()
	want := mapping{
		start: 0x1000, end: 0x3000, offset: 0x300,
		file: fileID{major: 8, minor: 1, inode: 42, path: "/bin/x"},
	}
	if !ok || m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
}

func TestReadMappings(t *testing.T) {
	got, err := readMappings(strings.NewReader(
		`00400000-004a0000 r--p 00000000 fe:01 42   /usr/bin/a b (deleted)
004a0000-00500000 r-xp 000a0000 fe:01 42                       /usr/bin/a b (deleted)
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                  [vdso]
`))
	want := []mapping{
		{start: 0x4a0000, end: 0x500000, offset: 0xa0000,
			file: fileID{major: 0xfe, minor: 1, inode: 42, path: "/usr/bin/a b (deleted)"}},
		{start: 0x7f0000000000, end: 0x7f0000001000},
		{start: 0x7ffd00000000, end: 0x7ffd00002000, file: fileID{path: "[vdso]"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{}, fileID{})); err != nil ||
		diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got[0].file.anonymous() || !got[1].file.anonymous() || got[2].file.anonymous() {
		t.Error("the mapping without a file alone is anonymous")
	}
}

func TestKernelFrames(t *testing.T) {
	k := readKernel(strings.NewReader(`ffffffff81000c60 T asm_exc_page_fault
ffffffff81000df0 T asm_sysvec_apic_timer_interrupt
ffffffff81249030 T x64_sys_call
ffffffff816b98d0 T __pfx___x64_sys_write
ffffffff816b98e0 T __ia32_sys_write
ffffffff816b98e0 T __x64_sys_write
ffffffff816b99e0 t vfs_write
ffffffff816b9a00 d data
ffffffffc0000000 t of_a_module	[module]
`))
	for _, tt := range []struct {
		want  string
		chain []uint64 // innermost first
	}{
		{"[kernel] write", []uint64{0xffffffff816b99e5, 0xffffffff816b9905, 0xffffffff81249040}},
		{"[kernel] page fault", []uint64{0xffffffff816b99e5, 0xffffffff81000c65}},
		{"[kernel] interrupt", []uint64{0xffffffff81000df0}},
		{"[kernel] write", []uint64{0xffffffff81000df0, 0xffffffff816b9905}}, // beneath it
		{"[kernel]", []uint64{0xffffffffc0000001}},
		{"[kernel]", nil},
	} {
		if got := k.frame(pathOf(tt.chain)); got != tt.want {
			t.Errorf("%x is %q, want %q", tt.chain, got, tt.want)
		}
	}
	hidden := readKernel(strings.NewReader("0000000000000000 T __x64_sys_write\n"))
	if got := hidden.frame(pathOf([]uint64{1})); got != "[kernel]" {
		t.Errorf("without addresses: %q", got)
	}
}
