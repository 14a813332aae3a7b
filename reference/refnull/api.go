package refnull

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// The table: which answer belongs to which path. A star in a path is an argument. In an answer
// stand
//
//	$1 to $4   the arguments
//	$a1 $p1 …  an id made from argument 1, always the same: the letter over its first byte (a to o) or second (p to z)
//	$h1        the id of the object with the name in argument 1
//	$n1        the name of the user with the id in argument 1
//	$me        the user to whom the token belongs: tokens are user ids
//	$team      the one team
//	$now       Unix milliseconds
//	$new       an id that was never given before
//	$size      the size of the one file in a form
//	$bot       whether the name $it is a bot's: it ends in bot
//	$f:NAME;   the string that the body has under this name
//	$i:NAME;   the number that it has
//	$body      the whole body
//	$l:NAME;   the array of strings that it has
//	$o:NAME;   the object that it has, or an empty one
//	$hf:NAME;  the id of the object with that name
//	$it        of a list: the string from the body's array; $hit and $nit as above
//
// A list is one answer for each string of the body's array (whole array elements, or all strings
// under Each).
type answer struct {
	route  string // "METHOD /path below /api/v4"
	status int    // 0 means 200
	text   string
	list   bool // text once for each string in the body, between brackets
	// Of a list: only the strings under this name, for an array of objects; "#": as often as the
	// number in the body, and once more.
	each   string
	header string // a further header line's name; its value is the template value
	value  string
}

const (
	userOf = `"create_at":1600000000000,"update_at":1600000000000,"delete_at":0,"email":"","nickname":"","first_name":"","last_name":"","position":"","locale":"en","roles":"system_user system_admin"}`
	me     = `{"id":"$me","username":"$nme","is_bot":false,` + userOf
	user1  = `{"id":"$1","username":"$n1","is_bot":false,` + userOf
	team   = `{"id":"$team","create_at":1600000000000,"update_at":1600000000000,"delete_at":0,"display_name":"null","name":"null","description":"","email":"","type":"O","company_name":"","allowed_domains":"","invite_id":"","allow_open_invite":true}`

	channelOf = `"create_at":1600000000000,"update_at":1600000000000,"delete_at":0,"team_id":"$team","header":"","purpose":"","last_post_at":1600000000000,"total_msg_count":9,"total_msg_count_root":9,"extra_update_at":0,"creator_id":"","scheme_id":null,"props":null,"group_constrained":null,"shared":null`
	channels  = `[{"id":"$a1","type":"O","display_name":"a","name":"off-topic",` + channelOf + `},{"id":"$b1","type":"O","display_name":"b","name":"town-square",` + channelOf +
		`},{"id":"$c1","type":"O","display_name":"c","name":"null-000",` + channelOf + `},{"id":"$d1","type":"O","display_name":"d","name":"null-001",` + channelOf +
		`},{"id":"$e1","type":"P","display_name":"e","name":"null-002",` + channelOf + `},{"id":"$g1","type":"D","display_name":"","name":"direct",` + channelOf + `}]`
	memberOf   = `"roles":"channel_user","last_viewed_at":1600000000000,"msg_count":9,"mention_count":0,"mention_count_root":0,"urgent_mention_count":0,"msg_count_root":9,"notify_props":{"desktop":"default"},"last_update_at":1600000000000,"scheme_guest":false,"scheme_user":true,"scheme_admin":false,"explicit_roles":""}`
	memberMe   = `"user_id":"$me",` + memberOf
	members    = `[{"channel_id":"$a2",` + memberMe + `,{"channel_id":"$b2",` + memberMe + `,{"channel_id":"$c2",` + memberMe + `,{"channel_id":"$d2",` + memberMe + `,{"channel_id":"$e2",` + memberMe + `,{"channel_id":"$g2",` + memberMe + `]`
	postOf     = `"create_at":1600000000000,"update_at":1600000000000,"edit_at":0,"delete_at":0,"is_pinned":false,"original_id":"","type":"","props":{},"hashtags":"","pending_post_id":"","reply_count":0,"last_reply_at":0,"participants":null,"metadata":{}`
	posts1     = `{"order":["$p1","$q1","$r1"],"posts":{"$p1":{"id":"$p1","user_id":"$u1","channel_id":"$1","root_id":"","message":"nothing",` + postOf + `},"$q1":{"id":"$q1","user_id":"$v1","channel_id":"$1","root_id":"","message":"nothing",` + postOf + `},"$r1":{"id":"$r1","user_id":"$u1","channel_id":"$1","root_id":"$p1","message":"nothing",` + postOf + `}},"next_post_id":"","prev_post_id":"","first_inaccessible_post_time":0,"has_next":false}`
	thread1    = `{"order":["$1"],"posts":{"$1":{"id":"$1","user_id":"$u1","channel_id":"$c1","root_id":"","message":"nothing",` + postOf + `}},"next_post_id":"","prev_post_id":"","first_inaccessible_post_time":0,"has_next":false}`
	made       = `"user_id":"$me","create_at":$now,"update_at":$now,"edit_at":0,"delete_at":0,"is_pinned":false,"original_id":"","type":"","props":{},"hashtags":"","pending_post_id":"","reply_count":0,"last_reply_at":0,"participants":null,"metadata":$o:metadata;`
	created    = `{"id":"$new","file_ids":$l:file_ids;,"channel_id":"$f:channel_id;","root_id":"$f:root_id;","message":"$f:message;",` + made + `}`
	ok         = `{"status":"OK"}`
	threadOf   = `"reply_count":2,"last_reply_at":1600000000000,"participants":[],"is_following":true,"unread_replies":0,"unread_mentions":0,"is_urgent":false,"delete_at":0`
	rootOf     = `"channel_id":"$a2","user_id":"$u2","root_id":"","message":"nothing",` + postOf
	threads    = `{"total":1,"total_unread_threads":0,"total_unread_mentions":0,"total_unread_urgent_mentions":0,"threads":[{"id":"$t2","post":{"id":"$t2",` + rootOf + `},"last_viewed_at":1600000000000,` + threadOf + `}]}`
	category   = `"user_id":"$1","team_id":"$2","sort_order":10,"sorting":"","muted":false,"collapsed":false`
	bookmark   = `"create_at":$now,"update_at":$now,"channel_id":"$1","owner_id":"$me","sort_order":0,"link_url":"$f:link_url;","file_id":"$f:file_id;","display_name":"$f:display_name;","type":"link"`
	bookmarked = `"create_at":1600000000000,"update_at":1600000000000,"channel_id":"$1","owner_id":"$me","sort_order":0,"link_url":"https://example.com/","file_id":"","display_name":"nothing","type":"link"`
	picture    = `"no picture at all, but as many bytes as a small one has: it is not looked at, only counted"`
)

