package plain

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestSecretsAreRedactedByValue(t *testing.T) {
	var s Secrets
	token := "9xk3mq7w5t1z8r6y4u2i0p9o7a"
	dsn := "postgres://plimsoll:s3cr3t-Pa55@db:5432/x"
	long := "eyJ" + strings.Repeat("hbGciOiJSUzI1", 20)
	password := `Pass "word" & <1>/é`
	s.Add(token, dsn, "s3cr3t-Pa55", long, password, "postgres", "20260102", "ab")
	for _, tt := range []struct{ in, want string }{
		{"nothing", "nothing"},
		{"Bearer " + token, "Bearer [redacted]"},
		{"x" + token + "y" + token, "x[redacted]y[redacted]"},
		{token[:25] + "!", token[:25] + "!"},
		{"dial " + dsn + ": refused", "dial [redacted]: refused"},
		{"user plimsoll, password s3cr3t-Pa55", "user plimsoll, password [redacted]"},
		{"token " + long + " end", "token [redacted] end"},
		{`{"token":"` + long + `"}`, `{"token":"[redacted]"}`},
		{password, Redacted},
		{url.QueryEscape(password) + " " + url.PathEscape(password), Redacted + " " + Redacted},
		{fmt.Sprintf("%q", password), `"[redacted]"`},
		{"the engine postgresql of postgres:", "the engine postgresql of [redacted]:"},
		{"run 20260102-101112, 20260102101112", "run [redacted]-101112, 20260102101112"},
		{"ab is too short", "ab is too short"},
		{"id " + Excerpt(token, 20), "id [redacted]…"},
		{"pos", "pos"},
	} {
		if got := s.Redact(tt.in); got != tt.want {
			t.Errorf("%q\ngot  %q\nwant %q", tt.in, got, tt.want)
		}
	}
	if got := s.Text("\x1b" + token); got != `\x1b[redacted]` {
		t.Errorf("got %q", got)
	}
	if n := testing.AllocsPerRun(10, func() {
		s.Redact("reply: status 500 api.post.error (5xx)")
	}); n != 0 {
		t.Errorf("text without a secret costs %v allocations", n)
	}
}

func TestNoSecretsChangeNothing(t *testing.T) {
	var none *Secrets
	none.Add("password")
	var zero Secrets
	zero.Add("")
	for _, s := range []*Secrets{none, &zero} {
		if got := s.Redact("password"); got != "password" {
			t.Errorf("got %q", got)
		}
		if got := s.JSON([]byte("\"\u202e\"")); string(got) != `"\u202e"` {
			t.Errorf("got %q", got)
		}
	}
}

// A stored value that is a word of ours is still read when a user's password is that word.
func TestWordsStayInEncodedValues(t *testing.T) {
	var s Secrets
	s.Add("mysql", "sealed", `tok"en-0123456789`)
	b, err := json.Marshal(map[string]string{
		"engine": "mysql",
		"state":  "sealed",
		"text":   `echo tok"en-0123456789`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.JSON(b)), `{"engine":"mysql","state":"sealed","text":"echo [redacted]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A target may issue as many tokens as it likes, all beginning alike and each of another length.
func TestManySecretsCostNoMore(t *testing.T) {
	var s Secrets
	for i := range 20000 {
		s.Add("tok-" + strings.Repeat("x", i%200) + fmt.Sprintf("%020d", i))
	}
	if n := len(s.starts); n != 1 {
		t.Errorf("%d beginnings are kept, want 1", n)
	}
	text := strings.Repeat("tok-", 4096)
	if got := s.Redact(text); got != text {
		t.Errorf("%d bytes became %d", len(text), len(got))
	}
	if got := s.Redact("a tok-" + strings.Repeat("x", 7) + fmt.Sprintf("%020d", 19807) + " b"); got != "a [redacted] b" {
		t.Errorf("got %q", got)
	}
}

// The tokens of many users fit beside the users.
func TestASecretCostsFewBytes(t *testing.T) {
	const n = 50000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := new(Secrets)
	for i := range n {
		s.Add(fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i)))[:26])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	t.Logf("%d bytes each", each)
	if each > 150 {
		t.Errorf("%d tokens cost %d bytes each, want 150 at most", n, each)
	}
	runtime.KeepAlive(s)
}

func TestWriterHoldsALineBackUntilItEnds(t *testing.T) {
	var s Secrets
	token := "9xk3mq7w5t1z8r6y4u2i0p9o7a"
	s.Add(token)
	var out bytes.Buffer
	w := NewLineWriter(&out, &s)
	for _, part := range []string{"one " + token[:10], token[10:] + " \xe2\x80", "\xa6 \x1b[2J\nt", "wo"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), "one [redacted] … \\x1b[2J\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := w.Flush(); err != nil || !strings.HasSuffix(out.String(), "two") {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestWriterPassesALongLineInParts(t *testing.T) {
	var s Secrets
	s.Add("9xk3mq7w5t1z8r6y4u2i0p9o7a")
	var out bytes.Buffer
	w := NewLineWriter(&out, &s)
	line := strings.Repeat("é", mostHeld/3) + "9xk3mq7w5t1z8r6y4u2i0p9o7a"
	for range 4 {
		for part := range strings.SplitSeq(line, "q") {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
			if part != line[len(line)-len(part):] {
				_, _ = w.Write([]byte("q"))
			}
		}
	}
	if held := len(w.held); held > mostHeld {
		t.Errorf("%d bytes are held", held)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(strings.Repeat("é", mostHeld/3)+Redacted, 4); out.String() != want {
		t.Errorf("%d bytes arrived, want %d", out.Len(), len(want))
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriterReturnsTheErrorBelow(t *testing.T) {
	w := NewLineWriter(full{}, nil)
	if _, err := w.Write([]byte("a\n")); err == nil {
		t.Error("no error")
	}
	if err := w.Flush(); err != nil {
		t.Errorf("an error was returned twice: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	var s Secrets
	var out bytes.Buffer
	w := NewLineWriter(&out, &s)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				token := fmt.Sprintf("token-%d-%d-0123456789", i, j)
				s.Add(token)
				_, _ = Fprintf(w, "%s\n", token)
			}
		})
	}
	wg.Wait()
	if got := out.String(); got != strings.Repeat(Redacted+"\n", 1600) {
		t.Errorf("%d bytes", len(got))
	}
}
