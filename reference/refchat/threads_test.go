package refchat_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

func (c *client) reply(channel string, root any, message string) obj {
	c.t.Helper()
	return c.create("/posts", obj{"channel_id": channel, "root_id": root, "message": message})
}

// inbox returns a user's threads.
func (w *world) inbox(c *client, query string) (ids []string, all obj) {
	c.t.Helper()
	all = c.get("/users/me/teams/" + w.team + "/threads?" + query)
	for _, x := range all["threads"].([]any) {
		ids = append(ids, text(x.(obj)["id"]))
	}
	return ids, all
}

func TestThreads(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		ann, bob := w.ann.dial(), w.bob.dial()
		var roots []string
		for i := range 3 {
			p := w.ann.post(w.channel, fmt.Sprint("root ", i))
			roots = append(roots, idOf(p))
			w.bob.reply(w.channel, p["id"], "aye")
			e := ann.event("thread_updated")
			holds(t, "event", e, "data.previous_unread_replies", 0, "broadcast.user_id", w.ann.id,
				"broadcast.team_id", w.team)
			holds(
				t,
				"its thread",
				decode(t, text(e["data"].(obj)["thread"])),
				"id",
				p["id"],
				"reply_count",
				1,
				"unread_replies",
				1,
			)
			bob.event("thread_updated") // the author of the reply gets the event, too
		}
		w.bob.reply(w.channel, roots[0], "and you, @ann?")
		ids, all := w.inbox(w.ann, "extended=true")
		if !slices.Equal(ids, []string{roots[0], roots[2], roots[1]}) {
			t.Errorf("ann's inbox %v: %v", ids, all)
		}
		holds(
			t,
			"ann's inbox",
			all,
			"total",
			3,
			"total_unread_threads",
			3,
			"total_unread_mentions",
			1,
		)
		first := all["threads"].([]any)[0].(obj)
		holds(t, "thread", first, "reply_count", 2, "unread_replies", 2, "unread_mentions", 1,
			"post.message", "root 0", "participants.#", 2, "participants.0.username", some)
		if ids, all = w.inbox(w.ann, "threadsOnly=true&per_page=1&before="+roots[0]); !slices.Equal(
			ids,
			roots[2:],
		) ||
			num(all["total"]) != 0 {
			t.Errorf("the page before: %v %v", ids, all)
		}
		if ids, _ = w.inbox(w.ann, "after="+roots[1]); !slices.Equal(
			ids,
			[]string{roots[2], roots[0]},
		) {
			t.Errorf("the page after: %v", ids)
		}
		if ids, all = w.inbox(w.ann, "totalsOnly=true"); len(ids) != 0 || num(all["total"]) != 3 {
			t.Errorf("totals only: %v %v", ids, all)
		}
		if ids, _ = w.inbox(w.bob, "unread=true"); len(ids) != 0 {
			t.Errorf("bob has unread threads %v", ids)
		}
		w.ann.fails(400, "api.getThreadsForUser.bad_params", "GET",
			"/users/me/teams/"+w.team+"/threads?before=x&after=y", nil)
		w.ann.fails(400, "api.getThreadsForUser.bad_only_params", "GET",
			"/users/me/teams/"+w.team+"/threads?totalsOnly=true&threadsOnly=true", nil)
		w.ann.forbidden("GET", "/users/"+w.bob.id+"/teams/"+w.team+"/threads", nil)

		// Viewing the channel with a client that supports threads leaves them unread; reading one
		// does not.
		w.ann.ok("POST", "/channels/members/me/view",
			obj{"channel_id": w.channel, "collapsed_threads_supported": true})
		at := fmt.Sprint("/users/me/teams/", w.team, "/threads/", roots[0])
		w.ann.gives(200, "PUT", at+"/read/"+fmt.Sprint(num(first["last_reply_at"])+1), nil,
			"unread_replies", 0, "unread_mentions", 0, "id", roots[0])
		holds(
			t,
			"thread_read_changed",
			ann.event("thread_read_changed")["data"],
			"thread_id",
			roots[0],
			"channel_id",
			w.channel,
			"unread_replies",
			0,
			"previous_unread_mentions",
			1,
		)
		if ids, _ = w.inbox(w.ann, "unread=true"); !slices.Equal(
			ids,
			[]string{roots[2], roots[1]},
		) {
			t.Errorf("unread after reading one: %v", ids)
		}
		_, all = w.inbox(w.ann, "threadsOnly=true")
		holds(
			t,
			"after reading one",
			all,
			"threads.0.unread_replies",
			0,
			"threads.1.unread_replies",
			1,
		)
		x := w.ann.ok("PUT", at+"/read/1", nil) // unread again
		holds(t, "read until long ago", x, "unread_replies", 2, "unread_mentions", 1)
		w.ann.badURL("PUT", at+"/read/0", nil)
		w.ann.ok("PUT", "/users/me/teams/"+w.team+"/threads/read", nil)
		// of read/1
		if d := ann.event("thread_read_changed"); d["data"].(obj)["thread_id"] != roots[0] {
			t.Errorf("thread_read_changed %v", d)
		}
		holds(
			t,
			"thread_read_changed of all",
			ann.event("thread_read_changed")["data"],
			"thread_id",
			nil,
			"timestamp",
			some,
		)
		_, all = w.inbox(w.ann, "totalsOnly=true")
		holds(t, "all read", all, "total", 3, "total_unread_threads", 0, "total_unread_mentions", 0)

		// Who unfollows gets no more, except a mention; who follows does.
		w.ann.ok("DELETE", at+"/following", nil)
		holds(t, "thread_follow_changed", ann.event("thread_follow_changed")["data"], "thread_id",
			roots[0], "state", false, "reply_count", 2)
		w.ann.fails(404, "app.user.get_threads_for_user.not_found", "GET", at, nil)
		if ids, _ = w.inbox(w.ann, ""); slices.Contains(ids, roots[0]) {
			t.Error("an unfollowed thread is in the inbox")
		}
		w.bob.reply(w.channel, roots[0], "anybody?")
		if ann.count(1, "thread_updated") > 0 {
			t.Error("who does not follow hears of a reply")
		}
		w.ann.ok("PUT", at+"/following", nil)
		holds(t, "thread_follow_changed", ann.event("thread_follow_changed")["data"], "state", true)
		w.ann.shows(at+"?extended=true", "unread_replies", 0, "reply_count", 3)
		w.admin.fails(404, "app.user.get_thread_membership_for_user.not_found", "GET", at, nil)

		// An older client views the channel: its threads are read.
		w.bob.reply(w.channel, roots[1], "hm")
		w.ann.ok("POST", "/channels/members/me/view", obj{"channel_id": w.channel})
		if ids, _ = w.inbox(w.ann, "unread=true"); len(ids) != 0 {
			t.Errorf("unread after the channel was seen: %v", ids)
		}
	})
}

