package refchat

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"time"
)

// The wire types have the field names, the order and the omissions of the real API.

type user struct {
	ID                 string            `json:"id"`
	CreateAt           int64             `json:"create_at,omitempty"`
	UpdateAt           int64             `json:"update_at,omitempty"`
	DeleteAt           int64             `json:"delete_at"`
	Username           string            `json:"username"`
	Password           string            `json:"password,omitempty"`
	AuthData           *string           `json:"auth_data,omitempty"`
	AuthService        string            `json:"auth_service"`
	Email              string            `json:"email"`
	EmailVerified      bool              `json:"email_verified,omitempty"`
	Nickname           string            `json:"nickname"`
	FirstName          string            `json:"first_name"`
	LastName           string            `json:"last_name"`
	Position           string            `json:"position"`
	Roles              string            `json:"roles"`
	AllowMarketing     bool              `json:"allow_marketing,omitempty"`
	Props              map[string]string `json:"props,omitempty"`
	NotifyProps        map[string]string `json:"notify_props,omitempty"`
	LastPasswordUpdate int64             `json:"last_password_update,omitempty"`
	LastPictureUpdate  int64             `json:"last_picture_update,omitempty"`
	FailedAttempts     int               `json:"failed_attempts,omitempty"`
	Locale             string            `json:"locale"`
	Timezone           map[string]string `json:"timezone"`
	IsBot              bool              `json:"is_bot,omitempty"`
	BotDescription     string            `json:"bot_description,omitempty"`
	DisableWelcome     bool              `json:"disable_welcome_email"`
}

type bot struct {
	UserID      string `json:"user_id"`
	Username    string `json:"username"`
	DisplayName string `json:"display_name,omitempty"`
	Description string `json:"description,omitempty"`
	OwnerID     string `json:"owner_id"`
	CreateAt    int64  `json:"create_at"`
	UpdateAt    int64  `json:"update_at"`
	DeleteAt    int64  `json:"delete_at"`
}

type accessToken struct {
	ID          string `json:"id"`
	Token       string `json:"token,omitempty"`
	UserID      string `json:"user_id"`
	Description string `json:"description"`
	IsActive    bool   `json:"is_active"`
}

type team struct {
	ID               string  `json:"id"`
	CreateAt         int64   `json:"create_at"`
	UpdateAt         int64   `json:"update_at"`
	DeleteAt         int64   `json:"delete_at"`
	DisplayName      string  `json:"display_name"`
	Name             string  `json:"name"`
	Description      string  `json:"description"`
	Email            string  `json:"email"`
	Type             string  `json:"type"`
	CompanyName      string  `json:"company_name"`
	AllowedDomains   string  `json:"allowed_domains"`
	InviteID         string  `json:"invite_id"`
	AllowOpenInvite  bool    `json:"allow_open_invite"`
	SchemeID         *string `json:"scheme_id"`
	GroupConstrained *bool   `json:"group_constrained"`
	PolicyID         *string `json:"policy_id"`
}

type teamMember struct {
	TeamID        string `json:"team_id"`
	UserID        string `json:"user_id"`
	Roles         string `json:"roles" db:"-"`
	DeleteAt      int64  `json:"delete_at"`
	SchemeGuest   bool   `json:"scheme_guest"`
	SchemeUser    bool   `json:"scheme_user"`
	SchemeAdmin   bool   `json:"scheme_admin"`
	ExplicitRoles string `json:"explicit_roles" db:"roles"`
}

type teamUnread struct {
	TeamID           string `json:"team_id"`
	MsgCount         int64  `json:"msg_count"`
	MentionCount     int64  `json:"mention_count"`
	MentionCountRoot int64  `json:"mention_count_root"`
	MsgCountRoot     int64  `json:"msg_count_root"`
}

