package api

import (
	"context"
	"reflect"
	"time"
)

// An effect is a call, the request that it makes, an answer that shows its effect, and the required
// parts of that answer.
type effect struct {
	call string // the client's method
	// the operation, and its request unless that is not looked at: method, path and body
	asks string
	good string
	// must lists paths in good, such as 0.user_id. The value at each must exist and be of its type;
	// with "=" it is of the object that the call named and of no other; with "?" it may be null;
	// with "+" it is not 0, with "#" not an empty list; with "@" it is an identifier, which may not
	// be part of a path or query.
	must string
	// accepts lists other answers that show the effect as well, such as the empty list; (empty) is
	// none.
	accepts string
	args    []any
}

// ask is a call alone.
func ask(call string, args ...any) effect { return effect{call: call, args: args} }

// do makes the call.
func (e effect) do(ctx context.Context, c *Client) error {
	f := reflect.ValueOf(c).MethodByName(e.call)
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for _, a := range e.args {
		at := min(len(in), f.Type().NumIn()-1)
		to := f.Type().In(at)
		if f.Type().IsVariadic() && at == f.Type().NumIn()-1 {
			to = to.Elem()
		}
		in = append(in, reflect.ValueOf(a).Convert(to))
	}
	out := f.Call(in)
	err, _ := reflect.TypeAssert[error](out[len(out)-1])
	return err
}

// general are answers that show no effect of any call.
var general = []string{
	`{}`,
	`null`,
	`[]`,
	`[null]`,
	`[{}]`,
	`"text"`,
	`7`,
	`{"status":"OK"}`,
	`<html>busy</html>`,
	``,
}

const (
	statusOK = `{"status":"OK"}`
	aProfile = `{"id":"u","username":"n"}`
	aDraft   = `"channel_id":"c","root_id":"r","message":"say \"no\"","file_ids":["f"]`
	aPage    = `{"order":["p"],"posts":{"p":{"id":"p","channel_id":"c"}}}`
	aThread  = `{"order":["r"],"posts":{"r":{"id":"r","channel_id":"c"}}}`
	follows  = `{"id":"r","last_viewed_at":7,"post":{"id":"r","channel_id":"c","create_at":5}}`
	aSection = `{"id":"k","display_name":"Ship","type":"custom","sorting":"alpha","channel_ids":["c"]}`
	sent     = `{"id":"k","user_id":"u","team_id":"t","display_name":"Ship","type":"custom","sorting":"alpha","channel_ids":["c"]}`
	urgent   = `"metadata":{"priority":{"priority":"urgent","requested_ack":true,"persistent_notifications":false}}`
	anUpload = `{"file_infos":[{"id":"f","size":4}]}`
	ofPage   = "order? posts posts.p.id= posts.p.channel_id="
	// any is the set of bodies that a picture may have: its bytes are counted, not read.
	anyButPages = `{} null [] [null] [{}] "text" 7 {"status":"OK"}`
)

