package mattermost

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// CallsQuery returns the query for a production server's Prometheus: calls per second by handler, over a window such
// as "2h".
func CallsQuery(window string) string {
	return fmt.Sprintf("sum by (handler) (rate(mattermost_api_time_count[%s]))", window)
}

// createPostHandler is the handler of which all weights are multiples.
const createPostHandler = "createPost"

// A share names the actions that a handler's calls stand for.
type handlerShare struct {
	actions []string // the calls are split over them as the default weights are; evenly if these are 0
	plus    []string // handlers whose calls count
	minus   []string // handlers whose calls are part of those and stand for something else
	calls   float64  // about how many of these calls one action makes; 0 is 1
}

// handlerShares is the weight method of mattermost-load-test-ng's docs/coverage-frequency.md (an action's weight is
// the rate of its handler's calls, relative to createPost), refined where one action makes several calls or several
// actions share a handler. Handlers are those that the server's api4 registers; two names for one call are of
// different versions.
var handlerShares = []handlerShare{
	{actions: []string{"create_post"}, plus: []string{createPostHandler}},
	// Each view of a channel requests its statistics; the handler does not reveal the kind of channel.
	{actions: []string{"switch_channel", "open_direct_or_group_channel"}, plus: []string{"getChannelStats"}},
	// A look reads the posts around the first unread one or, later, those since the last look; the rest of the calls
	// are pages, three for one scroll.
	{actions: []string{"scroll_channel"}, plus: []string{"getPostsForChannel", "getPostsForChannelAroundLastUnread"}, minus: []string{"getChannelStats"}, calls: 3},
	{actions: []string{"upsert_draft"}, plus: []string{"upsertDraft"}},
	{actions: []string{"delete_draft"}, plus: []string{"deleteDraft"}},
	{actions: []string{"get_drafts"}, plus: []string{"getDrafts"}},
	{actions: []string{"view_global_threads"}, plus: []string{"getThreadsForUser"}, calls: 4},
	{actions: []string{"update_thread_read"}, plus: []string{"updateReadStateThreadByUser"}},
	{actions: []string{"mark_all_threads_in_team_as_read"}, plus: []string{"updateReadStateAllThreadsByUser"}},
	{actions: []string{"view_thread"}, plus: []string{"getPostThread"}},
	{actions: []string{"follow_thread"}, plus: []string{"followThreadByUser"}},
	{actions: []string{"unfollow_thread"}, plus: []string{"unfollowThreadByUser"}},
	{actions: []string{"add_reaction"}, plus: []string{"saveReaction"}},
	{actions: []string{"edit_post"}, plus: []string{"patchPost", "updatePost"}},
	{actions: []string{"delete_post"}, plus: []string{"deletePost"}},
	{actions: []string{"create_post_reminder"}, plus: []string{"setPostReminder"}},
	{actions: []string{"ack_to_post"}, plus: []string{"acknowledgePost"}},
	{actions: []string{"create_scheduled_post"}, plus: []string{"createSchedulePost"}},
	{actions: []string{"update_scheduled_post"}, plus: []string{"updateScheduledPost"}},
	// Sending deletes it too.
	{actions: []string{"delete_scheduled_post", "send_scheduled_post"}, plus: []string{"deleteScheduledPost"}},
	// Searches ask again with each typed letter: 2.5 of a channel's name on average, about ten of a user's.
	{actions: []string{"search_users"}, plus: []string{"searchUsers"}, calls: 10},
	{actions: []string{"search_channels"}, plus: []string{"searchChannelsForTeam", "searchAllChannels"}, calls: 2.5},
	{actions: []string{"search_group_channels"}, plus: []string{"searchGroupChannels"}, calls: 2.5},
	{actions: []string{"search_posts"}, plus: []string{"searchPostsInTeam", "searchPosts"}},
	{actions: []string{"search_posts_all_teams"}, plus: []string{"searchPostsInAllTeams"}},
	{actions: []string{"click_user_profile"}, plus: []string{"getTeamMember"}},
	{actions: []string{"join_channel"}, plus: []string{"addChannelMember"}},
	{actions: []string{"create_direct_channel"}, plus: []string{"createDirectChannel"}},
	{actions: []string{"create_group_channel"}, plus: []string{"createGroupChannel"}},
	{actions: []string{"create_public_channel", "create_private_channel"}, plus: []string{"createChannel"}},
	{actions: []string{"update_sidebar_category"}, plus: []string{"updateCategoriesForTeamForUser", "updateCategoryForTeamForUser"}},
	{actions: []string{"create_sidebar_category"}, plus: []string{"createCategoryForTeamForUser"}},
	{actions: []string{"update_custom_attribute"}, plus: []string{"patchCPAValues"}},
	{actions: []string{"update_custom_status"}, plus: []string{"updateUserCustomStatus"}},
	{actions: []string{"remove_custom_status"}, plus: []string{"removeUserCustomStatus"}},
	{actions: []string{"add_channel_bookmark"}, plus: []string{"createChannelBookmark"}},
	{actions: []string{"update_channel_bookmark"}, plus: []string{"updateChannelBookmark"}},
	{actions: []string{"update_channel_bookmark_sort_order"}, plus: []string{"updateChannelBookmarkSortOrder"}},
	{actions: []string{"delete_channel_bookmark"}, plus: []string{"deleteChannelBookmark"}},
	{actions: []string{"generate_user_report"}, plus: []string{"getUsersForReporting"}},
	// Preferences are read when the page is loaded, which a login does too; the list of plugins also after a lost
	// connection.
	{actions: []string{"logout_login"}, plus: []string{"logout"}},
	{actions: []string{"full_reload"}, plus: []string{"getPreferences"}, minus: []string{"login"}},
	{actions: []string{"reconnect_websocket"}, plus: []string{"getWebappPlugins"}, minus: []string{"getPreferences"}},
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
		for _, h := range s.plus {
			sum += rates[h]
			used[h] = true
		}
		for _, h := range s.minus {
			sum -= rates[h]
			used[h] = true
		}
		x := max(sum, 0) / unit / cmp.Or(s.calls, 1)
		total := 0.0
		for _, a := range s.actions {
			total += defaults[a]
		}
		for _, a := range s.actions {
			part := 1 / float64(len(s.actions))
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
