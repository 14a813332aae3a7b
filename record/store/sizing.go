package store

import (
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/record"
)

// SizingDir returns the directory of a ladder of load steps: its file and its reports.
func (s *Store) SizingDir(id string) string { return filepath.Join(s.root, "sizings", id) }

// SaveSizing writes a sizing's file in one step.
func (s *Store) SaveSizing(z *record.Sizing) error {
	dir := s.SizingDir(z.ID)
	if err := files.MkdirAll(s.disk, dir); err != nil {
		return err
	}
	return record.SaveSizing(s.disk, filepath.Join(dir, "steps.json"), z, s.secrets)
}

// Sizing reads a sizing by its id, by a prefix that only one has, or by the word last.
func (s *Store) Sizing(id string) (*record.Sizing, error) {
	return load(s, "sizings", id, record.ReadSizing, "steps")
}
