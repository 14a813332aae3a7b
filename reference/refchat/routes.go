package refchat

import (
	"net/http"
)

// operation declares a route: its method, its path below /api/v4 (from the root, with two slashes),
// the words of needs or the parameters that must be identifiers, in the order in which they are
// checked, the word open if it needs no session, and since which release there is one. Name is the
// handler label in metrics, as the real server names it.
type operation struct {
	call string
	name string
	fn   handler
}

// route is an operation of the API as the router finds it.
type route struct {
	operation
	open  bool
	needs []handler
	segs  []string
}

// needs are the conditions that a route's words name, checked in their order before its handler
// runs.
var needs = map[string]handler{
	"own":     (*request).mustBeOwn,
	"team":    (*request).mustBeInTeamOfPath,
	"channel": (*request).mustReadChannelOfPath,
	"admin": func(q *request) error {
		if q.sess.isAdmin() {
			return nil
		}
		return errPermission
	},
	// The channel exists; who may know that is checked besides.
	"there": func(q *request) error {
		_, err := q.channel(q, q.id)
		return err
	},
	"post":     (*request).mustReadPost,
	"mine":     (*request).mustBeAuthor,
	"thread":   func(q *request) error { return q.findPost("thread_id") },
	"file":     (*request).mustReadFile,
	"bookmark": (*request).findBookmark,

	// Licenses, with the answers that the real server gives there.
	"attributes": needsLicense(
		enterprise,
		http.StatusForbidden,
		"app.custom_profile_attributes.license_error",
	),
	"bookmarks": needsLicense(
		professional,
		http.StatusNotImplemented,
		"api.channel.bookmark.channel_bookmark.license.error",
	),
	"scheduling": needsLicense(
		professional,
		http.StatusBadRequest,
		"api.scheduled_posts.license_error",
	),
	"acks": needsLicense(
		professional,
		http.StatusNotImplemented,
		"license_error.feature_unavailable",
	),
}

func needsLicense(l license, status int, id string) handler {
	return func(q *request) error { return q.mustHold(l, status, id) }
}

