package stores

import (
	"os"
	"path/filepath"
	"testing"
)

// A server for a dump is beside it also when its name ends with a slash; otherwise a directory
// stands where the dump is to go.
func TestATemporaryServerIsBesideTheDump(t *testing.T) {
	dir := t.TempDir()
	err := Temporarily(t.Context(), "oracle", filepath.Join(dir, "x")+"/", "", nil,
		func(*Server) error { return nil })
	if err == nil {
		t.Error("a server of an unknown engine has started")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
