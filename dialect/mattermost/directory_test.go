package mattermost

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

func testID(kind string, n int) api.ID { return api.ParseID(fmt.Sprintf("%s%025d", kind, n)) }

// The contents of a channel depend on the posts that were seen, not on their order or on the
// persons who saw them.
func TestDirectoryDependsOnNoOrder(t *testing.T) {
	const n = 350
	var want []post
	for round := range 5 {
		d := newDirectory()
		ch := d.channel(api.Channel{ID: "c", Type: "O", TeamID: "t", Name: "town"})
		order := rand.New(rand.NewPCG(1, uint64(round))).Perm(n)
		var wg sync.WaitGroup
		for k := range 4 {
			wg.Go(func() {
				for j, i := range order {
					if k == 0 || j%4 == k { // some are seen twice
						d.see(ch, api.Seen{
							ID:       testID("p", i),
							UserID:   testID("u", 0),
							CreateAt: int64(i / 2),
						})
					}
				}
			})
		}
		wg.Wait()
		if len(ch.posts) != ringPosts || !slices.IsSortedFunc(ch.posts, byCreation) {
			t.Fatalf("%d posts are kept, want %d in order", len(ch.posts), ringPosts)
		}
		if want == nil {
			want = ch.posts
			if ch.posts[0].id != testID("p", n-ringPosts) {
				t.Fatalf("the oldest is %s", ch.posts[0].id)
			}
		} else if !slices.Equal(ch.posts, want) {
			t.Fatal("another order, other posts")
		}
	}
}

func TestDirectoryPosts(t *testing.T) {
	d := newDirectory()
	ch := d.channel(api.Channel{ID: "c", Type: "D"})
	if ch.kind != 'D' || d.channel(api.Channel{ID: "c"}) != ch || d.known(api.ParseID("c")) != ch ||
		d.known(api.ParseID("x")) != nil {
		t.Error("a channel is not found again")
	}
	newest := func(int) int { return 0 }
	if _, ok := ch.pick(newest, nil); ok {
		t.Error("a post of an empty channel")
	}
	for i := range 100 {
		s := api.Seen{ID: testID("p", i), UserID: testID("u", i%3), CreateAt: int64(i)}
		if i == 99 {
			s.RootID = testID("p", 90)
		}
		d.see(ch, s)
	}
	if len(d.users) != 3 {
		t.Errorf("%d accounts, want 3", len(d.users))
	}
	if p, _ := ch.oldest(); p.id != testID("p", 100-seenPosts) {
		t.Errorf("the oldest seen is %s", p.id)
	}
	if p, ok := ch.pick(newest, func(p *post) bool {
		return p.flags&api.PostHasReplies != 0
	}); !ok || p.id != testID("p", 90) {
		t.Errorf("the post with a reply is %s", p.id)
	}
	got := map[api.ID]bool{}
	r := rand.New(rand.NewPCG(1, 1))
	mine := d.user(testID("u", 1))
	for range 2000 {
		p, _ := ch.pick(r.IntN, func(p *post) bool { return p.author == mine })
		got[p.id] = true
	}
	if len(got) != 20 {
		t.Errorf("%d different posts of one author were picked, want 20 of those seen", len(got))
	}
	ch.forget(testID("p", 90))
	if p, _ := ch.pick(newest, nil); p.id != testID("p", 98) || len(ch.posts) != 98 {
		t.Errorf("after the deletion of a thread the newest is %s of %d", p.id, len(ch.posts))
	}
}

func TestDirectoryAccounts(t *testing.T) {
	d := newDirectory()
	a := d.user(testID("u", 1))
	b := d.profile(testID("u", 2), "eve")
	if a == b || d.user(testID("u", 1)) != a || d.account(b).name != "eve" ||
		d.account(a).id != testID("u", 1) || d.account(99).name != "" {
		t.Errorf("accounts %d %d: %+v %+v", a, b, d.account(a), d.account(b))
	}
	if n := testing.AllocsPerRun(100, func() {
		d.user(testID2)
		d.known(testID2)
	}); n != 0 {
		t.Errorf("%v allocations for a look", n)
	}
}

var testID2 = testID("u", 2)

