package refchat

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"
)

// listOf makes the API's list of posts, in the given order, with the whole threads of its replies
// (not in the order).
func (q *request) listOf(
	posts []*post,
	threads, counted bool,
) (*postList, error) {
	l := &postList{Order: make([]string, 0, len(posts)), Posts: make(map[string]*post, len(posts))}
	var roots []string
	for _, p := range posts {
		l.Order = append(l.Order, p.ID)
		l.Posts[p.ID] = p
		if p.DeleteAt > 0 {
			p.Message, p.FileIDs = "", nil
		}
		if p.RootID != "" && !slices.Contains(roots, p.RootID) {
			roots = append(roots, p.RootID)
		}
	}
	if threads && len(roots) > 0 {
		more, err := threadsOf[counted].list(q, q.st, roots, roots)
		if err != nil {
			return nil, errStore("post.get_parents", err)
		}
		for _, p := range more {
			if l.Posts[p.ID] == nil {
				l.Posts[p.ID] = p
			}
		}
	}
	all := make([]*post, 0, len(l.Posts))
	for _, p := range l.Posts {
		all = append(all, p)
	}
	return l, q.addMetadata(q, all)
}

// addMetadata fills in files and reactions of posts that have some, and queries priorities and
// acknowledgements of all roots, as the real server does since 7.7.
func (s *Server) addMetadata(ctx context.Context, posts []*post) error {
	var files, reacted, roots []string
	by := make(map[string]*post, len(posts))
	for _, p := range posts {
		p.Metadata = &postMetadata{}
		by[p.ID] = p
		if len(p.FileIDs) > 0 {
			files = append(files, p.ID)
		}
		if p.HasReactions {
			reacted = append(reacted, p.ID)
		}
		if p.RootID == "" {
			roots = append(roots, p.ID)
		}
	}
	if len(files) > 0 {
		list, err := s.st.filesOfPosts(ctx, files)
		if err != nil {
			return errStore("file_info.get", err)
		}
		for _, f := range list {
			by[f.PostID].Metadata.Files = append(by[f.PostID].Metadata.Files, f)
		}
	}
	if len(reacted) > 0 {
		list, err := reactionsOf.list(ctx, s.st, reacted)
		if err != nil {
			return errStore("reaction.get", err)
		}
		for _, r := range list {
			by[r.PostID].Metadata.Reactions = append(by[r.PostID].Metadata.Reactions, r)
		}
	}
	if len(roots) == 0 || !s.priorities() {
		return nil
	}
	priorities, err := prioritiesOf.list(ctx, s.st, roots)
	if err != nil {
		return errStore("post.get_priority", err)
	}
	for _, x := range priorities {
		by[x.PostID].Metadata.Priority = x
	}
	acks, err := acknowledgements.list(ctx, s.st, roots)
	if err != nil {
		return errStore("post.get_acknowledgements", err)
	}
	for _, x := range acks {
		by[x.PostID].Metadata.Acknowledgements = append(by[x.PostID].Metadata.Acknowledgements, x)
	}
	return nil
}

// setCursors fills in the neighbors of a list's ends.
func (q *request) setCursors(
	l *postList,
	channelID string,
	as *threadView,
) error {
	if len(l.Order) == 0 {
		return nil
	}
	newest, oldest := l.Posts[l.Order[0]], l.Posts[l.Order[len(l.Order)-1]]
	var err error
	if l.NextPostID, err = as.neighbor(q, q.st, channelID, newest.CreateAt, false); err == nil {
		l.PrevPostID, err = as.neighbor(q, q.st, channelID, oldest.CreateAt, true)
	}
	return errStore("post.get_neighbor", err)
}

func (q *request) getPostsForChannel() error {
	if err := q.mayReadPosts(q.channelID); err != nil {
		return err
	}
	v := q.r.URL.Query()
	before, after := v.Get("before"), v.Get("after")
	if before != "" && !validID(before) {
		return errBody("before")
	}
	if after != "" && !validID(after) {
		return errBody("after")
	}
	var since int64
	var err error
	if t := v.Get("since"); t != "" {
		if since, err = strconv.ParseInt(t, 10, 64); err != nil {
			return errBody("since")
		}
	}
	page, per := q.page()
	as := q.threadView()
	var list []*post
	if since == 0 {
		c, err := q.channel(q, q.channelID)
		if err != nil {
			return err
		}
		if q.notModified(q.cfg.Version + "." + strconv.FormatInt(c.LastPostAt, 10)) {
			return nil
		}
	}
	switch {
	case since > 0:
		list, err = as.list(q, q.st, as.since, q.channelID, since)
	case after != "":
		list, err = as.list(q, q.st, as.after, q.channelID, after, per, page*per)
	case before != "":
		list, err = as.list(q, q.st, as.before, q.channelID, before, per, page*per)
	default:
		list, err = as.list(q, q.st, as.newest, q.channelID, per, page*per)
	}
	if err != nil {
		return errStore("post.get_posts", err)
	}
	return q.replyPosts(list, as, since > 0 || before != "" || after != "", since == 0)
}

