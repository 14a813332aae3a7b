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

// stateOwner is the file in a state directory that names the comparison that made it, and the mark of the program.
// Without a comparison, a state that is not to stay has the mark alone.
const stateOwner = "comparison"

// claim, under f.mu, notes a state directory that does not exist yet, or that the same comparison made before it was
// interrupted, or a program that was killed: clear removes it.
func (f *Deployments) claim(dir, comparison string) error {
	mark, err := lab.Mark()
	if err != nil {
		return err
	}
	owner, text := filepath.Join(dir, stateOwner), []byte(comparison+"\n"+mark+"\n")
	if _, err := os.Lstat(dir); err == nil {
		made, err := os.ReadFile(owner)
		if err != nil { // its state is to stay, or another program's
			return nil
		}
		id, killed, _ := strings.Cut(strings.TrimRight(string(made), "\n"), "\n")
		if lab.Orphan(killed) || comparison != "" && id == comparison {
			f.made = append(f.made, dir)
			return os.WriteFile(owner, text, 0o600)
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
	if comparison == "" && !f.Passing {
		return nil
	}
	return os.WriteFile(owner, text, 0o600)
}

// Keep has the state directories that these deployments made stay, also after a later command that finds them.
func (f *Deployments) Keep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dir := range f.made {
		_ = os.Remove(filepath.Join(dir, stateOwner)) // the parent of all has none
	}
	f.made = nil
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
