package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"plimsoll/internal/failure"
	"plimsoll/internal/race"
)

var update = flag.Bool("update", false, "write the golden files")

// example is a small population with every kind of thing in it.
func example(t testing.TB) *Population {
	t.Helper()
	s, err := ParseSpec([]byte(
		"{name: example, users: 300, teams: 3, posts: 70000, channels: 700, history: 60d, seed: 9}",
	))
	noError(t, err)
	p, err := New(s)
	noError(t, err)
	return p
}

var noError = failure.None

// render writes all properties of the first n posts of a chunk.
func render(c *Chunk, b *bytes.Buffer, n int) {
	var text []byte
	var reactions []Reaction
	var files []File
	for i := range c.Posts[:n] {
		reactions, files = c.AppendReactions(reactions[:0], i), c.AppendFiles(files[:0], i)
		text = c.AppendText(text[:0], i)
		fmt.Fprintln(
			b,
			c.ID(i),
			c.Posts[i],
			c.UpdateAt(i, reactions),
			reactions,
			files,
			string(text),
		)
	}
}

// renderAll renders all chunks in so many goroutines, and the channels.
func renderAll(t testing.TB, p *Population, workers int) []byte {
	t.Helper()
	parts := make([]bytes.Buffer, p.Chunks())
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var c Chunk
			for k := w; k < len(parts); k += workers {
				p.Chunk(k, &c)
				render(&c, &parts[k], len(c.Posts))
			}
		})
	}
	totals, err := p.Totals(t.Context(), workers, nil)
	noError(t, err)
	wg.Wait()
	var all bytes.Buffer
	for i := range parts {
		all.Write(parts[i].Bytes())
	}
	for c := range p.Channels() {
		posts, roots, last := totals.Channel(c)
		fmt.Fprintln(&all, p.Channel(c), posts, roots, last)
		for k := range p.Channel(c).Members {
			fmt.Fprintln(&all, p.Member(c, k), totals.Seat(c, k))
		}
	}
	for u := range p.Users() {
		fmt.Fprintln(&all, p.User(u))
	}
	fmt.Fprintln(&all, totals.Counts)
	return all.Bytes()
}

func TestSameWithAnyParallelism(t *testing.T) {
	p := example(t)
	one := sha256.Sum256(renderAll(t, p, 1))
	for _, n := range []int{5} {
		if got := sha256.Sum256(renderAll(t, p, n)); got != one {
			t.Errorf("%d goroutines give other bytes than one", n)
		}
	}
	s := p.Spec()
	s.Seed++
	other, err := New(s)
	noError(t, err)
	if sha256.Sum256(renderAll(t, other, 2)) == one {
		t.Error("another seed gives the same bytes")
	}
}

// TestGolden notices when a spec gives other data than before: modelVersion must change then.
func TestGolden(t *testing.T) {
	p := example(t)
	sum := sha256.Sum256(renderAll(t, p, 2))
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nspec %s\nrows %s\n\n%s\n", modelVersion, p.Spec().Digest(),
		hex.EncodeToString(sum[:]), p.Spec())
	var c Chunk
	p.Chunk(0, &c)
	render(&c, &b, 12)
	const name = "testdata/example.golden"
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	noError(t, err)
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf(
			"the model gives other data; if that is meant, change modelVersion and run with -update\n%s",
			b.Bytes(),
		)
	}
}

