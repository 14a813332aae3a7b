package refchat

import "slices"

// route is one operation of the API. Name is the handler label in metrics, as the real server names it.
type route struct {
	method string
	path   string // below /api/v4
	name   string
	fn     func(*Server, *request) error
	open   bool // needs no session
	since  release
	segs   []string
}

// routes returns the table of operations: those that the themes' files declare, then the basic ones. Literal
// segments come before parameters.
func routes() []route {
	return slices.Concat(draftRoutes, scheduledRoutes, bookmarkRoutes, profileRoutes, sidebarRoutes, reportRoutes, analyticsRoutes, []route{
		{method: "GET", path: "/system/ping", name: "getSystemPing", fn: (*Server).ping, open: true},
		{method: "GET", path: "/config/client", name: "getClientConfig", fn: (*Server).getClientConfig, open: true},
		{method: "GET", path: "/config", name: "getConfig", fn: (*Server).getConfig},
		{method: "GET", path: "/license/client", name: "getClientLicense", fn: (*Server).getClientLicense, open: true},
		{method: "GET", path: "/websocket", name: "connectWebSocket", fn: (*Server).connectWebSocket, open: true},

		{method: "POST", path: "/users/login", name: "login", fn: (*Server).login, open: true},
		{method: "POST", path: "/users/logout", name: "logout", fn: (*Server).logout, open: true},
		{method: "POST", path: "/users", name: "createUser", fn: (*Server).createUser, open: true},
		{method: "GET", path: "/users", name: "getUsers", fn: (*Server).getUsers},
		{method: "POST", path: "/users/ids", name: "getUsersByIds", fn: (*Server).getUsersByIDs},
		{method: "POST", path: "/users/usernames", name: "getUsersByNames", fn: (*Server).getUsersByNames},
		{method: "POST", path: "/users/status/ids", name: "getUserStatusesByIds", fn: (*Server).getStatuses},
		{method: "GET", path: "/users/autocomplete", name: "autocompleteUsers", fn: (*Server).autocompleteUsers},
		{method: "POST", path: "/users/search", name: "searchUsers", fn: (*Server).searchUsers},
		{method: "GET", path: "/users/{user_id}", name: "getUser", fn: (*Server).getUser},
		{method: "GET", path: "/users/{user_id}/image", name: "getProfileImage", fn: (*Server).getProfileImage},
		{method: "GET", path: "/users/{user_id}/status", name: "getUserStatus", fn: (*Server).getStatus},
		{method: "GET", path: "/users/{user_id}/preferences", name: "getPreferences", fn: (*Server).getPreferences},
		{method: "PUT", path: "/users/{user_id}/preferences", name: "updatePreferences", fn: (*Server).updatePreferences},
		{method: "POST", path: "/users/{user_id}/tokens", name: "createUserAccessToken", fn: (*Server).createToken},
		{method: "GET", path: "/users/{user_id}/teams", name: "getTeamsForUser", fn: (*Server).getTeamsForUser},
		{method: "GET", path: "/users/{user_id}/teams/members", name: "getTeamMembersForUser", fn: (*Server).getTeamMembersForUser},
		{method: "GET", path: "/users/{user_id}/teams/unread", name: "getTeamsUnreadForUser", fn: (*Server).getTeamsUnread},
		{method: "GET", path: "/users/{user_id}/teams/{team_id}/channels", name: "getChannelsForTeamForUser", fn: (*Server).getChannelsForTeamForUser},
		{method: "GET", path: "/users/{user_id}/teams/{team_id}/channels/members", name: "getChannelMembersForUser", fn: (*Server).getChannelMembersForUser},
		{method: "GET", path: "/users/{user_id}/channels", name: "getChannelsForUser", fn: (*Server).getChannelsForUser, since: release{6, 2}},
		{method: "GET", path: "/users/{user_id}/channel_members", name: "getChannelMembersWithTeamDataForUser", fn: (*Server).getAllChannelMembersForUser, since: release{6, 2}},
		{method: "GET", path: "/users/{user_id}/channels/{channel_id}/unread", name: "getChannelUnread", fn: (*Server).getChannelUnread},
		{method: "GET", path: "/users/{user_id}/channels/{channel_id}/posts/unread", name: "getPostsForChannelAroundLastUnread", fn: (*Server).getPostsAroundUnread},

		{method: "GET", path: "/users/{user_id}/teams/{team_id}/threads", name: "getThreadsForUser", fn: (*Server).getThreads, since: release{5, 30}},
		{method: "PUT", path: "/users/{user_id}/teams/{team_id}/threads/read", name: "updateReadStateAllThreadsByUser", fn: (*Server).readAllThreads, since: release{5, 32}},
		{method: "GET", path: "/users/{user_id}/teams/{team_id}/threads/{thread_id}", name: "getThreadForUser", fn: (*Server).getThread, since: release{5, 33}},
		{method: "PUT", path: "/users/{user_id}/teams/{team_id}/threads/{thread_id}/following", name: "followThreadByUser", fn: (*Server).followThread, since: release{5, 30}},
		{method: "DELETE", path: "/users/{user_id}/teams/{team_id}/threads/{thread_id}/following", name: "unfollowThreadByUser", fn: (*Server).unfollowThread, since: release{5, 30}},
		{method: "PUT", path: "/users/{user_id}/teams/{team_id}/threads/{thread_id}/read/{timestamp}", name: "updateReadStateThreadByUser", fn: (*Server).readThread, since: release{5, 30}},

		{method: "POST", path: "/bots", name: "createBot", fn: (*Server).createBot},

		{method: "POST", path: "/teams", name: "createTeam", fn: (*Server).createTeam},
		{method: "GET", path: "/teams", name: "getAllTeams", fn: (*Server).getTeams},
		{method: "GET", path: "/teams/name/{team_name}", name: "getTeamByName", fn: (*Server).getTeamByName},
		{method: "GET", path: "/teams/{team_id}/stats", name: "getTeamStats", fn: (*Server).getTeamStats},
		{method: "GET", path: "/teams/{team_id}/channels", name: "getPublicChannelsForTeam", fn: (*Server).getPublicChannels},
		{method: "GET", path: "/teams/{team_id}/channels/name/{channel_name}", name: "getChannelByName", fn: (*Server).getChannelByName},
		{method: "POST", path: "/teams/{team_id}/channels/search", name: "searchChannelsForTeam", fn: (*Server).searchTeamChannels},
		{method: "GET", path: "/teams/{team_id}/channels/search_autocomplete", name: "autocompleteChannelsForTeamForSearch", fn: (*Server).searchAutocompleteChannels},
		{method: "POST", path: "/teams/{team_id}/posts/search", name: "searchPostsInTeam", fn: (*Server).searchPostsInTeam},
		{method: "POST", path: "/teams/{team_id}/members", name: "addTeamMember", fn: (*Server).addTeamMember},
		{method: "POST", path: "/teams/{team_id}/members/batch", name: "addTeamMembers", fn: (*Server).addTeamMembers},
		{method: "GET", path: "/teams/{team_id}/members", name: "getTeamMembers", fn: (*Server).getTeamMembers},
		{method: "GET", path: "/teams/{team_id}/members/{user_id}", name: "getTeamMember", fn: (*Server).getTeamMember},

		{method: "POST", path: "/channels", name: "createChannel", fn: (*Server).createChannel},
		{method: "POST", path: "/channels/direct", name: "createDirectChannel", fn: (*Server).createDirectChannel},
		{method: "POST", path: "/channels/group", name: "createGroupChannel", fn: (*Server).createGroupChannel},
		{method: "POST", path: "/channels/search", name: "searchAllChannels", fn: (*Server).searchAllChannels},
		{method: "POST", path: "/channels/group/search", name: "searchGroupChannels", fn: (*Server).searchGroupChannels},
		{method: "POST", path: "/channels/members/{user_id}/view", name: "viewChannel", fn: (*Server).viewChannel},
		{method: "GET", path: "/channels/{channel_id}", name: "getChannel", fn: (*Server).getChannel},
		{method: "GET", path: "/channels/{channel_id}/stats", name: "getChannelStats", fn: (*Server).getChannelStats},
		{method: "POST", path: "/channels/{channel_id}/members", name: "addChannelMember", fn: (*Server).addChannelMember},
		{method: "GET", path: "/channels/{channel_id}/members", name: "getChannelMembers", fn: (*Server).getChannelMembers},
		{method: "GET", path: "/channels/{channel_id}/members/{user_id}", name: "getChannelMember", fn: (*Server).getChannelMember},
		{method: "DELETE", path: "/channels/{channel_id}/members/{user_id}", name: "removeChannelMember", fn: (*Server).removeChannelMember},
		{method: "GET", path: "/channels/{channel_id}/posts", name: "getPostsForChannel", fn: (*Server).getPostsForChannel},

		{method: "POST", path: "/posts", name: "createPost", fn: (*Server).createPost},
		{method: "POST", path: "/posts/search", name: "searchPostsInAllTeams", fn: (*Server).searchPostsInAllTeams, since: release{7, 7}},
		{method: "POST", path: "/users/{user_id}/posts/{post_id}/ack", name: "acknowledgePost", fn: (*Server).acknowledge, since: release{7, 7}},
		{method: "POST", path: "/users/{user_id}/posts/{post_id}/reminder", name: "setPostReminder", fn: (*Server).setReminder, since: release{7, 2}},
		{method: "GET", path: "/posts/{post_id}", name: "getPost", fn: (*Server).getPost},
		{method: "GET", path: "/posts/{post_id}/thread", name: "getPostThread", fn: (*Server).getPostThread},
		{method: "PUT", path: "/posts/{post_id}/patch", name: "patchPost", fn: (*Server).patchPost},
		{method: "DELETE", path: "/posts/{post_id}", name: "deletePost", fn: (*Server).deletePost},
		{method: "GET", path: "/posts/{post_id}/reactions", name: "getReactions", fn: (*Server).getReactions},
		{method: "POST", path: "/reactions", name: "saveReaction", fn: (*Server).saveReaction},
		{method: "DELETE", path: "/users/{user_id}/posts/{post_id}/reactions/{emoji_name}", name: "deleteReaction", fn: (*Server).deleteReaction},

		{method: "POST", path: "/files", name: "uploadFileStream", fn: (*Server).uploadFiles},
		{method: "GET", path: "/files/{file_id}", name: "getFile", fn: (*Server).getFile},
		{method: "GET", path: "/files/{file_id}/thumbnail", name: "getFileThumbnail", fn: (*Server).getFileThumbnail},
		{method: "GET", path: "/files/{file_id}/preview", name: "getFilePreview", fn: (*Server).getFilePreview},

		{method: "POST", path: "/roles/names", name: "getRolesByNames", fn: (*Server).getRolesByNames},
		{method: "GET", path: "/plugins/webapp", name: "getWebappPlugins", fn: (*Server).getWebappPlugins},
	})
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