type channel struct {
	ID                string  `json:"id"`
	CreateAt          int64   `json:"create_at"`
	UpdateAt          int64   `json:"update_at"`
	DeleteAt          int64   `json:"delete_at"`
	TeamID            string  `json:"team_id"`
	Type              string  `json:"type"`
	DisplayName       string  `json:"display_name"`
	Name              string  `json:"name"`
	Header            string  `json:"header"`
	Purpose           string  `json:"purpose"`
	LastPostAt        int64   `json:"last_post_at"`
	TotalMsgCount     int64   `json:"total_msg_count"`
	ExtraUpdateAt     int64   `json:"extra_update_at"`
	CreatorID         string  `json:"creator_id"`
	SchemeID          *string `json:"scheme_id"`
	Props             *string `json:"props"`
	GroupConstrained  *bool   `json:"group_constrained"`
	Shared            *bool   `json:"shared"`
	TotalMsgCountRoot int64   `json:"total_msg_count_root"`
	PolicyID          *string `json:"policy_id"`
}

// Channel types.
const (
	openChannel    = "O"
	privateChannel = "P"
	directChannel  = "D"
	groupChannel   = "G"
)

type channelMember struct {
	ChannelID        string            `json:"channel_id"`
	UserID           string            `json:"user_id"`
	Roles            string            `json:"roles" db:"-"`
	LastViewedAt     memberTime        `json:"last_viewed_at,omitzero"`
	MsgCount         int64             `json:"msg_count"`
	MentionCount     int64             `json:"mention_count"`
	MentionCountRoot int64             `json:"mention_count_root"`
	MsgCountRoot     int64             `json:"msg_count_root"`
	NotifyProps      map[string]string `json:"notify_props"`
	LastUpdateAt     memberTime        `json:"last_update_at,omitzero"`
	SchemeGuest      bool              `json:"scheme_guest"`
	SchemeUser       bool              `json:"scheme_user"`
	SchemeAdmin      bool              `json:"scheme_admin"`
	ExplicitRoles    string            `json:"explicit_roles" db:"roles"`
}

type channelUnread struct {
	TeamID           string `json:"team_id"`
	ChannelID        string `json:"channel_id"`
	MsgCount         int64  `json:"msg_count"`
	MentionCount     int64  `json:"mention_count"`
	MentionCountRoot int64  `json:"mention_count_root"`
	MsgCountRoot     int64  `json:"msg_count_root"`
}

type channelStats struct {
	ChannelID   string `json:"channel_id"`
	MemberCount int64  `json:"member_count"`
	GuestCount  int64  `json:"guest_count"`
	PinnedCount int64  `json:"pinnedpost_count"`
}

type post struct {
	ID            string         `json:"id"`
	CreateAt      int64          `json:"create_at"`
	UpdateAt      int64          `json:"update_at"`
	EditAt        int64          `json:"edit_at"`
	DeleteAt      int64          `json:"delete_at"`
	IsPinned      bool           `json:"is_pinned"`
	UserID        string         `json:"user_id"`
	ChannelID     string         `json:"channel_id"`
	RootID        string         `json:"root_id"`
	ParentID      string         `json:"parent_id"`
	OriginalID    string         `json:"original_id"`
	Message       string         `json:"message"`
	Type          string         `json:"type"`
	Props         map[string]any `json:"props"`
	Hashtags      string         `json:"hashtags"`
	FileIDs       []string       `json:"file_ids,omitempty"`
	PendingPostID string         `json:"pending_post_id"`
	HasReactions  bool           `json:"has_reactions,omitempty"`
	ReplyCount    int64          `json:"reply_count"`
	LastReplyAt   int64          `json:"last_reply_at"`
	Participants  []*user        `json:"participants"`
	// Of a root, in lists for clients that collapse threads.
	IsFollowing *bool         `json:"is_following,omitempty"`
	Metadata    *postMetadata `json:"metadata,omitempty"`
}

type postMetadata struct {
	Files            []*fileInfo        `json:"files,omitempty"`
	Reactions        []*reaction        `json:"reactions,omitempty"`
	Priority         *postPriority      `json:"priority,omitempty"`
	Acknowledgements []*acknowledgement `json:"acknowledgements,omitempty"`
}