// replyPosts answers with a list of a channel's posts, which cursors gives the neighbors of its
// ends.
func (q *request) replyPosts(list []*post, as *threadView, counted, cursors bool) error {
	if as.extended {
		for _, p := range list {
			if err := q.introduce(q, p.Participants); err != nil {
				return err
			}
		}
	}
	l, err := q.listOf(list, !as.collapsed && q.query("skipFetchThreads") != "true", counted)
	if err == nil && cursors {
		err = q.setCursors(l, q.channelID, as)
	}
	return q.answer(l, err)
}

// getPostsAroundUnread answers with the posts that a client shows when a user opens a channel: the
// oldest unread post with those around it, or the last page.
func (q *request) getPostsAroundUnread() error {
	if err := q.mayReadPosts(q.channelID); err != nil {
		return err
	}
	nBefore, nAfter := q.limit("limit_before"), q.limit("limit_after")
	if nAfter == 0 {
		return errURL("limit_after")
	}
	as := q.threadView()
	m, err := memberOf.one(q, q.st, q.channelID, q.userID)
	if err != nil {
		return errFind("channel.get_member", err, errNoChannelMember)
	}
	unread := ""
	if m.LastViewedAt > 0 {
		if unread, err = as.neighbor(q, q.st, q.channelID, int64(m.LastViewedAt), false); err != nil {
			return errStore("post.get_neighbor", err)
		}
	}
	var list []*post
	if unread == "" {
		list, err = as.list(q, q.st, as.newest, q.channelID, nBefore, 0)
	} else {
		var first *post
		if first, err = postByID.one(q, q.st, unread); err == nil {
			var newer, older []*post
			if nAfter > 1 {
				newer, err = as.list(q, q.st, as.after, q.channelID, unread, nAfter-1, 0)
			}
			if err == nil && nBefore > 0 {
				older, err = as.list(q, q.st, as.before, q.channelID, unread, nBefore, 0)
			}
			list = append(append(newer, first), older...)
		}
	}
	if err != nil {
		return errStore("post.get_around", err)
	}
	return q.replyPosts(list, as, unread != "", true)
}

func (q *request) getPost() error {
	p := q.post
	if q.notModified(q.cfg.Version + "." + p.ID + "." + strconv.FormatInt(p.UpdateAt, 10)) {
		return nil
	}
	return q.answer(p, q.addMetadata(q, []*post{p}))
}

func (q *request) getPostThread() error {
	p := q.post
	root := cmp.Or(p.RootID, p.ID)
	page, all, err := threadPageOf(q)
	if err != nil {
		return err
	}
	var list []*post
	more := false
	if all {
		list, err = threadPosts.list(q, q.st, root, root)
	} else {
		if p.RootID != "" {
			p, err = postByID.one(q, q.st, root)
		}
		if err == nil {
			list, more, err = q.st.threadPage(q, p, page)
		}
	}
	if err != nil {
		return errStore("post.get_thread", err)
	}
	l, err := q.listOf(list, false, true)
	if err != nil {
		return err
	}
	if all {
		// the root twice, as the real server does, which clients expect
		l.Order = append(l.Order, root)
	}
	l.HasNext = &more
	return q.reply(l)
}

// postPatch is a change of a post.
type postPatch struct {
	Message  *string         `json:"message"`
	Props    *map[string]any `json:"props"`
	IsPinned *bool           `json:"is_pinned"`
}

func (q *request) patchPost(in *postPatch) error {
	old := q.post
	p := *old
	if in.Message != nil {
		if utf8.RuneCountInString(*in.Message) > maxMessage {
			return badRequest("model.post.is_valid.msg.app_error", "Invalid message.")
		}
		if p.Message != *in.Message {
			p.EditAt = millis()
		}
		p.Message = *in.Message
		p.Hashtags = hashtags(p.Message)
	}
	change(&p.Props, in.Props)
	change(&p.IsPinned, in.IsPinned)
	p.UpdateAt = millis()
	if err := q.st.editPost(q, old, &p); err != nil {
		return errStore("post.update", err)
	}
	body, err := q.changed("post_edited", &p)
	if err != nil {
		return err
	}
	return q.write(http.StatusOK, "application/json", body)
}

func (q *request) deletePost() error {
	if err := q.st.deletePost(q, q.post, millis(), q.sess.UserID); err != nil {
		return errStore("post.delete", err)
	}
	_, err := q.changed("post_deleted", q.post)
	return q.done(err)
}

// changed notifies a channel of a changed post, and returns it as JSON.
func (q *request) changed(event string, p *post) ([]byte, error) {
	q.invalidate(dropChannel, p.ChannelID)
	if err := q.addMetadata(q, []*post{p}); err != nil {
		return nil, err
	}
	body, err := json.Marshal(p)
	if err == nil {
		q.publish(event, broadcast{ChannelID: p.ChannelID}, "post", string(body))
	}
	return body, err
}

// mustBeAuthor admits the author of a post, and administrators. A post that is not there is
// refused, too, as the real server hides existing ones.
func (q *request) mustBeAuthor() error {
	err := q.mustReadPost()
	switch {
	case err != nil && statusOf(err) != http.StatusNotFound:
		return err
	case err != nil, q.post.UserID != q.sess.UserID && !q.sess.isAdmin():
		return errPermission
	}
	return nil
}
