package join

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"plimsoll/internal/files"
)

// Tokens that are made at the same time are all known, and of one coordinator.
func TestTokensAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "store", "fleet.json")
	var wg sync.WaitGroup
	const n = 8
	for i := range n {
		wg.Go(func() {
			if _, err := NewToken(files.OS{}, keyFile, filepath.Join(dir, fmt.Sprintf("a%d.nk", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys, err := ReadKeys(keyFile)
	must(t, err)
	if len(keys.Agents) != n {
		t.Errorf("the key file knows %d of %d agents", len(keys.Agents), n)
	}
	cert, err := keys.certificate()
	must(t, err)
	for i := range n {
		tok, err := ReadToken(filepath.Join(dir, fmt.Sprintf("a%d.nk", i)))
		must(t, err)
		if tok.Fingerprint != fingerprint(cert.Certificate[0]) {
			t.Errorf("the token of %s is of another coordinator", tok.Name)
		}
	}
}
