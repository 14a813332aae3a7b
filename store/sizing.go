package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/record"
)

// SizingDir returns the directory of a ladder of load steps: its file and its reports.
func (s *Store) SizingDir(id string) string { return filepath.Join(s.root, "sizings", id) }

// SaveSizing writes a sizing's file in one step.
func (s *Store) SaveSizing(z *record.Sizing) error {
	dir := s.SizingDir(z.ID)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	z.Format = record.FormatVersion
	return record.WriteJSONHiding(filepath.Join(dir, "steps.json"), z, s.secrets)
}

// Sizing reads a sizing by its id or by a prefix that only one has.
func (s *Store) Sizing(id string) (*record.Sizing, error) {
	id, err := s.resolve("sizings", id)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.SizingDir(id), "steps.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	z := new(record.Sizing)
	if err := json.Unmarshal(b, z); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if z.Format != record.FormatVersion {
		return nil, fmt.Errorf("%s: format %d, this version reads %d", path, z.Format, record.FormatVersion)
	}
	return z, nil
}
