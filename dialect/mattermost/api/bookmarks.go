package api

import (
	"context"
	"strconv"
)

var (
	opGetBookmarks   = newOp("get_bookmarks", "GET /channels/{}/bookmarks?bookmarks_since=0")
	opAddBookmark    = newOp("add_bookmark", "POST /channels/{}/bookmarks", created, notifies)
	opUpdateBookmark = newOp("update_bookmark", "PATCH /channels/{}/bookmarks/{}", notifies)
	opSortBookmark   = newOp("sort_bookmark", "POST /channels/{}/bookmarks/{}/sort_order", notifies)
	opDeleteBookmark = newOp("delete_bookmark", "DELETE /channels/{}/bookmarks/{}", notifies)
)

// A Bookmark is a link or a file that a channel shows at its head.
type Bookmark struct {
	ID, OwnerID string
	Name        string // at most 64 bytes
	URL         string // of a link, http or https
	FileID      string // of a file, which Upload has stored
}

func readBookmark(v []byte) (b Bookmark, err error) {
	err = fields(
		v,
		"id",
		&b.ID,
		"owner_id",
		&b.OwnerID,
		"display_name",
		&b.Name,
		"link_url",
		&b.URL,
		"file_id",
		&b.FileID,
	)
	return b, require(err, b.ID != "", "a bookmark without id")
}

var bookmarks = orNone(listOf(readBookmark))

// Bookmarks lists a channel's bookmarks in their order.
func (c *Client) Bookmarks(ctx context.Context, channelID string) ([]Bookmark, error) {
	return get(ctx, c, opGetBookmarks, bookmarks, channelID)
}

// AddBookmark puts a bookmark of a link, or of a file if b has one, behind the channel's others.
func (c *Client) AddBookmark(ctx context.Context, channelID string, b Bookmark) (Bookmark, error) {
	kind := "link"
	if b.FileID != "" {
		kind = "file"
	}
	body := object(c.body(), "display_name", b.Name, "link_url", b.URL, "file_id", b.FileID, "type",
		kind)
	return send(ctx, c, opAddBookmark, body,
		holding(readBookmark, "another bookmark", func(got Bookmark) bool {
			return got.Name == b.Name && got.URL == b.URL && got.FileID == b.FileID
		}), channelID)
}

// RenameBookmark changes the name of a bookmark and returns the bookmark. The server replaces
// another user's bookmark by a copy of the user's own, with a new id.
func (c *Client) RenameBookmark(ctx context.Context, channelID, id, name string) (Bookmark, error) {
	b := object(c.body(), "display_name", name)
	return send(ctx, c, opUpdateBookmark, b, func(b []byte) (got Bookmark, err error) {
		err = inside(b, "updated", func(v []byte) (err error) {
			got, err = readBookmark(v)
			return err
		})
		return got, require(err, got.Name == name, "the bookmark's name is another")
	}, channelID, id)
}

// MoveBookmark moves a bookmark to an index in its channel's list.
func (c *Client) MoveBookmark(ctx context.Context, channelID, id string, index int) error {
	b := strconv.AppendInt(c.body(), int64(index), 10)
	_, err := send(ctx, c, opSortBookmark, b,
		holding(bookmarks, "the bookmark is elsewhere", func(list []Bookmark) bool {
			return index < len(list) && list[index].ID == id
		}), channelID, id)
	return err
}

// DeleteBookmark takes a bookmark away from its channel.
func (c *Client) DeleteBookmark(ctx context.Context, channelID, id string) error {
	return c.do(ctx, opDeleteBookmark, nil, func(b []byte) error {
		got := ""
		at := int64(0)
		err := fields(b, "id", &got, "delete_at", &at)
		return require(err, got == id && at != 0, "the bookmark is not deleted")
	}, channelID, id)
}
