package dump

import (
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/linux"
)

// CheckSpace reports an error if the file system of dir, which need not exist yet, has less than so
// many bytes free.
func CheckSpace(dir string, need int64) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("looking for space: %w", err)
	}
	for {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	free, err := linux.Free(at)
	if err != nil {
		return fmt.Errorf("looking for space at %s: %w", at, err)
	}
	if free < need {
		return fmt.Errorf(
			"%s has %.1f GB free, and about %.1f GB are needed; make room, or name a place on another disk",
			at,
			float64(free)/1e9,
			float64(need)/1e9,
		)
	}
	return nil
}
