package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/newsfeed/server"
)

// key returns the length of the value of a key in Redis, -1 for none.
func (f *feed) key(name string) int {
	f.t.Helper()
	c, err := net.Dial("tcp", f.redis.Addr())
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s\r\n", name)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		f.t.Fatal(err)
	}
	n := 0
	if _, err := fmt.Sscanf(line, "$%d", &n); err != nil {
		f.t.Fatalf("redis says %q", line)
	}
	return n
}

type entry struct{ From, To, Subject, Story string }

func (f *feed) inbound(id int64) (list []entry) {
	f.t.Helper()
	f.ok("GET", fmt.Sprintf("/participant/%d/inbound", id), nil, &list)
	return list
}

func (f *feed) friends(id int64) (list []struct {
	ID       int64
	From, To string
}) {
	f.t.Helper()
	f.ok("GET", fmt.Sprintf("/participant/%d/friends", id), nil, &list)
	return list
}

func TestParticipants(t *testing.T) {
	onBoth(t, func(t *testing.T, engine string) {
		f := start(t, engine, server.Config{})
		const name = `Zoë "quoted" \ '; DROP TABLE`
		a, b := f.person(name), f.person("larry")
		if a == b {
			t.Fatalf("two participants of number %d", a)
		}
		if n := f.key(fmt.Sprintf("Participant::%d", a)); n >= 0 {
			t.Error("creating a participant has filled the cache")
		}
		for range 2 { // from the database, then from the cache
			var p struct{ Name, Link string }
			f.ok("GET", link(a), nil, &p)
			if p.Name != name || p.Link != link(a) {
				t.Errorf("got %+v, want %q and %s", p, name, link(a))
			}
			if n := f.key(fmt.Sprintf("Participant::%d", a)); n < 0 {
				t.Error("reading a participant has not filled the cache")
			}
		}
		if status, text := f.do("GET", "/participant/999999", nil); status != 404 ||
			!strings.Contains(text, "999999") {
			t.Errorf("an unknown participant: %d %s, want 404 with its number", status, text)
		}
	})
}

func TestFriendsAreSeenFromBothSidesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, engine string) {
		f := start(t, engine, server.Config{})
		a := f.person("a")
		b := f.person("b")
		c := f.person("c")
		f.befriend(a, b)
		for _, id := range []int64{a, b} { // both lists are cached now
			if l := f.friends(id); len(l) != 1 {
				t.Fatalf("participant %d has %d friends, want 1", id, len(l))
			}
			if f.key(fmt.Sprintf("Friends::%d", id)) < 0 {
				t.Fatalf("the list of participant %d is not cached", id)
			}
		}
		f.befriend(c, a)
		f.befriend(b, c)
		for id, want := range map[int64][]string{
			a: {link(b), link(c)},
			b: {link(a), link(c)},
			c: {link(a), link(b)},
		} {
			got := map[string]bool{}
			for _, fr := range f.friends(id) {
				if fr.From != link(id) {
					t.Errorf("a friendship of %d is from %s", id, fr.From)
				}
				got[fr.To] = true
			}
			if len(got) != 2 || !got[want[0]] || !got[want[1]] {
				t.Errorf("friends of %d: %v, want %v", id, got, want)
			}
		}
		if status, text := f.do("POST", "/friends/new", object{
			"from": a,
			"to":   999999,
		}); status != 404 {
			t.Errorf("a friendship with nobody: %d %s, want 404", status, text)
		}
	})
}

