package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"plimsoll/load/wire"
)

var (
	opSetCustomStatus   = newOp("set_custom_status")
	opClearCustomStatus = newOp("clear_custom_status")
	opUser              = newOp("user")
	opTeamMember        = newOp("team_member")
	opAttributeFields   = newOp("attribute_fields")
	opAttributes        = newOp("attributes")
	opSetAttribute      = newOp("set_attribute")
	opUserImage         = newOp("user_image")
	opThumbnail         = newOp("file_thumbnail")
	opPreview           = newOp("file_preview")
	opFile              = newOp("file")
	opUserReport        = newOp("user_report")
	opClientPerf        = newOp("client_perf")
	opUsersStats        = newOp("users_stats")
	opTeamStats         = newOp("team_stats")
	opCreateAttribute   = newSetupOp("create_attribute")
)

func userPath(userID string) string { return "/users/" + url.PathEscape(userID) }

// SetCustomStatus shows an emoji and a text beside the user's name until a time.
func (c *Client) SetCustomStatus(ctx context.Context, userID, emoji, status string, until time.Time) error {
	return c.sendAs(ctx, "PUT", opSetCustomStatus, userPath(userID)+"/status/custom", func(b []byte) []byte {
		return object(b, "emoji", emoji, "text", status, "duration", "thirty_minutes", "expires_at", until.UTC().Format(time.RFC3339))
	}, done, 200)
}

// ClearCustomStatus takes the custom status away.
func (c *Client) ClearCustomStatus(ctx context.Context, userID string) error {
	return c.remove(ctx, opClearCustomStatus, userPath(userID)+"/status/custom", done, 200)
}

// CustomStatus returns the text of a user's custom status, "" if there is none.
func (c *Client) CustomStatus(ctx context.Context, userID string) (status string, err error) {
	err = c.get(ctx, opUser, userPath(userID), func(resp *wire.Response) error {
		if err := shows(resp.Body, "id", userID); err != nil {
			return err
		}
		return eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "props" || v[0] != '{' {
				return nil
			}
			custom := ""
			if err := texts(v, []string{"customStatus"}, &custom); err != nil || custom == "" {
				return err
			}
			return texts([]byte(custom), []string{"text"}, &status)
		})
	})
	return status, err
}

// TeamMember reads one membership of a team and returns its roles.
func (c *Client) TeamMember(ctx context.Context, teamID, userID string) (roles string, err error) {
	err = c.get(ctx, opTeamMember, "/teams/"+url.PathEscape(teamID)+"/members/"+url.PathEscape(userID), func(resp *wire.Response) error {
		if err := shows(resp.Body, "team_id", teamID, "user_id", userID); err != nil {
			return err
		}
		return textIn("roles", &roles)(resp)
	})
	return roles, err
}

// An AttributeField is a custom profile attribute that an administrator has defined.
type AttributeField struct{ ID, Name, Type string }

func readField(v []byte) (f AttributeField, err error) {
	err = texts(v, []string{"id", "name", "type"}, &f.ID, &f.Name, &f.Type)
	if err == nil && f.ID == "" {
		err = fmt.Errorf("%w: a field without id", ErrEffect)
	}
	return f, err
}

// AttributeFields lists the custom profile attributes.
func (c *Client) AttributeFields(ctx context.Context) (fields []AttributeField, err error) {
	err = c.get(ctx, opAttributeFields, "/custom_profile_attributes/fields", func(resp *wire.Response) error {
		return eachIn(resp.Body, func(v []byte) error {
			f, err := readField(v)
			fields = append(fields, f)
			return err
		})
	})
	return fields, err
}

// CreateAttributeField defines a custom profile attribute, a text; for administrators.
func (c *Client) CreateAttributeField(ctx context.Context, name string) (f AttributeField, err error) {
	err = c.send(ctx, opCreateAttribute, "/custom_profile_attributes/fields", func(b []byte) []byte {
		return object(b, "name", name, "type", "text")
	}, func(resp *wire.Response) (err error) {
		if f, err = readField(resp.Body); err == nil && f.Name != name {
			err = fmt.Errorf("%w: another field", ErrEffect)
		}
		return err
	}, 201)
	return f, err
}

// SetAttribute sets a custom attribute of the user, at most 64 characters without spaces around them.
func (c *Client) SetAttribute(ctx context.Context, fieldID, value string) error {
	got := ""
	return c.sendAs(ctx, "PATCH", opSetAttribute, "/custom_profile_attributes/values", func(b []byte) []byte {
		return object(b, fieldID, value)
	}, func(resp *wire.Response) error {
		if err := texts(resp.Body, []string{fieldID}, &got); err != nil {
			return err
		}
		if got != value {
			return fmt.Errorf("%w: the attribute has another value", ErrEffect)
		}
		return nil
	}, 200)
}

// Attributes reads a user's custom attributes, by field.
func (c *Client) Attributes(ctx context.Context, userID string) (map[string]string, error) {
	values := map[string]string{}
	err := c.get(ctx, opAttributes, userPath(userID)+"/custom_profile_attributes", pairs(values))
	return values, err
}

