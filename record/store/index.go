package store

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/record"
)

// indexFile holds the entries of the runs that have ended: a line with the digest of indexVersion
// and the rest, which is JSON. An index that is missing, damaged or of another version is empty,
// and made again.
const (
	indexFile = "index.json"
	// another one whenever an Entry has more or other fields, or finds them in another way.
	indexVersion = "1"
)

func indexDigest(rest []byte) string {
	return record.DigestOf(append([]byte(indexVersion), rest...))
}

// An indexed run is its entry as of a stamp of its files.
type indexed struct {
	Stamp string `json:"stamp"`
	Entry Entry  `json:"entry"`
}

func (s *Store) readIndex() map[string]indexed {
	known := map[string]indexed{}
	text, err := files.Read(filepath.Join(s.root, indexFile), 0)
	digest, rest, _ := bytes.Cut(text, []byte("\n"))
	if err != nil || string(digest) != indexDigest(rest) || json.Unmarshal(rest, &known) != nil {
		return map[string]indexed{}
	}
	return known
}

func (s *Store) writeIndex(known map[string]indexed) error {
	rest, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return files.Replace(
		s.disk,
		filepath.Join(s.root, indexFile),
		append([]byte(indexDigest(rest)+"\n"), rest...),
	)
}
