package api

import (
	"bytes"
	"context"
	"net/url"
	"strconv"
	"time"

	"plimsoll/load/wire"
)

var (
	opSetCustomStatus   = newOp("set_custom_status", "PUT /users/{}/status/custom")
	opClearCustomStatus = newOp("clear_custom_status", "DELETE /users/{}/status/custom")
	opUser              = newOp("user", "GET /users/{}")
	opTeamMember        = newOp("team_member", "GET /teams/{}/members/{}")
	opAttributeFields   = newOp("attribute_fields", "GET /custom_profile_attributes/fields")
	opAttributes        = newOp("attributes", "GET /users/{}/custom_profile_attributes")
	opSetAttribute      = newOp("set_attribute", "PATCH /custom_profile_attributes/values")
	opUserImage         = newOp("user_image", "GET /users/{}/image", cached)
	opThumbnail         = newOp("file_thumbnail", "GET /files/{}/thumbnail", cached)
	opPreview           = newOp("file_preview", "GET /files/{}/preview", cached)
	opFile              = newOp("file", "GET /files/{}", cached, anySize)
	opUserReport        = newOp("user_report", "GET /reports/users?sort_column=Username&page_size={}")
	opClientPerf        = newOp("client_perf", "POST /client_perf")
	opUsersStats        = newOp("users_stats", "GET /users/stats/filtered?include_bots=false")
	opTeamStats         = newOp("team_stats", "GET /teams/{}/stats")
	opCreateAttribute   = newOp("create_attribute", "POST /custom_profile_attributes/fields", setup, created)
)

// SetCustomStatus shows an emoji and a text beside the user's name until a time.
func (c *Client) SetCustomStatus(ctx context.Context, userID, emoji, status string, until time.Time) error {
	b := object(c.body(), "emoji", emoji, "text", status, "duration", "thirty_minutes",
		"expires_at", until.UTC().Format(time.RFC3339))
	return c.do(ctx, opSetCustomStatus, b, done, userID)
}

// ClearCustomStatus takes the custom status away.
func (c *Client) ClearCustomStatus(ctx context.Context, userID string) error {
	return c.do(ctx, opClearCustomStatus, nil, done, userID)
}

// CustomStatus returns the text of a user's custom status, "" if there is none.
func (c *Client) CustomStatus(ctx context.Context, userID string) (status string, err error) {
	return get(ctx, c, opUser, func(b []byte) (status string, err error) {
		if err := shows(b, "id", userID); err != nil {
			return "", err
		}
		return status, inside(b, "props", func(v []byte) error {
			custom := ""
			if err := fields(v, "customStatus", &custom); err != nil || custom == "" {
				return err
			}
			return fields([]byte(custom), "text", &status)
		})
	}, userID)
}

// TeamMember reads one membership of a team and returns its roles.
func (c *Client) TeamMember(ctx context.Context, teamID, userID string) (roles string, err error) {
	return get(ctx, c, opTeamMember, textIn("roles", "team_id", teamID, "user_id", userID), teamID, userID)
}

// An AttributeField is a custom profile attribute that an administrator has defined.
type AttributeField struct{ ID, Name, Type string }

func readField(b []byte) (f AttributeField, err error) {
	err = fields(b, "id", &f.ID, "name", &f.Name, "type", &f.Type)
	return f, require(err, f.ID != "", "a field without id")
}

var attributeFields = orNone(listOf(readField))

// AttributeFields lists the custom profile attributes.
func (c *Client) AttributeFields(ctx context.Context) ([]AttributeField, error) {
	return get(ctx, c, opAttributeFields, attributeFields)
}

// CreateAttributeField defines a custom profile attribute, a text; for administrators.
func (c *Client) CreateAttributeField(ctx context.Context, name string) (AttributeField, error) {
	b := object(c.body(), "name", name, "type", "text")
	return send(ctx, c, opCreateAttribute, b, func(b []byte) (AttributeField, error) {
		f, err := readField(b)
		return f, require(err, f.Name == name, "another field")
	})
}

// SetAttribute sets a custom attribute of the user, at most 64 characters without spaces around them.
func (c *Client) SetAttribute(ctx context.Context, fieldID, value string) error {
	return c.do(ctx, opSetAttribute, object(c.body(), fieldID, value), func(b []byte) error {
		got := ""
		err := fields(b, fieldID, &got)
		return require(err, got == value, "the attribute has another value")
	})
}

// Attributes reads a user's custom attributes, by field.
func (c *Client) Attributes(ctx context.Context, userID string) (map[string]string, error) {
	return get(ctx, c, opAttributes, textsIn(), userID)
}

// download reads a file without keeping it. known is the entity tag of a copy that the client has, or "": with a
// server that knows it, the answer is 304 and fresh is false.
func (c *Client) download(ctx context.Context, o op, id, known string) (etag string, fresh bool, err error) {
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
func (c *Client) UserImage(ctx context.Context, userID, known string) (etag string, fresh bool, err error) {
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

// UserReport reads one page of the report on all users, by name, behind one of them ("" for the first page); before
// is the number of pages read so far. It is for administrators.
func (c *Client) UserReport(ctx context.Context, before int, afterName, afterID string, size int) ([]Profile, error) {
	query := ""
	if afterID != "" {
		query = "&from_column_value=" + url.QueryEscape(afterName) + "&from_id=" + url.QueryEscape(afterID)
	}
	return get(ctx, c, opUserReport, func(b []byte) ([]Profile, error) {
		page, err := profilesOrNone(b)
		return page, ends(err, before, len(page) >= size)
	}, decimal(size), query)
}

var profilesOrNone = orNone(profiles)

// A Measurement is a duration in a client, as it is reported to the server.
type Measurement struct {
	Metric string // TTFB, page_load, channel_switch, team_switch, rhs_load, global_threads_load
	Took   time.Duration
	At     time.Time
}

// ClientPerformance reports the client's measurements since start. The server's answer may be empty.
func (c *Client) ClientPerformance(ctx context.Context, start, end time.Time, list []Measurement) error {
	b := append(c.body(), `{"version":"0.1.0","client_id":"","labels":{"platform":"linux","agent":"chrome"},"start":`...)
	b = strconv.AppendInt(b, start.UnixMilli(), 10)
	b = append(b, `,"end":`...)
	b = strconv.AppendInt(b, end.UnixMilli(), 10)
	b = append(b, `,"counters":[],"histograms":`...)
	b = array(b, len(list), func(b []byte, i int) []byte {
		m := &list[i]
		b = appendString(append(b, `{"metric":`...), m.Metric)
		b = append(b, `,"value":`...)
		b = strconv.AppendFloat(b, float64(m.Took)/1e6, 'f', 3, 64)
		b = append(b, `,"timestamp":`...)
		b = strconv.AppendInt(b, m.At.UnixMilli(), 10)
		return append(b, '}')
	})
	return c.do(ctx, opClientPerf, append(b, '}'), func(b []byte) error {
		if len(bytes.TrimSpace(b)) == 0 {
			return nil
		}
		return done(b)
	})
}

// UsersStats returns how many accounts there are that are not bots; for administrators. The plain statistics
// count bots on some releases.
func (c *Client) UsersStats(ctx context.Context) (n int64, err error) {
	return get(ctx, c, opUsersStats, countIn("total_users_count"))
}

// TeamStats returns how many members a team has.
func (c *Client) TeamStats(ctx context.Context, teamID string) (n int64, err error) {
	return get(ctx, c, opTeamStats, countIn("total_member_count", "team_id", teamID), teamID)
}
