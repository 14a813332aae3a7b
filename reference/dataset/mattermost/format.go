package mattermost

// A line of the file: its type, and the object under that name.
type line struct {
	Type          string         `json:"type"`
	Version       int            `json:"version,omitempty"`
	Team          *team          `json:"team,omitempty"`
	Channel       *channel       `json:"channel,omitempty"`
	User          *user          `json:"user,omitempty"`
	Post          *post          `json:"post,omitempty"`
	DirectChannel *directChannel `json:"direct_channel,omitempty"`
	DirectPost    *directPost    `json:"direct_post,omitempty"`
}

type team struct {
	Name            string `json:"name"`
	DisplayName     string `json:"display_name"`
	Type            string `json:"type"`
	AllowOpenInvite bool   `json:"allow_open_invite"`
}

type channel struct {
	Team        string `json:"team"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Type        string `json:"type"`
	Header      string `json:"header"`
	Purpose     string `json:"purpose"`
}

type user struct {
	Username  string     `json:"username"`
	Email     string     `json:"email"`
	Password  string     `json:"password"`
	FirstName string     `json:"first_name"`
	LastName  string     `json:"last_name"`
	Position  string     `json:"position"`
	Roles     string     `json:"roles"`
	Locale    string     `json:"locale"`
	Teams     []userTeam `json:"teams"`
}

type userTeam struct {
	Name     string        `json:"name"`
	Roles    string        `json:"roles"`
	Channels []userChannel `json:"channels"`
}

type userChannel struct {
	Name  string `json:"name"`
	Roles string `json:"roles"`
}

type post struct {
	Team    string `json:"team"`
	Channel string `json:"channel"`
	body
	Replies []body `json:"replies,omitempty"`
}

type directChannel struct {
	Members []string `json:"members"`
}

type directPost struct {
	ChannelMembers []string `json:"channel_members"`
	body
	Replies []body `json:"replies,omitempty"`
}

// body is the common part of posts and replies.
type body struct {
	User        string       `json:"user"`
	Message     string       `json:"message"`
	CreateAt    int64        `json:"create_at"`
	Reactions   []reaction   `json:"reactions,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
}

type reaction struct {
	User      string `json:"user"`
	EmojiName string `json:"emoji_name"`
	CreateAt  int64  `json:"create_at"`
}

type attachment struct {
	Path string `json:"path"`
}
