package refchat

import (
	"net/http"
	"slices"
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
	"own":     (*Server).mustBeOwn,
	"team":    (*Server).mustBeInTeamOfPath,
	"channel": (*Server).mustReadChannelOfPath,
	"admin": func(s *Server, q *request) error {
		if s.isAdmin(q.sess) {
			return nil
		}
		return errPermission
	},
	// The channel exists; who may know that is checked besides.
	"there": func(s *Server, q *request) error {
		_, err := s.channel(q.ctx(), q.id)
		return err
	},
	"post":     (*Server).mustReadPost,
	"mine":     (*Server).mustBeAuthor,
	"thread":   (*Server).mustReadThread,
	"file":     (*Server).mustReadFile,
	"bookmark": (*Server).findBookmark,

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
	return func(s *Server, _ *request) error { return s.mustHold(l, status, id) }
}

// routes returns the table of operations. Literal segments come before parameters.
func routes() []operation {
	return slices.Concat(
		draftRoutes,
		scheduledRoutes,
		bookmarkRoutes,
		profileRoutes,
		sidebarRoutes,
		reportRoutes,
		analyticsRoutes,
		systemRoutes,
		userRoutes,
		threadRoutes,
		teamRoutes,
		channelRoutes,
		postRoutes,
		fileRoutes,
		integrationRoutes,
	)
}

var systemRoutes = []operation{
	{"GET /system/ping open", "getSystemPing", (*Server).ping},
	{"GET /config/client open", "getClientConfig", (*Server).getClientConfig},
	{"GET /config admin", "getConfig", (*Server).getConfig},
	{"GET /license/client open", "getClientLicense", (*Server).getClientLicense},
	{"GET /websocket open", "connectWebSocket", (*Server).connectWebSocket},
	{"POST /roles/names", "getRolesByNames", withList("rolenames", (*Server).getRolesByNames)},
	{"GET /plugins/webapp", "getWebappPlugins", (*Server).getWebappPlugins},
}

var userRoutes = []operation{
	{"POST /users/login open", "login", with("login", (*Server).login)},
	{"POST /users/logout open", "logout", (*Server).logout},
	{"POST /users open", "createUser", with("user", (*Server).createUser)},
	{"GET /users", "getUsers", (*Server).getUsers},
	{"POST /users/ids", "getUsersByIds", withList("user_ids", (*Server).getUsersByIDs)},
	{"POST /users/usernames", "getUsersByNames", withList("usernames", (*Server).getUsersByNames)},
	{"POST /users/status/ids", "getUserStatusesByIds", withList("user_ids", (*Server).getStatuses)},
	{"GET /users/autocomplete", "autocompleteUsers", (*Server).autocompleteUsers},
	{"POST /users/search", "searchUsers", with("props", (*Server).searchUsers)},
	{"GET /users/{user_id} user_id", "getUser", (*Server).getUser},
	{"GET /users/{user_id}/image user_id", "getProfileImage", (*Server).getProfileImage},
	{"GET /users/{user_id}/status user_id", "getUserStatus", (*Server).getStatus},
	{
		"GET /users/{user_id}/preferences own",
		"getPreferences",
		lists(preferencesOf, "preference.get_all", ofUser),
	},
	{
		"PUT /users/{user_id}/preferences own",
		"updatePreferences",
		withList("preferences", (*Server).updatePreferences),
	},
	{
		"POST /users/{user_id}/tokens user_id admin",
		"createUserAccessToken",
		with("user_access_token", (*Server).createToken),
	},
	{"GET /users/{user_id}/teams own", "getTeamsForUser", (*Server).getTeamsForUser},
	{
		"GET /users/{user_id}/teams/members own",
		"getTeamMembersForUser",
		lists(teamMembersOf, "team.get_members", ofUser),
	},
	{"GET /users/{user_id}/teams/unread own", "getTeamsUnreadForUser", (*Server).getTeamsUnread},
	{
		"GET /users/{user_id}/teams/{team_id}/channels own team",
		"getChannelsForTeamForUser",
		(*Server).getChannelsForTeamForUser,
	},
	{
		"GET /users/{user_id}/teams/{team_id}/channels/members own team",
		"getChannelMembersForUser",
		(*Server).getChannelMembersForUser,
	},
	{
		"GET /users/{user_id}/channels own since 6.2",
		"getChannelsForUser",
		(*Server).getChannelsForUser,
	},
	{
		"GET /users/{user_id}/channel_members own since 6.2",
		"getChannelMembersWithTeamDataForUser",
		(*Server).getAllChannelMembersForUser,
	},
	{
		"GET /users/{user_id}/channels/{channel_id}/unread own channel",
		"getChannelUnread",
		(*Server).getChannelUnread,
	},
	{
		"GET /users/{user_id}/channels/{channel_id}/posts/unread own channel",
		"getPostsForChannelAroundLastUnread",
		(*Server).getPostsAroundUnread,
	},
	{"POST /bots admin", "createBot", with("bot", (*Server).createBot)},
}