func TestBitmap(t *testing.T) {
	var m bitmap
	for _, i := range []uint32{0, 63, 64, 5000, 5000} {
		if m.add(i); !m.has(i) {
			t.Errorf("%d is not in", i)
		}
	}
	if m.has(1) || m.has(1<<30) || m.count() != 4 {
		t.Errorf("%d members", m.count())
	}
}

// How much one action draws does not change the next.
func TestChance(t *testing.T) {
	a := newChance()
	b := newChance()
	a.renew(1, 2)
	b.renew(1, 2)
	first := [3]uint64{a.choice.Uint64(), a.content.Uint64(), a.pick.Uint64()}
	if first != [3]uint64{b.choice.Uint64(), b.content.Uint64(), b.pick.Uint64()} ||
		first[0] == first[1] || first[1] == first[2] {
		t.Errorf("draws %v", first)
	}
	for range 17 {
		a.pick.Uint64()
	}
	a.renew(3, 4)
	b.renew(3, 4)
	if a.pick.Uint64() != b.pick.Uint64() {
		t.Error("the next action depends on the draws of the one before")
	}
}

// A directory does not grow with all that a server names; what is in it stays right.
func TestDirectoryIsBounded(t *testing.T) {
	d := newDirectory()
	d.most = 3
	long := strings.Repeat("x", longestName+1)
	for i := range 10 {
		d.profile(testID("u", i), fmt.Sprint("name", i))
		d.profile(testID("u", i), fmt.Sprint("again", i))
		d.profile(testID("u", i), long)
		d.tag(d.user(testID("u", i)), "tag")
		if ch := d.channel(api.Channel{ID: testID("c", i).String(),
			Name: long}); len(ch.name) != longestName || (d.known(ch.id) == ch) != (i < 3) {
			t.Errorf(
				"channel %d: a name of %d bytes, known: %v",
				i,
				len(ch.name),
				d.known(ch.id) == ch,
			)
		}
		if n, ok := d.named(fmt.Sprint("again", i)); ok != (i < 3) ||
			ok && d.account(n) != (account{testID("u", i), fmt.Sprint("again", i), "tag"}) {
			t.Errorf("account %d: %v, %+v", i, ok, d.account(n))
		}
	}
	if len(d.users) != 3 || len(d.userOf) != 3 || len(d.byName) != 3 || len(d.channels) != 3 {
		t.Errorf(
			"%d accounts by %d identifiers and %d names, %d channels; want 3 of each",
			len(d.users),
			len(d.userOf),
			len(d.byName),
			len(d.channels),
		)
	}
	if d.tag(0, strings.Repeat("x", longestTag+1)); d.account(0).tag != "" {
		t.Errorf("a tag of %d bytes is kept", len(d.account(0).tag))
	}
	if n := d.user(testID("u", 8)); n != d.user(testID("u", 9)) || !d.account(n).id.None() {
		t.Errorf("account 8 without room has the number %d, of %+v", n, d.account(n))
	}
}

// Nor does a person: it remembers a bounded number of the channels and teams that a server lists
// for it, and keeps nothing else of the answers.
func TestPersonIsBounded(t *testing.T) {
	a := &person{
		b:         &Person{dir: newDirectory()},
		u:         userOf(workload.Env{}, 0),
		knowledge: knowledge{current: -1},
	}
	var chs []api.Channel
	var teams []string
	for i := range mostPlaces + 10 {
		chs = append(chs, api.Channel{ID: testID("c", i).String(), Type: "O", Name: fmt.Sprint(i)})
		teams = append(teams, testID("t", i).String())
	}
	a.take(chs[:10])
	a.take(chs)
	a.heard = []*channel{a.b.dir.channel(chs[mostPlaces+1])}
	a.takeIn()
	if len(a.places) != mostPlaces {
		t.Errorf("%d places, want %d", len(a.places), mostPlaces)
	}
	if a.takeTeams(teams); len(a.teams) != mostTeams || cap(a.teams) > 2*mostTeams {
		t.Errorf("%d teams, and room for %d; want %d", len(a.teams), cap(a.teams), mostTeams)
	}
}

func (m bitmap) count() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}
