package refchat

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// bookmark is a link or a file pinned to a channel's head.
type bookmark struct {
	ID          string    `json:"id"`
	CreateAt    int64     `json:"create_at"`
	UpdateAt    int64     `json:"update_at"`
	DeleteAt    int64     `json:"delete_at"`
	ChannelID   string    `json:"channel_id"`
	OwnerID     string    `json:"owner_id"`
	FileID      string    `json:"file_id" db:"fileinfoid"`
	DisplayName string    `json:"display_name"`
	SortOrder   int64     `json:"sort_order"`
	LinkURL     string    `json:"link_url,omitempty"`
	ImageURL    string    `json:"image_url,omitempty"`
	Emoji       string    `json:"emoji,omitempty"`
	Type        string    `json:"type"`
	OriginalID  string    `json:"original_id,omitempty"`
	ParentID    string    `json:"parent_id,omitempty"`
	File        *fileInfo `json:"file,omitempty"`
}

const (
	maxBookmarks  = 50         // in one channel
	bookmarkOwner = "bookmark" // creator of a file that was uploaded for one
)

var bookmarkKind = define(kind[bookmark]{
	table: "channelbookmarks",
	columns: "id, createat, updateat, deleteat, channelid, ownerid, fileinfoid, displayname, " +
		"sortorder, linkurl, imageurl, emoji, type, originalid, parentid",
})

var (
	bookmarksOf = bookmarkKind.query("ChannelBookmarkStore.GetBookmarksForChannelSince",
		"WHERE channelid = ? AND deleteat = 0 ORDER BY sortorder")
	// bookmarksSince are all that changed later, deleted ones included.
	bookmarksSince = bookmarkKind.query(
		"ChannelBookmarkStore.GetBookmarksForChannelSince",
		"WHERE channelid = ? AND (createat >= ? OR updateat >= ? OR deleteat >= ?) ORDER BY sortorder, deleteat",
	)
	bookmarkByID   = bookmarkKind.query("ChannelBookmarkStore.Get", "WHERE id = ? AND deleteat = 0")
	changeBookmark = command{"ChannelBookmarkStore.Update",
		"UPDATE channelbookmarks SET displayname = ?, sortorder = ?, linkurl = ?, imageurl = ?, emoji = ?, fileinfoid = ?, updateat = ? WHERE id = ?"}
	dropBookmark = command{"ChannelBookmarkStore.Delete",
		"UPDATE channelbookmarks SET deleteat = ?, updateat = ? WHERE id = ?"}
)

var errManyBookmarks = &apiError{
	ID:         "app.channel.bookmark.save.app_error",
	Message:    "Bookmarks limit reached.",
	StatusCode: http.StatusInternalServerError,
	cause:      errors.New("bookmarks limit reached"),
}

// saveBookmark stores a bookmark behind the others, or in place of one of another owner if there is
// one.
func (st *store) saveBookmark(ctx context.Context, b, old *bookmark) error {
	return st.method(ctx, "ChannelBookmarkStore.Save", func(tx *store) (err error) {
		var n int64
		if old != nil {
			err = tx.run(ctx, dropBookmark.text, old.DeleteAt, old.DeleteAt, old.ID)
		} else {
			err = tx.row(
				ctx,
				[]any{&n, &b.SortOrder},
				`SELECT COUNT(*), COALESCE(MAX(sortorder), -1) + 1
				FROM channelbookmarks WHERE channelid = ? AND deleteat = 0`,
				b.ChannelID,
			)
		}
		if err != nil {
			return err
		}
		if n >= maxBookmarks {
			return errManyBookmarks
		}
		return bookmarkKind.insert(ctx, tx, b)
	})
}

