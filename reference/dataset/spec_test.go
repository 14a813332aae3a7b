package dataset

import (
	"os"
	"testing"

	"plimsoll/internal/failure"
)

func TestParseSpec(t *testing.T) {
	const good = "name: a\nusers: 100\nposts: 1000\n"
	for _, c := range []struct{ src, want string }{
		{good, ""},
		{good + "files: 2.5%\nhistory: 30d\nend: 2025-01-01T00:00:00Z\n", ""},
		{"", "empty"},
		{good + "user: 3\n", "line 4: field user not found"},
		{good + "users: 3\n", "already"},
		{good + "---\nname: b\n", "one spec per file"},
		{good + "files: 2\n", "want a percentage"},
		{good + "history: 3 months\n", "want days"},
		{good + "end: yesterday\n", "want a time"},
		{good + "end: 1970-06-30T00:00:00Z\n", "end: want a time from 1970-07-01T00:00:00Z"},
		{good + "end: 1970-07-01T00:00:00Z\n", ""},
		{"name: a\nusers: 100\nposts: many\n", "cannot unmarshal"},
		{"name: a/b\nusers: 2\nposts: 0\nteam: X\n", "cannot be a name"},
		{"name: a/b\nusers: 2\nposts: 0\nteam: X\n", "users: 2 is out of range"},
		{"name: a/b\nusers: 2\nposts: 0\nteam: X\n", "cannot be a team's name"},
		{good + "replies: 90%\n", "replies: 90 is out of range"},
		{good + "types: {public: 50%, direct: 10%}\n", "want 100%"},
		{good + "channels: 9000\n", "only 4950 pairs"},
		{good + "teams: 7\n", "too many for 100 users"},
		{"name: a\nusers: 4\nposts: 10\nchannels: 40\ntypes: {group: 100%, direct: 0%, private: 0%, public: 0%}", "too many for 4 users"},
		{"name: a\nusers: 3\nposts: 10\nchannels: 2\ntypes: {group: 100%, direct: 0%, private: 0%, public: 0%}", "want at most 1"},
		{"name: a\nusers: 4\nposts: 10\nchannels: 4\ntypes: {group: 100%, direct: 0%, private: 0%, public: 0%}", ""},
		{"name: a\nusers: 100\nposts: 900000000\nhistory: 10d\n", "want a longer history"},
	} {
		s, err := ParseSpec([]byte(c.src))
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.src, err)
				continue
			}
			again, err := ParseSpec([]byte(s.String()))
			if err != nil || again != s || again.Digest() != s.Digest() {
				t.Errorf("%q: printed and read again: %v, %v", c.src, again, err)
			}
		} else {
			failure.Says(t, err, c.want)
		}
	}
}

// TestFirstEnd: the earliest history that is allowed has no time before 1970.
func TestFirstEnd(t *testing.T) {
	s, err := ParseSpec(
		[]byte("name: a\nusers: 100\nposts: 1000\nhistory: 2d\nend: 1970-01-04T00:00:00Z\n"),
	)
	noError(t, err)
	p, err := New(s)
	noError(t, err)
	var c Chunk
	p.Chunk(0, &c)
	if at := p.Team(0).CreateAt; at < 0 || c.Posts[0].At < at {
		t.Errorf("the first team is of %d ms, the first post of %d ms", at, c.Posts[0].At)
	}
}

func TestPresets(t *testing.T) {
	posts := 0
	for _, name := range Presets() {
		s, ok := Preset(name)
		if err := s.Check(); !ok || err != nil || s.Posts <= posts {
			t.Errorf("%s: %v %v", name, s, err)
		}
		posts = s.Posts
	}
	if _, ok := Preset("huge"); ok || len(presets) != len(Presets()) {
		t.Error("the list of presets is another one than the presets")
	}
	if posts != 12_000_000 {
		t.Errorf("the largest preset has %d posts, want 12 million", posts)
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add("name: a\nusers: 100\nposts: 1000\n")
	f.Add(
		"name: a\nusers: 9\nposts: 1\nchannels: 3\ntypes: {public: 100%, direct: 0%, private: 0%, group: 0%}\n",
	)
	f.Fuzz(func(t *testing.T, src string) {
		s, err := ParseSpec([]byte(src))
		if err != nil || s.Users > 1000 || s.Channels > 2000 || s.Posts > 5000 {
			return
		}
		p, err := New(s)
		if err != nil {
			t.Fatalf("%s\n%v", s, err)
		}
		if _, err := p.Totals(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// TestExample holds the example to its promise: it shows the defaults.
func TestExample(t *testing.T) {
	src, err := os.ReadFile("../../examples/datasets/example.yaml")
	noError(t, err)
	got, err := ParseSpec(src)
	noError(t, err)
	want, err := ParseSpec([]byte("{name: example, users: 500, posts: 50000}"))
	if err != nil || got != want {
		t.Errorf("the example is\n%s\nthe defaults are\n%s", got, want)
	}
}
