package store

import (
	"errors"
	"fmt"
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
	id, err := s.resolve("sizings", id)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.SizingDir(id), "steps.json")
	b, err := files.Read(path, 0)
	if err != nil {
		return nil, err
	}
	z, err := record.ReadSizing(b)
	if errors.Is(err, record.ErrAltered) {
		return nil, fmt.Errorf(
			"sizing %s: %s %w; bring the file back as it was, or repeat the steps (docs/format/run.md, Digests)",
			id,
			path,
			err,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if z.Format != record.FormatVersion {
		return nil, fmt.Errorf(
			"%s: format %d, this version reads %d",
			path,
			z.Format,
			record.FormatVersion,
		)
	}
	return z, nil
}