var threadRoutes = []operation{
	{
		"GET /users/{user_id}/teams/{team_id}/threads own team_id since 5.30",
		"getThreadsForUser",
		(*Server).getThreads,
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/threads/read own team_id since 5.32",
		"updateReadStateAllThreadsByUser",
		(*Server).readAllThreads,
	},
	{
		"GET /users/{user_id}/teams/{team_id}/threads/{thread_id} own team_id thread_id since 5.33",
		"getThreadForUser",
		(*Server).getThread,
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/threads/{thread_id}/following own team_id thread since 5.30",
		"followThreadByUser",
		(*Server).followThread,
	},
	{
		"DELETE /users/{user_id}/teams/{team_id}/threads/{thread_id}/following own team_id thread since 5.30",
		"unfollowThreadByUser",
		(*Server).unfollowThread,
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/threads/{thread_id}/read/{timestamp} own team_id thread since 5.30",
		"updateReadStateThreadByUser",
		(*Server).readThread,
	},
}

var teamRoutes = []operation{
	{"POST /teams", "createTeam", with("team", (*Server).createTeam)},
	{"GET /teams", "getAllTeams", (*Server).getTeams},
	{"GET /teams/name/{team_name}", "getTeamByName", (*Server).getTeamByName},
	{"GET /teams/{team_id}/stats team", "getTeamStats", (*Server).getTeamStats},
	{
		"GET /teams/{team_id}/channels team",
		"getPublicChannelsForTeam",
		lists(publicChannels, "channel.get_public", pageOfTeam),
	},
	{
		"GET /teams/{team_id}/channels/name/{channel_name} team_id",
		"getChannelByName",
		(*Server).getChannelByName,
	},
	{
		"POST /teams/{team_id}/channels/search team",
		"searchChannelsForTeam",
		with("channel_search", (*Server).searchTeamChannels),
	},
	{
		"GET /teams/{team_id}/channels/search_autocomplete team",
		"autocompleteChannelsForTeamForSearch",
		(*Server).searchAutocompleteChannels,
	},
	{
		"POST /teams/{team_id}/posts/search team",
		"searchPostsInTeam",
		with("terms", (*Server).searchPosts),
	},
	{
		"POST /teams/{team_id}/members team_id",
		"addTeamMember",
		with("team_member", (*Server).addTeamMember),
	},
	{"POST /teams/{team_id}/members/batch team_id", "addTeamMembers", (*Server).addTeamMembers},
	{
		"GET /teams/{team_id}/members team",
		"getTeamMembers",
		lists(teamMembersPage, "team.get_members", pageOfTeam),
	},
	{
		"GET /teams/{team_id}/members/{user_id} team user_id",
		"getTeamMember",
		(*Server).getTeamMember,
	},
}

