package refchat

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// threadResponse is a thread as one user sees it.
type threadResponse struct {
	ID             string  `json:"id"`
	ReplyCount     int64   `json:"reply_count"`
	LastReplyAt    int64   `json:"last_reply_at"`
	LastViewedAt   int64   `json:"last_viewed_at"`
	Participants   []*user `json:"participants"`
	Post           *post   `json:"post"`
	UnreadReplies  int64   `json:"unread_replies"`
	UnreadMentions int64   `json:"unread_mentions"`
	IsUrgent       bool    `json:"is_urgent"`
	DeleteAt       int64   `json:"delete_at"`
}

type threadList struct {
	Total               int64             `json:"total"`
	TotalUnreadThreads  int64             `json:"total_unread_threads"`
	TotalUnreadMentions int64             `json:"total_unread_mentions"`
	Threads             []*threadResponse `json:"threads"`
}

// collapsed reports whether users have an inbox of threads, and replies are read there instead of
// with their channel.
func (s *Server) collapsed() bool { return s.client.values["CollapsedThreads"] == "always_on" }

// threadQuery selects the threads of a user to list.
type threadQuery struct {
	userID, teamID string
	before, after  string
	since          int64
	per            int
	unread         bool
	deleted        bool
}

// getThreads is the user's inbox of followed threads.
func (q *request) getThreads() error {
	v := q.r.URL.Query()
	is := func(name string) bool { b, _ := strconv.ParseBool(v.Get(name)); return b }
	t := threadQuery{
		userID:  q.userID,
		teamID:  q.id,
		before:  v.Get("before"),
		after:   v.Get("after"),
		unread:  is("unread"),
		deleted: is("deleted"),
		per:     60,
	}
	if t.before != "" && t.after != "" {
		return badRequest("api.getThreadsForUser.bad_params",
			"The before and after parameters exclude each other.")
	}
	totals, threads := !is("threadsOnly"), !is("totalsOnly")
	if !totals && !threads {
		return badRequest("api.getThreadsForUser.bad_only_params",
			"The totalsOnly and threadsOnly parameters exclude each other.")
	}
	var err error
	if x := v.Get("since"); x != "" {
		if t.since, err = strconv.ParseInt(x, 10, 64); err != nil || t.since < 0 {
			return errURL("since")
		}
	}
	for _, name := range []string{"per_page", "pageSize"} { // the second until 6.0
		if n, err := strconv.Atoi(v.Get(name)); err == nil && n > 0 {
			t.per = min(n, 200)
		}
	}
	out := &threadList{Threads: []*threadResponse{}}
	if totals {
		if err := q.st.threadTotals(q, t, out); err != nil {
			return errStore("thread.get_threads_for_user", err)
		}
	}
	if threads {
		if out.Threads, err = q.st.threadsFor(q, t); err != nil {
			return errStore("thread.get_threads_for_user", err)
		}
	}
	if is("extended") {
		for _, x := range out.Threads {
			if err := q.introduce(q, x.Participants); err != nil {
				return err
			}
		}
	}
	return q.reply(out)
}

// introduce puts the profiles of those who took part in a thread in the place of their ids alone.
func (s *Server) introduce(ctx context.Context, participants []*user) error {
	for i, u := range participants {
		full, err := s.user(ctx, u.ID)
		if err != nil {
			return err
		}
		participants[i] = full.public()
	}
	return nil
}

// threadFor returns a thread as a follower sees it; not found if the user does not follow it.
func (s *Server) threadFor(
	ctx context.Context,
	m *threadMember,
	teamID string,
	extended bool,
) (*threadResponse, error) {
	none := missing("app.user.get_threads_for_user.not_found", "Thread not found/followed.")
	if !m.Following {
		return nil, none
	}
	x, err := threadByID.one(ctx, s.st, m.LastViewed, teamID, m.PostID)
	if err != nil {
		return nil, errFind("thread.get_thread_for_user", err, none)
	}
	x.LastViewedAt = m.LastViewed
	x.UnreadMentions = m.UnreadMentions
	if extended {
		err = s.introduce(ctx, x.Participants)
	}
	return x, err
}

func (q *request) getThread() error {
	m, err := q.st.memberOfThread(q, q.id, q.userID)
	if err != nil {
		return errFind("thread.get_membership", err,
			missing("app.user.get_thread_membership_for_user.not_found",
				"Thread membership not found/followed."))
	}
	x, err := q.threadFor(q, m, q.param("team_id"), q.query("extended") == "true")
	return q.answer(x, err)
}

// findPost finds the post that a parameter of the path names, in a channel that the caller may read.
func (q *request) findPost(name string) error {
	id, err := q.idParam(name)
	if err != nil {
		return err
	}
	if q.post, err = postByID.one(q, q.st, id); err != nil {
		return errFind("post.get", err, errNoPost)
	}
	return q.mustRead(q.post.ChannelID)
}

func (q *request) setFollowing(on bool) error {
	root := q.post
	to := broadcast{UserID: q.userID, TeamID: q.id}
	if err := q.st.setFollowing(q, root.ID, q.userID, on); err != nil {
		return errStore("thread.maintain_membership", err)
	}
	replies, err := repliesIn.find(q, q.st, root.ID)
	if err != nil {
		return errStore("thread.get", err)
	}
	q.publish(
		"thread_follow_changed",
		to,
		"reply_count",
		replies,
		"state",
		on,
		"thread_id",
		root.ID,
	)
	return q.ok()
}

