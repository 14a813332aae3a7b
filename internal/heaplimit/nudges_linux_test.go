package heaplimit

import (
	"os"
	"testing"
)

// TestNudgesEnd checks that nothing is left of nudges: no descriptor, and so no reader.
func TestNudgesEnd(t *testing.T) {
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	nudges()() // the first descriptor of a process brings the runtime's own
	before := open()
	ends := []func(){nudges(), nudges()}
	if n := open() - before; n != len(ends) {
		t.Errorf("%d descriptors for %d nudges", n, len(ends))
	}
	for _, end := range ends {
		end()
	}
	if n := open() - before; n != 0 {
		t.Errorf("%d descriptors are left", n)
	}
}
