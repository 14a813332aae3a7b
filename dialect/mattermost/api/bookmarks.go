package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"plimsoll/load/wire"
)

var (
	opGetBookmarks   = newOp("get_bookmarks")
	opAddBookmark    = newOp("add_bookmark")
	opUpdateBookmark = newOp("update_bookmark")
	opSortBookmark   = newOp("sort_bookmark")
	opDeleteBookmark = newOp("delete_bookmark")
)

// A Bookmark is a link or a file that a channel shows at its head.
type Bookmark struct {
	ID, OwnerID string
	Name        string // at most 64 bytes
	URL         string // of a link, http or https
	FileID      string // of a file, which UploadBookmark has stored
}

func readBookmark(v []byte) (b Bookmark, err error) {
	err = texts(v, []string{"id", "owner_id", "display_name", "link_url", "file_id"}, &b.ID, &b.OwnerID, &b.Name, &b.URL, &b.FileID)
	if err == nil && b.ID == "" {
		err = fmt.Errorf("%w: a bookmark without id", ErrEffect)
	}
	return b, err
}

func bookmarksPath(channelID string) string {
	return "/channels/" + url.PathEscape(channelID) + "/bookmarks"
}

func readBookmarks(list *[]Bookmark) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		return eachIn(resp.Body, func(v []byte) error {
			b, err := readBookmark(v)
			*list = append(*list, b)
			return err
		})
	}
}

// Bookmarks lists a channel's bookmarks in their order.
func (c *Client) Bookmarks(ctx context.Context, channelID string) (list []Bookmark, err error) {
	err = c.get(ctx, opGetBookmarks, bookmarksPath(channelID)+"?bookmarks_since=0", readBookmarks(&list))
	return list, err
}

// UploadBookmark stores a file for a bookmark to come and returns its id. See Upload.
func (c *Client) UploadBookmark(ctx context.Context, channelID, name, contentType string, data []byte) (id string, err error) {
	return c.upload(ctx, "/files?bookmark=true&channel_id="+url.QueryEscape(channelID), name, contentType, data)
}

// AddBookmark puts a bookmark of a link, or of a file if b has one, behind the channel's others.
func (c *Client) AddBookmark(ctx context.Context, channelID string, b Bookmark) (got Bookmark, err error) {
	kind := "link"
	if b.FileID != "" {
		kind = "file"
	}
	err = c.send(ctx, opAddBookmark, bookmarksPath(channelID), func(buf []byte) []byte {
		return object(buf, "display_name", b.Name, "link_url", b.URL, "file_id", b.FileID, "type", kind)
	}, func(resp *wire.Response) (err error) {
		got, err = readBookmark(resp.Body)
		if err == nil && (got.Name != b.Name || got.URL != b.URL || got.FileID != b.FileID) {
			err = fmt.Errorf("%w: another bookmark", ErrEffect)
		}
		return err
	}, 201)
	return got, err
}

// RenameBookmark changes the name of a bookmark and returns the bookmark. Another's bookmark is replaced by one of
// the user's, with a new id.
func (c *Client) RenameBookmark(ctx context.Context, channelID, id, name string) (got Bookmark, err error) {
	err = c.sendAs(ctx, "PATCH", opUpdateBookmark, bookmarksPath(channelID)+"/"+url.PathEscape(id), func(b []byte) []byte {
		return object(b, "display_name", name)
	}, func(resp *wire.Response) error {
		err := eachField(resp.Body, func(k, v []byte) (err error) {
			if string(k) == "updated" && v[0] == '{' {
				got, err = readBookmark(v)
			}
			return err
		})
		if err == nil && got.Name != name {
			err = fmt.Errorf("%w: the bookmark's name is another", ErrEffect)
		}
		return err
	}, 200)
	return got, err
}

// MoveBookmark puts a bookmark to an index among those of its channel.
func (c *Client) MoveBookmark(ctx context.Context, channelID, id string, index int) error {
	var list []Bookmark
	return c.send(ctx, opSortBookmark, bookmarksPath(channelID)+"/"+url.PathEscape(id)+"/sort_order", func(b []byte) []byte {
		return strconv.AppendInt(b, int64(index), 10)
	}, func(resp *wire.Response) error {
		if err := readBookmarks(&list)(resp); err != nil {
			return err
		}
		if index >= len(list) || list[index].ID != id {
			return fmt.Errorf("%w: the bookmark is elsewhere", ErrEffect)
		}
		return nil
	}, 200)
}

// DeleteBookmark takes a bookmark away from its channel.
func (c *Client) DeleteBookmark(ctx context.Context, channelID, id string) error {
	return c.remove(ctx, opDeleteBookmark, bookmarksPath(channelID)+"/"+url.PathEscape(id), func(resp *wire.Response) error {
		got, at := "", int64(0)
		if err := eachField(resp.Body, func(k, v []byte) error {
			switch string(k) {
			case "id":
				got = string(text(v))
			case "delete_at":
				at = number(v)
			}
			return nil
		}); err != nil {
			return err
		}
		if got != id || at == 0 {
			return fmt.Errorf("%w: the bookmark is not deleted", ErrEffect)
		}
		return nil
	}, 200)
}
