package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cores of a role are found on a host of any size.
func TestBusyOnAHostOfManyCores(t *testing.T) {
	var b strings.Builder
	b.WriteString("cpu  1 1 1 1 0 0 0 0 0 0\n")
	for core := range 512 {
		fmt.Fprintf(&b, "cpu%d 123456%d 0 100 700 0 0 0 0 0 0\n", core, core)
	}
	fmt.Fprintf(&b, "intr 1%s\nctxt 1\n", strings.Repeat(" 0", 5000))
	path := filepath.Join(t.TempDir(), "stat")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &signals{cores: map[string][]int{"app": {3, 511}}, stat: f}
	defer s.close()
	for range 2 { // the file is read from its beginning each time
		busy, total, err := s.Busy("app")
		const used = (1234563 + 123456511 + 2*100) / 100.0
		if err != nil || busy != used || total != used+14 {
			t.Errorf("busy %v of %v, %v; want %v of %v", busy, total, err, used, used+14)
		}
	}
}
