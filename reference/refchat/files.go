package refchat

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	_ "image/gif" // decoders of uploaded pictures
	"image/jpeg"
	_ "image/png"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const maxPixels = 24_000_000 // of a picture that thumbnails are made of

// upload is a request that stores files.
type upload struct {
	q         *request
	channelID string
	owner     string
	allowed   bool // the caller may read the channel
	infos     []*fileInfo
	clients   []string
	early     []earlyFile
}

// earlyFile is a file that came before the name of its channel.
type earlyFile struct {
	name string
	data []byte
}

// uploadFiles stores files, sent as multipart parts named files or as a raw body with filename in
// the query.
func (q *request) uploadFiles() error {
	q.r.Body = http.MaxBytesReader(q.w, q.r.Body, maxBody)
	u := &upload{
		q:         q,
		channelID: q.query("channel_id"),
		owner:     q.sess.UserID,
		infos:     []*fileInfo{},
		clients:   []string{},
	}
	if q.query("bookmark") == "true" {
		u.owner = bookmarkOwner
	}
	kind, params, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	var err error
	switch {
	case kind != "multipart/form-data":
		err = u.raw()
	case params["boundary"] == "":
		err = errBody("boundary")
	default:
		err = u.form()
	}
	if err != nil {
		return err
	}
	return q.created(map[string]any{"file_infos": u.infos, "client_ids": u.clients})
}

// raw stores the whole body as one file.
func (u *upload) raw() error {
	if id := u.q.query("client_id"); id != "" {
		u.clients = append(u.clients, id)
	}
	return u.store(u.q.query("filename"), u.q.r.Body)
}

// form stores the files of a form, which may name the channel behind them.
func (u *upload) form() error {
	parts, err := u.q.r.MultipartReader()
	if err != nil {
		return errBody("multipart")
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errBody("multipart")
		}
		if err := u.part(part); err != nil {
			return err
		}
	}
	for _, f := range u.early {
		if err := u.store(f.name, bytes.NewReader(f.data)); err != nil {
			return err
		}
	}
	return u.allow()
}

func (u *upload) part(part *multipart.Part) error {
	name, field := part.FileName(), part.FormName()
	switch {
	case name != "" && u.channelID != "":
		return u.store(name, part)
	case name != "":
		b, err := io.ReadAll(part)
		if err != nil {
			return errBody("files")
		}
		u.early = append(u.early, earlyFile{name, b})
	case field == "channel_id", field == "client_ids":
		b, err := io.ReadAll(io.LimitReader(part, 1024))
		if err != nil {
			return errBody(field)
		}
		if field == "channel_id" {
			u.channelID = string(b)
		} else {
			u.clients = append(u.clients, string(b))
		}
	}
	return nil
}

// allow admits those who may read the channel.
func (u *upload) allow() error {
	if u.allowed {
		return nil
	}
	if u.channelID == "" {
		return errBody("channel_id")
	}
	err := u.q.mustRead(u.channelID)
	u.allowed = err == nil
	return err
}

func (u *upload) store(name string, r io.Reader) error {
	if err := u.allow(); err != nil {
		return err
	}
	f, err := u.q.storeFile(u.owner, u.channelID, name, r)
	if err == nil {
		u.infos = append(u.infos, f)
	}
	return err
}

// storeFile writes one file and its row. Pictures get their dimensions, a thumbnail and a preview.
func (q *request) storeFile(
	userID, channelID, name string,
	r io.Reader,
) (*fileInfo, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, newError(
			http.StatusRequestEntityTooLarge,
			"api.file.upload_file.too_large_detailed.app_error",
			"Unable to upload file. File is too large.",
		)
	}
	if name = filepath.Base(strings.ReplaceAll(name, "\\", "/")); name == "." || name == "/" ||
		len(data) == 0 {
		return nil, errBody("files")
	}
	now := millis()
	ext := strings.ToLower(filepath.Ext(name))
	f := &fileInfo{
		ID:        newID(),
		CreatorID: userID,
		ChannelID: channelID,
		CreateAt:  now,
		UpdateAt:  now,
		Name:      clip(name, 256),
		Extension: clip(strings.TrimPrefix(ext, "."), 64),
		Size:      int64(len(data)),
		MimeType:  mime.TypeByExtension(ext),
		RemoteID:  new(string),
	}
	if f.MimeType == "" {
		f.MimeType = http.DetectContentType(data)
	}
	dir := filepath.Join(time.UnixMilli(now).UTC().Format("20060102"), channelID, userID, f.ID)
	f.Path = filepath.Join(dir, "file")
	if err := os.MkdirAll(filepath.Join(q.files, dir), 0o750); err != nil {
		return nil, errStore("file.mkdir", err)
	}
	if err := os.WriteFile(filepath.Join(q.files, f.Path), data, 0o640); err != nil {
		return nil, errStore("file.write", err)
	}
	if strings.HasPrefix(f.MimeType, "image/") {
		if err := q.makePreviews(f, dir, data); err != nil {
			return nil, errStore("file.preview", err)
		}
	}
	if err := fileKind.save(q, q.st, "FileInfoStore.Save", f); err != nil {
		return nil, errStore("file_info.save", err)
	}
	if strings.HasPrefix(f.MimeType, "text/") && utf8.Valid(data) {
		content := strings.ReplaceAll(string(data[:min(len(data), 32<<10)]), "\x00", "")
		q.background(func(ctx context.Context) {
			q.warn("saving a file's text",
				saveContent.run(ctx, q.st, strings.ToValidUTF8(content, ""), f.ID))
		})
	}
	out := *f
	out.ChannelID = "" // as the real API has it
	return &out, nil
}