var answers = []answer{
	{route: "GET /system/ping", text: ok},
	{route: "GET /config/client", text: `{"Version":"$version","BuildNumber":"null","SiteName":"refnull","NullServer":"true","CollapsedThreads":"default_on","AllowSyncedDrafts":"true","FeatureFlagChannelBookmarks":"true","FeatureFlagCustomProfileAttributes":"true","EnableCustomUserStatuses":"true","PostPriority":"true","PostAcknowledgements":"true","AllowPersistentNotifications":"true","EnableClientMetrics":"true","ScheduledPosts":"true","MaxFileSize":"104857600"}`},
	{route: "GET /config", text: `{"ServiceSettings":{},"TeamSettings":{"MaxUsersPerTeam":200000}}`},
	{route: "GET /license/client", text: `{"IsLicensed":"true","SkuShortName":"enterprise","Cloud":"false"}`},
	{route: "GET /plugins/webapp", text: `[]`},
	{route: "GET /custom_profile_attributes/fields", text: `[]`},
	{route: "POST /roles/names", text: `[]`},

	{route: "POST /users/login", text: `{"id":"$hf:login_id;","username":"$f:login_id;","is_bot":false,` + userOf, header: "Token", value: "$hf:login_id;"},
	{route: "POST /users/logout", text: ok},
	{route: "POST /users", status: 201, text: `{"id":"$hf:username;","username":"$f:username;","is_bot":false,` + userOf},
	{route: "GET /users", text: `[]`},
	{route: "POST /users/ids", text: `{"id":"$it","username":"$nit","is_bot":false,` + userOf, list: true},
	{route: "POST /users/usernames", text: `{"id":"$hit","username":"$it","is_bot":$bot,` + userOf, list: true},
	{route: "POST /users/status/ids", text: `{"user_id":"$it","status":"online","manual":false,"last_activity_at":1600000000000}`, list: true},
	{route: "GET /users/autocomplete", text: `{"users":[],"out_of_channel":[]}`},
	{route: "POST /users/search", text: `[]`},
	{route: "GET /users/me", text: me},
	{route: "GET /users/username/*", text: `{"id":"$h1","username":"$1","is_bot":false,` + userOf},
	{route: "GET /users/*", text: user1},
	{route: "GET /users/*/status", text: `{"user_id":"$1","status":"online","manual":false,"last_activity_at":1600000000000}`},
	{route: "GET /users/*/preferences", text: `[]`},
	{route: "GET /users/*/teams", text: `[` + team + `]`},
	{route: "GET /users/*/teams/members", text: `[{"team_id":"$team","user_id":"$1","roles":"team_user","delete_at":0,"scheme_user":true,"scheme_admin":false,"scheme_guest":false}]`},
	{route: "GET /users/*/teams/unread", text: `[{"team_id":"$team","msg_count":0,"mention_count":0,"mention_count_root":0,"msg_count_root":0,"thread_count":0,"thread_mention_count":0}]`},
	{route: "GET /users/*/channels", text: strings.ReplaceAll(channels, "1\",\"type\"", "team\",\"type\"")},
	{route: "GET /users/*/channel_members", text: `[]`},
	{route: "GET /users/*/teams/*/channels", text: strings.ReplaceAll(channels, "1\",\"type\"", "2\",\"type\"")},
	{route: "GET /users/*/teams/*/channels/members", text: members},
	{route: "GET /users/*/teams/*/channels/categories", text: `{"categories":[{"id":"$f1",` + category + `,"type":"favorites","display_name":"Favorites","channel_ids":[]},{"id":"$k1",` + category +
		`,"type":"channels","display_name":"Channels","channel_ids":["$a2","$b2","$c2","$d2","$e2"]},{"id":"$m1",` + category + `,"type":"direct_messages","display_name":"Direct Messages","channel_ids":["$g2"]}],"order":["$f1","$k1","$m1"]}`},
	{route: "POST /users/*/teams/*/channels/categories", status: 201, text: `{"id":"$new",` + category + `,"type":"custom","display_name":"$f:display_name;","channel_ids":$l:channel_ids;}`},
	{route: "PUT /users/*/teams/*/channels/categories", text: "$body"},
	{route: "GET /users/*/teams/*/threads", text: threads},
	{route: "PUT /users/*/teams/*/threads/read", text: ok},
	{route: "GET /users/*/teams/*/threads/*", text: `{"id":"$3","post":{"id":"$3",` + rootOf + `},"last_viewed_at":1600000000000,` + threadOf + `}`},
	{route: "PUT /users/*/teams/*/threads/*/read/*", text: `{"id":"$3","post":{"id":"$3",` + rootOf + `},"last_viewed_at":$4,` + threadOf + `}`},
	{route: "PUT /users/*/teams/*/threads/*/following", text: ok},
	{route: "DELETE /users/*/teams/*/threads/*/following", text: ok},
	{route: "GET /users/stats", text: `{"total_users_count":9}`},
	{route: "GET /analytics/old", text: `[{"name":"channel_open_count","value":5},{"name":"channel_private_count","value":0},{"name":"post_count","value":0},{"name":"unique_user_count","value":9},{"name":"team_count","value":1}]`},
	{route: "GET /users/*/image", text: picture, header: "Etag", value: `"null"`},
	{route: "PUT /users/*/preferences", text: ok},
	{route: "PUT /users/*/status/custom", text: ok},
	{route: "DELETE /users/*/status/custom", text: ok},
	{route: "GET /users/*/custom_profile_attributes", text: `{}`},
	{route: "POST /custom_profile_attributes/fields", status: 201, text: `{"id":"$hf:name;","name":"$f:name;","type":"$f:type;","group_id":"","create_at":$now}`},
	{route: "PATCH /custom_profile_attributes/values", text: "$body"},
	{route: "GET /reports/users", text: `[]`},
	{route: "POST /client_perf", text: ok},
	{route: "DELETE /users/*/channels/*/drafts", text: ok},
	{route: "DELETE /users/*/channels/*/drafts/*", text: ok},
	{route: "POST /users/*/posts/*/reminder", text: ok},
	{route: "POST /users/*/posts/*/ack", text: `{"user_id":"$1","post_id":"$2","acknowledged_at":$now,"channel_id":"","remote_id":""}`},
	{route: "DELETE /users/*/posts/*/reactions/*", text: ok},
	{route: "GET /posts/*/reactions", text: `[]`},
	{route: "GET /teams/*/channels/search_autocomplete", text: `[]`},
	{route: "POST /teams/*/channels/search", text: `[]`},
	{route: "POST /channels/*/bookmarks", status: 201, text: `{"id":"$new",` + bookmark + `}`},
	{route: "PATCH /channels/*/bookmarks/*", text: `{"updated":{"id":"$2",` + bookmark + `}}`},
	{route: "DELETE /channels/*/bookmarks/*", text: `{"id":"$2","delete_at":$now,"channel_id":"$1"}`},
	{route: "POST /channels/*/bookmarks/*/sort_order", text: `{"id":"$2",` + bookmark + `}`, list: true, each: "#"},
	{route: "DELETE /channels/*/members/*", text: ok},
	{route: "PUT /posts/schedule/*", text: `{"id":"$1","channel_id":"$f:channel_id;","root_id":"$f:root_id;","message":"$f:message;","file_ids":$l:file_ids;,"scheduled_at":$i:scheduled_at;,"user_id":"$me"}`},
	{route: "DELETE /posts/schedule/*", text: `{"id":"$1","channel_id":"","message":"","scheduled_at":0}`},
	{route: "GET /files/*", text: picture},
	{route: "GET /files/*/thumbnail", text: picture},
	{route: "GET /files/*/preview", text: picture},
	{route: "GET /users/*/teams/*/drafts", text: `[]`},
	{route: "GET /users/*/channels/*/unread", text: `{"team_id":"$team","channel_id":"$2","msg_count":0,"mention_count":0,"mention_count_root":0,"msg_count_root":0}`},
	{route: "GET /users/*/channels/*/posts/unread", text: strings.ReplaceAll(posts1, `1"`, `2"`)},
	{route: "POST /users/*/tokens", text: `{"id":"$new","token":"$1","user_id":"$1","description":"","is_active":true}`},
	{route: "POST /bots", status: 201, text: `{"user_id":"$hf:username;","username":"$f:username;"}`},

	{route: "GET /teams", text: `[` + team + `]`},
	{route: "POST /teams", status: 201, text: team},
	{route: "GET /teams/name/*", text: team},
	{route: "GET /teams/*", text: team},
	{route: "GET /teams/*/stats", text: `{"team_id":"$1","total_member_count":9,"active_member_count":9}`},
	{route: "GET /teams/*/channels", text: channels},
	{route: "GET /teams/*/channels/name/*", text: `{"id":"$h2","name":"$2","display_name":"$2","type":"O",` + channelOf + `}`},
	{route: "GET /teams/*/members", text: `[]`},
	{route: "GET /teams/*/members/*", text: `{"team_id":"$1","user_id":"$2","roles":"team_user","delete_at":0,"scheme_user":true,"scheme_admin":false,"scheme_guest":false}`},
	{route: "POST /teams/*/members/batch", status: 201, text: `{"team_id":"$1","user_id":"$it","roles":"team_user","delete_at":0,"scheme_user":true,"scheme_admin":false}`, list: true, each: "user_id"},
	{route: "POST /teams/*/members", status: 201, text: `{"team_id":"$1","user_id":"$f:user_id;","roles":"team_user","delete_at":0}`},
	{route: "POST /teams/*/posts/search", text: `{"order":[],"posts":{},"matches":null,"first_inaccessible_post_time":0}`},
	{route: "POST /posts/search", text: `{"order":[],"posts":{},"matches":null,"first_inaccessible_post_time":0}`},
	{route: "GET /posts/scheduled/team/*", text: `{"directChannels":[],"$1":[]}`},

	{route: "POST /channels", status: 201, text: `{"id":"$hf:name;","name":"$f:name;","display_name":"$f:display_name;","type":"$f:type;",` + channelOf + `}`},
	{route: "POST /channels/direct", status: 201, text: `{"id":"$new","name":"direct","display_name":"","type":"D",` + channelOf + `}`},
	{route: "POST /channels/group", status: 201, text: `{"id":"$new","name":"group","display_name":"","type":"G",` + channelOf + `}`},
	{route: "POST /channels/search", text: `[]`},
	{route: "POST /channels/group/search", text: `[]`},
	{route: "POST /channels/members/*/view", text: `{"status":"OK","last_viewed_at_times":{"$f:channel_id;":$now}}`},
	{route: "GET /channels/*", text: `{"id":"$1","name":"null","display_name":"null","type":"O",` + channelOf + `}`},
	{route: "GET /channels/*/stats", text: `{"channel_id":"$1","member_count":9,"guest_count":0,"pinnedpost_count":0,"files_count":0}`},
	{route: "GET /channels/*/members", text: `[]`},
	{route: "GET /channels/*/members/*", text: `{"channel_id":"$1","user_id":"$2",` + memberOf},
	{route: "POST /channels/*/members", status: 201, text: `{"channel_id":"$1","user_id":"$f:user_id;",` + memberOf},
	{route: "GET /channels/*/posts", text: posts1},
	{route: "GET /channels/*/bookmarks", text: `[{"id":"$p1",` + bookmarked + `},{"id":"$q1",` + bookmarked + `}]`},

	{route: "POST /posts", status: 201, text: created},
	{route: "GET /posts/*", text: `{"id":"$1","user_id":"$u1","channel_id":"$c1","root_id":"","message":"nothing",` + postOf + `}`},
	{route: "GET /posts/*/thread", text: thread1},
	{route: "PUT /posts/*/patch", text: `{"id":"$1","channel_id":"$c1","root_id":"","message":"$f:message;",` + made + `}`},
	{route: "DELETE /posts/*", text: ok},
	{route: "POST /drafts", status: 201, text: `{"user_id":"$me","file_ids":$l:file_ids;,"channel_id":"$f:channel_id;","root_id":"$f:root_id;","message":"$f:message;","create_at":$now,"update_at":$now,"delete_at":0,"props":{}}`},
	{route: "POST /posts/schedule", status: 201, text: `{"id":"$new","channel_id":"$f:channel_id;","root_id":"$f:root_id;","message":"$f:message;","file_ids":$l:file_ids;,"scheduled_at":$i:scheduled_at;,"user_id":"$me"}`},
	{route: "POST /reactions", status: 201, text: `{"user_id":"$f:user_id;","post_id":"$f:post_id;","emoji_name":"$f:emoji_name;","create_at":$now,"update_at":$now,"delete_at":0,"remote_id":"","channel_id":""}`},
	{route: "POST /files", status: 201, text: `{"file_infos":[{"id":"$new","user_id":"$me","post_id":"","create_at":$now,"update_at":$now,"delete_at":0,"name":"null","extension":"","size":$size,"mime_type":"text/plain","has_preview_image":false}],"client_ids":[""]}`},
	{route: "GET /files/*/info", text: `{"id":"$1","user_id":"$me","post_id":"","create_at":1600000000000,"name":"null","size":1,"mime_type":"text/plain"}`},
}

