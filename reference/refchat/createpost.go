package refchat

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxMessage = 16383 // characters

// createPost is the operation that a load test is about. doc.go lists its statements.
func (q *request) createPost(p *post) error {
	if err := q.mustRead(p.ChannelID); err != nil {
		return err
	}
	if d := q.faults.slowPost; d > 0 {
		if err := sleep(q, d); err != nil {
			return err
		}
		q.met.faultTime.WithLabelValues("slow-post").Add(d.Seconds())
	}
	if !q.sess.isAdmin() {
		p.CreateAt = 0
	}
	c, err := q.channel(q, p.ChannelID)
	if err != nil {
		return errPermission
	}
	switch {
	case strings.HasPrefix(p.Type, "system_"):
		return errBody("post.type")
	case c.DeleteAt != 0:
		return badRequest("api.post.create_post.can_not_post_to_deleted.error",
			"Can not post to deleted channel.")
	case utf8.RuneCountInString(p.Message) > maxMessage:
		return badRequest("model.post.is_valid.msg.app_error", "Invalid message.")
	}
	p.UserID = q.sess.UserID
	if err := q.checkPriority(p); err != nil {
		return err
	}
	old, err := q.claimPending(p)
	if err != nil {
		return err
	}
	if old != nil {
		return q.created(old)
	}
	setOnline := q.query("set_online") != "false"
	body, err := q.storePost(q, p, c, setOnline)
	if err != nil {
		if p.PendingPostID != "" {
			q.pending.drop(p.PendingPostID)
		}
		return err
	}
	if setOnline {
		q.setOnline(q, q.sess.UserID)
	}
	q.touch(q.sess)
	return q.write(http.StatusCreated, "application/json", body)
}

// claimPending makes posting again with the same pending_post_id give the first post.
func (q *request) claimPending(p *post) (*post, error) {
	if p.PendingPostID == "" {
		return nil, nil
	}
	id, first := q.pending.setIfAbsent(p.PendingPostID, "")
	if first {
		return nil, nil
	}
	if id == "" {
		return nil, newError(
			http.StatusInternalServerError,
			"api.post.deduplicate_create_post.pending",
			"Rejected post since another client is making the same request.",
		)
	}
	old, err := postByID.one(q, q.st, id)
	if err != nil {
		return nil, newError(
			http.StatusInternalServerError,
			"api.post.deduplicate_create_post.failed_to_get",
			"Failed to fetch the original post.",
		)
	}
	return old, q.addMetadata(q, []*post{old})
}

// storePost does a client's post: checks its thread, stores it, notifies all members and marks the
// channel as read for its author. It returns the post as JSON.
func (s *Server) storePost(
	ctx context.Context,
	p *post,
	c *channel,
	setOnline bool,
) ([]byte, error) {
	u, err := s.user(ctx, p.UserID)
	if err != nil {
		return nil, err
	}
	// What the server alone decides, whatever the client sent.
	p.EditAt = 0
	p.DeleteAt = 0
	p.IsPinned = false
	p.OriginalID = ""
	p.ReplyCount = 0
	p.HasReactions = false
	fill(&p.Props)
	if u.IsBot {
		p.Props["from_bot"] = "true"
	}
	if err := s.mayMention(ctx, c, u); err != nil {
		return nil, err
	}
	body, err := s.publishPost(ctx, p, c, u, setOnline)
	if err != nil {
		return nil, err
	}
	if p.PendingPostID != "" {
		s.pending.set(p.PendingPostID, p.ID)
	}
	if c.Type == openChannel {
		s.background(func(ctx context.Context) { // hooks are not fired: there is no way to make one
			_, err := hooksOfTeam.list(ctx, s.st, c.TeamID)
			s.warn("looking for hooks", err)
		})
	}
	if _, hook := p.Props["from_webhook"]; !hook && !u.IsBot {
		_, err := s.markViewed(ctx, []string{c.ID}, u.ID, true)
		s.warn("marking a channel as viewed", err)
	}
	return body, nil
}