// moveBookmark gives a channel's bookmarks the numbers 0, 1, 2, … with one of them at index to;
// sql.ErrNoRows if it is not there or there are not so many.
func (st *store) moveBookmark(
	ctx context.Context,
	channelID, id string,
	to int64,
) (list []*bookmark, err error) {
	defer st.timed("ChannelBookmarkStore.UpdateSortOrder", &err)()
	err = st.transact(ctx, func(tx *store) error {
		var err error
		if list, err = bookmarkKind.rows(ctx, tx, "WHERE channelid = ? AND deleteat = 0 ORDER BY sortorder, createat FOR UPDATE", channelID); err != nil {
			return err
		}
		from := slices.IndexFunc(list, func(b *bookmark) bool { return b.ID == id })
		if from < 0 || to >= int64(len(list)) {
			return sql.ErrNoRows
		}
		b := list[from]
		list = slices.Insert(slices.Delete(list, from, from+1), int(to), b)
		now := millis()
		for i, b := range list {
			if b.SortOrder == int64(i) {
				continue
			}
			b.SortOrder, b.UpdateAt = int64(i), now
			if err := tx.run(ctx, "UPDATE channelbookmarks SET sortorder = ?, updateat = ? WHERE id = ?", b.SortOrder, now, b.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

func (b *bookmark) check() error {
	bad := func(what string) error {
		return badRequest("model.channel_bookmark.is_valid."+what+".app_error",
			"Invalid bookmark: "+what+".")
	}
	isURL := func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
			len(s) <= 1024
	}
	switch {
	case b.DisplayName == "" || len(b.DisplayName) > 64:
		return bad("display_name")
	case b.Type != "link" && b.Type != "file":
		return bad("type")
	case b.Type == "link" && !isURL(b.LinkURL):
		return bad("link_url.missing_or_invalid")
	case b.ImageURL != "" && !isURL(b.ImageURL):
		return bad("image_url")
	case b.Type == "file" && !validID(b.FileID):
		return bad("file_id.missing_or_invalid")
	case b.ImageURL != "" && b.FileID != "":
		return bad("link_file")
	}
	return nil
}

// findBookmark finds the bookmark of the path, which must be the channel's.
func (q *request) findBookmark() error {
	id, err := q.idParam("bookmark_id")
	if err != nil {
		return err
	}
	b, err := bookmarkByID.one(q, q.st, id)
	if err != nil {
		return errFind("channel.bookmark.get", err,
			missing("app.channel.bookmark.get.app_error", "Could not find the bookmark."))
	}
	if b.ChannelID != q.channelID {
		return errBody("channel_id")
	}
	q.bookmark = b
	return q.withFile(b)
}

// withFile fills in the file of a bookmark that has one.
func (q *request) withFile(list ...*bookmark) error {
	var ids []string
	for _, b := range list {
		if b.FileID != "" {
			ids = append(ids, b.FileID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	files, err := filesByID.list(q, q.st, ids)
	if err != nil {
		return errStore("file_info.get", err)
	}
	for _, b := range list {
		for _, f := range files {
			if f.ID == b.FileID {
				b.File = f
			}
		}
	}
	return nil
}

// tellBookmark notifies the channel of the path of a change that a request made.
func (q *request) tellBookmark(name, field string, v any) {
	to := broadcast{ChannelID: q.channelID, OmitConn: q.connection()}
	q.publish(name, to, field, jsonText(v))
}

func (q *request) getBookmarks() error {
	since, err := strconv.ParseInt(q.query("bookmarks_since"), 10, 64)
	if err != nil && q.query("bookmarks_since") != "" {
		return errURL("bookmarks_since")
	}
	find, args := bookmarksOf, []any{q.channelID}
	if since > 0 {
		find, args = bookmarksSince, []any{q.channelID, since, since, since}
	}
	list, err := find.list(q, q.st, args...)
	if err != nil {
		return errStore("channel.bookmark.get", err)
	}
	return q.answer(list, q.withFile(list...))
}

func (q *request) createBookmark(b *bookmark) error {
	now := millis()
	b.ID = newID()
	b.ChannelID = q.channelID
	b.OwnerID = q.sess.UserID
	b.CreateAt = now
	b.UpdateAt = now
	b.DeleteAt = 0
	b.OriginalID = ""
	b.File = nil
	if err := b.check(); err != nil {
		return err
	}
	if b.FileID != "" {
		f, err := fileByID.one(q, q.st, b.FileID)
		if err != nil || f.CreatorID != bookmarkOwner || f.ChannelID != q.channelID ||
			f.PostID != "" {
			return badRequest(
				"model.channel_bookmark.is_valid.file_id.missing_or_invalid.app_error",
				"Invalid file.",
			)
		}
		b.File = f
	}
	err := q.st.saveBookmark(q, b, nil)
	if errors.Is(err, errManyBookmarks) {
		return err
	}
	if err != nil {
		return errStore("channel.bookmark.save", err)
	}
	q.tellBookmark("channel_bookmark_created", "bookmark", b)
	return q.created(b)
}

// bookmarkPatch has the new values of a bookmark's fields.
type bookmarkPatch struct {
	FileID      *string `json:"file_id"`
	DisplayName *string `json:"display_name"`
	SortOrder   *int64  `json:"sort_order"`
	LinkURL     *string `json:"link_url"`
	ImageURL    *string `json:"image_url"`
	Emoji       *string `json:"emoji"`
}

// change replaces a value by a new one, if there is one.
func change[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}

// updateBookmark changes the caller's bookmark; another's is replaced by one of the caller's.
func (q *request) updateBookmark(in *bookmarkPatch) error {
	old := q.bookmark
	b := *old
	change(&b.FileID, in.FileID)
	change(&b.DisplayName, in.DisplayName)
	change(&b.SortOrder, in.SortOrder)
	change(&b.LinkURL, in.LinkURL)
	change(&b.ImageURL, in.ImageURL)
	change(&b.Emoji, in.Emoji)
	b.UpdateAt = millis()
	err := b.check()
	if err != nil {
		return err
	}
	out := struct {
		Updated *bookmark `json:"updated,omitempty"`
		Deleted *bookmark `json:"deleted,omitempty"`
	}{Updated: &b}
	if old.OwnerID == q.sess.UserID {
		err = changeBookmark.run(q, q.st, b.DisplayName, b.SortOrder, b.LinkURL, b.ImageURL,
			b.Emoji, b.FileID, b.UpdateAt, b.ID)
	} else {
		old.DeleteAt = b.UpdateAt
		old.File = nil
		b.ID = newID()
		b.OriginalID = old.ID
		b.OwnerID = q.sess.UserID
		b.CreateAt = b.UpdateAt
		out.Deleted = old
		err = q.st.saveBookmark(q, &b, old)
	}
	if err != nil {
		return errStore("channel.bookmark.update", err)
	}
	q.tellBookmark("channel_bookmark_updated", "bookmarks", out)
	return q.reply(out)
}

func (q *request) sortBookmark(to *int64) error {
	b := q.bookmark
	if *to < 0 {
		return errBody("channelBookmarkSortOrder")
	}
	list, err := q.st.moveBookmark(q, b.ChannelID, b.ID, *to)
	if err != nil {
		return errFind("channel.bookmark.update_sort", err,
			missing("app.channel.bookmark.update_sort.app_error", "Could not sort the bookmark."))
	}
	if err := q.withFile(list...); err != nil {
		return err
	}
	q.tellBookmark("channel_bookmark_sorted", "bookmarks", list)
	return q.reply(list)
}

func (q *request) deleteBookmark() error {
	b := q.bookmark
	b.DeleteAt = millis()
	b.UpdateAt = b.DeleteAt
	if err := dropBookmark.run(q, q.st, b.DeleteAt, b.DeleteAt, b.ID); err != nil {
		return errStore("channel.bookmark.delete", err)
	}
	q.tellBookmark("channel_bookmark_deleted", "bookmark", b)
	return q.reply(b)
}
