package api

import (
	"context"
	"net/url"
	"strings"

	"plimsoll/load/wire"
)

var (
	opUpload    = newOp("upload", "POST /files", created)
	opUserImage = newOp("user_image", "GET /users/{}/image", cached)
	opThumbnail = newOp("file_thumbnail", "GET /files/{}/thumbnail", cached)
	opPreview   = newOp("file_preview", "GET /files/{}/preview", cached)
	opFile      = newOp("file", "GET /files/{}", cached, anySize)
)

// isPicture requires an answer not to be a page. Its bytes are counted, and not read.
func isPicture(resp *wire.Response) error {
	if kind := resp.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
		return noEffect("%.40q is no picture", kind)
	}
	return nil
}

// FormBoundary separates the parts of an upload. File names and contents must not contain it.
const FormBoundary = "plimsoll-9b7f1c2d4e6a8053"

// Upload stores one file for a post to come, or for a bookmark, and returns its id. The name must
// not contain quotes or line ends, the contents not the boundary of the form.
func (c *Client) Upload(
	ctx context.Context, channelID string, bookmark bool, name, contentType string, data []byte,
) (id string, err error) {
	query := "?"
	if bookmark {
		query += "bookmark=true&"
	}
	b := append(c.body(), "--"+FormBoundary+
		"\r\nContent-Disposition: form-data; name=\"files\"; filename=\""...)
	b = append(b, name...)
	b = append(b, "\"\r\nContent-Type: "...)
	b = append(b, contentType...)
	b = append(b, "\r\n\r\n"...)
	b = append(b, data...)
	b = append(b, "\r\n--"+FormBoundary+"--\r\n"...)
	req := wire.Request{Body: b, ContentType: "multipart/form-data; boundary=" + FormBoundary}
	err = c.call(ctx, opUpload, &req, func(resp *wire.Response) error {
		n := 0
		err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "file_infos" || v[0] != '[' {
				return nil
			}
			return eachElement(v, func(v []byte) error {
				size := int64(-1)
				n = n + 1
				id = ""
				err := fields(v, "id", idTo(&id), "size", &size)
				if err == nil && (id == "" || size != int64(len(data))) {
					err = noEffect("a file of %d bytes, want %d", size, len(data))
				}
				return err
			})
		})
		if err == nil && n != 1 {
			err = noEffect("%d files, want 1", n)
		}
		return err
	}, query+"channel_id="+url.QueryEscape(channelID))
	if err != nil {
		id = ""
	}
	return id, err
}

// download reads a file without keeping it. known is the entity tag of a copy that the client has,
// or "": with a server that knows it, the answer is 304 and fresh is false.
func (c *Client) download(
	ctx context.Context, o op, id, known string,
) (etag string, fresh bool, err error) {
	req := wire.Request{SkipBody: true}
	if known != "" {
		req.Header = []wire.Field{{Name: "If-None-Match", Value: known}}
	}
	err = c.call(ctx, o, &req, func(resp *wire.Response) error {
		etag = resp.Header.Get("Etag")
		if fresh = resp.Status == 200; fresh && resp.BodyBytes == 0 || !fresh && known == "" {
			return noEffect("an empty file")
		}
		if fresh && o != opFile {
			return isPicture(resp)
		}
		return nil
	}, id)
	return etag, fresh, err
}

// UserImage fetches a profile picture; see download.
func (c *Client) UserImage(
	ctx context.Context, userID, known string,
) (etag string, fresh bool, err error) {
	return c.download(ctx, opUserImage, userID, known)
}

// Thumbnail fetches the thumbnail of a picture.
func (c *Client) Thumbnail(ctx context.Context, fileID string) error {
	_, _, err := c.download(ctx, opThumbnail, fileID, "")
	return err
}

// Preview fetches the preview of a picture.
func (c *Client) Preview(ctx context.Context, fileID string) error {
	_, _, err := c.download(ctx, opPreview, fileID, "")
	return err
}

// File fetches a file.
func (c *Client) File(ctx context.Context, fileID string) error {
	_, _, err := c.download(ctx, opFile, fileID, "")
	return err
}
