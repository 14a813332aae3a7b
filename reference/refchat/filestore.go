package refchat

import (
	"context"
	"database/sql"
)

const fileColumns = `id, creatorid, postid, channelid, createat, updateat, deleteat, path, thumbnailpath, previewpath, name, extension, size,
	mimetype, width, height, haspreviewimage`

func (st *store) selectFiles(ctx context.Context, clause string, args ...any) ([]*fileInfo, error) {
	list := []*fileInfo{}
	err := st.query(ctx, nil, func(r *sql.Rows) error {
		f := &fileInfo{RemoteID: new(string)}
		list = append(list, f)
		return r.Scan(&f.ID, &f.CreatorID, &f.PostID, &f.ChannelID, &f.CreateAt, &f.UpdateAt, &f.DeleteAt, &f.Path, &f.ThumbnailPath,
			&f.PreviewPath, &f.Name, &f.Extension, &f.Size, &f.MimeType, &f.Width, &f.Height, &f.HasPreviewImage)
	}, "SELECT "+fileColumns+" FROM fileinfo "+clause, args...)
	return list, err
}

func (st *store) fileByID(ctx context.Context, id string) (f *fileInfo, err error) {
	defer st.timed("FileInfoStore.Get", &err)()
	list, err := st.selectFiles(ctx, "WHERE id = ? AND deleteat = 0", id)
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func (st *store) filesOfPosts(ctx context.Context, posts []string) (list []*fileInfo, err error) {
	defer st.timed("FileInfoStore.GetForPost", &err)()
	cond, args := st.anyOf("postid", posts)
	list, err = st.selectFiles(ctx, "WHERE "+cond+" AND deleteat = 0 ORDER BY createat", args...)
	for _, f := range list {
		f.ChannelID = "" // as the real API has it
	}
	return list, err
}

func (st *store) saveFile(ctx context.Context, f *fileInfo) error {
	return st.do(ctx, "FileInfoStore.Save", "INSERT INTO fileinfo ("+fileColumns+") VALUES ("+marks(17)+")", f.ID, f.CreatorID, f.PostID, f.ChannelID,
		f.CreateAt, f.UpdateAt, f.DeleteAt, f.Path, f.ThumbnailPath, f.PreviewPath, f.Name, f.Extension, f.Size, f.MimeType, f.Width, f.Height, f.HasPreviewImage)
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
