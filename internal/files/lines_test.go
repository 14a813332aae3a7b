package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadJSONLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "numbers.jsonl")
	if got, err := ReadJSONLines[int](path); err != nil || got != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	for text, want := range map[string][]int{"": nil, "1\n": {1}, "1\n2\n3": {1, 2, 3}} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadJSONLines[int](path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1\nx\n3\n":                    "numbers.jsonl:2: ",
		"\n":                           "numbers.jsonl:1: ",
		strings.Repeat("1", maxLine+1): "too long",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadJSONLines[int](path); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: %v, %v, want an error with %q", text, got, err, want)
		}
	}
}