// A node is one segment of the table's paths.
type node struct {
	next map[string]*node
	star *node
	ends map[string]*compiled // by method
}

// A compiled answer is a template cut into its pieces.
type compiled struct {
	answer
	pieces []piece
	value  []piece
	post   bool // a message is accepted
}

func table(version string) *node {
	root := &node{}
	for _, a := range answers {
		if a.status == 0 {
			a.status = 200
		}
		a.text = strings.ReplaceAll(a.text, "$version", version)
		method, path, _ := strings.Cut(a.route, " /")
		n := root
		for seg := range strings.SplitSeq(path, "/") {
			if seg == "*" {
				if n.star == nil {
					n.star = &node{}
				}
				n = n.star
				continue
			}
			if n.next == nil {
				n.next = map[string]*node{}
			}
			if n.next[seg] == nil {
				n.next[seg] = &node{}
			}
			n = n.next[seg]
		}
		if n.ends == nil {
			n.ends = map[string]*compiled{}
		}
		n.ends[method] = &compiled{answer: a, pieces: compile(a.text), value: compile(a.value), post: a.route == "POST /posts"}
	}
	return root
}

// find walks the path below /api/v4/ and keeps its arguments in r. Names win over stars where both
// fit.
func (n *node) find(r *request, path []byte, args int) *compiled {
	seg, rest, more := bytes.Cut(path, []byte{'/'})
	follow := func(m *node, args int) *compiled {
		switch {
		case m == nil:
			return nil
		case more:
			return m.find(r, rest, args)
		}
		return m.ends[string(r.method)]
	}
	if a := follow(n.next[string(seg)], args); a != nil {
		return a
	}
	if args == len(r.args) || len(seg) == 0 {
		return nil
	}
	r.args[args] = seg
	return follow(n.star, args+1)
}

