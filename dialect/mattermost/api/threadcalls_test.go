package api

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each call of threads, posts and searches sends the request of the API reference and accepts no answer that does not
// show its effect.
func TestThreadAndSearchCalls(t *testing.T) {
	var code int
	var body, asked string
	srv := inTurn(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/api/v4") + " " + string(b)
		w.WriteHeader(code)
		io.WriteString(w, body)
	})
	defer srv.Close()
	c, rec := newTestClient(t, srv.URL)
	ctx := t.Context()
	const thread = `{"id":"r","last_viewed_at":7,"post":{"id":"r","channel_id":"c","create_at":5}}`
	const posts = `{"order":["r"],"posts":{"r":{"id":"r","channel_id":"c"}},"has_next":true}`
	const user, ch = `{"id":"u","username":"n"}`, `{"id":"c","type":"O"}`
	const asks = `"metadata":{"priority":{"priority":"urgent","requested_ack":true,"persistent_notifications":false}}`
	ok, no := []string{`{"status":"OK"}`}, []string{"{}", `{"status":"FAIL"}`}
	for _, tt := range []struct {
		name, asks string
		code       int
		good, bad  []string
		call       func() error
	}{
		{"get_threads", "GET /users/u/teams/t/threads?per_page=25&pageSize=25&threadsOnly=true&extended=true&before=b&unread=true ", 200,
			[]string{`{"threads":[]}`, `{"threads":null}`, `{"threads":[` + thread + `]}`}, []string{"{}", `{"threads":[{}]}`},
			func() error { _, err := c.Threads(ctx, "u", "t", "b", 25, true); return err }},
		{"thread_totals", "GET /users/u/teams/t/threads?totalsOnly=true ", 200, []string{`{"total":3,"total_unread_threads":0}`}, []string{"{}", `{"total":3}`},
			func() error { _, _, err := c.ThreadTotals(ctx, "u", "t"); return err }},
		{"get_threads", "GET /users/u/teams/t/threads/r ", 200, []string{thread}, []string{"{}"}, func() error { _, err := c.FollowedThread(ctx, "u", "t", "r"); return err }},
		{"read_thread", "PUT /users/u/teams/t/threads/r/read/7 ", 200, []string{thread}, []string{"{}", strings.Replace(thread, "7", "6", 1), strings.Replace(thread, `"r"`, `"s"`, 1)},
			func() error { _, err := c.ReadThread(ctx, "u", "t", "r", 7); return err }},
		{"follow_thread", "PUT /users/u/teams/t/threads/r/following ", 200, ok, no, func() error { return c.FollowThread(ctx, "u", "t", "r") }},
		{"unfollow_thread", "DELETE /users/u/teams/t/threads/r/following ", 200, ok, no, func() error { return c.UnfollowThread(ctx, "u", "t", "r") }},
		{"read_all_threads", "PUT /users/u/teams/t/threads/read ", 200, ok, no, func() error { return c.ReadAllThreads(ctx, "u", "t") }},
		{"get_thread", "GET /posts/r/thread?direction=down&perPage=60&fromPost=p&fromCreateAt=9 ", 200, []string{posts}, []string{"{}", `{"order":["r"],"posts":{}}`}, func() error {
			_, _, err := c.ThreadPage(ctx, "r", 1, Seen{ID: ParseID("p"), CreateAt: 9}, 60)
			return err
		}},
		{"post", `POST /posts {"channel_id":"c","message":"m",` + asks + "}", 201, []string{`{"id":"p","create_at":7,"channel_id":"c",` + asks + "}"},
			[]string{`{"id":"p","create_at":7,"channel_id":"c"}`, `{"id":"p","create_at":7,"channel_id":"c",` + strings.Replace(asks, "true", "false", 1) + "}"},
			func() error {
				_, err := c.Post(ctx, Draft{ChannelID: "c", Message: "m", Priority: Priority{Urgent: true, WantsAck: true}})
				return err
			}},
		{"edit_post", `PUT /posts/p/patch {"message":"m"}`, 200, []string{`{"id":"p","message":"m"}`}, []string{"{}", `{"id":"p","message":"x"}`, `{"id":"q","message":"m"}`},
			func() error { return c.EditPost(ctx, "p", "m") }},
		{"delete_post", "DELETE /posts/p ", 200, ok, no, func() error { return c.DeletePost(ctx, "p") }},
		{"get_post", "GET /posts/p ", 200, []string{`{"id":"p","message":"m"}`}, []string{"{}", `{"id":"q","message":"m"}`}, func() error { _, err := c.PostText(ctx, "p"); return err }},
		{"set_reminder", `POST /users/u/posts/p/reminder {"target_time":12}`, 200, ok, no, func() error { return c.Remind(ctx, "u", "p", time.Unix(12, 5)) }},
		{"acknowledge_post", "POST /users/u/posts/p/ack ", 200, []string{`{"user_id":"u","post_id":"p","acknowledged_at":1}`}, []string{"{}", `{"post_id":"q","acknowledged_at":1}`, `{"post_id":"p","acknowledged_at":0}`},
			func() error { return c.Acknowledge(ctx, "u", "p") }},
		{"search_posts", `POST /teams/t/posts/search {"terms":"x \"y\"","is_or_search":false,"time_zone_offset":-3600,"page":0,"per_page":20,"include_deleted_channels":false}`, 200,
			[]string{posts, `{"order":[],"posts":{},"matches":null}`}, []string{"{}", "[]"}, func() error { _, err := c.SearchPosts(ctx, "t", `x "y"`, -3600); return err }},
		{"search_posts_all_teams", `POST /posts/search {"terms":"x","is_or_search":false,"time_zone_offset":0,"page":0,"per_page":20,"include_deleted_channels":false}`, 200, []string{posts}, []string{"{}"},
			func() error { _, err := c.SearchPosts(ctx, "", "x", 0); return err }},
		{"search_users", `POST /users/search {"term":"n","limit":100}`, 200, []string{"[]", "[" + user + "]"}, []string{"{}", `[{}]`}, func() error { _, err := c.SearchUsers(ctx, "n"); return err }},
		{"search_channels", `POST /channels/search?system_console=false {"term":"n"}`, 200, []string{"[]", "[" + ch + "]"}, []string{"{}", `[{}]`}, func() error { _, err := c.SearchChannels(ctx, "", "n"); return err }},
		{"search_channels", `POST /teams/t/channels/search {"term":"n"}`, 200, []string{"[]"}, []string{"{}"}, func() error { _, err := c.SearchChannels(ctx, "t", "n"); return err }},
		{"search_group_channels", `POST /channels/group/search {"term":"n"}`, 200, []string{"null", "[" + ch + "]"}, []string{"{}"}, func() error { _, err := c.SearchGroupChannels(ctx, "n"); return err }},
		{"autocomplete_channels", "GET /teams/t/channels/search_autocomplete?name=n ", 200, []string{"[]", "[" + ch + "]"}, []string{"{}"}, func() error { _, err := c.AutocompleteChannels(ctx, "t", "n"); return err }},
		{"autocomplete_users", "GET /users/autocomplete?in_team=t&in_channel=c&name=n&limit=100 ", 200, []string{`{"users":[` + user + `],"out_of_channel":[` + user + `]}`, `{"users":[]}`},
			[]string{"{}", "[]", `{"users":[{}]}`}, func() error { _, _, err := c.AutocompleteUsers(ctx, "t", "c", "n"); return err }},
	} {
		code = tt.code
		for _, body = range tt.good {
			if err := tt.call(); err != nil || rec.take() != tt.name+":ok" {
				t.Errorf("%s: %s: %v", tt.name, body, err)
			}
			if asked != tt.asks {
				t.Errorf("%s asks %s\nwant %s", tt.name, asked, tt.asks)
			}
		}
		for _, body = range tt.bad {
			if err := tt.call(); err == nil || rec.take() != tt.name+":decode" {
				t.Errorf("%s: %s passed: %v", tt.name, body, err)
			}
		}
	}
	// Only a client that collapses threads sends that it does.
	cfg := ClientConfig{URL: srv.URL, Token: "tok", Timeout: time.Second, Recorder: rec, Table: NewTable(rec.reg, ""), Collapse: true}
	cc, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	for i, cl := range []*Client{c, cc} {
		code, body = 200, posts
		for _, call := range []func() error{
			func() error { _, err := cl.PostsSince(ctx, "c", 5); return err },
			func() error { _, err := cl.PostsBefore(ctx, "c", "p", 30); return err },
			func() error { _, err := cl.PostsAroundUnread(ctx, "u", "c", 30, 30); return err },
		} {
			if err := call(); err != nil || strings.Contains(asked, "&collapsedThreads=true") != (i == 1) {
				t.Errorf("client %d asks %s: %v", i, asked, err)
			}
		}
		body = `{"last_viewed_at_times":{"c":1}}`
		if _, err := cl.ViewChannel(ctx, "u", "c", ""); err != nil || strings.Contains(asked, `,"collapsed_threads_supported":true}`) != (i == 1) {
			t.Errorf("client %d asks %s: %v", i, asked, err)
		}
	}
	code, body = 200, `{"threads":[{"id":"r","last_reply_at":9,"last_viewed_at":7,"reply_count":3,"unread_replies":2,"unread_mentions":1,"post":{"id":"r","channel_id":"c","create_at":5}}]}`
	if list, err := c.Threads(ctx, "u", "t", "", 25, false); err != nil || len(list) != 1 ||
		list[0] != (ThreadSeen{ID: ParseID("r"), ChannelID: ParseID("c"), CreateAt: 5, LastReply: 9, Viewed: 7, Replies: 3, Unread: 2, UnreadNaming: 1}) {
		t.Errorf("got %+v, %v", list, err)
	}
	body = posts
	if list, more, err := c.ThreadPage(ctx, "r", 0, Seen{}, 60); err != nil || len(list) != 1 || !more || asked != "GET /posts/r/thread?direction=down&perPage=60 " {
		t.Errorf("got %+v, %v, %v for %s", list, more, err, asked)
	}
}