func TestStoriesGoOut(t *testing.T) {
	for _, repeats := range []bool{false, true} {
		t.Run(fmt.Sprintf("repeats=%v", repeats), func(t *testing.T) {
			onBoth(t, func(t *testing.T, engine string) {
				f := start(t, engine, server.Config{Repeats: repeats, Index: server.IndexCommit})
				a := f.person("a")
				b := f.person("b")
				c := f.person("c")
				f.befriend(a, b)
				f.befriend(b, a)
				path := fmt.Sprintf("/participant/%d/outbound", a)
				f.ok("POST", path, object{"from": link(a), "subject": "first", "story": "one"}, nil)
				f.ok("POST", path, object{
					"from":    link(a),
					"subject": `sec"ond`,
					"story":   "two\nlines",
				}, nil)
				second := entry{link(a), link(b), `sec"ond`, "two\nlines"}
				first := entry{link(a), link(b), "first", "one"}
				want := []entry{second, first} // the newest first
				if repeats {
					want = []entry{second, second, first, first}
				}
				if diff := cmp.Diff(want, f.inbound(b)); diff != "" {
					t.Errorf("inbound of the friend (-want +got):\n%s", diff)
				}
				for _, id := range []int64{a, c} {
					if l := f.inbound(id); len(l) != 0 {
						t.Errorf("participant %d has received %v", id, l)
					}
				}
				var own []entry
				f.ok("GET", path, nil, &own)
				if len(own) != 2 || own[0].Subject != `sec"ond` {
					t.Errorf("own stories: %v", own)
				}
			})
		})
	}
}

func TestSearch(t *testing.T) {
	for _, index := range []string{server.IndexCommit, server.IndexRefresh} {
		t.Run(index, func(t *testing.T) {
			f := start(t, "postgresql", server.Config{Index: index})
			a, b := f.person("a"), f.person("b")
			post := func(id int64, subject, text string) {
				f.ok("POST", "/outbound/new", object{
					"from":    id,
					"subject": subject,
					"story":   text,
				}, nil)
			}
			search := func(word string) (senders []string) {
				f.ok("GET", "/outbound?keywords="+url.QueryEscape(word), nil, &senders)
				return senders
			}
			post(a, "subjectword", "Ärger, unique17 and shared")
			post(b, "other", "shared shared")
			found := func() bool { return len(search("shared")) == 2 }
			if index == server.IndexRefresh {
				eventually(t, "both stories are found", found)
			} else if !found() {
				t.Error("a committed story is not found at once")
			}
			for word, want := range map[string][]string{
				"unique17":    {link(a)},
				"UNIQUE17":    {link(a)},
				"ärger":       {link(a)},
				"shared":      {link(b), link(a)},
				"subjectword": {},
				"unique":      {},
			} {
				if got := search(word); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("search for %q: %v, want %v", word, got, want)
				}
			}
		})
	}
}

func TestTheLegacyGeneration(t *testing.T) {
	onBoth(t, func(t *testing.T, engine string) {
		f := start(t, engine, server.Config{Array: true, Index: server.IndexCommit})
		var p []struct {
			ID   int64
			Name string
			Link *string
		}
		var ids []string
		for _, name := range []string{"joe", "larry"} {
			f.ok("POST", "/participant/new", url.Values{"name": {name}}, &p)
			if len(p) != 1 || p[0].Name != name {
				t.Fatalf("answer %+v: want an array of one", p)
			}
			ids = append(ids, fmt.Sprint(p[0].ID))
		}
		var fr struct{ From, To struct{ Name string } }
		f.ok("POST", "/friends/new", url.Values{"from": {ids[0]}, "to": {ids[1]}}, &fr)
		if fr.From.Name != "joe" || fr.To.Name != "larry" {
			t.Errorf("friendship %+v: want both participants", fr)
		}
		var m struct {
			From     json.Number
			Occurred string
		}
		f.ok("POST", "/outbound/new", url.Values{
			"from":     {ids[0]},
			"occurred": {"2014-01-31"},
			"subject":  {"s"},
			"story":    {"a& =b"},
		}, &m)
		if m.From.String() != ids[0] || m.Occurred != "2014-01-31" {
			t.Errorf("story %+v: want sender %s and the client's own day", m, ids[0])
		}
		var in []struct {
			From, To json.Number
			Story    string
		}
		f.ok("GET", "/inbound/"+ids[1], nil, &in)
		if len(in) != 1 || in[0].From.String() != ids[0] || in[0].Story != "a& =b" {
			t.Errorf("inbound %+v", in)
		}
		var senders []json.Number
		f.ok("POST", "/outbound/search", url.Values{"terms": {"b"}}, &senders)
		if len(senders) != 1 || senders[0].String() != ids[0] {
			t.Errorf("found %v, want %s", senders, ids[0])
		}
	})
}

