package mattermost

import (
	"fmt"
	"slices"
	"strconv"

	"plimsoll/dialect/mattermost/api"
)

// bookmarkActions are about the bookmarks in the headers of channels and, in act_sidebar.go, about
// the person's sidebar. Draws of actions follow their order.
var bookmarkActions = []action{
	{"update_sidebar_category", 0.004, hasSidebar, updateSidebarCategory,
		proveUpdateSidebarCategory,
		"updateCategoriesForTeamForUser updateCategoryForTeamForUser", 1},
	{"add_channel_bookmark", 0.0003, hasBookmarks, addChannelBookmark, proveAddChannelBookmark,
		"createChannelBookmark", 1},
	{"update_channel_bookmark", 0.0002, hasBookmarks, updateChannelBookmark,
		proveUpdateChannelBookmark, "updateChannelBookmark", 1},
	{"update_channel_bookmark_sort_order", 0.0002, hasBookmarks, sortChannelBookmark,
		proveSortChannelBookmark, "updateChannelBookmarkSortOrder", 1},
	{"create_sidebar_category", 0.0001, hasSidebar, createSidebarCategory,
		proveCreateSidebarCategory, "createCategoryForTeamForUser", 1},
	{"delete_channel_bookmark", 0.0001, hasBookmarks, deleteChannelBookmark,
		proveDeleteChannelBookmark, "deleteChannelBookmark", 1},
}

const (
	mostBookmarks = 50 // in one channel: the server's limit
	errFull       = skipError("the channel has as many bookmarks as it may")
)

// addChannelBookmark adds a link or, as often, a file to the head of the current channel.
func addChannelBookmark(a *act) error {
	list, err := a.bookmarks(0)
	if err != nil {
		return err
	}
	if len(list) >= mostBookmarks {
		return errFull
	}
	return a.addBookmark()
}

// proveAddChannelBookmark shows that another client sees one more, a link or a file; of twelve,
// some are of each kind.
func proveAddChannelBookmark(s *stage) {
	before, after := proveBookmarks(s, 0)
	disproved(len(before) != 0 || len(after) != 1 || after[0].OwnerID != s.actor.id,
		"another client sees %d bookmarks, want one of the person", len(after))
	for range 11 {
		s.act()
	}
	list := must(s.witness.c.Bookmarks(s, s.actor.here()))
	files := 0
	for _, b := range list {
		if b.FileID == "" {
			continue
		}
		if files++; files == 1 {
			err := s.witness.c.File(s, b.FileID)
			disproved(err != nil, "the file of a bookmark: %w", err)
		}
	}
	disproved(len(list) != 12 || files == 0 || files == 12,
		"%d bookmarks, %d of them files", len(list), files)
}

func (a *act) addBookmark() error {
	ch := a.here()
	file := a.choice.IntN(2) == 1
	name := fewWords(a.content, 2)
	b := api.Bookmark{Name: name,
		URL: "https://example.com/" + strconv.Itoa(a.content.IntN(1e6))}
	if file {
		id, err := a.c.Upload(a, ch, true, "bookmark.txt", "text/plain", []byte(name))
		if err != nil {
			return err
		}
		b.URL = ""
		b.FileID = id
	}
	_, err := a.quiet().AddBookmark(a, ch, b)
	return err
}

// bookmarks lists the current channel's bookmarks. Where there are fewer than n, the person adds
// the missing ones first.
func (a *act) bookmarks(n int) ([]api.Bookmark, error) {
	if err := a.somewhere(); err != nil {
		return nil, err
	}
	ch := a.here()
	list, err := a.c.Bookmarks(a, ch)
	if err != nil || len(list) >= n {
		return list, err
	}
	for range n - len(list) {
		if err := a.addBookmark(); err != nil {
			return nil, err
		}
	}
	list, err = a.c.Bookmarks(a, ch)
	if err == nil && len(list) < n {
		err = errNoBookmark // others were faster
	}
	return list, err
}

const errNoBookmark skipError = "no bookmark to choose from"

// updateChannelBookmark gives one of the channel's bookmarks another name.
func updateChannelBookmark(a *act) error {
	list, err := a.bookmarks(1)
	if err != nil {
		return err
	}
	name := fewWords(a.content, 2)
	_, err = a.quiet().RenameBookmark(a, a.here(), one(a.pick, list).ID, name)
	return err
}

// proveUpdateChannelBookmark shows that another client sees a bookmark with another name.
func proveUpdateChannelBookmark(s *stage) {
	before, after := proveBookmarks(s, 1)
	disproved(len(after) != 1 || after[0].Name == before[0].Name,
		"another client sees no bookmark with another name")
}

// sortChannelBookmark puts one of the channel's bookmarks to another place.
func sortChannelBookmark(a *act) error {
	list, err := a.bookmarks(2)
	if err != nil {
		return err
	}
	from := a.pick.IntN(len(list))
	to := a.pick.IntN(len(list) - 1)
	if to >= from {
		to++
	}
	return a.quiet().MoveBookmark(a, a.here(), list[from].ID, to)
}

// proveSortChannelBookmark shows that another client sees the same bookmarks in another order.
func proveSortChannelBookmark(s *stage) {
	before, after := proveBookmarks(s, 3)
	moved := 0
	for i, b := range before {
		k := slices.IndexFunc(after, func(c api.Bookmark) bool { return c.ID == b.ID })
		disproved(k < 0, "a bookmark is gone")
		if k != i {
			moved++
		}
	}
	disproved(len(after) != len(before) || moved == 0,
		"another client sees the same order as before")
}

// deleteChannelBookmark takes one of the channel's bookmarks away.
func deleteChannelBookmark(a *act) error {
	list, err := a.bookmarks(1)
	if err != nil {
		return err
	}
	return a.quiet().DeleteBookmark(a, a.here(), one(a.pick, list).ID)
}

// proveDeleteChannelBookmark shows that another client sees one less.
func proveDeleteChannelBookmark(s *stage) {
	before, after := proveBookmarks(s, 2)
	disproved(len(after) != len(before)-1,
		"another client sees %d bookmarks, before there were %d", len(after), len(before))
}

// proveBookmarks carries the action out with n bookmarks of the witness in the channel, and returns
// the lists that the witness sees before and after.
func proveBookmarks(s *stage, n int) (before, after []api.Bookmark) {
	ch := s.actor.here()
	list := must(s.witness.c.Bookmarks(s, ch))
	for _, b := range list {
		check(s.witness.c.DeleteBookmark(s, ch, b.ID))
	}
	for i := range n {
		must(s.witness.c.AddBookmark(s, ch,
			api.Bookmark{Name: fmt.Sprint("bookmark ", i), URL: "https://example.com"}))
	}
	before = must(s.witness.c.Bookmarks(s, ch))
	s.act()
	return before, must(s.witness.c.Bookmarks(s, ch))
}
