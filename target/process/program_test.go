package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/process"
)

// TestReplacedProgram: all runs of a deployment are of one build. The same build in another file is
// no other one.
func TestReplacedProgram(t *testing.T) {
	own, err := os.ReadFile(os.Args[0])
	failure.None(t, err)
	path := filepath.Join(t.TempDir(), "server")
	put := func(content []byte) {
		t.Helper()
		// A program that runs cannot be written to.
		failure.None(
			t,
			errors.Join(os.WriteFile(path+".new", content, 0o755), os.Rename(path+".new", path)),
		)
	}
	put(own)
	s := spec(t.TempDir(), "")
	s.Binary = path
	ctx, dep := deploy(t, process.Config{}, s)
	put(own)
	failure.None(t, dep.Reset(ctx))
	put(append(own, 0))
	const want = " was replaced since it was deployed"
	err = dep.Reset(ctx)
	if err == nil || errors.Is(err, target.ErrStart) || !strings.Contains(err.Error(), path+want) {
		t.Errorf("another build: Reset() = %v", err)
	}
	put(own)
	failure.None(t, dep.Reset(ctx))
}
