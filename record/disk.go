package record

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
)

// A Disk is the operations of a file system by which runs and comparisons are kept.
type Disk = files.Disk

// OS is the file system of this host.
type OS = files.OS

// WriteJSON is [WriteJSONTo] without secrets, on the file system of this host.
func WriteJSON(path string, v any) error { return WriteJSONTo(OS{}, path, v, nil) }

// WriteJSONTo writes v, indented, without the secrets and for this user alone to path in one step:
// a reader sees the old file or the new one, never half, also after a power failure. When it
// returns without an error, the new one is there to stay.
func WriteJSONTo(disk Disk, path string, v any, secrets *plain.Secrets) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return files.Replace(disk, path, append(secrets.JSON(b), '\n'))
}
