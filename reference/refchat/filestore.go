package refchat

import (
	"context"
)

var fileKind = define(kind[fileInfo]{
	table: "fileinfo",
	columns: "id, creatorid, postid, channelid, createat, updateat, deleteat, path, " +
		"thumbnailpath, previewpath, name, extension, size, mimetype, width, height, " +
		"haspreviewimage",
	fields: func(f *fileInfo) []any {
		return []any{&f.ID, &f.CreatorID, &f.PostID, &f.ChannelID, &f.CreateAt, &f.UpdateAt, &f.DeleteAt,
			&f.Path, &f.ThumbnailPath, &f.PreviewPath, &f.Name, &f.Extension, &f.Size, &f.MimeType,
			&f.Width, &f.Height, &f.HasPreviewImage}
	},
	then: func(f *fileInfo) { f.RemoteID = new(string) },
})

func (st *store) fileByID(ctx context.Context, id string) (*fileInfo, error) {
	return fileKind.one(ctx, st, "FileInfoStore.Get", "WHERE id = ? AND deleteat = 0", id)
}

func (st *store) filesOfPosts(ctx context.Context, posts []string) (list []*fileInfo, err error) {
	defer st.timed("FileInfoStore.GetForPost", &err)()
	cond, args := st.anyOf("postid", posts)
	list, err = fileKind.in(ctx, st, nil, "WHERE "+cond+" AND deleteat = 0 ORDER BY createat", args...)
	for _, f := range list {
		f.ChannelID = "" // as the real API has it
	}
	return list, err
}

func (st *store) saveFile(ctx context.Context, f *fileInfo) (err error) {
	defer st.timed("FileInfoStore.Save", &err)()
	return fileKind.insert(ctx, st, nil, f)
}

// saveContent stores the text extracted from a file, for searches.
func (st *store) saveContent(ctx context.Context, id, content string) error {
	return st.do(ctx, "FileInfoStore.SetContent", "UPDATE fileinfo SET content = ? WHERE id = ?", content, id)
}

// attachFile gives a file to a post if it is the author's and free.
func (st *store) attachFile(ctx context.Context, id, postID, channelID, userID string) (ok bool, err error) {
	defer st.timed("FileInfoStore.AttachToPost", &err)()
	res, err := st.exec(ctx, nil, "UPDATE fileinfo SET postid = ?, channelid = ? WHERE id = ? AND postid = '' AND creatorid = ?", postID, channelID, id, userID)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func (st *store) setPostFiles(ctx context.Context, p *post) error {
	return st.do(ctx, "PostStore.Overwrite", "UPDATE posts SET fileids = ?, updateat = ? WHERE id = ?", jsonText(p.FileIDs), p.UpdateAt, p.ID)
}