// effects has every call that makes a request.
func effects() (list []effect) {
	d := Draft{ChannelID: "c", RootID: "r", Message: `say "no"`, FileIDs: []string{"f"}}
	section := Category{
		ID:       "k",
		Name:     "Ship",
		Type:     "custom",
		Sorting:  "alpha",
		Channels: []string{"c"},
	}
	add := func(call, asks, good, must, accepts string, args ...any) {
		list = append(list, effect{call, asks, good, must, accepts, args})
	}
	done := func(call, asks string, args ...any) {
		add(call, asks, statusOK, "status=", statusOK, args...)
	}
	add("Login", "login", aProfile, "id username", "", "n", "p")
	done("Logout", "logout")
	add("Me", "me", aProfile, "id@ username", "")
	add("CreateUser", "create_user", aProfile, "id username=", "", "n", "e", "p")
	add("UsersByName", "users_by_name", "["+aProfile+"]", "0.id 0.username=", "[]", []string{"n"})
	add("ProfilesByID", "user_ids", "["+aProfile+"]", "0.id= 0.username", "[]", []string{"u"})
	add("UsersSince", "user_ids", "["+aProfile+"]", "0.id= 0.username", "[]", []string{"u"}, 1)
	add("Users", "users", "["+aProfile+"]", "0.id 0.username", "[]", 0, 9, "")
	add(
		"SearchUsers",
		`search_users POST /users/search {"term":"n","limit":100}`,
		"["+aProfile+"]",
		"0.id 0.username",
		"[]",
		"n",
	)
	add(
		"UserReport",
		"user_report GET /reports/users?sort_column=Username&page_size=50&from_column_value=ann&from_id=u",
		"["+aProfile+"]",
		"0.id 0.username",
		"[] null",
		1,
		"ann",
		"u",
		50,
	)
	add(
		"AutocompleteUsers",
		"autocomplete_users GET /users/autocomplete?in_team=t&in_channel=c&name=n&limit=100",
		`{"users":[`+aProfile+`],"out_of_channel":[`+aProfile+`]}`,
		"users users.0.id users.0.username out_of_channel.0.id",
		`{"users":[]}`,
		"t",
		"c",
		"n",
	)
	add(
		"Statuses",
		"status_ids",
		`[{"user_id":"u","status":"online"}]`,
		"0.user_id= 0.status",
		"[]",
		[]string{"u"},
	)
	add("MyStatus", "my_status", `{"user_id":"u","status":"online"}`, "user_id= status", "", "u")
	add(
		"CustomStatus",
		"user GET /users/u",
		`{"id":"u"}`,
		"id=",
		`{"id":"u","props":{"customStatus":"{\"text\":\"Back\"}"}} {"id":"u","props":{"customStatus":""}}`,
		"u",
	)
	done(
		"SetCustomStatus",
		`set_custom_status PUT /users/u/status/custom {"emoji":"tea","text":"Back soon","duration":"thirty_minutes","expires_at":"2026-03-04T05:06:07Z"}`,
		"u",
		"tea",
		"Back soon",
		time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	)
	done(
		"ClearCustomStatus",
		"clear_custom_status DELETE /users/u/status/custom",
		"u",
	)
	add("CreateBot", "create_bot", `{"user_id":"b"}`, "user_id", "", "b")
	add("CreateToken", "create_token", `{"token":"t","user_id":"u"}`, "token user_id=", "", "u")
	done("SetPassword", "set_password", "u", "p")
	add("Config", "server_config", `{"ServiceSettings":{"SiteURL":"x"}}`, "ServiceSettings", "")
	add("Limits", "server_limits", `{"activeUserCount":1}`, "activeUserCount", "")
	add(
		"Analytics",
		"analytics GET /analytics/old?name=standard",
		`[{"name":"channel_open_count","value":2},{"name":"channel_private_count","value":1},{"name":"post_count","value":-1},{"name":"unique_user_count","value":3}]`,
		"0.name= 0.value 1.name= 1.value 2.name= 2.value 3.name= 3.value",
		"",
	)
	add(
		"UsersStats",
		"users_stats GET /users/stats/filtered?include_bots=false",
		`{"total_users_count":3}`,
		"total_users_count",
		"",
	)
	add("UserImage", "user_image", "png", "", anyButPages, "u", "")
	add("TeamByName", "team_by_name", `{"id":"t"}`, "id", "", "t")
	add("CreateTeam", "create_team", `{"id":"t"}`, "id", "", "t")
	add("Teams", "teams", `[{"id":"t"}]`, "0.id", "[]", 9)
	add("MyTeams", "my_teams", `[{"id":"t"}]`, "0.id", "[]", "u")
	add("MyTeamMembers", "my_team_members", `[{"team_id":"t"}]`, "0.team_id@", "[]", "u")
	add("TeamsUnread", "teams_unread", `[{"team_id":"t"}]`, "0.team_id", "[]", "u")
	add("TeamMembers", "team_members", `[{"user_id":"u"}]`, "0.user_id", "[]", "t", 0, 9)
	add(
		"TeamMember",
		"team_member GET /teams/t/members/u",
		`{"team_id":"t","user_id":"u","roles":"r"}`,
		"team_id= user_id= roles",
		"",
		"t",
		"u",
	)
	add(
		"AddTeamMembers",
		"add_team_members",
		`[{"user_id":"u"}]`,
		"0.user_id=",
		"",
		"t",
		[]string{"u"},
	)
	add("JoinTeam", "join_team", `{"team_id":"t","user_id":"u"}`, "team_id= user_id=", "", "t", "u")
	add(
		"TeamStats",
		"team_stats GET /teams/t/stats",
		`{"team_id":"t","total_member_count":3}`,
		"team_id= total_member_count",
		"",
		"t",
	)
	add("ChannelByName", "channel_by_name", `{"id":"c","name":"x"}`, "id name=", "", "t", "x")
	add(
		"MakeChannel",
		"create_channel",
		`{"id":"c","name":"x","type":"P"}`,
		"id name= type=",
		"",
		"t",
		"x",
		"P",
	)
	add("Channel", "channel", `{"id":"c"}`, "id=", "", "c")
	add(
		"Open",
		"create_direct_channel",
		`{"id":"c","type":"D"}`,
		"id type=",
		"",
		[]string{"u", "v"},
	)
	add(
		"Open",
		"create_group_channel",
		`{"id":"c","type":"G"}`,
		"id type=",
		"",
		[]string{"u", "v", "w"},
	)
	add("ChannelMembers", "channel_members", `[{"user_id":"u"}]`, "0.user_id", "[]", "c", 0, 9)
	add(
		"JoinChannel",
		"join_channel",
		`{"channel_id":"c","user_id":"u"}`,
		"channel_id= user_id=",
		"",
		"c",
		"u",
	)
	add("JoinChannelAll", "join_channel", `[{"user_id":"u"}]`, "0.user_id=", "", "c", []string{"u"})
	add(
		"JoinChannelAll",
		"join_channel",
		`{"user_id":"u"}`,
		"user_id=",
		"",
		"c",
		[]string{"u", "v"},
	)
	add(
		"TeamChannelMembers",
		"team_channel_members",
		`[{"user_id":"u","channel_id":"c"}]`,
		"0.user_id= 0.channel_id",
		"[]",
		"u",
		"t",
	)
	add(
		"MyChannelMembers",
		"my_channel_members",
		`[{"user_id":"u","channel_id":"c"}]`,
		"0.user_id= 0.channel_id",
		"[]",
		"u",
		0,
		9,
	)
	add(
		"ChannelMember",
		"channel_member",
		`{"channel_id":"c","user_id":"u","last_viewed_at":-1,"last_update_at":-1,"msg_count":2,"mention_count":0}`,
		"channel_id= user_id= last_viewed_at msg_count mention_count",
		"",
		"c",
		"u",
	)
	add(
		"ChannelStats",
		"channel_stats",
		`{"channel_id":"c","member_count":3}`,
		"channel_id= member_count",
		"",
		"c",
		true,
	)
	add(
		"ViewChannel",
		"view_channel",
		`{"last_viewed_at_times":{"c":7}}`,
		"last_viewed_at_times last_viewed_at_times.c",
		"",
		"u",
		"c",
		"",
	)
	add(
		"Post",
		"reply",
		`{"id":"p","create_at":7,`+aDraft+"}",
		"id@ create_at+ channel_id= root_id= file_ids#",
		"",
		d,
	)
	add(
		"Post",
		`post POST /posts {"channel_id":"c","message":"m",`+urgent+"}",
		`{"id":"p","create_at":7,"channel_id":"c",`+urgent+"}",
		"id metadata metadata.priority.requested_ack= metadata.priority.priority=",
		"",
		Draft{
			ChannelID: "c",
			Message:   "m",
			Priority:  Priority{Urgent: true, WantsAck: true},
		},
	)
	add(
		"EditPost",
		`edit_post PUT /posts/p/patch {"message":"m"}`,
		`{"id":"p","message":"m"}`,
		"id= message=",
		"",
		"p",
		"m",
	)
	done("DeletePost", "delete_post DELETE /posts/p", "p")
	add("PostText", "get_post GET /posts/p", `{"id":"p","message":"m"}`, "id=", "", "p")
	add(
		"PostPriority",
		"get_post",
		`{"id":"p","metadata":{"acknowledgements":[{"user_id":"u"}]}}`,
		"id= metadata.acknowledgements.0.user_id",
		"",
		"p",
	)
	add(
		"Acknowledge",
		"acknowledge_post POST /users/u/posts/p/ack",
		`{"post_id":"p","acknowledged_at":7}`,
		"post_id= acknowledged_at+",
		"",
		"u",
		"p",
	)
	done(
		"Remind",
		`set_reminder POST /users/u/posts/p/reminder {"target_time":12}`,
		"u",
		"p",
		time.Unix(12, 5),
	)
	add(
		"React",
		"react",
		`{"user_id":"u","post_id":"p","emoji_name":"e"}`,
		"user_id= post_id= emoji_name=",
		"",
		"u",
		"p",
		"e",
	)
	add(
		"Reactions",
		"reactions",
		`[{"user_id":"u","post_id":"p","emoji_name":"e"}]`,
		"0.user_id 0.post_id= 0.emoji_name",
		"[] null",
		"p",
	)
	add("Posts", "get_posts", aPage, ofPage, "", "c", 9)
	add("PostsSince", "get_posts", aPage, ofPage, "", "c", 9)
	add("PostsBefore", "get_posts_before", aPage, ofPage, "", "c", "q", 9)
	add("PostsAroundUnread", "get_posts_unread", aPage, ofPage, "", "u", "c", 9, 9)
	add(
		"SearchPosts",
		`search_posts POST /teams/t/posts/search {"terms":"x \"y\"","is_or_search":false,"time_zone_offset":-3600,"page":0,"per_page":20,"include_deleted_channels":false}`,
		aPage,
		"order? posts posts.p.id=",
		`{"order":[],"posts":{},"matches":null}`,
		"t",
		`x "y"`,
		-3600,
	)
	add(
		"SearchPosts",
		`search_posts_all_teams POST /posts/search {"terms":"x","is_or_search":false,"time_zone_offset":0,"page":0,"per_page":20,"include_deleted_channels":false}`,
		aPage,
		"order? posts posts.p.id=",
		"",
		"",
		"x",
		0,
	)
	add("Thread", "get_thread", aThread, "order posts posts.r.id=", "", "r")
	add(
		"ThreadPage",
		"get_thread GET /posts/r/thread?direction=down&perPage=60&fromPost=p&fromCreateAt=9",
		aThread,
		"order? posts posts.r.id=",
		"",
		"r",
		1,
		Seen{
			ID:       ParseID("p"),
			CreateAt: 9,
		},
		60,
	)
	add(
		"Upload",
		"upload",
		anUpload,
		"file_infos file_infos.0.id@ file_infos.0.size",
		"",
		"c",
		false,
		"n",
		"text/plain",
		[]byte("1234"),
	)
	add(
		"Upload",
		"upload",
		anUpload,
		"file_infos file_infos.0.id file_infos.0.size",
		"",
		"c",
		true,
		"n",
		"text/plain",
		[]byte("1234"),
	)
	add("Thumbnail", "file_thumbnail GET /files/f/thumbnail", "jpeg", "", anyButPages, "f")
	add("Preview", "file_preview GET /files/f/preview", "jpeg", "", anyButPages, "f")
	add("File", "file GET /files/f", "x", "", anyButPages+" <html>busy</html>", "f")
	add(
		"UpsertDraft",
		"upsert_draft POST /drafts {"+aDraft+"}",
		"{"+aDraft+"}",
		"channel_id= root_id= message= file_ids#",
		"",
		d,
	)
	done(
		"DeleteDraft",
		"delete_draft DELETE /users/u/channels/c/drafts",
		"u",
		"c",
		"",
	)
	done(
		"DeleteDraft",
		"delete_draft DELETE /users/u/channels/c/drafts/r",
		"u",
		"c",
		"r",
	)
	add(
		"Drafts",
		"get_drafts GET /users/u/teams/t/drafts",
		"[{"+aDraft+"}]",
		"0.channel_id",
		"[] null",
		"u",
		"t",
	)
	add(
		"Schedule",
		"schedule_post POST /posts/schedule {"+aDraft+`,"scheduled_at":7,"user_id":"u"}`,
		`{"id":"s","scheduled_at":7,`+aDraft+"}",
		"id scheduled_at= channel_id= root_id= message= file_ids#",
		"",
		"u",
		d,
		7,
	)
	add(
		"Reschedule",
		"update_scheduled_post PUT /posts/schedule/s {"+aDraft+`,"scheduled_at":7,"user_id":"u","id":"s"}`,
		`{"id":"s","scheduled_at":7,`+aDraft+"}",
		"id= scheduled_at= channel_id= root_id= message= file_ids#",
		"",
		"u",
		Scheduled{
			Draft: d,
			ID:    "s",
			At:    7,
		},
	)
	add(
		"Unschedule",
		"delete_scheduled_post DELETE /posts/schedule/s",
		`{"id":"s"}`,
		"id=",
		"",
		"s",
	)
	add(
		"ScheduledPosts",
		"get_scheduled_posts GET /posts/scheduled/team/t?includeDirectChannels=true",
		`{"t":[{"id":"s",`+aDraft+"}]}",
		"t.0.id t.0.channel_id",
		`{} {"t":[],"directChannels":null}`,
		"t",
	)
	add(
		"AddBookmark",
		`add_bookmark POST /channels/c/bookmarks {"display_name":"n","link_url":"l","type":"link"}`,
		`{"id":"b","display_name":"n","link_url":"l"}`,
		"id display_name= link_url=",
		"",
		"c",
		Bookmark{
			Name: "n",
			URL:  "l",
		},
	)
	add(
		"AddBookmark",
		`add_bookmark POST /channels/c/bookmarks {"display_name":"n","file_id":"f","type":"file"}`,
		`{"id":"b","display_name":"n","file_id":"f"}`,
		"id display_name= file_id=",
		"",
		"c",
		Bookmark{
			Name:   "n",
			FileID: "f",
		},
	)
	add(
		"RenameBookmark",
		`update_bookmark PATCH /channels/c/bookmarks/b {"display_name":"n"}`,
		`{"updated":{"id":"z","display_name":"n"}}`,
		"updated updated.id updated.display_name=",
		"",
		"c",
		"b",
		"n",
	)
	add(
		"MoveBookmark",
		"sort_bookmark POST /channels/c/bookmarks/a/sort_order 1",
		`[{"id":"b"},{"id":"a"}]`,
		"0.id 1.id=",
		"",
		"c",
		"a",
		1,
	)
	add(
		"DeleteBookmark",
		"delete_bookmark DELETE /channels/c/bookmarks/b",
		`{"id":"b","delete_at":3}`,
		"id= delete_at+",
		"",
		"c",
		"b",
	)
	add(
		"Categories",
		"sidebar_categories GET /users/u/teams/t/channels/categories",
		`{"categories":[`+aSection+"]}",
		"categories# categories.0.id",
		"",
		"u",
		"t",
	)
	add(
		"CreateCategory",
		"create_category POST /users/u/teams/t/channels/categories "+sent,
		aSection,
		"id display_name= channel_ids#",
		"",
		"u",
		"t",
		section,
	)
	add(
		"UpdateCategories",
		"update_category PUT /users/u/teams/t/channels/categories ["+sent+"]",
		"["+aSection+"]",
		"0.id= 0.sorting= 0.channel_ids#",
		"",
		"u",
		"t",
		[]Category{section},
	)
	add(
		"Threads",
		"get_threads GET /users/u/teams/t/threads?per_page=25&pageSize=25&threadsOnly=true&extended=true&before=b&unread=true",
		`{"threads":[`+follows+"]}",
		"threads? threads.0.id",
		`{"threads":[]} {"threads":null}`,
		"u",
		"t",
		"b",
		25,
		true,
	)
	add(
		"ThreadTotals",
		"thread_totals GET /users/u/teams/t/threads?totalsOnly=true",
		`{"total":3,"total_unread_threads":0}`,
		"total total_unread_threads",
		"",
		"u",
		"t",
	)
	add(
		"FollowedThread",
		"get_threads GET /users/u/teams/t/threads/r",
		follows,
		"id=",
		"",
		"u",
		"t",
		"r",
	)
	add(
		"ReadThread",
		"read_thread PUT /users/u/teams/t/threads/r/read/7",
		follows,
		"id= last_viewed_at=",
		"",
		"u",
		"t",
		"r",
		7,
	)
	done(
		"FollowThread",
		"follow_thread PUT /users/u/teams/t/threads/r/following",
		"u",
		"t",
		"r",
	)
	done(
		"UnfollowThread",
		"unfollow_thread DELETE /users/u/teams/t/threads/r/following",
		"u",
		"t",
		"r",
	)
	done(
		"ReadAllThreads",
		"read_all_threads PUT /users/u/teams/t/threads/read",
		"u",
		"t",
	)
	add(
		"Preferences",
		"preferences",
		`[{"user_id":"u","category":"theme","name":"","value":"x"}]`,
		"0.user_id= 0.category",
		"[]",
		"u",
	)
	done(
		"SetPreferences",
		"set_preferences",
		"u",
		Preference{"a", "b", "c"},
	)
	// is no identifier
	add("Roles", "roles", `[{"name":"`+longID+`"}]`, "0.name=", "[]", []string{longID})
	add("Plugins", "webapp_plugins", `[{"id":"x"}]`, "0.id", "[]")
	add("ClientConfig", "client_config", `{"Version":"5.37.0"}`, "Version", "")
	add("ClientLicense", "client_license", `{"IsLicensed":"false"}`, "IsLicensed", "")
	add("CreateAttributeField", "create_attribute", `{"id":"f","name":"n"}`, "id name=", "", "n")
	add(
		"SetAttribute",
		`set_attribute PATCH /custom_profile_attributes/values {"f":"v"}`,
		`{"f":"v"}`,
		"f=",
		"",
		"f",
		"v",
	)
	add(
		"Attributes",
		"attributes GET /users/u/custom_profile_attributes",
		`{"f":"v"}`,
		"",
		`{} {"status":"OK"}`,
		"u",
	)
	add(
		"TeamChannels",
		"team_channels",
		`[{"id":"c","team_id":"t"}]`,
		"0.id@",
		"[]",
		"u",
		"t",
		true,
	)
	add("MyChannels", "my_channels", `[{"id":"c"}]`, "0.id", "[]", "u")
	add("PublicChannels", "public_channels", `[{"id":"c"}]`, "0.id", "[]", "t", 0, 9)
	add(
		"SearchChannels",
		`search_channels POST /teams/t/channels/search {"term":"x"}`,
		`[{"id":"c"}]`,
		"0.id",
		"[] null",
		"t",
		"x",
	)
	add(
		"SearchChannels",
		`search_channels POST /channels/search?system_console=false {"term":"x"}`,
		`[{"id":"c"}]`,
		"0.id",
		"[] null",
		"",
		"x",
	)
	add(
		"SearchGroupChannels",
		`search_group_channels POST /channels/group/search {"term":"x"}`,
		`[{"id":"c"}]`,
		"0.id",
		"[] null",
		"x",
	)
	add(
		"AutocompleteChannels",
		"autocomplete_channels GET /teams/t/channels/search_autocomplete?name=x",
		`[{"id":"c"}]`,
		"0.id",
		"[] null",
		"t",
		"x",
	)
	add(
		"Bookmarks",
		"get_bookmarks GET /channels/c/bookmarks?bookmarks_since=0",
		`[{"id":"c"}]`,
		"0.id",
		"[] null",
		"c",
	)
	add(
		"AttributeFields",
		"attribute_fields GET /custom_profile_attributes/fields",
		`[{"id":"c"}]`,
		"0.id",
		"[] null",
	)
	add(
		"ClientPerformance",
		`client_perf POST /client_perf {"version":"0.1.0","client_id":"","labels":{"platform":"linux","agent":"chrome"},"start":1,"end":2,"counters":[],"histograms":[{"metric":"TTFB","value":1.500,"timestamp":2}]}`,
		statusOK,
		"status=",
		statusOK+" (empty)",
		time.UnixMilli(1),
		time.UnixMilli(2),
		[]Measurement{{"TTFB", 1500 * time.Microsecond, time.UnixMilli(2)}},
	)
	aHook := `{"id":"h","display_name":"n","channel_id":"c"}`
	add(
		"CreateWebhook",
		`create_webhook POST /hooks/incoming {"channel_id":"c","display_name":"n"}`,
		aHook,
		"id channel_id= display_name=",
		"",
		"c",
		"n",
	)
	add(
		"Webhooks",
		"webhooks GET /hooks/incoming?team_id=t&page=0&per_page=9",
		"["+aHook+"]",
		"0.id 0.channel_id",
		"[] null",
		"t",
		0,
		9,
	)
	add(
		"RunCommand",
		`command POST /commands/execute {"command":"/me waves","channel_id":"c","team_id":"t"}`,
		`{"response_type":"in_channel","text":"*waves*"}`,
		"response_type= text",
		"",
		"t",
		"c",
		"/me waves",
	)
	return list
}