// TestIntegrity checks every row of the example against the rows that it depends on.
func TestIntegrity(t *testing.T) {
	p := example(t)
	ids := map[ID]string{}
	fresh := func(id ID, what string) {
		if old, ok := ids[id]; ok {
			t.Fatalf("%s and %s have the same identifier %s", old, what, id)
		}
		if strings.Trim(id.String(), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			t.Fatalf("identifier %q", id)
		}
		ids[id] = what
	}
	members := make([]map[int]bool, p.Channels())
	names := map[string]bool{}
	everybody := 0
	for c := range p.Channels() {
		ch := p.Channel(c)
		fresh(ch.ID, fmt.Sprint("channel ", c))
		members[c] = map[int]bool{}
		for k := range ch.Members {
			u := p.Member(c, k)
			if u < 0 || u >= p.Users() || members[c][u] ||
				ch.Team >= 0 && u >= p.Team(ch.Team).Members {
				t.Fatalf("member %d of channel %d (%+v) is user %d", k, c, ch, u)
			}
			members[c][u] = true
		}
		key := fmt.Sprint(ch.Team, ch.Name)
		if ch.Team < 0 {
			key = fmt.Sprint(members[c])
		}
		if names[key] {
			t.Fatalf("there are two channels %s", key)
		}
		names[key] = true
		if ch.Team == 0 && ch.Members == p.Users() {
			everybody++
		}
	}
	if everybody < 3 || everybody > 5 {
		t.Errorf("%d channels of the first team have everybody, want a few", everybody)
	}
	var c Chunk
	var last int64
	posts := 0
	for k := range p.Chunks() {
		p.Chunk(k, &c)
		if c.First != posts {
			t.Fatalf("chunk %d begins with post %d, want %d", k, c.First, posts)
		}
		posts += len(c.Posts)
		for i, post := range c.Posts {
			fresh(c.ID(i), fmt.Sprint("post ", c.First+i))
			if post.At <= last || post.At >= p.clock.end || post.At < p.clock.start {
				t.Fatalf("post %d at %d, after one at %d", c.First+i, post.At, last)
			}
			last = post.At
			if !members[post.Channel][int(post.Author)] {
				t.Fatalf("the author of post %d is no member", c.First+i)
			}
			if post.Mention >= 0 && !members[post.Channel][int(post.Mention)] {
				t.Fatalf("post %d mentions a stranger", c.First+i)
			}
			if post.Root >= 0 {
				if root := c.Posts[post.Root]; post.Root >= int32(i) || root.Root >= 0 ||
					root.Channel != post.Channel ||
					post.Files > 0 {
					t.Fatalf("post %d replies to %d", i, post.Root)
				}
			}
			n, at := int32(0), i
			c.Thread(i, func(k int) {
				if n++; k <= at || post.Root < 0 && c.Posts[k].Root != int32(i) {
					t.Fatalf("reply %d to post %d comes after %d", k, i, at)
				}
				at = k
			})
			if post.Root < 0 && (n != post.Replies || at != c.LastReply(i)) {
				t.Fatalf(
					"post %d has %d replies up to %d, says %d up to %d",
					i,
					n,
					at,
					post.Replies,
					c.LastReply(i),
				)
			}
			who := map[int]bool{}
			before := post.At
			for _, r := range c.AppendReactions(nil, i) {
				if who[r.User] || !members[post.Channel][r.User] || r.At < before ||
					r.At >= p.clock.end {
					t.Fatalf("post %d has the reaction %+v", i, r)
				}
				who[r.User], before = true, r.At
			}
			if post.Reacted != (len(who) > 0) {
				t.Fatalf("post %d says reacted %v and has %d", i, post.Reacted, len(who))
			}
			files := c.AppendFiles(nil, i)
			if len(files) != int(post.Files) || post.Files > 3 {
				t.Fatalf("post %d says %d files and has %v", i, post.Files, files)
			}
			for _, f := range files {
				fresh(f.ID, "file "+f.Name)
			}
			if b := c.AppendText(nil, i); len(b) == 0 || len(b) > 1200 {
				t.Fatalf("post %d has a text of %d bytes", i, len(b))
			}
		}
	}
	if posts != p.Spec().Posts {
		t.Errorf("%d posts, want %d", posts, p.Spec().Posts)
	}
}