// readThread sets until when the user has read a thread, and lets the user follow it.
func (q *request) readThread() error {
	at, err := strconv.ParseInt(q.param("timestamp"), 10, 64)
	if err != nil || at <= 0 {
		return errURL("timestamp")
	}
	root := q.post
	userID, teamID := q.userID, q.id
	m, err := q.st.joinThread(q, root.ID, userID)
	if err != nil {
		return errStore("thread.maintain_membership", err)
	}
	before, err := q.mentionsIn(root, userID, at)
	if err != nil {
		return err
	}
	was := m.UnreadMentions
	m.Following = true
	m.LastViewed = at
	m.UnreadMentions = before
	if err := q.st.markThread(q, m); err != nil {
		return errStore("thread.mark_as_read", err)
	}
	x, err := q.threadFor(q, m, teamID, false)
	if err != nil {
		return err
	}
	q.publish("thread_read_changed", broadcast{
		UserID: userID,
		TeamID: teamID,
	}, "channel_id", root.ChannelID,
		"previous_unread_mentions", was, "thread_id", root.ID, "timestamp", at,
		"unread_mentions", x.UnreadMentions, "unread_replies", x.UnreadReplies)
	return q.reply(x)
}

// mentionsIn counts a user's mentions in the replies of a thread since a time; in a direct channel
// each of the other's replies is one.
func (q *request) mentionsIn(
	root *post,
	userID string,
	since int64,
) (int64, error) {
	c, err := q.channel(q, root.ChannelID)
	if err != nil {
		return 0, err
	}
	list, err := repliesSince.list(q, q.st, root.ID, since)
	if err != nil {
		return 0, errStore("thread.get_posts", err)
	}
	a, err := q.audienceOf(q, c.ID)
	if err != nil {
		return 0, errStore("channel.audience", err)
	}
	n := int64(0)
	for _, p := range list {
		if p.UserID != userID &&
			(c.Type == directChannel || a.mentioned(p.Message, p.UserID)[userID]) {
			n++
		}
	}
	return n, nil
}

func (q *request) readAllThreads() error {
	now := millis()
	if err := q.st.markAllThreads(q, q.userID, q.id, now); err != nil {
		return errStore("thread.mark_all_as_read", err)
	}
	q.publish("thread_read_changed", broadcast{UserID: q.userID, TeamID: q.id}, "timestamp", now)
	return q.ok()
}

// threadUpdated notifies each follower of a thread of a new reply, which mentions some, with the
// thread as that follower sees it.
func (s *Server) threadUpdated(
	ctx context.Context,
	rootID, teamID string,
	mentions []string,
) error {
	followers, err := followersOf.list(ctx, s.st, rootID, true)
	if err != nil {
		return errStore("thread.get_followers", err)
	}
	for _, follower := range followers {
		id := *follower
		m, err := s.st.memberOfThread(ctx, rootID, id)
		if err != nil {
			return errStore("thread.get_membership", err)
		}
		x, err := s.threadFor(ctx, m, teamID, true)
		if statusOf(err) == http.StatusNotFound {
			continue
		}
		if err != nil {
			return err
		}
		before := x.UnreadMentions
		if before > 0 && slices.Contains(mentions, id) {
			before--
		}
		s.publish("thread_updated", broadcast{
			UserID: id,
			TeamID: teamID,
		}, "previous_unread_mentions", before,
			"previous_unread_replies", max(x.UnreadReplies-1, 0), "thread", jsonText(x))
	}
	return nil
}

// threadPage selects the part of a thread that a client requests.
type threadPage struct {
	per      int // 0 for all
	up       bool
	fromPost string
	fromAt   int64
}

// threadPageOf reads the parameters of a call for a thread; all is true without any.
func threadPageOf(q *request) (p threadPage, all bool, err error) {
	v := q.r.URL.Query()
	number := func(name string) (n int64) {
		if x := v.Get(name); x != "" && err == nil {
			if n, err = strconv.ParseInt(x, 10, 64); err != nil || n < 0 {
				err = errURL(name)
			}
		}
		return n
	}
	p.per, p.fromAt = int(number("perPage")), number("fromCreateAt")
	p.fromPost = v.Get("fromPost")
	switch dir := v.Get("direction"); {
	case err != nil:
	case p.per > 200:
		err = errURL("perPage")
	case p.fromPost != "" && (p.fromAt == 0 || !validID(p.fromPost)):
		err = errURL("fromPost")
	case !slices.Contains([]string{"", "up", "down"}, dir):
		err = errURL("direction")
	default:
		p.up = dir == "up"
	}
	given := v.Get("perPage") + v.Get("fromPost") + v.Get("fromCreateAt") + v.Get("direction")
	return p, strings.TrimSpace(given) == "", err
}

// threadView returns the form in which the caller requests lists of posts.
func (q *request) threadView() *threadView {
	if q.query("collapsedThreads") != "true" || !q.collapsed() {
		return &threadView{postLists: allPosts}
	}
	extended := q.query("collapsedThreadsExtended") == "true"
	return &threadView{rootPosts, true, q.sess.UserID, extended}
}
