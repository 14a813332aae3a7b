package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
)

// An effect is a call, an answer that shows its effect, and the required parts of that answer.
type effect struct {
	call string // the client's method
	code int
	good string
	// must lists paths in good, such as 0.user_id. The value at each must exist and be of its type; with "=" it is of
	// the object that the call named and of no other; with "?" it may be null.
	must string
	// accepts lists the general answers that show the effect as well, such as the empty list.
	accepts string
	do      func(ctx context.Context, c *Client) error
}

// general are answers that show no effect of any call.
var general = []string{`{}`, `null`, `[]`, `[null]`, `[{}]`, `"text"`, `7`, `{"status":"OK"}`, `<html>busy</html>`, ``}

const (
	statusOK = `{"status":"OK"}`
	aProfile = `{"id":"u","username":"n"}`
	aDraft   = `"channel_id":"c","root_id":"r","message":"m","file_ids":["f"]`
	aPage    = `{"order":["p"],"posts":{"p":{"id":"p","channel_id":"c"}}}`
	aThread  = `{"order":["r"],"posts":{"r":{"id":"r","channel_id":"c"}}}`
	follows  = `{"id":"r","last_viewed_at":7,"post":{"id":"r","channel_id":"c","create_at":5}}`
	aSection = `{"id":"k","display_name":"Ship","type":"custom","sorting":"alpha","channel_ids":["c"]}`
	anUpload = `{"file_infos":[{"id":"f","size":4}]}`
	ofPage   = "order? posts posts.p.id= posts.p.channel_id="
	// any is the set of bodies that a picture may have: its bytes are counted, not read.
	anyButPages = `{} null [] [null] [{}] "text" 7 {"status":"OK"}`
)

