package refchat

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Profiles of users: a status in their own words, and attributes that administrators define.

type customStatus struct {
	Emoji     string    `json:"emoji"`
	Text      string    `json:"text"`
	Duration  string    `json:"duration"`
	ExpiresAt time.Time `json:"expires_at"`
}

const (
	statusProp       = "customStatus"
	maxStatusText    = 100 // characters
	maxRecentStatus  = 5
	statusCategory   = "custom_status"
	recentStatusName = "recent_custom_statuses"
)

var statusDurations = []string{"thirty_minutes", "one_hour", "four_hours", "today", "this_week",
	"date_and_time"}

// check makes a status complete, or refuses it.
func (c *customStatus) check(now time.Time) error {
	timed := c.Duration != "" || !c.ExpiresAt.IsZero()
	if c.Emoji == "" && c.Text == "" ||
		c.Duration != "" && !slices.Contains(statusDurations, c.Duration) ||
		timed && c.ExpiresAt.Before(now) {
		return errBody("custom_status")
	}
	if c.Emoji == "" {
		c.Emoji = "speech_balloon"
	}
	if timed && c.Duration == "" {
		c.Duration = "date_and_time"
	}
	if utf8.RuneCountInString(c.Text) > maxStatusText {
		c.Text = string([]rune(c.Text)[:maxStatusText])
	}
	return nil
}

func (q *request) updateCustomStatus(c *customStatus) error {
	if err := c.check(time.Now()); err != nil {
		return err
	}
	if err := q.setProp(q.userID, statusProp, jsonText(c)); err != nil {
		return err
	}
	q.warn("remembering a custom status", q.rememberStatus(q.userID, *c))
	return q.ok()
}

// setProp changes one of a user's own properties and notifies all users.
func (q *request) setProp(userID, name, value string) error {
	u, err := userByID.one(q, q.st, userID)
	if err != nil {
		return errFind("user.get", err, errNoUser)
	}
	u.Props[name] = value
	u.UpdateAt = millis()
	if err := setUserProps.run(q, q.st, jsonText(u.Props), u.UpdateAt, u.ID); err != nil {
		return errStore("user.update", err)
	}
	q.invalidate(dropUser, userID)
	q.publish(
		"user_updated",
		broadcast{OmitUsers: map[string]bool{userID: true}},
		"user",
		u.public(),
	)
	q.publish("user_updated", broadcast{UserID: userID}, "user", u.self())
	return nil
}

var setUserProps = command{"UserStore.Update",
	"UPDATE users SET props = ?, updateat = ? WHERE id = ?"}

// rememberStatus puts a status before the ones used earlier, which are a preference.
func (q *request) rememberStatus(userID string, c customStatus) error {
	prefs, err := preferencesOf.list(q, q.st, userID)
	if err != nil {
		return err
	}
	recent := []customStatus{c}
	for _, p := range prefs {
		if p.Category == statusCategory && p.Name == recentStatusName {
			var old []customStatus
			_ = json.Unmarshal([]byte(p.Value), &old) // an unreadable value is dropped
			for _, o := range old {
				if o.Text != c.Text && len(recent) < maxRecentStatus {
					recent = append(recent, o)
				}
			}
		}
	}
	list := []preference{{
		UserID:   userID,
		Category: statusCategory,
		Name:     recentStatusName,
		Value:    jsonText(recent),
	}}
	if err := q.st.savePreferences(q, list); err != nil {
		return err
	}
	q.publish("preferences_changed", broadcast{UserID: userID}, "preferences", jsonText(list))
	return nil
}

// getFilteredUsersStats counts accounts for an administrator. Of the real server's filters it plays
// include_bots alone.
func (q *request) getFilteredUsersStats() error {
	bots, _ := strconv.ParseBool(q.query("include_bots")) // as there, anything else is false
	return q.replyUsersStats(bots)
}

func (q *request) replyUsersStats(bots bool) error {
	n, err := q.st.countUsers(q, bots)
	return q.answer(
		map[string]int64{"total_users_count": n},
		errStore("user.get_total_users_count", err),
	)
}

// countUsers counts active accounts, with the bots or without.
func (st *store) countUsers(ctx context.Context, bots bool) (n int64, err error) {
	defer st.timed("UserStore.Count", &err)()
	query := "SELECT COUNT(*) FROM users u LEFT JOIN bots b ON b.userid = u.id WHERE u.deleteat = 0"
	if !bots {
		query += " AND b.userid IS NULL"
	}
	err = st.row(ctx, []any{&n}, query)
	return n, err
}

// attributeField is a property of users that an administrator has defined.
type attributeField struct {
	ID         string         `json:"id"`
	GroupID    string         `json:"group_id"`
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Attrs      map[string]any `json:"attrs"`
	TargetID   string         `json:"target_id"`
	TargetType string         `json:"target_type"`
	CreateAt   int64          `json:"create_at"`
	UpdateAt   int64          `json:"update_at"`
	DeleteAt   int64          `json:"delete_at"`
}

