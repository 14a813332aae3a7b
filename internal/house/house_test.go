package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestGolden measures the tree of testdata/small.txtar and compares the page with testdata/small.golden.
func TestGolden(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "small.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	h, err := read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	h.print(&got)
	golden := filepath.Join("testdata", "small.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProse(t *testing.T) {
	tests := []struct {
		name, text string
		want       prose
	}{
		{"nothing", "", prose{}},
		{"a fused what", "What is kept is what was sent.", prose{words: 7, what: 2}},
		{"a question", "It stops. What if it does not? What now?", prose{words: 9}},
		{"a question after a sentence", "It keeps what it has. What now?", prose{words: 7, what: 1}},
		{"what to and what if", "It decides what to\nkeep, and what if not.", prose{words: 9}},
		{"parts of words", "Whatever whatnot retells untold.", prose{words: 4}},
		{"people", "Nobody and somebody; whoever, to whom.", prose{words: 6, who: 4}},
		{"programs that speak", "The table says, Tells, told; they say and tell.", prose{words: 9, tell: 3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got prose
			got.add(test.text)
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestMarkdownWithoutCode(t *testing.T) {
	const page = "One `what` [two](what.md).\n\n```\nwhat\n```\n<!-- table -->\nwhat\n<!-- end table -->\n<!-- what -->three\n"
	var got prose
	got.add(words(page))
	if want := (prose{words: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRoomOf(t *testing.T) {
	for dir, want := range map[string]string{
		".": ".", "plan": "plan", "report/render": "report", "judge": "judge", "judge/stats": "judge/stats",
		"load/wire/internal/x": "load/wire", "cmd/plimsoll": "cmd/plimsoll",
	} {
		if got := roomOf(dir); got != want {
			t.Errorf("%s: got %s, want %s", dir, got, want)
		}
	}
}
