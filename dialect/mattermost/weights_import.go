package mattermost

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// CallsQuery returns the query for a production server's Prometheus: calls per second by handler, over a window such
// as "2h".
func CallsQuery(window string) string {
	return fmt.Sprintf("sum by (handler) (rate(mattermost_api_time_count[%s]))", window)
}

// createPostHandler is the handler of which all weights are multiples.
const createPostHandler = "createPost"

// A share names the actions that a handler's calls stand for. Names are separated by spaces.
type handlerShare struct {
	actions  string  // the calls are split over them as the default weights are; evenly if these are 0
	handlers string  // whose calls count, and with a minus, whose calls are part of those and stand for something else
	calls    float64 // about how many of these calls one action makes
}

// handlerShares is the weight method of mattermost-load-test-ng's docs/coverage-frequency.md (an action's weight is
// the rate of its handler's calls, relative to createPost), refined where one action makes several calls or several
// actions share a handler. Handlers are those that the server's api4 registers; two names for one call are of
// different versions.
var handlerShares = []handlerShare{
	{"create_post", "createPost", 1},
	// Each view of a channel requests its statistics; the handler does not reveal the kind of channel.
	{"switch_channel open_direct_or_group_channel", "getChannelStats", 1},
	// A look reads the posts around the first unread one or, later, those since the last look; the rest of the calls
	// are pages, three for one scroll.
	{"scroll_channel", "getPostsForChannel getPostsForChannelAroundLastUnread -getChannelStats", 3},
	{"upsert_draft", "upsertDraft", 1},
	{"delete_draft", "deleteDraft", 1},
	{"get_drafts", "getDrafts", 1},
	{"view_global_threads", "getThreadsForUser", 4},
	{"update_thread_read", "updateReadStateThreadByUser", 1},
	{"mark_all_threads_in_team_as_read", "updateReadStateAllThreadsByUser", 1},
	{"view_thread", "getPostThread", 1},
	{"follow_thread", "followThreadByUser", 1},
	{"unfollow_thread", "unfollowThreadByUser", 1},
	{"add_reaction", "saveReaction", 1},
	{"edit_post", "patchPost updatePost", 1},
	{"delete_post", "deletePost", 1},
	{"create_post_reminder", "setPostReminder", 1},
	{"ack_to_post", "acknowledgePost", 1},
	{"create_scheduled_post", "createSchedulePost", 1},
	{"update_scheduled_post", "updateScheduledPost", 1},
	// Sending deletes it too.
	{"delete_scheduled_post send_scheduled_post", "deleteScheduledPost", 1},
	// Searches ask again with each typed letter: 2.5 of a channel's name on average, about ten of a user's.
	{"search_users", "searchUsers", 10},
	{"search_channels", "searchChannelsForTeam searchAllChannels", 2.5},
	{"search_group_channels", "searchGroupChannels", 2.5},
	{"search_posts", "searchPostsInTeam searchPosts", 1},
	{"search_posts_all_teams", "searchPostsInAllTeams", 1},
	{"click_user_profile", "getTeamMember", 1},
	{"join_channel", "addChannelMember", 1},
	{"create_direct_channel", "createDirectChannel", 1},
	{"create_group_channel", "createGroupChannel", 1},
	{"create_public_channel create_private_channel", "createChannel", 1},
	{"update_sidebar_category", "updateCategoriesForTeamForUser updateCategoryForTeamForUser", 1},
	{"create_sidebar_category", "createCategoryForTeamForUser", 1},
	{"update_custom_attribute", "patchCPAValues", 1},
	{"update_custom_status", "updateUserCustomStatus", 1},
	{"remove_custom_status", "removeUserCustomStatus", 1},
	{"add_channel_bookmark", "createChannelBookmark", 1},
	{"update_channel_bookmark", "updateChannelBookmark", 1},
	{"update_channel_bookmark_sort_order", "updateChannelBookmarkSortOrder", 1},
	{"delete_channel_bookmark", "deleteChannelBookmark", 1},
	{"generate_user_report", "getUsersForReporting", 1},
	// Preferences are read when the page is loaded, which a login does too; the list of plugins also after a lost
	// connection.
	{"logout_login", "logout", 1},
	{"full_reload", "getPreferences -login", 1},
	{"reconnect_websocket", "getWebappPlugins -getPreferences", 1},
}

// keptActions have no handler of their own: they keep their default weight, which is relative to createPost as well.
var keptActions = []string{"unread_check", "click_permalink", "switch_team", "create_ack_post", "create_persistent_notification_post"}

// ImportWeights turns the calls per second of a server's handlers into weights of actions, create_post being 1. An
// action whose handlers were not called weighs 0; kept names the actions that no handler stands for and that have
// their default weight. unmapped lists the handlers that stand for no action, the most called first: the calls that
// come with actions, and those that are not modeled.
func ImportWeights(rates map[string]float64) (weights map[string]float64, kept, unmapped []string, err error) {
	unit := rates[createPostHandler]
	for handler, x := range rates {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			return nil, nil, nil, fmt.Errorf("the rate of handler %s is %v; want a number of calls per second", handler, x)
		}
	}
	if unit <= 0 {
		return nil, nil, nil, fmt.Errorf("handler %s was not called in the window, and every weight is relative to it; choose a busier time", createPostHandler)
	}
	defaults := Mixes()["default"]
	weights = map[string]float64{}
	used := map[string]bool{}
	for _, s := range handlerShares {
		sum := 0.0
		for h := range strings.FieldsSeq(s.handlers) {
			h, part := strings.CutPrefix(h, "-")
			used[h] = true
			if part {
				sum -= rates[h]
			} else {
				sum += rates[h]
			}
		}
		x := max(sum, 0) / unit / s.calls
		total := 0.0
		actions := strings.Fields(s.actions)
		for _, a := range actions {
			total += defaults[a]
		}
		for _, a := range actions {
			part := 1 / float64(len(actions))
			if total > 0 {
				part = defaults[a] / total
			}
			if _, ok := defaults[a]; ok {
				weights[a] = round4(x * part)
			}
		}
	}
	for _, a := range keptActions {
		if w, ok := defaults[a]; ok {
			weights[a] = w
			kept = append(kept, a)
		}
	}
	for _, h := range slices.Sorted(maps.Keys(rates)) {
		if !used[h] && rates[h] > 0 {
			unmapped = append(unmapped, h)
		}
	}
	slices.SortStableFunc(unmapped, func(a, b string) int { return cmp.Compare(rates[b], rates[a]) })
	return weights, kept, unmapped, nil
}

// round4 keeps four significant digits: more than a rate over hours has.
func round4(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 4-math.Ceil(math.Log10(x)))
	return math.Round(x*scale) / scale
}
