package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each call sends the request of the API reference and accepts no answer that does not show its
// effect.
func TestProfileAndDraftCalls(t *testing.T) {
	var code int
	var body, etag, asked string
	srv := inTurn(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/api/v4") + " " + string(b)
		if etag != "" && r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(304)
			return
		}
		w.Header().Set("Etag", etag)
		w.WriteHeader(code)
		io.WriteString(w, body)
	})
	defer srv.Close()
	c, rec := newTestClient(t, srv.URL)
	ctx := t.Context()
	draft := Draft{ChannelID: "c", RootID: "r", Message: `say "no"`, FileIDs: []string{"f"}}
	const draftText = `"channel_id":"c","root_id":"r","message":"say \"no\"","file_ids":["f"]`
	until := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	const moved = `[{"id":"b"},{"id":"a"}]`
	cat := Category{ID: "k", Name: "Ship", Type: "custom", Sorting: "alpha", Channels: []string{"c"}}
	const catText = `{"id":"k","user_id":"u","team_id":"t","display_name":"Ship","type":"custom","sorting":"alpha","channel_ids":["c"]}`
	for _, tt := range []struct {
		name, asks string
		code       int
		good       []string
		bad        []string
		call       func() error
	}{
		{"upsert_draft", "POST /drafts {" + draftText + "}", 201, []string{"{" + draftText + "}"},
			[]string{"null", "{}", strings.Replace("{"+draftText+"}", "no", "yes", 1), strings.Replace("{"+draftText+"}", `["f"]`, "[]", 1)},
			func() error { return c.UpsertDraft(ctx, draft) }},
		{"delete_draft", "DELETE /users/u/channels/c/drafts ", 200, []string{`{"status":"OK"}`}, []string{"{}", `{"status":"FAIL"}`}, func() error { return c.DeleteDraft(ctx, "u", "c", "") }},
		{"delete_draft", "DELETE /users/u/channels/c/drafts/r ", 200, []string{`{"status":"OK"}`}, nil, func() error { return c.DeleteDraft(ctx, "u", "c", "r") }},
		{"get_drafts", "GET /users/u/teams/t/drafts ", 200, []string{"null", "[]", "[{" + draftText + "}]"}, []string{"{}", `[{]`}, func() error { _, err := c.Drafts(ctx, "u", "t"); return err }},
		{"schedule_post", "POST /posts/schedule {" + draftText + `,"scheduled_at":7,"user_id":"u"}`, 201, []string{`{"id":"s","scheduled_at":7,` + draftText + "}"},
			[]string{`{"scheduled_at":7,` + draftText + "}", `{"id":"s","scheduled_at":8,` + draftText + "}", `{"id":"s","scheduled_at":7}`},
			func() error { _, err := c.Schedule(ctx, "u", draft, 7); return err }},
		{"update_scheduled_post", "PUT /posts/schedule/s {" + draftText + `,"scheduled_at":9,"user_id":"u","id":"s"}`, 201, []string{`{"id":"s","scheduled_at":9,` + draftText + "}"},
			[]string{`{"id":"z","scheduled_at":9,` + draftText + "}"}, func() error { return c.Reschedule(ctx, "u", Scheduled{Draft: draft, ID: "s", At: 9}) }},
		{"delete_scheduled_post", "DELETE /posts/schedule/s ", 200, []string{`{"id":"s"}`}, []string{"{}", `{"id":"z"}`}, func() error { return c.Unschedule(ctx, "s") }},
		{"get_scheduled_posts", "GET /posts/scheduled/team/t?includeDirectChannels=true ", 200, []string{`{"t":[],"directChannels":null}`, "{}"}, []string{"[]"},
			func() error { _, err := c.ScheduledPosts(ctx, "t"); return err }},
		{"get_bookmarks", "GET /channels/c/bookmarks?bookmarks_since=0 ", 200, []string{"[]", `[{"id":"b"}]`}, []string{`[{}]`, "{}"}, func() error { _, err := c.Bookmarks(ctx, "c"); return err }},
		{"add_bookmark", `POST /channels/c/bookmarks {"display_name":"n","link_url":"http://x","type":"link"}`, 201, []string{`{"id":"b","display_name":"n","link_url":"http://x"}`},
			[]string{`{"id":"b","display_name":"m","link_url":"http://x"}`, `{"display_name":"n","link_url":"http://x"}`},
			func() error { _, err := c.AddBookmark(ctx, "c", Bookmark{Name: "n", URL: "http://x"}); return err }},
		{"add_bookmark", `POST /channels/c/bookmarks {"display_name":"n","file_id":"f","type":"file"}`, 201, []string{`{"id":"b","display_name":"n","file_id":"f"}`},
			[]string{`{"id":"b","display_name":"n"}`}, func() error { _, err := c.AddBookmark(ctx, "c", Bookmark{Name: "n", FileID: "f"}); return err }},
		{"update_bookmark", `PATCH /channels/c/bookmarks/b {"display_name":"n"}`, 200, []string{`{"updated":{"id":"z","display_name":"n"},"deleted":{"id":"b"}}`},
			[]string{"{}", `{"updated":{"id":"b","display_name":"m"}}`}, func() error { _, err := c.RenameBookmark(ctx, "c", "b", "n"); return err }},
		{"sort_bookmark", "POST /channels/c/bookmarks/a/sort_order 1", 200, []string{moved}, []string{"[]", `[{"id":"a"},{"id":"b"}]`}, func() error { return c.MoveBookmark(ctx, "c", "a", 1) }},
		{"delete_bookmark", "DELETE /channels/c/bookmarks/b ", 200, []string{`{"id":"b","delete_at":3}`}, []string{`{"id":"b","delete_at":0}`, `{"id":"z","delete_at":3}`},
			func() error { return c.DeleteBookmark(ctx, "c", "b") }},
		{"set_custom_status", `PUT /users/u/status/custom {"emoji":"tea","text":"Back soon","duration":"thirty_minutes","expires_at":"2026-03-04T05:06:07Z"}`, 200, []string{`{"status":"OK"}`}, []string{"{}"},
			func() error { return c.SetCustomStatus(ctx, "u", "tea", "Back soon", until) }},
		{"clear_custom_status", "DELETE /users/u/status/custom ", 200, []string{`{"status":"OK"}`}, []string{"{}"}, func() error { return c.ClearCustomStatus(ctx, "u") }},
		{"user", "GET /users/u ", 200, []string{`{"id":"u"}`, `{"id":"u","props":{"customStatus":"{\"text\":\"Back soon\"}"}}`, `{"id":"u","props":{"customStatus":""}}`}, []string{"[]", `{"id":"u","props":{"customStatus":"nonsense"}}`},
			func() error { _, err := c.CustomStatus(ctx, "u"); return err }},
		{"team_member", "GET /teams/t/members/u ", 200, []string{`{"team_id":"t","user_id":"u","roles":"team_user"}`}, []string{"{}"}, func() error { _, err := c.TeamMember(ctx, "t", "u"); return err }},
		{"attribute_fields", "GET /custom_profile_attributes/fields ", 200, []string{"[]", `[{"id":"f"}]`}, []string{`[{}]`}, func() error { _, err := c.AttributeFields(ctx); return err }},
		{"set_attribute", `PATCH /custom_profile_attributes/values {"f":"v"}`, 200, []string{`{"f":"v"}`}, []string{"{}", `{"f":"w"}`}, func() error { return c.SetAttribute(ctx, "f", "v") }},
		{"attributes", "GET /users/u/custom_profile_attributes ", 200, []string{"{}", `{"f":"v"}`}, []string{"[]"}, func() error { _, err := c.Attributes(ctx, "u"); return err }},
		{"file_thumbnail", "GET /files/f/thumbnail ", 200, []string{"jpeg"}, []string{""}, func() error { return c.Thumbnail(ctx, "f") }},
		{"file_preview", "GET /files/f/preview ", 200, []string{"jpeg"}, []string{""}, func() error { return c.Preview(ctx, "f") }},
		{"file", "GET /files/f ", 200, []string{"x"}, []string{""}, func() error { return c.File(ctx, "f") }},
		{"user_report", "GET /reports/users?sort_column=Username&page_size=50&from_column_value=ann&from_id=u ", 200, []string{"[]", `[{"id":"u","username":"n"}]`}, []string{`[{}]`},
			func() error { _, err := c.UserReport(ctx, 1, "ann", "u", 50); return err }},
		{"client_perf", `POST /client_perf {"version":"0.1.0","client_id":"","labels":{"platform":"linux","agent":"chrome"},"start":1,"end":2,"counters":[],"histograms":[{"metric":"TTFB","value":1.500,"timestamp":2}]}`,
			200, []string{"", `{"status":"OK"}`}, []string{"{}"}, func() error {
				return c.ClientPerformance(ctx, time.UnixMilli(1), time.UnixMilli(2), []Measurement{{"TTFB", 1500 * time.Microsecond, time.UnixMilli(2)}})
			}},
		{"analytics", "GET /analytics/old?name=standard ", 200, []string{`[{"name":"channel_open_count","value":2},{"name":"channel_private_count","value":0},{"name":"post_count","value":7},{"name":"unique_user_count","value":3}]`},
			[]string{"[]", `[{"name":"post_count","value":7}]`}, func() error { _, err := c.Analytics(ctx); return err }},
		{"users_stats", "GET /users/stats/filtered?include_bots=false ", 200, []string{`{"total_users_count":3}`}, []string{"{}"}, func() error { _, err := c.UsersStats(ctx); return err }},
		{"team_stats", "GET /teams/t/stats ", 200, []string{`{"team_id":"t","total_member_count":3}`}, []string{"{}"}, func() error { _, err := c.TeamStats(ctx, "t"); return err }},
		{"sidebar_categories", "GET /users/u/teams/t/channels/categories ", 200, []string{`{"categories":[{"id":"k"}],"order":["k"]}`}, []string{"{}", `{"categories":[]}`, `{"categories":[{}]}`},
			func() error { _, err := c.Categories(ctx, "u", "t"); return err }},
		{"create_category", "POST /users/u/teams/t/channels/categories " + catText, 200, []string{catText}, []string{"{}", strings.Replace(catText, "Ship", "Hull", 1), strings.Replace(catText, `["c"]`, "[]", 1)},
			func() error { _, err := c.CreateCategory(ctx, "u", "t", cat); return err }},
		{"update_category", "PUT /users/u/teams/t/channels/categories [" + catText + "]", 200, []string{"[" + catText + "]"},
			[]string{"[]", "[" + strings.Replace(catText, "alpha", "recent", 1) + "]", "[" + strings.Replace(catText, `["c"]`, "[]", 1) + "]"},
			func() error { return c.UpdateCategories(ctx, "u", "t", []Category{cat}) }},
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

	// A picture that the client has is not sent again; one that it does not have cannot be unchanged.
	etag, body, code = "7", "png", 200
	got, fresh, err := c.UserImage(ctx, "u", "")
	if err != nil || got != "7" || !fresh {
		t.Errorf("the first time: %q, %v, %v", got, fresh, err)
	}
	if got, fresh, err = c.UserImage(ctx, "u", got); err != nil || fresh {
		t.Errorf("the second time: %q, %v, %v", got, fresh, err)
	}
	code = 304
	if _, _, err = c.UserImage(ctx, "u", ""); err == nil {
		t.Error("304 without a copy passed")
	}
	if s := rec.take(); s != "user_image:ok user_image:ok user_image:decode" {
		t.Error(s)
	}
}

