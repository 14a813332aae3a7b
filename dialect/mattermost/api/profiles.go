package api

import (
	"context"
	"time"
)

var (
	opSetCustomStatus   = newOp("set_custom_status", "PUT /users/{}/status/custom")
	opClearCustomStatus = newOp("clear_custom_status", "DELETE /users/{}/status/custom")
	opUser              = newOp("user", "GET /users/{}")
	opAttributeFields   = newOp("attribute_fields", "GET /custom_profile_attributes/fields")
	opAttributes        = newOp("attributes", "GET /users/{}/custom_profile_attributes")
	opSetAttribute      = newOp("set_attribute", "PATCH /custom_profile_attributes/values")
	opCreateAttribute   = newOp("create_attribute", "POST /custom_profile_attributes/fields", setup,
		created)
)

// SetCustomStatus shows an emoji and a text beside the user's name until a time.
func (c *Client) SetCustomStatus(
	ctx context.Context, userID, emoji, status string, until time.Time,
) error {
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
	return send(ctx, c, opCreateAttribute, b,
		holding(readField, "another field", func(f AttributeField) bool {
			return f.Name == name
		}))
}

// SetAttribute sets a custom attribute of the user, at most 64 characters without spaces around
// them.
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