var channelRoutes = []operation{
	{"POST /channels", "createChannel", with("channel", (*Server).createChannel)},
	{
		"POST /channels/direct",
		"createDirectChannel",
		withList("user_ids", (*Server).createDirectChannel),
	},
	{
		"POST /channels/group",
		"createGroupChannel",
		withList("user_ids", (*Server).createGroupChannel),
	},
	{
		"POST /channels/search",
		"searchAllChannels",
		with("channel_search", (*Server).searchAllChannels),
	},
	{
		"POST /channels/group/search",
		"searchGroupChannels",
		with("channel_search", (*Server).searchGroupChannels),
	},
	{
		"POST /channels/members/{user_id}/view own",
		"viewChannel",
		with("channel_view", (*Server).viewChannel),
	},
	{"GET /channels/{channel_id} channel_id", "getChannel", (*Server).getChannel},
	{"GET /channels/{channel_id}/stats channel", "getChannelStats", (*Server).getChannelStats},
	{
		"POST /channels/{channel_id}/members channel_id",
		"addChannelMember",
		with("user_id", (*Server).addChannelMember),
	},
	{
		"GET /channels/{channel_id}/members channel",
		"getChannelMembers",
		(*Server).getChannelMembers,
	},
	{
		"GET /channels/{channel_id}/members/{user_id} channel user_id",
		"getChannelMember",
		(*Server).getChannelMember,
	},
	{
		"DELETE /channels/{channel_id}/members/{user_id} user_id channel",
		"removeChannelMember",
		(*Server).removeChannelMember,
	},
	{
		"GET /channels/{channel_id}/posts channel",
		"getPostsForChannel",
		(*Server).getPostsForChannel,
	},
}

var postRoutes = []operation{
	{"POST /posts", "createPost", with("post", (*Server).createPost)},
	{"POST /posts/search since 7.7", "searchPostsInAllTeams", with("terms", (*Server).searchPosts)},
	{
		"POST /users/{user_id}/posts/{post_id}/ack acks own post since 7.7",
		"acknowledgePost",
		(*Server).acknowledge,
	},
	{
		"POST /users/{user_id}/posts/{post_id}/reminder own post since 7.2",
		"setPostReminder",
		with("target_time", (*Server).setReminder),
	},
	{"GET /posts/{post_id} post", "getPost", (*Server).getPost},
	{"GET /posts/{post_id}/thread post", "getPostThread", (*Server).getPostThread},
	{"PUT /posts/{post_id}/patch mine", "patchPost", with("post", (*Server).patchPost)},
	{"DELETE /posts/{post_id} mine", "deletePost", (*Server).deletePost},
	{"GET /posts/{post_id}/reactions post", "getReactions", (*Server).getReactions},
	{"POST /reactions", "saveReaction", with("reaction", (*Server).saveReaction)},
	{
		"DELETE /users/{user_id}/posts/{post_id}/reactions/{emoji_name} own post",
		"deleteReaction",
		(*Server).deleteReaction,
	},
}

var fileRoutes = []operation{
	{"POST /files", "uploadFileStream", (*Server).uploadFiles},
	{"GET /files/{file_id} file", "getFile", (*Server).getFile},
	{"GET /files/{file_id}/thumbnail file", "getFileThumbnail", (*Server).getFileThumbnail},
	{"GET /files/{file_id}/preview file", "getFilePreview", (*Server).getFilePreview},
}

var draftRoutes = []operation{
	{"POST /drafts since 7.7", "upsertDraft", with("draft", (*Server).upsertDraft)},
	{
		"GET /users/{user_id}/teams/{team_id}/drafts own team since 7.7",
		"getDrafts",
		(*Server).getDrafts,
	},
	{
		"DELETE /users/{user_id}/channels/{channel_id}/drafts own channel_id since 7.7",
		"deleteDraft",
		(*Server).deleteDraft,
	},
	{
		"DELETE /users/{user_id}/channels/{channel_id}/drafts/{thread_id} own channel_id since 7.7",
		"deleteDraft",
		(*Server).deleteDraft,
	},
}