// A client names its connection where it would otherwise be notified of itself, and nowhere else.
func TestConnectionIsNamed(t *testing.T) {
	var named []string
	srv := inTurn(func(w http.ResponseWriter, r *http.Request) {
		named = append(named, r.URL.Path[len("/api/v4"):]+" "+r.Header.Get("Connection-Id"))
		io.WriteString(w, `{"status":"OK","id":"u","username":"n"}`)
	})
	defer srv.Close()
	c, _ := newTestClient(t, srv.URL)
	calls := func() {
		if err := c.DeleteDraft(t.Context(), "u", "c", ""); err != nil {
			t.Error(err)
		}
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
	}
	calls()
	c.SetSocket(&Socket{born: ParseID(anID)})
	calls()
	c.SetSocket(nil)
	calls()
	const draft, me = "/users/u/channels/c/drafts ", "/users/me "
	if want := []string{draft, me, draft + anID, me, draft, me}; !slices.Equal(named, want) {
		t.Errorf("%q, want %q", named, want)
	}
}

// The text of a custom status is read out of the profile's property, which is JSON in JSON.
func TestCustomStatusText(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"u","props":{"customStatus":"{\"emoji\":\"tea\",\"text\":\"Back \\\"soon\\\"\",\"expires_at\":\"0001-01-01T00:00:00Z\"}"}}`)
	}))
	defer srv.Close()
	c, _ := newTestClient(t, srv.URL)
	if got, err := c.CustomStatus(t.Context(), "u"); err != nil || got != `Back "soon"` {
		t.Errorf("got %q, %v", got, err)
	}
}
