package mattermost

import (
	"plimsoll/measure"
	"plimsoll/workload"
)

// An op is a kind of call.
type op uint8

const (
	opLogin op = iota
	opPost
	opReply
	opUpload
	opReact
	opTyping
	opViewChannel
	opGetPosts
	opGetPostsBefore
	opGetPostsUnread
	opGetThread
	opStatusIDs
	opUserIDs
	opChannelStats
	opTeamChannels
	opTeamChannelMembers
	opWebSocket
	// The rest happens only at login and in provisioning.
	opMe
	opMyTeams
	opCreateUser
	opUsersByName
	opCreateTeam
	opTeamByName
	opTeamMembers
	opAddTeamMembers
	opCreateChannel
	opChannelByName
	opChannelMembers
	opJoinChannel
	opCreateBot
	opCreateToken
	opChannel
	numOps
)

var opNames = [numOps]string{
	"login", "post", "reply", "upload", "react", "typing", "view_channel", "get_posts", "get_posts_before", "get_posts_unread",
	"get_thread", "status_ids", "user_ids", "channel_stats", "team_channels", "team_channel_members", "websocket",
	"me", "my_teams", "create_user", "users_by_name", "create_team", "team_by_name", "team_members", "add_team_members",
	"create_channel", "channel_by_name", "channel_members", "join_channel", "create_bot", "create_token", "channel",
}

// A Table holds the handles of the op names in one registry, for one phase of a user's life.
type Table [numOps]measure.Name

// NewTable returns the names of the steady state, of [workload.Login] or of [workload.Setup], as prefix says; "" means the first.
func NewTable(reg *measure.Registry, prefix string) *Table {
	var t Table
	for o, name := range opNames {
		switch {
		case prefix != "" && !(prefix == workload.Login && op(o) == opLogin):
			name = prefix + "_" + name
		}
		t[o] = reg.Name(name)
	}
	return &t
}

// Ops returns the names of the steady state's operations, of which rules may speak.
func Ops() []string {
	var out []string
	for o := opPost; o <= opWebSocket; o++ {
		out = append(out, opNames[o])
	}
	return out
}
