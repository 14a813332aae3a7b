package symbols

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// TestLookupSelf compares the functions at 20,000 places of this program with those that its
// runtime finds there, and measures the memory that it takes.
func TestLookupSelf(t *testing.T) {
	exe, err := os.Executable()
	failure.None(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	failure.None(t, err)
	var start, end, offset uint64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, " r-xp ") && strings.HasSuffix(strings.TrimSpace(line), exe) {
			failure.None(t, failure.Of(fmt.Sscanf(line, "%x-%x r-xp %x", &start, &end, &offset)))
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := opened(t, exe)
	adjust := table.Adjust(offset, start)
	r := rand.New(rand.NewPCG(38, 2))
	compared := 0
	for range 20_000 {
		ip := start + r.Uint64N(end-start)
		f := runtime.FuncForPC(uintptr(ip))
		if f == nil {
			continue
		}
		compared++
		frames := table.Lookup(adjust(ip))
		if len(frames) == 0 || withoutTypes(frames[0].Function) != f.Name() {
			t.Fatalf("%#x is %v, want %s", ip, frames, f.Name())
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 4<<20 {
		t.Errorf("%d bytes are held, want at most 4 MB", took)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d bytes were allocated, want at most 64 MB", took)
	}
	if compared < 10_000 {
		t.Errorf("%d places compared", compared)
	}
	runtime.KeepAlive(table)
}

// withoutTypes replaces the type arguments of a function by [...], as the runtime does.
func withoutTypes(function string) string {
	i, j := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']')
	if i < 0 || j < i {
		return function
	}
	return function[:i] + "[...]" + function[j+1:]
}