const (
	// the real server draws an identifier at its first start.
	attributeGroup  = "customprofileattributesgrp"
	maxAttributes   = 20
	maxAttributeLen = 64 // characters
)

var attributeKind = define(kind[attributeField]{
	table:   "propertyfields",
	columns: "id, groupid, name, type, attrs, targetid, targettype, createat, updateat, deleteat",
})

var attributeFields = attributeKind.query("PropertyFieldStore.SearchPropertyFields",
	"WHERE groupid = '"+attributeGroup+"' AND deleteat = 0 ORDER BY createat, id")

// attribute is a user's value of a field, as JSON.
type attribute struct{ FieldID, Value string }

var (
	attributesOf = selects[attribute](
		"PropertyValueStore.SearchPropertyValues",
		"fieldid, value",
		"SELECT fieldid, value FROM propertyvalues WHERE targetid = ? AND groupid = ? AND deleteat = 0",
	)
	storeAttribute = upsert("propertyvalues",
		"id, targetid, targettype, groupid, fieldid, value, createat, updateat, deleteat",
		"groupid, targetid, fieldid, deleteat", "value, updateat")
)

func (st *store) saveAttributes(
	ctx context.Context,
	userID string,
	values map[string]json.RawMessage,
) error {
	return st.method(ctx, "PropertyValueStore.Upsert", func(tx *store) error {
		now := millis()
		for field, v := range values {
			if err := tx.run(ctx, storeAttribute, newID(), userID, "user", attributeGroup, field, string(v), now, now, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func (q *request) createAttributeField(f *attributeField) error {
	if f.Name = strings.TrimSpace(f.Name); f.Name == "" || len(f.Name) > 255 || f.Type != "text" {
		return newError(http.StatusUnprocessableEntity, "model.property_field.is_valid.app_error",
			"Invalid property field: only named fields of type text are kept here.")
	}
	list, err := attributeFields.list(q, q.st)
	if err != nil {
		return errStore("custom_profile_attributes.count_property_fields", err)
	}
	if len(list) >= maxAttributes {
		return newError(http.StatusUnprocessableEntity,
			"app.custom_profile_attributes.limit_reached.app_error",
			"Custom Profile Attributes field limit reached.")
	}
	now := millis()
	f = &attributeField{
		ID:       newID(),
		GroupID:  attributeGroup,
		Name:     f.Name,
		Type:     f.Type,
		Attrs:    f.Attrs,
		CreateAt: now,
		UpdateAt: now,
	}
	fill(&f.Attrs)
	if len(jsonText(f.Attrs)) > 8000 {
		return errBody("property_field")
	}
	err = attributeKind.save(q, q.st, "PropertyFieldStore.Create", f)
	if duplicate(err, "") {
		return newError(http.StatusUnprocessableEntity,
			"app.property_field.create.name_conflict.app_error", "A field of that name exists.")
	}
	if err != nil {
		return errStore("custom_profile_attributes.create_property_field", err)
	}
	q.publish("custom_profile_attributes_field_created", broadcast{}, "field", f)
	return q.created(f)
}

// patchAttributes changes the caller's own values, by field.
func (q *request) patchAttributes(values *map[string]json.RawMessage) error {
	in := *values
	fields, err := attributeFields.list(q, q.st)
	if err != nil {
		return errStore("custom_profile_attributes.get_property_field", err)
	}
	for id, v := range in {
		if !slices.ContainsFunc(fields, func(f *attributeField) bool { return f.ID == id }) {
			return missing("app.custom_profile_attributes.property_field_not_found.app_error",
				"Custom Profile Attribute field not found.")
		}
		var text string
		if json.Unmarshal(v, &text) != nil || utf8.RuneCountInString(text) > maxAttributeLen {
			return badRequest(
				"app.custom_profile_attributes.validate_value.app_error",
				"Invalid value.",
			)
		}
		in[id] = json.RawMessage(jsonText(strings.TrimSpace(text)))
	}
	if err := q.st.saveAttributes(q, q.sess.UserID, in); err != nil {
		return errStore("custom_profile_attributes.property_value_upsert", err)
	}
	q.publish("custom_profile_attributes_values_updated", broadcast{}, "user_id", q.sess.UserID,
		"values", in)
	return q.reply(in)
}

func (q *request) getAttributes() error {
	if _, err := q.user(q, q.id); err != nil {
		return err
	}
	list, err := attributesOf.list(q, q.st, q.id, attributeGroup)
	values := map[string]json.RawMessage{}
	for _, x := range list {
		values[x.FieldID] = json.RawMessage(x.Value)
	}
	return q.answer(values, errStore("custom_profile_attributes.get_property_values", err))
}
