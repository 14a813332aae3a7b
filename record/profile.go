package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/files"
)

// NotProfiledEvent is the kind of the event that has in Text why a role was not profiled, and the
// remedy. Rule is the role; empty for all.
const NotProfiledEvent = "not profiled"

// profileExt ends the names of the files with the profiles of roles.
const profileExt = ".pprof"

// Profile creates the file of the profile of a role, such as "app". It is called before the seal;
// the caller calls Close.
func (w *Writer) Profile(role string) (io.WriteCloser, error) {
	f, err := w.disk.Create(filepath.Join(w.dir, role+profileExt), false)
	if err != nil {
		return nil, fmt.Errorf("profile of %s: %w", role, err)
	}
	return f, nil
}

// Profiles returns the roles that have a profile, in order.
func (r *Run) Profiles() (roles []string) {
	entries, _ := os.ReadDir(r.Dir) // none: the run is gone, as other calls tell
	for _, e := range entries {
		if role, ok := strings.CutSuffix(e.Name(), profileExt); ok && e.Type().IsRegular() {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

// ProfilePath returns the file of the profile of a role, in the format of pprof; package
// watch/profile reads it.
func (r *Run) ProfilePath(role string) string { return filepath.Join(r.Dir, role+profileExt) }

// Profile opens the profile of a role. The caller closes it.
func (r *Run) Profile(role string) (io.ReadCloser, error) { return files.Open(r.ProfilePath(role)) }