// effects has every call that makes a request.
func effects() []effect {
	d := Draft{ChannelID: "c", RootID: "r", Message: "m", FileIDs: []string{"f"}}
	section := Category{ID: "k", Name: "Ship", Type: "custom", Sorting: "alpha", Channels: []string{"c"}}
	var list []effect
	add := func(call string, code int, good, must, accepts string, do func(ctx context.Context, c *Client) error) {
		list = append(list, effect{call, code, good, must, accepts, do})
	}
	plain := func(call string, do func(ctx context.Context, c *Client) error) {
		add(call, 200, statusOK, "status=", statusOK, do)
	}

	add("Login", 200, aProfile, "id username", "", func(ctx context.Context, c *Client) error { _, err := c.Login(ctx, "n", "p"); return err })
	plain("Logout", func(ctx context.Context, c *Client) error { return c.Logout(ctx) })
	add("Me", 200, aProfile, "id username", "", func(ctx context.Context, c *Client) error { _, err := c.Me(ctx); return err })
	add("CreateUser", 201, aProfile, "id username=", "", func(ctx context.Context, c *Client) error { _, err := c.CreateUser(ctx, "n", "e", "p"); return err })
	add("UsersByName", 200, "["+aProfile+"]", "0.id 0.username=", "[]", func(ctx context.Context, c *Client) error { _, err := c.UsersByName(ctx, []string{"n"}); return err })
	add("ProfilesByID", 200, "["+aProfile+"]", "0.id= 0.username", "[]", func(ctx context.Context, c *Client) error { _, err := c.ProfilesByID(ctx, []string{"u"}); return err })
	add("UsersSince", 200, "["+aProfile+"]", "0.id= 0.username", "[]", func(ctx context.Context, c *Client) error { _, err := c.UsersSince(ctx, []string{"u"}, 1); return err })
	add("Users", 200, "["+aProfile+"]", "0.id 0.username", "[]", func(ctx context.Context, c *Client) error { _, err := c.Users(ctx, 0, 9, ""); return err })
	add("SearchUsers", 200, "["+aProfile+"]", "0.id 0.username", "[]", func(ctx context.Context, c *Client) error { _, err := c.SearchUsers(ctx, "n"); return err })
	add("UserReport", 200, "["+aProfile+"]", "0.id 0.username", "[] null", func(ctx context.Context, c *Client) error { _, err := c.UserReport(ctx, 0, "", "", 9); return err })
	add("AutocompleteUsers", 200, `{"users":[`+aProfile+`],"out_of_channel":[`+aProfile+`]}`, "users users.0.id users.0.username out_of_channel.0.id", "",
		func(ctx context.Context, c *Client) error {
			_, _, err := c.AutocompleteUsers(ctx, "t", "c", "n")
			return err
		})
	add("Statuses", 200, `[{"user_id":"u","status":"online"}]`, "0.user_id= 0.status", "[]", func(ctx context.Context, c *Client) error { _, err := c.Statuses(ctx, []string{"u"}); return err })
	add("MyStatus", 200, `{"user_id":"u","status":"online"}`, "user_id= status", "", func(ctx context.Context, c *Client) error { return c.MyStatus(ctx, "u") })
	add("CustomStatus", 200, `{"id":"u"}`, "id=", "", func(ctx context.Context, c *Client) error { _, err := c.CustomStatus(ctx, "u"); return err })
	plain("SetCustomStatus", func(ctx context.Context, c *Client) error {
		return c.SetCustomStatus(ctx, "u", "tea", "x", time.Unix(9, 0))
	})
	plain("ClearCustomStatus", func(ctx context.Context, c *Client) error { return c.ClearCustomStatus(ctx, "u") })
	add("CreateBot", 201, `{"user_id":"b"}`, "user_id", "", func(ctx context.Context, c *Client) error { _, err := c.CreateBot(ctx, "b"); return err })
	add("CreateToken", 200, `{"token":"t","user_id":"u"}`, "token user_id=", "", func(ctx context.Context, c *Client) error { _, err := c.CreateToken(ctx, "u"); return err })
	plain("SetPassword", func(ctx context.Context, c *Client) error { return c.SetPassword(ctx, "u", "p") })
	add("Config", 200, `{"ServiceSettings":{"SiteURL":"x"}}`, "ServiceSettings", "", func(ctx context.Context, c *Client) error { _, err := c.Config(ctx); return err })
	add("Limits", 200, `{"activeUserCount":1}`, "activeUserCount", "", func(ctx context.Context, c *Client) error { _, err := c.Limits(ctx); return err })
	add("Analytics", 200, `[{"name":"channel_open_count","value":2},{"name":"channel_private_count","value":1},{"name":"post_count","value":-1},{"name":"unique_user_count","value":3}]`,
		"0.name= 0.value 1.name= 1.value 2.name= 2.value 3.name= 3.value", "", func(ctx context.Context, c *Client) error { _, err := c.Analytics(ctx); return err })
	add("UsersStats", 200, `{"total_users_count":3}`, "total_users_count", "", func(ctx context.Context, c *Client) error { _, err := c.UsersStats(ctx); return err })
	add("UserImage", 200, "png", "", anyButPages, func(ctx context.Context, c *Client) error { _, _, err := c.UserImage(ctx, "u", ""); return err })

	add("TeamByName", 200, `{"id":"t"}`, "id", "", func(ctx context.Context, c *Client) error { _, err := c.TeamByName(ctx, "t"); return err })
	add("CreateTeam", 201, `{"id":"t"}`, "id", "", func(ctx context.Context, c *Client) error { _, err := c.CreateTeam(ctx, "t"); return err })
	add("Teams", 200, `[{"id":"t"}]`, "0.id", "[]", func(ctx context.Context, c *Client) error { _, err := c.Teams(ctx, 9); return err })
	add("MyTeams", 200, `[{"id":"t"}]`, "0.id", "[]", func(ctx context.Context, c *Client) error { _, err := c.MyTeams(ctx, "u"); return err })
	add("MyTeamMembers", 200, `[{"team_id":"t"}]`, "0.team_id", "[]", func(ctx context.Context, c *Client) error { _, err := c.MyTeamMembers(ctx, "u"); return err })
	add("TeamsUnread", 200, `[{"team_id":"t"}]`, "0.team_id", "[]", func(ctx context.Context, c *Client) error { _, err := c.TeamsUnread(ctx, "u"); return err })
	add("TeamMembers", 200, `[{"user_id":"u"}]`, "0.user_id", "[]", func(ctx context.Context, c *Client) error { _, err := c.TeamMembers(ctx, "t", 0, 9); return err })
	add("TeamMember", 200, `{"team_id":"t","user_id":"u","roles":"r"}`, "team_id= user_id= roles", "", func(ctx context.Context, c *Client) error { _, err := c.TeamMember(ctx, "t", "u"); return err })
	add("AddTeamMembers", 201, `[{"user_id":"u"}]`, "0.user_id=", "", func(ctx context.Context, c *Client) error { return c.AddTeamMembers(ctx, "t", []string{"u"}) })
	add("JoinTeam", 201, `{"team_id":"t","user_id":"u"}`, "team_id= user_id=", "", func(ctx context.Context, c *Client) error { return c.JoinTeam(ctx, "t", "u") })
	add("TeamStats", 200, `{"team_id":"t","total_member_count":3}`, "team_id= total_member_count", "", func(ctx context.Context, c *Client) error { _, err := c.TeamStats(ctx, "t"); return err })

	add("ChannelByName", 200, `{"id":"c","name":"x"}`, "id name=", "", func(ctx context.Context, c *Client) error { _, err := c.ChannelByName(ctx, "t", "x"); return err })
	add("MakeChannel", 201, `{"id":"c","name":"x","type":"P"}`, "id name= type=", "", func(ctx context.Context, c *Client) error { _, err := c.MakeChannel(ctx, "t", "x", "P"); return err })
	add("Channel", 200, `{"id":"c"}`, "id=", "", func(ctx context.Context, c *Client) error { _, err := c.Channel(ctx, "c"); return err })
	add("CreateDirect", 201, `{"id":"c","type":"D"}`, "id type=", "", func(ctx context.Context, c *Client) error { _, err := c.CreateDirect(ctx, "u", "v"); return err })
	add("CreateGroup", 201, `{"id":"c","type":"G"}`, "id type=", "", func(ctx context.Context, c *Client) error {
		_, err := c.CreateGroup(ctx, []string{"u", "v", "w"})
		return err
	})
	for call, do := range map[string]func(ctx context.Context, c *Client) error{
		"TeamChannels":   func(ctx context.Context, c *Client) error { _, err := c.TeamChannels(ctx, "u", "t", true); return err },
		"MyChannels":     func(ctx context.Context, c *Client) error { _, err := c.MyChannels(ctx, "u"); return err },
		"PublicChannels": func(ctx context.Context, c *Client) error { _, err := c.PublicChannels(ctx, "t", 0, 9); return err },
	} {
		add(call, 200, `[{"id":"c"}]`, "0.id", "[]", do)
	}
	for call, do := range map[string]func(ctx context.Context, c *Client) error{
		"SearchChannels":      func(ctx context.Context, c *Client) error { _, err := c.SearchChannels(ctx, "t", "x"); return err },
		"SearchGroupChannels": func(ctx context.Context, c *Client) error { _, err := c.SearchGroupChannels(ctx, "x"); return err },
		"AutocompleteChannels": func(ctx context.Context, c *Client) error {
			_, err := c.AutocompleteChannels(ctx, "t", "x")
			return err
		},
		"Bookmarks":       func(ctx context.Context, c *Client) error { _, err := c.Bookmarks(ctx, "c"); return err },
		"AttributeFields": func(ctx context.Context, c *Client) error { _, err := c.AttributeFields(ctx); return err },
	} {
		add(call, 200, `[{"id":"c"}]`, "0.id", "[] null", do)
	}
	add("ChannelMembers", 200, `[{"user_id":"u"}]`, "0.user_id", "[]", func(ctx context.Context, c *Client) error { _, err := c.ChannelMembers(ctx, "c", 0, 9); return err })
	add("JoinChannel", 201, `{"channel_id":"c","user_id":"u"}`, "channel_id= user_id=", "", func(ctx context.Context, c *Client) error { return c.JoinChannel(ctx, "c", "u") })
	add("JoinChannelAll", 201, `[{"user_id":"u"}]`, "0.user_id=", "", func(ctx context.Context, c *Client) error {
		_, err := c.JoinChannelAll(ctx, "c", []string{"u"})
		return err
	})
	add("JoinChannelAll", 201, `{"user_id":"u"}`, "user_id=", "", func(ctx context.Context, c *Client) error {
		_, err := c.JoinChannelAll(ctx, "c", []string{"u", "v"})
		return err
	})
	add("TeamChannelMembers", 200, `[{"user_id":"u","channel_id":"c"}]`, "0.user_id= 0.channel_id", "[]", func(ctx context.Context, c *Client) error { _, err := c.TeamChannelMembers(ctx, "u", "t"); return err })
	add("MyChannelMembers", 200, `[{"user_id":"u","channel_id":"c"}]`, "0.user_id= 0.channel_id", "[]", func(ctx context.Context, c *Client) error { _, err := c.MyChannelMembers(ctx, "u", 0, 9); return err })
	add("ChannelMember", 200, `{"channel_id":"c","user_id":"u","last_viewed_at":-1,"last_update_at":-1,"msg_count":2,"mention_count":0}`, "channel_id= user_id= last_viewed_at msg_count mention_count", "",
		func(ctx context.Context, c *Client) error { _, err := c.ChannelMember(ctx, "c", "u"); return err })
	add("ChannelStats", 200, `{"channel_id":"c","member_count":3}`, "channel_id= member_count", "", func(ctx context.Context, c *Client) error { _, err := c.ChannelStats(ctx, "c", true); return err })
	add("ViewChannel", 200, `{"last_viewed_at_times":{"c":7}}`, "last_viewed_at_times last_viewed_at_times.c", "", func(ctx context.Context, c *Client) error { _, err := c.ViewChannel(ctx, "u", "c", ""); return err })

	add("Post", 201, `{"id":"p","create_at":7,`+aDraft+"}", "id create_at channel_id= root_id= file_ids", "", func(ctx context.Context, c *Client) error { _, err := c.Post(ctx, d); return err })
	add("EditPost", 200, `{"id":"p","message":"m"}`, "id= message=", "", func(ctx context.Context, c *Client) error { return c.EditPost(ctx, "p", "m") })
	plain("DeletePost", func(ctx context.Context, c *Client) error { return c.DeletePost(ctx, "p") })
	add("PostText", 200, `{"id":"p","message":"m"}`, "id=", "", func(ctx context.Context, c *Client) error { _, err := c.PostText(ctx, "p"); return err })
	add("PostPriority", 200, `{"id":"p","metadata":{"acknowledgements":[{"user_id":"u"}]}}`, "id= metadata.acknowledgements.0.user_id", "", func(ctx context.Context, c *Client) error { _, _, err := c.PostPriority(ctx, "p"); return err })
	add("Acknowledge", 200, `{"post_id":"p","acknowledged_at":7}`, "post_id= acknowledged_at", "", func(ctx context.Context, c *Client) error { return c.Acknowledge(ctx, "u", "p") })
	plain("Remind", func(ctx context.Context, c *Client) error { return c.Remind(ctx, "u", "p", time.Unix(9, 0)) })
	add("React", 200, `{"user_id":"u","post_id":"p","emoji_name":"e"}`, "user_id= post_id= emoji_name=", "", func(ctx context.Context, c *Client) error { return c.React(ctx, "u", "p", "e") })
	add("Reactions", 200, `[{"user_id":"u","post_id":"p","emoji_name":"e"}]`, "0.user_id 0.post_id= 0.emoji_name", "[] null", func(ctx context.Context, c *Client) error { _, _, err := c.Reactions(ctx, "p"); return err })
	add("Posts", 200, aPage, ofPage, "", func(ctx context.Context, c *Client) error { _, err := c.Posts(ctx, "c", 9); return err })
	add("PostsSince", 200, aPage, ofPage, "", func(ctx context.Context, c *Client) error { _, err := c.PostsSince(ctx, "c", 9); return err })
	add("PostsBefore", 200, aPage, ofPage, "", func(ctx context.Context, c *Client) error { _, err := c.PostsBefore(ctx, "c", "q", 9); return err })
	add("PostsAroundUnread", 200, aPage, ofPage, "", func(ctx context.Context, c *Client) error {
		_, err := c.PostsAroundUnread(ctx, "u", "c", 9, 9)
		return err
	})
	add("SearchPosts", 200, aPage, "order? posts posts.p.id=", "", func(ctx context.Context, c *Client) error { _, err := c.SearchPosts(ctx, "t", "x", 0); return err })
	add("Thread", 200, aThread, "order posts posts.r.id=", "", func(ctx context.Context, c *Client) error { _, err := c.Thread(ctx, "r"); return err })
	add("ThreadPage", 200, aThread, "order? posts posts.r.id=", "", func(ctx context.Context, c *Client) error {
		_, _, err := c.ThreadPage(ctx, "r", 0, Seen{}, 9)
		return err
	})
	add("Upload", 201, anUpload, "file_infos file_infos.0.id file_infos.0.size", "", func(ctx context.Context, c *Client) error {
		_, err := c.Upload(ctx, "c", "n", "text/plain", []byte("1234"))
		return err
	})
	add("UploadBookmark", 201, anUpload, "file_infos file_infos.0.id file_infos.0.size", "", func(ctx context.Context, c *Client) error {
		_, err := c.UploadBookmark(ctx, "c", "n", "text/plain", []byte("1234"))
		return err
	})
	add("Thumbnail", 200, "jpeg", "", anyButPages, func(ctx context.Context, c *Client) error { return c.Thumbnail(ctx, "f") })
	add("Preview", 200, "jpeg", "", anyButPages, func(ctx context.Context, c *Client) error { return c.Preview(ctx, "f") })
	add("File", 200, "x", "", anyButPages+" <html>busy</html>", func(ctx context.Context, c *Client) error { return c.File(ctx, "f") })

	add("UpsertDraft", 201, "{"+aDraft+"}", "channel_id= root_id= message= file_ids", "", func(ctx context.Context, c *Client) error { return c.UpsertDraft(ctx, d) })
	plain("DeleteDraft", func(ctx context.Context, c *Client) error { return c.DeleteDraft(ctx, "u", "c", "") })
	add("Drafts", 200, "[{"+aDraft+"}]", "0.channel_id", "[] null", func(ctx context.Context, c *Client) error { _, err := c.Drafts(ctx, "u", "t"); return err })
	add("Schedule", 201, `{"id":"s","scheduled_at":7,`+aDraft+"}", "id scheduled_at channel_id= root_id= message= file_ids", "", func(ctx context.Context, c *Client) error { _, err := c.Schedule(ctx, "u", d, 7); return err })
	add("Reschedule", 201, `{"id":"s","scheduled_at":7,`+aDraft+"}", "id= scheduled_at channel_id= root_id= message= file_ids", "",
		func(ctx context.Context, c *Client) error {
			return c.Reschedule(ctx, "u", Scheduled{Draft: d, ID: "s", At: 7})
		})
	add("Unschedule", 200, `{"id":"s"}`, "id=", "", func(ctx context.Context, c *Client) error { return c.Unschedule(ctx, "s") })
	add("ScheduledPosts", 200, `{"t":[{"id":"s",`+aDraft+"}]}", "t.0.id t.0.channel_id", "{}", func(ctx context.Context, c *Client) error { _, err := c.ScheduledPosts(ctx, "t"); return err })

	add("AddBookmark", 201, `{"id":"b","display_name":"n","link_url":"l"}`, "id display_name= link_url=", "", func(ctx context.Context, c *Client) error {
		_, err := c.AddBookmark(ctx, "c", Bookmark{Name: "n", URL: "l"})
		return err
	})
	add("RenameBookmark", 200, `{"updated":{"id":"z","display_name":"n"}}`, "updated updated.id updated.display_name=", "", func(ctx context.Context, c *Client) error { _, err := c.RenameBookmark(ctx, "c", "b", "n"); return err })
	add("MoveBookmark", 200, `[{"id":"b"},{"id":"a"}]`, "0.id 1.id=", "", func(ctx context.Context, c *Client) error { return c.MoveBookmark(ctx, "c", "a", 1) })
	add("DeleteBookmark", 200, `{"id":"b","delete_at":3}`, "id= delete_at", "", func(ctx context.Context, c *Client) error { return c.DeleteBookmark(ctx, "c", "b") })

	add("Categories", 200, `{"categories":[`+aSection+"]}", "categories categories.0.id", "", func(ctx context.Context, c *Client) error { _, err := c.Categories(ctx, "u", "t"); return err })
	add("CreateCategory", 201, aSection, "id display_name= channel_ids", "", func(ctx context.Context, c *Client) error {
		_, err := c.CreateCategory(ctx, "u", "t", section)
		return err
	})
	add("UpdateCategories", 200, "["+aSection+"]", "0.id= 0.sorting= 0.channel_ids", "", func(ctx context.Context, c *Client) error {
		return c.UpdateCategories(ctx, "u", "t", []Category{section})
	})

	add("Threads", 200, `{"threads":[`+follows+"]}", "threads? threads.0.id", "", func(ctx context.Context, c *Client) error {
		_, err := c.Threads(ctx, "u", "t", "", 9, false)
		return err
	})
	add("ThreadTotals", 200, `{"total":3,"total_unread_threads":0}`, "total total_unread_threads", "", func(ctx context.Context, c *Client) error { _, _, err := c.ThreadTotals(ctx, "u", "t"); return err })
	add("FollowedThread", 200, follows, "id=", "", func(ctx context.Context, c *Client) error { _, err := c.FollowedThread(ctx, "u", "t", "r"); return err })
	add("ReadThread", 200, follows, "id= last_viewed_at", "", func(ctx context.Context, c *Client) error { _, err := c.ReadThread(ctx, "u", "t", "r", 7); return err })
	plain("FollowThread", func(ctx context.Context, c *Client) error { return c.FollowThread(ctx, "u", "t", "r") })
	plain("UnfollowThread", func(ctx context.Context, c *Client) error { return c.UnfollowThread(ctx, "u", "t", "r") })
	plain("ReadAllThreads", func(ctx context.Context, c *Client) error { return c.ReadAllThreads(ctx, "u", "t") })

	add("Preferences", 200, `[{"user_id":"u","category":"theme","name":"","value":"x"}]`, "0.user_id= 0.category", "[]", func(ctx context.Context, c *Client) error { _, err := c.Preferences(ctx, "u"); return err })
	plain("SetPreferences", func(ctx context.Context, c *Client) error {
		return c.SetPreferences(ctx, "u", Preference{"a", "b", "c"})
	})
	add("Roles", 200, `[{"name":"r"}]`, "0.name=", "[]", func(ctx context.Context, c *Client) error { _, err := c.Roles(ctx, []string{"r"}); return err })
	add("Plugins", 200, `[{"id":"x"}]`, "0.id", "[]", func(ctx context.Context, c *Client) error { _, err := c.Plugins(ctx); return err })
	add("ClientConfig", 200, `{"Version":"5.37.0"}`, "Version", "", func(ctx context.Context, c *Client) error { _, err := c.ClientConfig(ctx); return err })
	add("ClientLicense", 200, `{"IsLicensed":"false"}`, "IsLicensed", "", func(ctx context.Context, c *Client) error { _, err := c.ClientLicense(ctx); return err })
	add("CreateAttributeField", 201, `{"id":"f","name":"n"}`, "id name=", "", func(ctx context.Context, c *Client) error { _, err := c.CreateAttributeField(ctx, "n"); return err })
	add("SetAttribute", 200, `{"f":"v"}`, "f=", "", func(ctx context.Context, c *Client) error { return c.SetAttribute(ctx, "f", "v") })
	add("Attributes", 200, `{"f":"v"}`, "", `{} {"status":"OK"}`, func(ctx context.Context, c *Client) error { _, err := c.Attributes(ctx, "u"); return err })
	// The server may send an empty answer to a client's measurements.
	list = append(list, effect{"ClientPerformance", 200, statusOK, "status=", statusOK + "\n", func(ctx context.Context, c *Client) error {
		return c.ClientPerformance(ctx, time.Unix(1, 0), time.Unix(2, 0), nil)
	}})
	return list
}

