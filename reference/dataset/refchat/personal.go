package refchat

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/reference/dataset"
)

// personal returns the names that the server gives a direct or group channel.
func personal(p *dataset.Population, i int, c dataset.Channel) (name, display string) {
	var ids, names []string
	for k := range c.Members {
		u := p.Member(i, k)
		ids, names = append(ids, p.UserID(u).String()), append(names, p.UserName(u))
	}
	slices.Sort(ids)
	if c.Type == dataset.Direct {
		return ids[0] + "__" + ids[1], ""
	}
	slices.Sort(names)
	sum := sha1.Sum([]byte(strings.Join(ids, "")))
	display = strings.Join(names, ", ")
	return hex.EncodeToString(sum[:]), display[:min(len(display), 64)]
}

// Files of a kind share one content, so that gigabytes of attachments cost a megabyte on disk.
func filePath(k dataset.FileKind) string    { return "dataset/file." + string(k) }
func thumbPath(k dataset.FileKind) string   { return "dataset/thumb-" + string(k) + ".jpg" }
func previewPath(k dataset.FileKind) string { return "dataset/preview-" + string(k) + ".jpg" }

// WriteFiles writes the attachments of every population into a server's directory of files: 1.1 MB.
func WriteFiles(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "dataset"), 0o755); err != nil {
		return fmt.Errorf("writing the attachments: %w", err)
	}
	for _, k := range dataset.FileKinds {
		content := map[string][]byte{filePath(k): k.Content()}
		if k.Pixels() > 0 {
			for path, side := range map[string]int{thumbPath(k): 120, previewPath(k): 1920} {
				b, err := k.Preview(side)
				if err != nil {
					return fmt.Errorf("writing the attachments: %w", err)
				}
				content[path] = b
			}
		}
		for path, b := range content {
			if err := os.WriteFile(filepath.Join(dir, path), b, 0o644); err != nil {
				return fmt.Errorf("writing the attachments: %w", err)
			}
		}
	}
	return nil
}