// download reads a file without keeping it. known is the entity tag of a copy that the client has, or "": with a
// server that knows it, the answer is 304 and fresh is false.
func (c *Client) download(ctx context.Context, o op, path, known string) (etag string, fresh bool, err error) {
	req := &wire.Request{Path: root + path, SkipBody: true}
	if known != "" {
		req.Header = []wire.Field{{Name: "If-None-Match", Value: known}}
	}
	err = c.call(ctx, o, req, func(resp *wire.Response) error {
		etag = resp.Header.Get("Etag")
		if fresh = resp.Status == 200; fresh && resp.BodyBytes == 0 || !fresh && known == "" {
			return fmt.Errorf("%w: an empty file", ErrEffect)
		}
		if fresh && o != opFile {
			return isPicture(resp)
		}
		return nil
	}, 200, 304)
	return etag, fresh, err
}

// UserImage fetches a profile picture; see download.
func (c *Client) UserImage(ctx context.Context, userID, known string) (etag string, fresh bool, err error) {
	return c.download(ctx, opUserImage, userPath(userID)+"/image", known)
}

// Thumbnail fetches the thumbnail of a picture.
func (c *Client) Thumbnail(ctx context.Context, fileID string) error {
	_, _, err := c.download(ctx, opThumbnail, "/files/"+url.PathEscape(fileID)+"/thumbnail", "")
	return err
}

// Preview fetches the preview of a picture.
func (c *Client) Preview(ctx context.Context, fileID string) error {
	_, _, err := c.download(ctx, opPreview, "/files/"+url.PathEscape(fileID)+"/preview", "")
	return err
}

// File fetches a file.
func (c *Client) File(ctx context.Context, fileID string) error {
	_, _, err := c.download(ctx, opFile, "/files/"+url.PathEscape(fileID), "")
	return err
}

// UserReport reads one page of the report on all users, by name, behind one of them ("" for the first page); before
// is the number of pages read so far. It is for administrators.
func (c *Client) UserReport(ctx context.Context, before int, afterName, afterID string, size int) (page []Profile, err error) {
	path := "/reports/users?sort_column=Username&page_size=" + strconv.Itoa(size)
	if afterID != "" {
		path += "&from_column_value=" + url.QueryEscape(afterName) + "&from_id=" + url.QueryEscape(afterID)
	}
	err = c.get(ctx, opUserReport, path, func(resp *wire.Response) error {
		if err := eachIn(resp.Body, func(v []byte) error {
			p, err := profile(v)
			page = append(page, p)
			return err
		}); err != nil {
			return err
		}
		return ends(before, len(page) >= size)
	})
	return page, err
}

// A Measurement is a duration in a client, as it is reported to the server.
type Measurement struct {
	Metric string // TTFB, page_load, channel_switch, team_switch, rhs_load, global_threads_load
	Took   time.Duration
	At     time.Time
}

// ClientPerformance reports the client's measurements since start. The server's answer may be empty.
func (c *Client) ClientPerformance(ctx context.Context, start, end time.Time, list []Measurement) error {
	return c.send(ctx, opClientPerf, "/client_perf", func(b []byte) []byte {
		b = append(b, `{"version":"0.1.0","client_id":"","labels":{"platform":"linux","agent":"chrome"},"start":`...)
		b = strconv.AppendInt(b, start.UnixMilli(), 10)
		b = append(b, `,"end":`...)
		b = strconv.AppendInt(b, end.UnixMilli(), 10)
		b = append(b, `,"counters":[],"histograms":[`...)
		for i, m := range list {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"metric":`...)
			b = appendString(b, m.Metric)
			b = append(b, `,"value":`...)
			b = strconv.AppendFloat(b, float64(m.Took)/1e6, 'f', 3, 64)
			b = append(b, `,"timestamp":`...)
			b = strconv.AppendInt(b, m.At.UnixMilli(), 10)
			b = append(b, '}')
		}
		return append(b, "]}"...)
	}, func(resp *wire.Response) error {
		if len(resp.Body) == 0 || strings.TrimSpace(string(resp.Body)) == "" {
			return nil
		}
		return done(resp)
	}, 200)
}

// UsersStats returns how many accounts there are that are not bots; for administrators. The plain statistics
// count bots on some releases.
func (c *Client) UsersStats(ctx context.Context) (n int64, err error) {
	err = c.get(ctx, opUsersStats, "/users/stats/filtered?include_bots=false", countIn("total_users_count", &n))
	return n, err
}

// TeamStats returns how many members a team has.
func (c *Client) TeamStats(ctx context.Context, teamID string) (n int64, err error) {
	err = c.get(ctx, opTeamStats, "/teams/"+url.PathEscape(teamID)+"/stats", func(resp *wire.Response) error {
		if err := shows(resp.Body, "team_id", teamID); err != nil {
			return err
		}
		return countIn("total_member_count", &n)(resp)
	})
	return n, err
}

// countIn reads a number and requires it.
func countIn(key string, n *int64) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		*n = -1
		if err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) == key {
				*n = amount(v)
			}
			return nil
		}); err != nil {
			return err
		}
		if *n < 0 {
			return fmt.Errorf("%w: no %s", ErrEffect, key)
		}
		return nil
	}
}