type postList struct {
	Order      []string         `json:"order"`
	Posts      map[string]*post `json:"posts"`
	NextPostID string           `json:"next_post_id"`
	PrevPostID string           `json:"prev_post_id"`
	HasNext    *bool            `json:"has_next,omitempty"` // of a thread
}

type reaction struct {
	UserID    string  `json:"user_id"`
	PostID    string  `json:"post_id"`
	EmojiName string  `json:"emoji_name"`
	CreateAt  int64   `json:"create_at"`
	UpdateAt  int64   `json:"update_at"`
	DeleteAt  int64   `json:"delete_at"`
	RemoteID  *string `json:"remote_id"`
}

type fileInfo struct {
	ID              string  `json:"id"`
	CreatorID       string  `json:"user_id"`
	PostID          string  `json:"post_id,omitempty"`
	ChannelID       string  `json:"channel_id"`
	CreateAt        int64   `json:"create_at"`
	UpdateAt        int64   `json:"update_at"`
	DeleteAt        int64   `json:"delete_at"`
	Path            string  `json:"-"`
	ThumbnailPath   string  `json:"-"`
	PreviewPath     string  `json:"-"`
	Name            string  `json:"name"`
	Extension       string  `json:"extension"`
	Size            int64   `json:"size"`
	MimeType        string  `json:"mime_type"`
	Width           int     `json:"width,omitempty"`
	Height          int     `json:"height,omitempty"`
	HasPreviewImage bool    `json:"has_preview_image,omitempty"`
	MiniPreview     *[]byte `json:"mini_preview"`
	RemoteID        *string `json:"remote_id"`
}

type preference struct {
	UserID   string `json:"user_id"`
	Category string `json:"category"`
	Name     string `json:"name"`
	Value    string `json:"value"`
}

type status struct {
	UserID         string `json:"user_id"`
	Status         string `json:"status"`
	Manual         bool   `json:"manual"`
	LastActivityAt int64  `json:"last_activity_at"`
	ActiveChannel  string `json:"active_channel,omitempty"`
	DNDEndTime     int64  `json:"dnd_end_time"`
}

type session struct {
	ID             string
	Token          string
	CreateAt       int64
	ExpiresAt      int64
	LastActivityAt int64
	UserID         string
	Roles          string
	Props          map[string]string
}

// idEncoding is the z-base-32 alphabet that the real server's identifiers use.
var idEncoding = base32.NewEncoding("ybndrfg8ejkmcpqxot1uwisza345h769").
	WithPadding(base32.NoPadding)

// newID returns 128 random bits as 26 lower-case characters.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return idEncoding.EncodeToString(b[:])
}

// validID reports whether s has the form of an identifier.
func validID(s string) bool {
	if len(s) != 26 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// validIDs refuses a list of which one is no identifier, as the field of a body.
func validIDs(ids []string, field string) error {
	for _, id := range ids {
		if !validID(id) {
			return errBody(field)
		}
	}
	return nil
}

// millis is the API's clock: milliseconds since 1970.
func millis() int64 { return time.Now().UnixMilli() }

// fill makes an empty map where there is none.
func fill(m *map[string]any) {
	if *m == nil {
		*m = map[string]any{}
	}
}

// jsonText encodes v for a text column; nil maps and slices become "{}" and "[]".
func jsonText(v any) string {
	switch x := v.(type) {
	case map[string]string:
		if len(x) == 0 {
			return "{}"
		}
	case map[string]any:
		if len(x) == 0 {
			return "{}"
		}
	case []string:
		if len(x) == 0 {
			return "[]"
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// textMap decodes a text column into a map; unreadable text gives an empty map.
func textMap[V any](s string) map[string]V {
	m := map[string]V{}
	if s != "" && s != "{}" {
		_ = json.Unmarshal([]byte(s), &m)
	}
	return m
}

// textList decodes a text column into a list; empty text gives nil.
func textList(s string) []string {
	var l []string
	if s != "" && s != "[]" {
		_ = json.Unmarshal([]byte(s), &l)
	}
	return l
}
