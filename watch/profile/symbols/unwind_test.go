package symbols

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// TestLookupWithoutSymbol finds the bounds of all functions of a stripped program, with the same
// program that has its symbols as the oracle.
func TestLookupWithoutSymbol(t *testing.T) {
	exe := compiled(t, "native.c", "-pie", "-fPIE", "-Wl,--build-id=0x0123456789abcdef")
	stripped := exe + "-stripped"
	output(t, "strip", "-o", stripped, exe)
	table := opened(t, stripped)
	var compared int
	for line := range strings.Lines(output(t, "nm", "-S", "--defined-only", exe)) {
		f := strings.Fields(line)
		if len(f) != 4 || strings.ToLower(f[2]) != "t" || f[3] == "after" { // assembly has none
			continue
		}
		start, err := strconv.ParseUint(f[0], 16, 64)
		failure.None(t, err)
		size, err := strconv.ParseUint(f[1], 16, 64)
		failure.None(t, err)
		want := fmt.Sprintf("%#x (no symbol, build 01234567)", start)
		for _, addr := range []uint64{start, start + size/2, start + size - 1} {
			if got := table.Lookup(addr); len(got) != 1 || got[0].Function != want {
				t.Errorf("%s: %#x is %v, want %q", f[3], addr, got, want)
			}
		}
		if got := table.Lookup(start + size); len(got) > 0 && got[0].Function == want {
			t.Errorf("%s: %#x is in it, after its end", f[3], start+size)
		}
		compared++
	}
	if compared < 4 {
		t.Errorf("%d functions compared", compared)
	}
}