// mayMention checks whether a user may mention a whole channel. This server lets every member, and
// queries the database for each post, twice, because the real server does.
func (s *Server) mayMention(ctx context.Context, c *channel, u *user) error {
	_, err := roleOf.find(ctx, s.st, c.ID, u.ID)
	return errStore("channel.get_member", err)
}

// publishPost stores a post of any type, counts its mentions and sends its event.
func (s *Server) publishPost(
	ctx context.Context,
	p *post,
	c *channel,
	u *user,
	setOnline bool,
) ([]byte, error) {
	var thread []*post
	if p.RootID != "" {
		var err error
		if thread, err = s.checkThread(ctx, p); err != nil {
			return nil, err
		}
	}
	p.ID = newID()
	if p.CreateAt == 0 {
		p.CreateAt = millis()
	}
	p.UpdateAt = p.CreateAt
	p.Hashtags = hashtags(p.Message)
	p.Participants = nil
	if len(p.FileIDs) > 5 {
		p.FileIDs = p.FileIDs[:5]
	}
	system := strings.HasPrefix(p.Type, "system_")
	if err := s.st.savePost(ctx, p, !system); err != nil {
		return nil, errStore("post.save", err)
	}
	s.met.posts.Inc()
	meta := &postMetadata{}
	if p.Metadata != nil { // all else that clients send there is the server's own data
		meta.Priority = p.Metadata.Priority
	}
	p.Metadata = meta
	if len(p.FileIDs) > 0 {
		if err := s.attachFiles(ctx, p); err != nil {
			return nil, err
		}
	}
	s.invalidate(dropChannel, c.ID)
	if c.TeamID != "" {
		if _, err := teamByID.one(ctx, s.st, c.TeamID); err != nil {
			return nil, errStore("team.get", err)
		}
	}
	if !system {
		if err := s.mayMention(ctx, c, u); err != nil {
			return nil, err
		}
	}
	mentions, err := s.countMentions(ctx, p, c, thread, system)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sender := "@" + u.Username
	if system {
		sender = "System"
	}
	s.hub.publish(postedEvent(p, c, body, sender, mentions, setOnline))
	if p.RootID != "" && s.collapsed() {
		err = s.threadUpdated(ctx, p.RootID, c.TeamID, mentions)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// postedEvent makes the event of a new post. The users that it mentions are asked to confirm it.
func postedEvent(
	p *post,
	c *channel,
	body []byte,
	sender string,
	mentions []string,
	setOnline bool,
) *event {
	fields := []any{"channel_display_name", c.DisplayName, "channel_name", c.Name, "channel_type",
		c.Type}
	if len(p.Metadata.Files) > 0 {
		fields = append(fields, "otherFile", "true")
		if slices.ContainsFunc(p.Metadata.Files, func(f *fileInfo) bool {
			return strings.HasPrefix(f.MimeType, "image/")
		}) {
			fields = append(fields, "image", "true")
		}
	}
	if len(mentions) > 0 {
		fields = append(fields, "mentions", jsonText(mentions))
	}
	fields = append(fields, "post", string(body), "sender_name", sender, "set_online", setOnline,
		"team_id", c.TeamID)
	e := newEvent("posted", broadcast{ChannelID: c.ID}, fields...)
	if len(mentions) > 0 {
		e.ack = make(map[string]bool, len(mentions))
		for _, id := range mentions {
			e.ack[id] = true
		}
	}
	return e
}

// checkThread loads the thread of a reply; the root must be a root, in the same channel.
func (s *Server) checkThread(ctx context.Context, p *post) ([]*post, error) {
	bad := badRequest("api.post.create_post.root_id.app_error", "Invalid RootId parameter.")
	if !validID(p.RootID) {
		return nil, bad
	}
	if _, err := postByID.one(ctx, s.st, p.RootID); noRow(err) {
		return nil, bad
	} else if err != nil {
		return nil, errStore("post.get", err)
	}
	thread, err := threadPosts.list(ctx, s.st, p.RootID, p.RootID)
	if err != nil {
		return nil, errStore("post.get", err)
	}
	i := slices.IndexFunc(thread, func(x *post) bool { return x.ID == p.RootID })
	switch {
	case i < 0 || thread[i].RootID != "":
		return nil, bad
	case thread[i].ChannelID != p.ChannelID:
		return nil, badRequest(
			"api.post.create_post.channel_root_id.app_error",
			"Invalid ChannelId for RootId parameter.",
		)
	}
	thread[0], thread[i] = thread[i], thread[0]
	p.ParentID = p.RootID
	return thread, nil
}

// countMentions finds who a post names, counts that in their memberships and lets them follow the
// thread. thread is nil for a root, otherwise begins with the root.
func (s *Server) countMentions(
	ctx context.Context,
	p *post,
	c *channel,
	thread []*post,
	system bool,
) ([]string, error) {
	var a *audience
	// A message of the server mentions only the users in its properties: its text is not searched.
	// So a channel that thousands join does not load all its members' profiles for each of them.
	if !system || thread != nil || c.Type == directChannel {
		var err error
		if a, err = s.audienceOf(ctx, c.ID); err != nil {
			return nil, errStore("channel.audience", err)
		}
	}
	var found map[string]bool
	if c.Type == directChannel {
		found = map[string]bool{}
		for _, id := range a.members {
			if id != p.UserID {
				found[id] = true
			}
		}
	} else if !system {
		found = a.mentioned(p.Message, p.UserID)
	} else if id, ok := p.Props["addedUserId"].(string); ok {
		found = map[string]bool{id: true}
	}
	named := maps.Clone(found)
	for i, x := range thread {
		if want := a.comments[x.UserID]; x.UserID != p.UserID &&
			(want == "any" || want == "root" && i == 0) {
			found[x.UserID] = true
		}
	}
	if thread != nil {
		people := map[string]bool{p.UserID: true, thread[0].UserID: true}
		maps.Copy(people, found)
		if c.Type != directChannel {
			maps.Copy(people, a.mentioned(thread[0].Message, ""))
		}
		for _, id := range slices.Sorted(maps.Keys(people)) {
			if !named[id] {
				no, err := s.st.unfollowed(ctx, p.RootID, id)
				if err != nil {
					return nil, errStore("thread.get_membership", err)
				}
				if no {
					continue
				}
			}
			if err := s.st.follow(ctx, p.RootID, id, named[id], id == p.UserID); err != nil {
				return nil, errStore("thread.follow", err)
			}
		}
	}
	list := slices.Sorted(maps.Keys(found))
	for _, id := range list {
		if err := s.st.countMention(ctx, c.ID, id, p.RootID == ""); err != nil {
			return nil, errStore("channel.count_mention", err)
		}
	}
	return list, nil
}

// attachFiles gives uploaded files to a post; those that are not the author's, or taken, are left
// out.
func (s *Server) attachFiles(ctx context.Context, p *post) error {
	var got []string
	for _, id := range p.FileIDs {
		ok, err := attachFile.changes(ctx, s.st, p.ID, p.ChannelID, id, p.UserID)
		if err != nil {
			return errStore("file_info.attach", err)
		}
		if ok {
			got = append(got, id)
		}
	}
	if len(got) != len(p.FileIDs) {
		p.FileIDs = got
		p.UpdateAt = millis()
		if err := setPostFiles.run(ctx, s.st, jsonText(p.FileIDs), p.UpdateAt, p.ID); err != nil {
			return errStore("post.overwrite", err)
		}
	}
	if len(got) == 0 {
		return nil
	}
	files, err := s.st.filesOfPosts(ctx, []string{p.ID})
	if err != nil {
		return errStore("file_info.get", err)
	}
	p.Metadata.Files = files
	return nil
}

// mustReadPost admits callers who may read the post of the path.
func (q *request) mustReadPost() error {
	if err := q.findPost("post_id"); err != nil {
		return err
	}
	return q.mayReadPosts(q.post.ChannelID)
}