// without returns the answer with the value at the path replaced; nil removes it.
func without(t *testing.T, good, path string, by *any) string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(good), &root); err != nil {
		t.Fatalf("%s: %v", good, err)
	}
	at, keys := root, strings.Split(path, ".")
	for i, key := range keys {
		last := i == len(keys)-1
		switch v := at.(type) {
		case map[string]any:
			if _, ok := v[key]; !ok {
				t.Fatalf("%s has no %s", good, path)
			}
			switch {
			case !last:
				at = v[key]
			case by == nil:
				delete(v, key)
			default:
				v[key] = *by
			}
		case []any:
			k, err := strconv.Atoi(key)
			if err != nil || k >= len(v) || last {
				t.Fatalf("%s has no %s", good, path)
			}
			at = v[k]
		default:
			t.Fatalf("%s has no %s", good, path)
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// lies are the answers that must not pass: the general ones, and the good one in which something is missing, null, of
// another type or another's.
func (e effect) lies(t *testing.T) []string {
	t.Helper()
	accepted := strings.Fields(e.accepts)
	var out []string
	for _, g := range general {
		if !slices.Contains(accepted, g) && !(g == "" && strings.HasSuffix(e.accepts, "\n")) {
			out = append(out, g)
		}
	}
	for m := range strings.FieldsSeq(e.must) {
		path := strings.TrimRight(m, "=?")
		out = append(out, without(t, e.good, path, nil))
		bad := []any{5.0, "x7", []any{"x"}, nil}
		if strings.HasSuffix(m, "?") {
			bad = bad[:3]
		}
		var have any // the present value, for its type
		if err := json.Unmarshal([]byte(e.good), &have); err != nil {
			t.Fatal(err)
		}
		for key := range strings.SplitSeq(path, ".") {
			if m, ok := have.(map[string]any); ok {
				have = m[key]
			} else {
				k, _ := strconv.Atoi(key)
				have = have.([]any)[k]
			}
		}
		for _, b := range bad {
			if b != nil && reflect.TypeOf(b) == reflect.TypeOf(have) && !strings.HasSuffix(m, "=") {
				continue
			}
			out = append(out, without(t, e.good, path, &b))
		}
	}
	return out
}

// TestEveryCallProvesItsEffect: an answer with a good status that does not show the effect of its call is an error of
// class decode.
func TestEveryCallProvesItsEffect(t *testing.T) {
	code, body := 200, ""
	srv := inTurn(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Token", "t")
		w.WriteHeader(code)
		io.WriteString(w, body)
	})
	defer srv.Close()
	rec := &tally{reg: measure.NewRegistry(1)}
	c, err := NewClient(ClientConfig{URL: srv.URL, Token: "tok", Timeout: time.Minute, Recorder: rec, Table: NewTable(rec.reg, "")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tested := map[string]bool{"Connect": true, "Resume": true, "Typing": true} // of WebSockets: see socket_test.go
	lies := 0
	for _, e := range effects() {
		tested[e.call] = true
		code, body = e.code, e.good
		if err := e.do(t.Context(), c); err != nil {
			t.Errorf("%s: %s: %v", e.call, body, err)
		}
		if got := rec.take(); !strings.HasSuffix(got, ":ok") || strings.Contains(got, " ") {
			t.Errorf("%s: recorded %q", e.call, got)
		}
		for _, body = range e.lies(t) {
			lies++
			err := e.do(t.Context(), c)
			if got := rec.take(); err == nil || !strings.HasSuffix(got, ":decode") || strings.Contains(got, " ") {
				t.Errorf("%s: %s passed: %v, recorded %q", e.call, body, err, got)
			}
		}
	}
	of := reflect.TypeFor[*Client]()
	for m := range of.Methods() {
		if m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]() && !tested[m.Name] {
			t.Errorf("%s is not tested", m.Name)
		}
	}
	t.Logf("%d answers that show nothing", lies)
}
