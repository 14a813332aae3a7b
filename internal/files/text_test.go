package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/files"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"a":                       "a",
		"\ufeffé":                 "é",
		"\xff\xfea\x00\xe9\x00":   "aé",
		"\xfe\xff\x00a\x00\xe9":   "aé",
		"\xff\xfe=\xd8\x00\xde\n": "😀",
	} {
		if got := string(files.Text([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestReadText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("\ufeffsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := files.ReadText(path, 100); err != nil || string(b) != "secret\n" {
		t.Errorf("got %q, %v", b, err)
	}
	if b, err := files.ReadText(path, 3); !errors.Is(err, files.ErrTooLarge) || len(b) > 0 {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestRows(t *testing.T) {
	want := []files.CSVRow{{
		Line:   1,
		Fields: []string{"pair", "a b"},
	}, {Line: 3, Fields: []string{"1", "x\ny"}}, {Line: 5, Fields: []string{"2"}}}
	for _, in := range []string{
		"pair,a b\n\n 1 ,\"x\ny\"\n2\n", "\ufeffpair;a b\r\n\r\n1; \"\"x\n", "\"pair\"\ta b\n\n1\t\"x\ny\"\n2",
	} {
		got, err := files.Rows([]byte(in))
		if err != nil {
			if diff := cmp.Diff(want[:1], got); diff != "" ||
				err.Error() != `line 3: not a CSV: bare " in non-quoted-field` {
				t.Errorf("%q: %v, (-want +got):\n%s", in, err, diff)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}