// TestThreadPages reads a thread page by page, both ways.
func TestThreadPages(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		root := w.ann.post(w.channel, "root")
		var replies []string
		for i := range 7 {
			replies = append(replies, text(w.bob.reply(w.channel, root["id"], fmt.Sprint(i))["id"]))
		}
		page := func(query string) (ids []string, more bool, last obj) {
			l := w.ann.get("/posts/" + idOf(root) + "/thread?" + query)
			for _, x := range l["order"].([]any) {
				ids = append(ids, text(x))
			}
			if ids[0] != root["id"] {
				t.Fatalf("a page without its root: %v", ids)
			}
			return ids[1:], l["has_next"] == true, l["posts"].(obj)[ids[len(ids)-1]].(obj)
		}
		for _, dir := range []string{"down", "up"} {
			var got []string
			from := ""
			for more := true; more; {
				ids, next, last := page("perPage=3&direction=" + dir + from)
				got, more = append(got, ids...), next
				from = fmt.Sprintf(
					"&fromPost=%s&fromCreateAt=%d",
					last["id"],
					num(last["create_at"]),
				)
				if len(got) > 7 {
					t.Fatal("pages without end")
				}
			}
			if dir == "up" {
				slices.Reverse(got)
			}
			if !slices.Equal(got, replies) {
				t.Errorf("%s: %v, want %v", dir, got, replies)
			}
		}
		for _, bad := range []string{"perPage=201", "direction=sideways", "fromPost=" + replies[0], "perPage=x"} {
			w.ann.badURL("GET", "/posts/"+idOf(root)+"/thread?"+bad, nil)
		}
	})
}

// TestCollapsedLists reads a channel as a client that collapses threads.
func TestCollapsedLists(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		old := w.ann.post(w.channel, "old")
		asked := w.ann.post(w.channel, "asked")
		w.bob.reply(w.channel, asked["id"], "aye")
		w.bob.reply(w.channel, asked["id"], "sir")
		last := w.ann.post(w.channel, "last")
		at := "/channels/" + w.channel + "/posts?collapsedThreads=true&"
		for query, wanted := range map[string][]any{
			at + "per_page=3": {last["id"], asked["id"], old["id"]},
			at + "since=" + fmt.Sprint(num(asked["create_at"])):                                                    {last["id"], asked["id"]},
			at + "before=" + idOf(last) + "&per_page=1":                                                            {asked["id"]},
			at + "after=" + idOf(old) + "&per_page=2":                                                              {last["id"], asked["id"]},
			"/users/me/channels/" + w.channel + "/posts/unread?limit_before=3&limit_after=3&collapsedThreads=true": {last["id"], asked["id"], old["id"]},
			"/channels/" + w.channel + "/posts?collapsedThreads=true&collapsedThreadsExtended=true&per_page=2":     {last["id"], asked["id"]},
		} {
			l := w.ann.get(query)
			if got := l["order"].([]any); !slices.Equal(got, wanted) ||
				len(l["posts"].(obj)) != len(wanted) {
				t.Errorf("%s: %v with %d posts, want %v", query, got, len(l["posts"].(obj)), wanted)
				continue
			}
			p := l["posts"].(obj)[idOf(asked)].(obj)
			people, _ := p["participants"].([]any)
			if num(p["reply_count"]) != 2 || num(p["last_reply_at"]) == 0 ||
				p["is_following"] != true ||
				len(people) == 0 {
				t.Errorf("%s: thread %v", query, p)
			}
		}
		w.bob.shows(at+"before="+idOf(asked)+"&per_page=1", "next_post_id", asked["id"])
	})
}

// Of two first replies at once both count.
func TestFirstRepliesAtOnce(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *world) {
		root := w.ann.post(w.channel, "root")
		var wg sync.WaitGroup
		for _, c := range []*client{w.ann, w.bob} {
			wg.Go(func() {
				if a := c.send("POST", "/posts", obj{
					"channel_id": w.channel,
					"root_id":    root["id"],
					"message":    "aye",
				}); a.status != 201 {
					t.Errorf("status %d: %s", a.status, a.body)
				}
			})
		}
		wg.Wait()
		w.ann.shows(
			"/users/me/teams/"+w.team+"/threads/"+idOf(root),
			"reply_count",
			2,
			"participants.#",
			2,
		)
	}, "slow-query:20ms") // so that the transactions overlap
}