var scheduledRoutes = []operation{
	{
		"POST /posts/schedule scheduling since 10.3",
		"createSchedulePost",
		with("schedule_post", (*Server).createScheduledPost),
	},
	{
		"PUT /posts/schedule/{scheduled_post_id} scheduling since 10.3",
		"updateScheduledPost",
		with("schedule_post", (*Server).updateScheduledPost),
	},
	{
		"DELETE /posts/schedule/{scheduled_post_id} scheduling since 10.3",
		"deleteScheduledPost",
		(*Server).deleteScheduledPost,
	},
	{
		"GET /posts/scheduled/team/{team_id} scheduling team since 10.3",
		"getTeamScheduledPosts",
		(*Server).getScheduledPosts,
	},
}

var bookmarkRoutes = []operation{
	{
		"GET /channels/{channel_id}/bookmarks bookmarks channel_id there channel since 9.5",
		"listChannelBookmarksForChannel",
		(*Server).getBookmarks,
	},
	{
		"POST /channels/{channel_id}/bookmarks bookmarks channel_id there channel since 9.5",
		"createChannelBookmark",
		with("channelBookmark", (*Server).createBookmark),
	},
	{
		"PATCH /channels/{channel_id}/bookmarks/{bookmark_id} bookmarks channel_id there channel bookmark since 9.5",
		"updateChannelBookmark",
		with("channelBookmarkPatch", (*Server).updateBookmark),
	},
	{
		"POST /channels/{channel_id}/bookmarks/{bookmark_id}/sort_order bookmarks channel_id there channel bookmark since 9.5",
		"updateChannelBookmarkSortOrder",
		with("channelBookmarkSortOrder", (*Server).sortBookmark),
	},
	{
		"DELETE /channels/{channel_id}/bookmarks/{bookmark_id} bookmarks channel_id there channel bookmark since 9.5",
		"deleteChannelBookmark",
		(*Server).deleteBookmark,
	},
}

var profileRoutes = []operation{
	{
		"PUT /users/{user_id}/status/custom own since 5.33",
		"updateUserCustomStatus",
		with("custom_status", (*Server).updateCustomStatus),
	},
	{
		"DELETE /users/{user_id}/status/custom own since 5.33",
		"removeUserCustomStatus",
		(*Server).removeCustomStatus,
	},
	{"GET /users/stats", "getTotalUsersStats", (*Server).getUsersStats},
	{
		"GET /users/stats/filtered admin since 5.26",
		"getTotalUsersStatsFiltered",
		(*Server).getFilteredUsersStats,
	},
	{
		"GET /custom_profile_attributes/fields attributes since 10.5",
		"listCPAFields",
		lists(attributeFields, "custom_profile_attributes.search_property_fields", without),
	},
	{
		"POST /custom_profile_attributes/fields admin attributes since 10.5",
		"createCPAField",
		with("property_field", (*Server).createAttributeField),
	},
	{
		"PATCH /custom_profile_attributes/values attributes since 10.5",
		"patchCPAValues",
		with("value", (*Server).patchAttributes),
	},
	{
		"GET /users/{user_id}/custom_profile_attributes attributes user_id since 10.5",
		"listCPAValues",
		(*Server).getAttributes,
	},
}

var sidebarRoutes = []operation{
	{
		"GET /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26",
		"getCategoriesForTeamForUser",
		(*Server).getCategories,
	},
	{
		"POST /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26",
		"createCategoryForTeamForUser",
		with("category", (*Server).createCategory),
	},
	{
		"PUT /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26",
		"updateCategoriesForTeamForUser",
		with("category", (*Server).updateCategories),
	},
}

var reportRoutes = []operation{
	{"GET /reports/users admin since 9.5", "getUsersForReporting", (*Server).getUserReport},
	{
		"GET /reports/users/count admin since 9.5",
		"getUserCountForReporting",
		(*Server).getUserReportCount,
	},
	{
		"POST /client_perf since 9.9",
		"submitPerformanceReport",
		with("submitPerformanceReport", (*Server).clientPerformance),
	},
}

var analyticsRoutes = []operation{
	{"GET /analytics/old admin", "getAnalytics", (*Server).getAnalytics},
}

// isHandler reports whether an operation has this name.
func isHandler(name string) bool {
	for _, r := range routes() {
		if r.name == name {
			return true
		}
	}
	return false
}