// operations are all of the API. Literal segments come before parameters.
var operations = []operation{
	// Drafts.
	{"POST /drafts since 7.7", "upsertDraft", with("draft", (*request).upsertDraft)},
	{
		"GET /users/{user_id}/teams/{team_id}/drafts own team since 7.7",
		"getDrafts",
		(*request).getDrafts,
	},
	{
		"DELETE /users/{user_id}/channels/{channel_id}/drafts own channel_id since 7.7",
		"deleteDraft",
		(*request).deleteDraft,
	},
	{
		"DELETE /users/{user_id}/channels/{channel_id}/drafts/{thread_id} own channel_id since 7.7",
		"deleteDraft",
		(*request).deleteDraft,
	},

	// Scheduled posts.
	{
		"POST /posts/schedule scheduling since 10.3",
		"createSchedulePost",
		with("schedule_post", (*request).createScheduledPost),
	},
	{
		"PUT /posts/schedule/{scheduled_post_id} scheduling since 10.3",
		"updateScheduledPost",
		with("schedule_post", (*request).updateScheduledPost),
	},
	{
		"DELETE /posts/schedule/{scheduled_post_id} scheduling since 10.3",
		"deleteScheduledPost",
		(*request).deleteScheduledPost,
	},
	{
		"GET /posts/scheduled/team/{team_id} scheduling team since 10.3",
		"getTeamScheduledPosts",
		(*request).getScheduledPosts,
	},

	// Bookmarks.
	{
		"GET /channels/{channel_id}/bookmarks bookmarks channel_id there channel since 9.5",
		"listChannelBookmarksForChannel",
		(*request).getBookmarks,
	},
	{
		"POST /channels/{channel_id}/bookmarks bookmarks channel_id there channel since 9.5",
		"createChannelBookmark",
		with("channelBookmark", (*request).createBookmark),
	},
	{
		"PATCH /channels/{channel_id}/bookmarks/{bookmark_id} bookmarks channel_id there channel bookmark since 9.5",
		"updateChannelBookmark",
		with("channelBookmarkPatch", (*request).updateBookmark),
	},
	{
		"POST /channels/{channel_id}/bookmarks/{bookmark_id}/sort_order bookmarks channel_id there channel bookmark since 9.5",
		"updateChannelBookmarkSortOrder",
		with("channelBookmarkSortOrder", (*request).sortBookmark),
	},
	{
		"DELETE /channels/{channel_id}/bookmarks/{bookmark_id} bookmarks channel_id there channel bookmark since 9.5",
		"deleteChannelBookmark",
		(*request).deleteBookmark,
	},

	// Profiles.
	{
		"PUT /users/{user_id}/status/custom own since 5.33",
		"updateUserCustomStatus",
		with("custom_status", (*request).updateCustomStatus),
	},
	{
		"DELETE /users/{user_id}/status/custom own since 5.33",
		"removeUserCustomStatus",
		func(q *request) error { return q.done(q.setProp(q.userID, statusProp, "")) },
	},
	{
		"GET /users/stats",
		"getTotalUsersStats",
		func(q *request) error { return q.replyUsersStats(q.has(QuirkStatsCountBots)) },
	},
	{
		"GET /users/stats/filtered admin since 5.26",
		"getTotalUsersStatsFiltered",
		(*request).getFilteredUsersStats,
	},
	{
		"GET /custom_profile_attributes/fields attributes since 10.5",
		"listCPAFields",
		lists(attributeFields, "custom_profile_attributes.search_property_fields", without),
	},
	{
		"POST /custom_profile_attributes/fields admin attributes since 10.5",
		"createCPAField",
		with("property_field", (*request).createAttributeField),
	},
	{
		"PATCH /custom_profile_attributes/values attributes since 10.5",
		"patchCPAValues",
		with("value", (*request).patchAttributes),
	},
	{
		"GET /users/{user_id}/custom_profile_attributes attributes user_id since 10.5",
		"listCPAValues",
		(*request).getAttributes,
	},

	// Sidebar.
	{
		"GET /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26",
		"getCategoriesForTeamForUser",
		(*request).getCategories,
	},
	{
		"POST /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26",
		"createCategoryForTeamForUser",
		with("category", (*request).createCategory),
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26",
		"updateCategoriesForTeamForUser",
		with("category", (*request).updateCategories),
	},

	// Reports.
	{"GET /reports/users admin since 9.5", "getUsersForReporting", (*request).getUserReport},
	{
		"GET /reports/users/count admin since 9.5",
		"getUserCountForReporting",
		(*request).getUserReportCount,
	},
	{
		"POST /client_perf since 9.9",
		"submitPerformanceReport",
		with("submitPerformanceReport", (*request).clientPerformance),
	},

	// Statistics.
	{"GET /analytics/old admin", "getAnalytics", (*request).getAnalytics},

	// System.
	{"GET /system/ping open", "getSystemPing", (*request).ping},
	{"GET /config/client open", "getClientConfig", (*request).getClientConfig},
	{"GET /config admin", "getConfig", (*request).getConfig},
	{"GET /license/client open", "getClientLicense", (*request).getClientLicense},
	{"GET /websocket open", "connectWebSocket", (*request).connectWebSocket},
	{"POST /roles/names", "getRolesByNames", withList("rolenames", (*request).getRolesByNames)},
	{"GET /plugins/webapp", "getWebappPlugins", getWebappPlugins},

	// Users.
	{"POST /users/login open", "login", with("login", (*request).login)},
	{"POST /users/logout open", "logout", (*request).logout},
	{"POST /users open", "createUser", with("user", (*request).createUser)},
	{"GET /users", "getUsers", (*request).getUsers},
	{"POST /users/ids", "getUsersByIds", withList("user_ids", (*request).getUsersByIDs)},
	{"POST /users/usernames", "getUsersByNames", withList("usernames", (*request).getUsersByNames)},
	{"POST /users/status/ids", "getUserStatusesByIds", withList("user_ids", (*request).getStatuses)},
	{"GET /users/autocomplete", "autocompleteUsers", (*request).autocompleteUsers},
	{"POST /users/search", "searchUsers", with("props", (*request).searchUsers)},
	{"GET /users/{user_id} user_id", "getUser", (*request).getUser},
	{"GET /users/{user_id}/image user_id", "getProfileImage", (*request).getProfileImage},
	{"GET /users/{user_id}/status user_id", "getUserStatus", (*request).getStatus},
	{
		"GET /users/{user_id}/preferences own",
		"getPreferences",
		lists(preferencesOf, "preference.get_all", ofUser),
	},
	{
		"PUT /users/{user_id}/preferences own",
		"updatePreferences",
		withList("preferences", (*request).updatePreferences),
	},
	{
		"POST /users/{user_id}/tokens user_id admin",
		"createUserAccessToken",
		with("user_access_token", (*request).createToken),
	},
	{"GET /users/{user_id}/teams own", "getTeamsForUser", (*request).getTeamsForUser},
	{
		"GET /users/{user_id}/teams/members own",
		"getTeamMembersForUser",
		lists(teamMembersOf, "team.get_members", ofUser),
	},
	{"GET /users/{user_id}/teams/unread own", "getTeamsUnreadForUser", (*request).getTeamsUnread},
	{
		"GET /users/{user_id}/teams/{team_id}/channels own team",
		"getChannelsForTeamForUser",
		(*request).getChannelsForTeamForUser,
	},
	{
		"GET /users/{user_id}/teams/{team_id}/channels/members own team",
		"getChannelMembersForUser",
		func(q *request) error { return q.replyMembers(membersOf, q.userID, q.teamID) },
	},
	{
		"GET /users/{user_id}/channels own since 6.2",
		"getChannelsForUser",
		(*request).getChannelsForUser,
	},
	{
		"GET /users/{user_id}/channel_members own since 6.2",
		"getChannelMembersWithTeamDataForUser",
		func(q *request) error { return q.replyMembers(allMembersOf, q.paged(q.userID)...) },
	},
	{
		"GET /users/{user_id}/channels/{channel_id}/unread own channel",
		"getChannelUnread",
		(*request).getChannelUnread,
	},
	{
		"GET /users/{user_id}/channels/{channel_id}/posts/unread own channel",
		"getPostsForChannelAroundLastUnread",
		(*request).getPostsAroundUnread,
	},
	{"POST /bots admin", "createBot", with("bot", (*request).createBot)},

	// Threads.
	{
		"GET /users/{user_id}/teams/{team_id}/threads own team_id since 5.30",
		"getThreadsForUser",
		(*request).getThreads,
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/threads/read own team_id since 5.32",
		"updateReadStateAllThreadsByUser",
		(*request).readAllThreads,
	},
	{
		"GET /users/{user_id}/teams/{team_id}/threads/{thread_id} own team_id thread_id since 5.33",
		"getThreadForUser",
		(*request).getThread,
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/threads/{thread_id}/following own team_id thread since 5.30",
		"followThreadByUser",
		func(q *request) error { return q.setFollowing(true) },
	},
	{
		"DELETE /users/{user_id}/teams/{team_id}/threads/{thread_id}/following own team_id thread since 5.30",
		"unfollowThreadByUser",
		func(q *request) error { return q.setFollowing(false) },
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/threads/{thread_id}/read/{timestamp} own team_id thread since 5.30",
		"updateReadStateThreadByUser",
		(*request).readThread,
	},

	// Teams.
	{"POST /teams", "createTeam", with("team", (*request).createTeam)},
	{"GET /teams", "getAllTeams", (*request).getTeams},
	{"GET /teams/name/{team_name}", "getTeamByName", (*request).getTeamByName},
	{"GET /teams/{team_id}/stats team", "getTeamStats", (*request).getTeamStats},
	{
		"GET /teams/{team_id}/channels team",
		"getPublicChannelsForTeam",
		lists(publicChannels, "channel.get_public", pageOfTeam),
	},
	{
		"GET /teams/{team_id}/channels/name/{channel_name} team_id",
		"getChannelByName",
		(*request).getChannelByName,
	},
	{
		"POST /teams/{team_id}/channels/search team",
		"searchChannelsForTeam",
		with("channel_search", (*request).searchTeamChannels),
	},
	{
		"GET /teams/{team_id}/channels/search_autocomplete team",
		"autocompleteChannelsForTeamForSearch",
		(*request).searchAutocompleteChannels,
	},
	{
		"POST /teams/{team_id}/posts/search team",
		"searchPostsInTeam",
		with("terms", (*request).searchPosts),
	},
	{
		"POST /teams/{team_id}/members team_id",
		"addTeamMember",
		with("team_member", (*request).addTeamMember),
	},
	{"POST /teams/{team_id}/members/batch team_id", "addTeamMembers", (*request).addTeamMembers},
	{
		"GET /teams/{team_id}/members team",
		"getTeamMembers",
		lists(teamMembersPage, "team.get_members", pageOfTeam),
	},
	{
		"GET /teams/{team_id}/members/{user_id} team user_id",
		"getTeamMember",
		(*request).getTeamMember,
	},

	// Channels.
	{"POST /channels", "createChannel", with("channel", (*request).createChannel)},
	{
		"POST /channels/direct",
		"createDirectChannel",
		withList("user_ids", (*request).createDirectChannel),
	},
	{
		"POST /channels/group",
		"createGroupChannel",
		withList("user_ids", (*request).createGroupChannel),
	},
	{
		"POST /channels/search",
		"searchAllChannels",
		with("channel_search", (*request).searchAllChannels),
	},
	{
		"POST /channels/group/search",
		"searchGroupChannels",
		with("channel_search", (*request).searchGroupChannels),
	},
	{
		"POST /channels/members/{user_id}/view own",
		"viewChannel",
		with("channel_view", (*request).viewChannel),
	},
	{"GET /channels/{channel_id} channel_id", "getChannel", (*request).getChannel},
	{"GET /channels/{channel_id}/stats channel", "getChannelStats", (*request).getChannelStats},
	{
		"POST /channels/{channel_id}/members channel_id",
		"addChannelMember",
		with("user_id", (*request).addChannelMember),
	},
	{
		"GET /channels/{channel_id}/members channel",
		"getChannelMembers",
		func(q *request) error { return q.replyMembers(memberPage, q.paged(q.channelID)...) },
	},
	{
		"GET /channels/{channel_id}/members/{user_id} channel user_id",
		"getChannelMember",
		(*request).getChannelMember,
	},
	{
		"DELETE /channels/{channel_id}/members/{user_id} user_id channel",
		"removeChannelMember",
		(*request).removeChannelMember,
	},
	{
		"GET /channels/{channel_id}/posts channel",
		"getPostsForChannel",
		(*request).getPostsForChannel,
	},

	// Posts.
	{"POST /posts", "createPost", with("post", (*request).createPost)},
	{"POST /posts/search since 7.7", "searchPostsInAllTeams", with("terms", (*request).searchPosts)},
	{
		"POST /users/{user_id}/posts/{post_id}/ack acks own post since 7.7",
		"acknowledgePost",
		(*request).acknowledge,
	},
	{
		"POST /users/{user_id}/posts/{post_id}/reminder own post since 7.2",
		"setPostReminder",
		with("target_time", (*request).setReminder),
	},
	{"GET /posts/{post_id} post", "getPost", (*request).getPost},
	{"GET /posts/{post_id}/thread post", "getPostThread", (*request).getPostThread},
	{"PUT /posts/{post_id}/patch mine", "patchPost", with("post", (*request).patchPost)},
	{"DELETE /posts/{post_id} mine", "deletePost", (*request).deletePost},
	{"GET /posts/{post_id}/reactions post", "getReactions", (*request).getReactions},
	{"POST /reactions", "saveReaction", with("reaction", (*request).saveReaction)},
	{
		"DELETE /users/{user_id}/posts/{post_id}/reactions/{emoji_name} own post",
		"deleteReaction",
		(*request).deleteReaction,
	},

	// Files.
	{"POST /files", "uploadFileStream", (*request).uploadFiles},
	{"GET /files/{file_id} file", "getFile", (*request).getFile},
	{
		"GET /files/{file_id}/thumbnail file",
		"getFileThumbnail",
		func(q *request) error { return q.sendPreview(q.file.ThumbnailPath, "thumbnail") },
	},
	{
		"GET /files/{file_id}/preview file",
		"getFilePreview",
		func(q *request) error { return q.sendPreview(q.file.PreviewPath, "preview") },
	},

	// Webhooks and slash commands. Posting by a webhook needs no session, and is beside the API.
	{
		"POST /hooks/incoming",
		"createIncomingHook",
		with("incoming_webhook", (*request).createIncomingHook),
	},
	{"GET /hooks/incoming", "getIncomingHooks", (*request).getIncomingHooks},
	{
		"POST //hooks/{hook_id} open",
		"incomingWebhook",
		with("payload", (*request).fireIncomingHook),
	},
	{"POST /commands/execute", "executeCommand", with("command_args", (*request).executeCommand)},
}