// makePreviews stores a picture's thumbnail and preview. A file that cannot be decoded gets none.
func (s *Server) makePreviews(f *fileInfo, dir string, data []byte) error {
	cfg, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil //nolint:nilerr // not a picture after all
	}
	f.Width, f.Height = cfg.Width, cfg.Height
	if cfg.Width*cfg.Height > maxPixels {
		return nil
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	f.HasPreviewImage = true
	f.ThumbnailPath = filepath.Join(dir, "thumb.jpg")
	f.PreviewPath = filepath.Join(dir, "preview.jpg")
	for path, w := range map[string]int{f.ThumbnailPath: 120, f.PreviewPath: 1920} {
		var buf bytes.Buffer
		if err := jpeg.Encode(&buf, shrink(img, w), &jpeg.Options{Quality: 90}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.files, path), buf.Bytes(), 0o640); err != nil {
			return err
		}
	}
	var mini bytes.Buffer
	if err := jpeg.Encode(&mini, shrink(img, 16), &jpeg.Options{Quality: 90}); err != nil {
		return err
	}
	b := mini.Bytes()
	f.MiniPreview = &b
	return nil
}

// shrink returns img at most w pixels wide, each pixel the mean of those it stands for.
func shrink(img image.Image, w int) image.Image {
	src := img.Bounds()
	if src.Dx() <= w {
		return img
	}
	h := max(1, src.Dy()*w/src.Dx())
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		y0, y1 := src.Min.Y+y*src.Dy()/h, src.Min.Y+(y+1)*src.Dy()/h
		for x := range w {
			x0, x1 := src.Min.X+x*src.Dx()/w, src.Min.X+(x+1)*src.Dx()/w
			var r, g, b, n uint32
			for yy := y0; yy < max(y1, y0+1); yy++ {
				for xx := x0; xx < max(x1, x0+1); xx++ {
					cr, cg, cb, _ := img.At(xx, yy).RGBA()
					r += cr >> 8
					g += cg >> 8
					b += cb >> 8
					n++
				}
			}
			dst.SetRGBA(x, y, color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255})
		}
	}
	return dst
}

// mustReadFile admits callers who uploaded the file of the path or may see it in a channel.
func (q *request) mustReadFile() error {
	id, err := q.idParam("file_id")
	if err != nil {
		return err
	}
	f, err := fileByID.one(q, q.st, id)
	if err != nil {
		return errFind("file_info.get", err,
			missing("app.file_info.get.app_error", "Unable to get the file info."))
	}
	q.file = f
	switch {
	case f.CreatorID == q.sess.UserID:
		return nil
	case f.PostID == "" && f.CreatorID != bookmarkOwner && !q.sess.isAdmin():
		return errPermission
	}
	return q.mustRead(f.ChannelID)
}

func (q *request) getFile() error {
	f := q.file
	disposition := "attachment"
	if strings.HasPrefix(f.MimeType, "image/") {
		disposition = "inline"
	}
	return q.sendFile(f.Path, f.MimeType, disposition)
}

func (q *request) sendFile(path, mimeType, disposition string) error {
	b, err := os.ReadFile(filepath.Join(q.files, path))
	if err != nil {
		return errStore("file.read", err)
	}
	h := q.w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Uncompressed-Content-Length", strconv.Itoa(len(b)))
	h.Set("Last-Modified", time.UnixMilli(q.file.UpdateAt).UTC().Format(http.TimeFormat))
	h.Set(
		"Content-Disposition",
		mime.FormatMediaType(disposition, map[string]string{"filename": q.file.Name}),
	)
	return q.write(http.StatusOK, mimeType, b)
}

// sendPreview answers with the thumbnail or the preview of a picture.
func (q *request) sendPreview(path, kind string) error {
	if path == "" {
		return badRequest("api.file.get_file_"+kind+".no_"+kind+".app_error",
			"File doesn't have a preview image.")
	}
	return q.sendFile(path, "image/jpeg", "inline")
}
