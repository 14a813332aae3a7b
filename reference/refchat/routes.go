package refchat

import "slices"

// operation declares a route: its method, its path below /api/v4, the word open if it needs no session, and since
// which release there is one. Name is the handler label in metrics, as the real server names it.
type operation struct {
	call string
	name string
	fn   func(*Server, *request) error
}

// route is an operation of the API as the router finds it.
type route struct {
	operation
	open bool
	segs []string
}

// routes returns the table of operations: those that the themes' files declare, then the basic ones. Literal
// segments come before parameters.
func routes() []operation {
	return slices.Concat(draftRoutes, scheduledRoutes, bookmarkRoutes, profileRoutes, sidebarRoutes, reportRoutes, analyticsRoutes, []operation{
		{"GET /system/ping open", "getSystemPing", (*Server).ping},
		{"GET /config/client open", "getClientConfig", (*Server).getClientConfig},
		{"GET /config", "getConfig", (*Server).getConfig},
		{"GET /license/client open", "getClientLicense", (*Server).getClientLicense},
		{"GET /websocket open", "connectWebSocket", (*Server).connectWebSocket},

		{"POST /users/login open", "login", (*Server).login},
		{"POST /users/logout open", "logout", (*Server).logout},
		{"POST /users open", "createUser", (*Server).createUser},
		{"GET /users", "getUsers", (*Server).getUsers},
		{"POST /users/ids", "getUsersByIds", (*Server).getUsersByIDs},
		{"POST /users/usernames", "getUsersByNames", (*Server).getUsersByNames},
		{"POST /users/status/ids", "getUserStatusesByIds", (*Server).getStatuses},
		{"GET /users/autocomplete", "autocompleteUsers", (*Server).autocompleteUsers},
		{"POST /users/search", "searchUsers", (*Server).searchUsers},
		{"GET /users/{user_id}", "getUser", (*Server).getUser},
		{"GET /users/{user_id}/image", "getProfileImage", (*Server).getProfileImage},
		{"GET /users/{user_id}/status", "getUserStatus", (*Server).getStatus},
		{"GET /users/{user_id}/preferences", "getPreferences", (*Server).getPreferences},
		{"PUT /users/{user_id}/preferences", "updatePreferences", (*Server).updatePreferences},
		{"POST /users/{user_id}/tokens", "createUserAccessToken", (*Server).createToken},
		{"GET /users/{user_id}/teams", "getTeamsForUser", (*Server).getTeamsForUser},
		{"GET /users/{user_id}/teams/members", "getTeamMembersForUser", (*Server).getTeamMembersForUser},
		{"GET /users/{user_id}/teams/unread", "getTeamsUnreadForUser", (*Server).getTeamsUnread},
		{"GET /users/{user_id}/teams/{team_id}/channels", "getChannelsForTeamForUser", (*Server).getChannelsForTeamForUser},
		{"GET /users/{user_id}/teams/{team_id}/channels/members", "getChannelMembersForUser", (*Server).getChannelMembersForUser},
		{"GET /users/{user_id}/channels since 6.2", "getChannelsForUser", (*Server).getChannelsForUser},
		{"GET /users/{user_id}/channel_members since 6.2", "getChannelMembersWithTeamDataForUser", (*Server).getAllChannelMembersForUser},
		{"GET /users/{user_id}/channels/{channel_id}/unread", "getChannelUnread", (*Server).getChannelUnread},
		{"GET /users/{user_id}/channels/{channel_id}/posts/unread", "getPostsForChannelAroundLastUnread", (*Server).getPostsAroundUnread},

		{"GET /users/{user_id}/teams/{team_id}/threads since 5.30", "getThreadsForUser", (*Server).getThreads},
		{"PUT /users/{user_id}/teams/{team_id}/threads/read since 5.32", "updateReadStateAllThreadsByUser", (*Server).readAllThreads},
		{"GET /users/{user_id}/teams/{team_id}/threads/{thread_id} since 5.33", "getThreadForUser", (*Server).getThread},
		{"PUT /users/{user_id}/teams/{team_id}/threads/{thread_id}/following since 5.30", "followThreadByUser", (*Server).followThread},
		{"DELETE /users/{user_id}/teams/{team_id}/threads/{thread_id}/following since 5.30", "unfollowThreadByUser", (*Server).unfollowThread},
		{"PUT /users/{user_id}/teams/{team_id}/threads/{thread_id}/read/{timestamp} since 5.30", "updateReadStateThreadByUser", (*Server).readThread},

		{"POST /bots", "createBot", (*Server).createBot},

		{"POST /teams", "createTeam", (*Server).createTeam},
		{"GET /teams", "getAllTeams", (*Server).getTeams},
		{"GET /teams/name/{team_name}", "getTeamByName", (*Server).getTeamByName},
		{"GET /teams/{team_id}/stats", "getTeamStats", (*Server).getTeamStats},
		{"GET /teams/{team_id}/channels", "getPublicChannelsForTeam", (*Server).getPublicChannels},
		{"GET /teams/{team_id}/channels/name/{channel_name}", "getChannelByName", (*Server).getChannelByName},
		{"POST /teams/{team_id}/channels/search", "searchChannelsForTeam", (*Server).searchTeamChannels},
		{"GET /teams/{team_id}/channels/search_autocomplete", "autocompleteChannelsForTeamForSearch", (*Server).searchAutocompleteChannels},
		{"POST /teams/{team_id}/posts/search", "searchPostsInTeam", (*Server).searchPostsInTeam},
		{"POST /teams/{team_id}/members", "addTeamMember", (*Server).addTeamMember},
		{"POST /teams/{team_id}/members/batch", "addTeamMembers", (*Server).addTeamMembers},
		{"GET /teams/{team_id}/members", "getTeamMembers", (*Server).getTeamMembers},
		{"GET /teams/{team_id}/members/{user_id}", "getTeamMember", (*Server).getTeamMember},

		{"POST /channels", "createChannel", (*Server).createChannel},
		{"POST /channels/direct", "createDirectChannel", (*Server).createDirectChannel},
		{"POST /channels/group", "createGroupChannel", (*Server).createGroupChannel},
		{"POST /channels/search", "searchAllChannels", (*Server).searchAllChannels},
		{"POST /channels/group/search", "searchGroupChannels", (*Server).searchGroupChannels},
		{"POST /channels/members/{user_id}/view", "viewChannel", (*Server).viewChannel},
		{"GET /channels/{channel_id}", "getChannel", (*Server).getChannel},
		{"GET /channels/{channel_id}/stats", "getChannelStats", (*Server).getChannelStats},
		{"POST /channels/{channel_id}/members", "addChannelMember", (*Server).addChannelMember},
		{"GET /channels/{channel_id}/members", "getChannelMembers", (*Server).getChannelMembers},
		{"GET /channels/{channel_id}/members/{user_id}", "getChannelMember", (*Server).getChannelMember},
		{"DELETE /channels/{channel_id}/members/{user_id}", "removeChannelMember", (*Server).removeChannelMember},
		{"GET /channels/{channel_id}/posts", "getPostsForChannel", (*Server).getPostsForChannel},

		{"POST /posts", "createPost", (*Server).createPost},
		{"POST /posts/search since 7.7", "searchPostsInAllTeams", (*Server).searchPostsInAllTeams},
		{"POST /users/{user_id}/posts/{post_id}/ack since 7.7", "acknowledgePost", (*Server).acknowledge},
		{"POST /users/{user_id}/posts/{post_id}/reminder since 7.2", "setPostReminder", (*Server).setReminder},
		{"GET /posts/{post_id}", "getPost", (*Server).getPost},
		{"GET /posts/{post_id}/thread", "getPostThread", (*Server).getPostThread},
		{"PUT /posts/{post_id}/patch", "patchPost", (*Server).patchPost},
		{"DELETE /posts/{post_id}", "deletePost", (*Server).deletePost},
		{"GET /posts/{post_id}/reactions", "getReactions", (*Server).getReactions},
		{"POST /reactions", "saveReaction", (*Server).saveReaction},
		{"DELETE /users/{user_id}/posts/{post_id}/reactions/{emoji_name}", "deleteReaction", (*Server).deleteReaction},

		{"POST /files", "uploadFileStream", (*Server).uploadFiles},
		{"GET /files/{file_id}", "getFile", (*Server).getFile},
		{"GET /files/{file_id}/thumbnail", "getFileThumbnail", (*Server).getFileThumbnail},
		{"GET /files/{file_id}/preview", "getFilePreview", (*Server).getFilePreview},

		{"POST /roles/names", "getRolesByNames", (*Server).getRolesByNames},
		{"GET /plugins/webapp", "getWebappPlugins", (*Server).getWebappPlugins},
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
