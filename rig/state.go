package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/target/lab"
)

// stateOwner is the file in a state directory that names the comparison that made it.
const stateOwner = "comparison"

// claim, under f.mu, notes a state directory that does not exist yet, or that the same comparison made before it was
// interrupted: clear removes it.
func (f *Deployments) claim(dir, comparison string) error {
	owner := filepath.Join(dir, stateOwner)
	if _, err := os.Lstat(dir); err == nil {
		if made, err := os.ReadFile(owner); err == nil && comparison != "" && strings.TrimSpace(string(made)) == comparison {
			f.made = append(f.made, dir)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state directory: %w", err)
	}
	if _, err := os.Lstat(f.dir); errors.Is(err, fs.ErrNotExist) {
		f.made = append(f.made, f.dir)
	}
	f.made = append(f.made, dir)
	if err := lab.MkdirState(dir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if comparison == "" {
		return nil
	}
	return os.WriteFile(owner, []byte(comparison+"\n"), 0o600)
}

// Clear removes the state directories that these deployments made, once the systems are stopped. A directory that
// cannot be removed is reported and fails nothing.
func (f *Deployments) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dir := range slices.Backward(f.made) {
		remove := os.RemoveAll
		if dir == f.dir { // others may have put something into it since
			remove = os.Remove
		}
		if err := remove(dir); err != nil && dir != f.dir {
			f.s.Progress.Say("removing the state in %s: %v", dir, err)
		}
	}
	f.made = nil
}