var apiRoot = []byte("/api/v4/")

// api appends the answer to a request below /api/v4 or /refnull.
func (s *Server) api(out []byte, r *request, took time.Duration) []byte {
	path, ok := bytes.CutPrefix(r.path, apiRoot)
	if !ok {
		return s.own(out, r)
	}
	f := filling{s: s, r: r}
	a := s.routes.find(r, bytes.TrimSuffix(path, []byte{'/'}), 0)
	body := pool.Get().(*[]byte)
	defer pool.Put(body)
	b := (*body)[:0]
	var fields []string
	status := 200
	switch {
	case a == nil:
		s.strange.add(string(r.method) + " " + pattern(path))
		if r.get {
			b = append(b, "{}"...)
		} else {
			b = append(b, `{"status":"OK"}`...)
		}
	case a.list:
		status = a.status
		b = append(b, '[')
		first := true
		each(r.body, a.each, func(v []byte) {
			if !first {
				b = append(b, ',')
			}
			first = false
			f.it = v
			b = fill(b, a.pieces, &f)
		})
		b = append(b, ']')
	default:
		if status = a.status; a.post {
			s.posts.Add(1)
		}
		b = fill(b, a.pieces, &f)
		if a.header != "" {
			fields = []string{a.header, string(fill(nil, a.value, &f))}
		}
	}
	*body = b
	return append(appendHead(out, status, len(b), took, fields...), b...)
}

