package mattermost

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/reference/dataset"
)

var update = flag.Bool("update", false, "write the golden files")

func population(t *testing.T, src string) *dataset.Population {
	t.Helper()
	s, err := dataset.ParseSpec([]byte(src))
	failure.None(t, err)
	p, err := dataset.New(s)
	failure.None(t, err)
	return p
}

func write(t *testing.T, p *dataset.Population, opt Options) []byte {
	t.Helper()
	var b bytes.Buffer
	failure.None(t, Write(t.Context(), &b, p, opt))
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	p := population(
		t,
		"{name: golden, users: 6, teams: 2, channels: 12, posts: 30, history: 4d, files: 30%, types: {public: 20%, private: 20%, group: 20%, direct: 40%}}",
	)
	got := write(t, p, Options{Attachments: true})
	name := filepath.Join("testdata", "golden.jsonl")
	if *update {
		failure.None(t, os.WriteFile(name, got, 0o644))
	}
	want, err := os.ReadFile(name)
	failure.None(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf(
			"the file has changed; if that is meant, run with -update and read the diff\n%s",
			got,
		)
	}
}

// TestStrict reads a file of twenty thousand posts back and counts.
func TestStrict(t *testing.T) {
	p := population(t, "{name: strict, users: 200, teams: 3, posts: 20000, history: 30d}")
	last := 0
	b := write(t, p, Options{Attachments: true, Progress: func(n int) { last = n }})
	got, err := Check(t.Context(), bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	totals, err := p.Totals(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Counts{
		Teams:          3,
		Channels:       40,
		Users:          200,
		DirectChannels: 360,
		Posts:          20000,
		Replies:        totals.Counts.Replies,
		Reactions:      totals.Counts.Reactions,
		Attachments:    totals.Counts.Files,
	}
	if got != want || last != 20000 {
		t.Errorf("read %+v, want %+v; progress ended at %d", got, want, last)
	}
	if n, err := Check(t.Context(), bytes.NewReader(write(t, p, Options{}))); err != nil ||
		n.Attachments != 0 {
		t.Errorf("%d attachments although they were left out: %v", n.Attachments, err)
	}
}

func TestCheckFinds(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	lines := strings.SplitAfter(good, "\n")
	first := func(kind string) int {
		for i, l := range lines {
			if strings.HasPrefix(l, `{"type":"`+kind+`"`) {
				return i
			}
		}
		t.Fatalf("the golden file has no %s", kind)
		return 0
	}
	without := func(i int) string {
		return strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")
	}
	replace := func(kind, old, with string) string {
		i := first(kind)
		l := strings.Replace(lines[i], old, with, 1)
		if l == lines[i] {
			t.Fatalf("%q is not in %s", old, lines[i])
		}
		return strings.Join(append(append(append([]string{}, lines[:i]...), l), lines[i+1:]...), "")
	}
	for _, c := range []struct{ src, want string }{
		{good, ""},
		{"", "line 1: the file is empty"},
		{"x\n", "line 1: this is not JSON"},
		{without(0), "line 1: the version must be the first line"},
		{good + lines[0], "the version must be the first line"},
		{good + lines[1], "a team after a direct_post"},
		{good + `{"type":"emoji","emoji":{}}`, `type "emoji"`},
		{`{"type":"version","version":2}`, "version 2: want 1"},
		{without(first("team")), "there is no team"},
		{without(first("channel")), "there is no channel"},
		{without(first("user")), "no member"},
		{without(first("direct_channel")), "there is no direct channel"},
		{replace("user", `"locale"`, `"language"`), "unknown field"},
		{replace("user", `"locale":"en",`, ``), "the field locale is missing"},
		{replace("post", `"create_at":`, `"create_at":0,"x":`), "unknown field"},
		{replace("channel", `"type":"O"`, `"type":"D"`), "want O or P"},
		{replace("user", `"teams":[{"name"`, `"teams":[{"title"`), "unknown field"},
		{replace("channel", `"channel":{"team"`, `"team":{},"channel":{"team"`), "and no other"},
	} {
		_, err := Check(t.Context(), strings.NewReader(c.src))
		failure.Want(t, err, c.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(ctx, &bytes.Buffer{}, population(t, "{name: a, users: 10, posts: 10, channels: 20}"), Options{}); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("an ended context: %v", err)
	}
	if err := Write(t.Context(), full{}, population(t, "{name: a, users: 10, posts: 10, channels: 20}"), Options{}); err == nil {
		t.Error("a full disk goes unnoticed")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAttachments(t *testing.T) {
	dir := t.TempDir()
	if err := WriteAttachments(dir); err != nil {
		t.Fatal(err)
	}
	for _, k := range dataset.FileKinds {
		b, err := os.ReadFile(filepath.Join(dir, attachmentsDir, fileName(k)))
		if err != nil || len(b) != k.Size() {
			t.Errorf("%s: %d bytes, %v", k, len(b), err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(
		[]byte(
			`{"type":"version","version":1}` + "\n" + `{"type":"team","team":{"name":"aa","display_name":"A","type":"O","allow_open_invite":true}}`,
		),
	)
	f.Add([]byte(`{"type":"version","version":1}` + "\n" + `{"type":"post","post":null}`))
	f.Add(
		[]byte(
			`{"type":"version","version":1}` + "\n" + `{"type":"direct_post","direct_post":{"channel_members":[]}}`,
		),
	)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Check(t.Context(), bytes.NewReader(b)) // it must end without a panic
	})
}
