package refchat

import (
	"context"
)

var fileKind = define(kind[fileInfo]{
	table: "fileinfo",
	columns: "id, creatorid, postid, channelid, createat, updateat, deleteat, path, " +
		"thumbnailpath, previewpath, name, extension, size, mimetype, width, height, " +
		"haspreviewimage",
	then: func(f *fileInfo) { f.RemoteID = new(string) },
})

var (
	fileByID  = fileKind.query("FileInfoStore.Get", "WHERE id = ? AND deleteat = 0")
	filesByID = fileKind.query("FileInfoStore.GetByIds",
		"WHERE id = ANY(?) AND deleteat = 0 ORDER BY createat")
	filesForPosts = fileKind.query("FileInfoStore.GetForPost",
		"WHERE postid = ANY(?) AND deleteat = 0 ORDER BY createat")
	// saveContent stores the text extracted from a file, for searches.
	saveContent = command{
		"FileInfoStore.SetContent",
		"UPDATE fileinfo SET content = ? WHERE id = ?",
	}
	// attachFile gives a file to a post if it is the author's and free.
	attachFile = command{"FileInfoStore.AttachToPost",
		"UPDATE fileinfo SET postid = ?, channelid = ? WHERE id = ? AND postid = '' AND creatorid = ?"}
	setPostFiles = command{"PostStore.Overwrite",
		"UPDATE posts SET fileids = ?, updateat = ? WHERE id = ?"}
)

func (st *store) filesOfPosts(ctx context.Context, posts []string) ([]*fileInfo, error) {
	list, err := filesForPosts.list(ctx, st, posts)
	for _, f := range list {
		f.ChannelID = "" // as the real API has it
	}
	return list, err
}