// pattern writes stars for segments that look like ids, and ends at 200 bytes.
func pattern(path []byte) string {
	segs := strings.Split(string(path[:min(len(path), 200)]), "/")
	for i, s := range segs {
		if len(s) >= 20 || strings.ContainsAny(s, "0123456789") {
			segs[i] = "*"
		}
	}
	return "/" + strings.Join(segs, "/")
}

// own answers /refnull/...
func (s *Server) own(out []byte, r *request) []byte {
	b := []byte(`{}`)
	status := 200
	switch string(r.path) {
	case "/refnull/stats":
		b = s.stats(b[:0])
		if slices.Contains(strings.Split(string(r.query), "&"), "reset") {
			s.forget()
		}
	case "/refnull/stall":
		length, after := time.Duration(-1), time.Duration(0)
		var err, err2 error
		for pair := range strings.SplitSeq(string(r.query), "&") {
			switch k, v, _ := strings.Cut(pair, "="); k {
			case "for":
				length, err = time.ParseDuration(v)
			case "in":
				after, err2 = time.ParseDuration(v)
			}
		}
		if err != nil || err2 != nil || length < 0 || length > maxDelay || after < 0 {
			status, b = 400, []byte(`{"message":"want ?for=DURATION&in=DURATION, for at most 1m"}`)
			break
		}
		s.stall.set(time.Now(), length, after)
	default:
		status, b = 404, []byte(`{"message":"want /refnull/stats or /refnull/stall"}`)
	}
	return append(appendHead(out, status, len(b), -1), b...)
}
