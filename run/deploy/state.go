package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/run/deploy/stores"
	"plimsoll/target/lab"
)

// stateOwner is the file in a state directory that names the comparison that made it, if any, and
// holds the mark of the program. A state that is to stay has none, whatever becomes of the program
// that made it.
const stateOwner = "comparison"

// claim, under f.mu, takes a state directory that does not exist yet, or that the same comparison
// made before it was interrupted, or a program that was killed: Clear removes it, unless it is to
// stay.
func (f *Deployments) claim(dir, comparison string) error {
	mark, err := lab.Mark()
	if err != nil {
		return err
	}
	text := []byte(comparison + "\n" + mark + "\n")
	if _, err := os.Lstat(dir); err == nil {
		made, err := os.ReadFile(filepath.Join(dir, stateOwner))
		if err != nil { // its state is to stay, or another program's
			return nil
		}
		id, killed, _ := strings.Cut(strings.TrimRight(string(made), "\n"), "\n")
		if lab.Orphan(killed) || comparison != "" && id == comparison {
			return f.own(dir, text)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state directory: %w", err)
	}
	if _, err := os.Lstat(f.dir); errors.Is(err, fs.ErrNotExist) {
		f.made = append(f.made, f.dir)
	}
	if err := lab.MkdirState(dir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return f.own(dir, text)
}

// own, under f.mu, marks a state directory as this program's to remove, or as one that stays.
func (f *Deployments) own(dir string, text []byte) error {
	owner := filepath.Join(dir, stateOwner)
	if f.Kept {
		if err := os.Remove(owner); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keeping the state in %s: %w", dir, err)
		}
		return nil
	}
	f.made = append(f.made, dir)
	return os.WriteFile(owner, text, 0o600)
}

// Clear removes the state directories that these deployments made and that are not Kept, once the
// systems are stopped. A directory that cannot be removed is shown and fails nothing.
func (f *Deployments) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dir := range slices.Backward(f.made) {
		remove := stores.RemoveState
		if dir == f.dir { // others may have put something into it since
			remove = os.Remove
		}
		if err := remove(dir); err != nil && dir != f.dir {
			f.Progress.Say("removing the state in %s: %v", dir, err)
		}
	}
	f.made = nil
}
