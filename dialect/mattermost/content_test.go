package mattermost

import (
	"bytes"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/dialect/mattermost/api"
)

func TestVocabulary(t *testing.T) {
	seen := map[string]bool{}
	letters := 0
	for _, w := range vocabulary() {
		if seen[w] || len(w) < 3 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("word %q: twice, too short for an index, or no word", w)
		}
		seen[w] = true
		letters += len(w)
	}
	if n := len(seen); n < 9000 || n > 13000 {
		t.Errorf("%d words", n)
	}
	if mean := float64(letters) / float64(len(seen)); mean < 7 || mean > 8 {
		t.Errorf("%.2f letters on average, want 7 to 8", mean)
	}
}

func TestAttachments(t *testing.T) {
	for i, size := range []int{450502, 83555, 432305, 11390} {
		f := attachments()[i]
		if len(f.data) != size {
			t.Errorf("%s has %d bytes, want %d", f.name, len(f.data), size)
		}
		if strings.HasPrefix(f.kind, "image/") {
			if m, kind, err := image.Decode(bytes.NewReader(f.data)); err != nil ||
				"image/"+kind != f.kind || m.Bounds().Dx() < 100 {
				t.Errorf("%s: %s, %v", f.name, kind, err)
			}
		}
		if bytes.Contains(f.data, []byte(api.FormBoundary)) {
			t.Errorf("%s contains the boundary of uploads", f.name)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	var count [5]int
	for range 4000 {
		files := drawFiles(r)
		count[len(files)]++
		for i := 1; i < len(files); i++ {
			if files[i] <= files[i-1] {
				t.Fatalf("files %v", files)
			}
		}
	}
	if count[0] != 0 || count[4] != 0 || count[1] < 2000 || count[2] < 600 || count[3] < 150 {
		t.Errorf("files by number: %v", count)
	}
}