func TestOneGenerationOnly(t *testing.T) {
	for api, paths := range map[string][2]string{
		server.APIREST:   {"/participant", "/participant/new"},
		server.APILegacy: {"/participant/new", "/participant"},
	} {
		f := start(t, "postgresql", server.Config{API: api})
		f.ok("POST", paths[0], object{"name": "x"}, nil)
		if status, _ := f.do("POST", paths[1], object{"name": "x"}); status != 404 {
			t.Errorf("-api %s: POST %s is answered with %d, want 404", api, paths[1], status)
		}
	}
}

func TestBadRequests(t *testing.T) {
	f := start(t, "postgresql", server.Config{})
	a, b := f.person("a"), f.person("b")
	for _, c := range []struct {
		path   string
		body   any
		status int
		say    string
	}{
		{"/participant", object{"name": ""}, 400, "name"},
		{"/participant", object{"name": strings.Repeat("ä", 51)}, 400, "51"},
		{"/participant", `{"name": "x"`, 400, "JSON"},
		{"/participant", `[]`, 400, "JSON"},
		{"/participant", object{"name": strings.Repeat("x", 2<<20)}, 413, "longer"},
		{"/friends/new", object{"from": a, "to": a}, 400, "itself"},
		{"/friends/new", object{"from": a, "to": "/participant/x"}, 400, "to"},
		{"/friends/new", object{"from": a, "to": 99999999999}, 400, "to"},
		{fmt.Sprintf("/participant/%d/friends", a), object{"from": b, "to": a}, 400, "path"},
		{"/outbound/new", object{"from": a, "subject": "s"}, 400, "story"},
		{"/outbound/new", object{"subject": "s", "story": "x"}, 400, "from"},
		{"/outbound/search", object{"terms": "two words"}, 400, "one word"},
		{"/nowhere", object{}, 404, "path"},
	} {
		if status, text := f.do("POST", c.path, c.body); status != c.status ||
			!strings.Contains(text, c.say) {
			t.Errorf(
				"POST %s %.60v: %d %s; want %d and a word of %q",
				c.path,
				c.body,
				status,
				text,
				c.status,
				c.say,
			)
		}
	}
}

// TestBothDatabasesHoldTheSame plays one session on both engines and compares every answer.
func TestBothDatabasesHoldTheSame(t *testing.T) {
	said := map[string][]string{}
	onBoth(t, func(t *testing.T, engine string) {
		f := start(t, engine, server.Config{Index: server.IndexCommit})
		say := func(method, path string, body any) {
			status, text := f.do(method, path, body)
			said[engine] = append(
				said[engine],
				fmt.Sprintf("%s %s: %d %s", method, path, status, text),
			)
		}
		for i := range 6 {
			say("POST", "/participant", object{"name": fmt.Sprintf("ünder %d 🙂", i)})
		}
		for i := 1; i <= 6; i++ {
			say("POST", "/friends/new", object{"from": i, "to": i%6 + 1})
			say("POST", "/friends/new", object{"from": i, "to": 3})
		}
		for i := 1; i <= 6; i++ {
			say("POST", link(int64(i))+"/outbound", object{
				"occurred": "2016-03-27",
				"subject":  "s",
				"story":    fmt.Sprintf("word%d same", i),
			})
		}
		for i := 1; i <= 7; i++ {
			for _, what := range []string{"", "/friends", "/inbound", "/outbound"} {
				say("GET", link(int64(i))+what, nil)
			}
		}
		say("GET", "/outbound?keywords=same", nil)
	})
	if len(said["mysql"]) < 40 {
		t.Fatalf("only %d answers", len(said["mysql"]))
	}
	if diff := cmp.Diff(said["postgresql"], said["mysql"]); diff != "" {
		t.Errorf("PostgreSQL (-) and MySQL (+) differ:\n%s", diff)
	}
}