// TestTotals counts by hand the totals of each channel and of two members' unread posts.
func TestTotals(t *testing.T) {
	p := example(t)
	totals, err := p.Totals(t.Context(), 3, nil)
	noError(t, err)
	type sum struct{ posts, roots, last int }
	want := map[int32]sum{}
	read := map[int32]sum{}                 // before the old cut
	mentions := map[[2]int32]int{}          // unread since the old cut
	posted := map[[2]int32]bool{}           // since then
	other := func(post Post) (whom int32) { // who a post names
		ch := p.Channel(int(post.Channel))
		if ch.Type != Direct {
			return post.Mention
		}
		if u := int32(p.Member(int(post.Channel), 0)); u != post.Author {
			return u
		}
		return int32(p.Member(int(post.Channel), 1))
	}
	var c Chunk
	for k := range p.Chunks() {
		p.Chunk(k, &c)
		for i, post := range c.Posts {
			add := func(m map[int32]sum) {
				s := m[post.Channel]
				s.posts++
				if post.Root < 0 {
					s.roots++
				}
				s.last = int(post.At)
				m[post.Channel] = s
			}
			add(want)
			if c.First+i < p.cut(ReadOld) {
				add(read)
				continue
			}
			posted[[2]int32{post.Channel, post.Author}] = true
			mentions[[2]int32{post.Channel, other(post)}]++
		}
	}
	seats := 0
	for c := range p.Channels() {
		posts, roots, last := totals.Channel(c)
		if w := want[int32(c)]; posts != w.posts || roots != w.roots ||
			posts > 0 && int(last) != w.last {
			t.Fatalf(
				"channel %d has %d posts, %d roots until %d, want %v",
				c,
				posts,
				roots,
				last,
				w,
			)
		}
		for k := range p.Channel(c).Members {
			key := [2]int32{int32(c), int32(p.Member(c, k))}
			s, r := totals.Seat(c, k), read[int32(c)]
			switch {
			case p.ReadTo(c, k) == ReadAll || posted[key] && p.ReadTo(c, k) == ReadOld:
				if s.Posts != posts || s.UnreadMentions != 0 {
					t.Fatalf("seat %v has read everything, says %+v of %d posts", key, s, posts)
				}
			case p.ReadTo(c, k) == ReadOld:
				seats++
				if s.Posts != r.posts || s.Roots != r.roots ||
					r.last > 0 && int(s.ViewedAt) != r.last ||
					s.UnreadMentions != mentions[key] {
					t.Fatalf("seat %v says %+v, want %v and %d mentions", key, s, r, mentions[key])
				}
			}
		}
	}
	if seats < 50 {
		t.Errorf("only %d seats were looked at", seats)
	}
	if got := totals.Counts; got.Posts != 70000 || got.Replies < 32000 || got.Replies > 38000 {
		t.Errorf("counts %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Totals(ctx, 2, nil); err == nil {
		t.Error("an ended context gives totals")
	}
}

// TestShape checks the distributions that the package comment describes.
func TestShape(t *testing.T) {
	p := example(t)
	var c Chunk
	p.Chunk(0, &c)
	var night, noon, weekend, first, size, files, roots int
	for i, post := range c.Posts {
		at := time.UnixMilli(post.At).UTC()
		switch h := at.Hour(); {
		case h >= 2 && h < 4:
			night++
		case h >= 13 && h < 15:
			noon++
		}
		if d := at.Weekday(); d == time.Saturday || d == time.Sunday {
			weekend++
		}
		if int(post.Author) == p.Member(int(post.Channel), 0) {
			first++
		}
		if post.Root < 0 {
			roots++
			files += min(int(post.Files), 1)
		}
		size += len(c.AppendText(nil, i))
	}
	n := len(c.Posts)
	for _, x := range []struct {
		what        string
		got         float64
		least, most float64
	}{
		{"posts of the afternoon for each of the night", float64(noon) / float64(night), 30, 70},
		{"share of the weekend", float64(weekend) / float64(n), 0.04, 0.09},
		{"share of channels' first authors", float64(first) / float64(n), 0.2, 0.5},
		{"bytes of a text", float64(size) / float64(n), 220, 290},
		{"roots with files", float64(files) / float64(roots), 0.017, 0.023},
	} {
		if x.got < x.least || x.got > x.most {
			t.Errorf("%s: %.3f, want %g to %g", x.what, x.got, x.least, x.most)
		}
	}
}

// TestConstantMemory takes chunks from all over twelve million posts: nothing is kept of them.
func TestConstantMemory(t *testing.T) {
	race.SkipBudget(t)
	s, _ := Preset("seed-000")
	p, err := New(s)
	noError(t, err)
	var c Chunk
	k := 0
	next := func() {
		p.Chunk(k%p.Chunks(), &c)
		k += 61
	}
	next()
	if n := testing.AllocsPerRun(3, next); n > 0 {
		t.Errorf("a chunk makes %.0f allocations", n)
	}
	p.Chunk(p.Chunks()-1, &c)
	if last := c.Posts[len(c.Posts)-1]; c.First+len(c.Posts) != 12_000_000 ||
		last.At >= int64(s.End) ||
		last.At < int64(s.End)-6*hourMillis {
		t.Errorf("the last post is number %d, at %d", c.First+len(c.Posts), last.At)
	}
	if size := cap(c.Posts)*int(unsafe.Sizeof(Post{})) + 4*(cap(c.after)+cap(c.last)); size > 4<<20 {
		t.Errorf("a chunk takes %d bytes, the package comment promises 4 MiB", size)
	}
}

func TestFiles(t *testing.T) {
	for _, k := range FileKinds {
		b := k.Content()
		if len(b) != k.Size() {
			t.Errorf("%s has %d bytes, want %d", k, len(b), k.Size())
		}
		small, err := k.Preview(120)
		noError(t, err)
		if k.Pixels() == 0 {
			if small != nil {
				t.Errorf("%s has a preview", k)
			}
			continue
		}
		for side, b := range map[int][]byte{k.Pixels(): b, 120: small} {
			m, _, err := image.Decode(bytes.NewReader(b))
			if err != nil || m.Bounds().Dx() != side {
				t.Errorf("%s: decoding a picture of %d pixels: %v", k, side, err)
			}
		}
	}
}

func TestVocabulary(t *testing.T) {
	v := newVocabulary()
	letters := 0
	for _, w := range v.list {
		letters += len(w)
	}
	if mean := float64(letters) / words; mean < 7 || mean > 8 {
		t.Errorf("words have %.2f letters, want about 7.5", mean)
	}
}

// TestGroupsDiffer makes so many groups of ten people that chance alone would repeat some.
func TestGroupsDiffer(t *testing.T) {
	s, err := ParseSpec([]byte(
		"{name: groups, users: 10, channels: 120, posts: 10, types: {group: 100%, direct: 0%, private: 0%, public: 0%}}",
	))
	noError(t, err)
	p, err := New(s)
	noError(t, err)
	seen := map[string]bool{}
	for c := range p.channels {
		if ch := &p.channels[c]; ch.typ == Group {
			set := fmt.Sprint(p.group(*ch))
			if seen[set] {
				t.Errorf("there are two groups of %s", set)
			}
			seen[set] = true
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d groups, want 120", len(seen))
	}
}
