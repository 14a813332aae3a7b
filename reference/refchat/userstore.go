package refchat

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

var userKind = define(kind[user]{
	table: "users", alias: "u",
	columns: "id, createat, updateat, deleteat, username, password, authservice, email, emailverified, nickname, firstname, lastname, " +
		"position, roles, props, notifyprops, lastpasswordupdate, lastpictureupdate, failedattempts, locale, timezone",
	fields: func(u *user) []any {
		return []any{&u.ID, &u.CreateAt, &u.UpdateAt, &u.DeleteAt, &u.Username, &u.Password, &u.AuthService, &u.Email, &u.EmailVerified,
			&u.Nickname, &u.FirstName, &u.LastName, &u.Position, &u.Roles, encoded[map[string]string]{&u.Props, textMap},
			encoded[map[string]string]{&u.NotifyProps, textMap}, &u.LastPasswordUpdate, &u.LastPictureUpdate,
			&u.FailedAttempts, &u.Locale, encoded[map[string]string]{&u.Timezone, textMap}, &u.IsBot, &u.BotDescription}
	},
	more: ", b.userid IS NOT NULL, COALESCE(b.description, '')", join: " LEFT JOIN bots b ON b.userid = u.id",
	fixed: ", allowmarketing, lastlogin", values: []any{false, 0},
})

var (
	userByID      = userKind.query("UserStore.Get", "WHERE u.id = ?")
	userByLogin   = userKind.query("UserStore.GetForLogin", "WHERE u.username = ? OR u.email = ? LIMIT 1")
	userByLoginID = userKind.query("UserStore.GetForLogin", "WHERE u.id = ?")
	userByName    = userKind.query("UserStore.GetByUsername", "WHERE u.username = ?")
	usersByIDs    = userKind.query("UserStore.GetProfileByIds", "WHERE u.id = ANY(?)")
	usersByNames  = userKind.query("UserStore.GetProfilesByUsernames", "WHERE u.username = ANY(?) ORDER BY u.username")
	usersInTeam   = userKind.query("UserStore.GetProfiles", "JOIN teammembers m ON m.userid = u.id AND m.deleteat = 0 WHERE m.teamid = ? ORDER BY u.username LIMIT ? OFFSET ?")
	usersInServer = userKind.query("UserStore.GetAllProfiles", "ORDER BY u.username LIMIT ? OFFSET ?")
	usersInOne    = userKind.query("UserStore.GetProfilesInChannel", "JOIN channelmembers m ON m.userid = u.id WHERE m.channelid = ? ORDER BY u.username LIMIT ? OFFSET ?")
	// usersOutside are the members of a team who are not in a channel.
	usersOutside = userKind.query("UserStore.GetProfilesNotInChannel", `JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ?
		LEFT JOIN channelmembers c ON c.userid = u.id AND c.channelid = ? WHERE c.userid IS NULL ORDER BY u.username LIMIT ? OFFSET ?`)

	setPassword = command{"UserStore.UpdatePassword", "UPDATE users SET password = ?, lastpasswordupdate = ?, updateat = ?, failedattempts = 0 WHERE id = ?"}
	// setAttempts stores the number of failed logins since the last good one.
	setAttempts     = command{"UserStore.UpdateFailedPasswordAttempts", "UPDATE users SET failedattempts = ? WHERE id = ?"}
	insertToken     = command{"UserAccessTokenStore.Save", insertInto("useraccesstokens", "id, token, userid, description, isactive")}
	saveStatus      = command{"StatusStore.SaveOrUpdate", upsert("status", "userid, status, manual, lastactivityat", "userid", "status, manual, lastactivityat")}
	touchStatus     = command{"StatusStore.UpdateLastActivityAt", "UPDATE status SET lastactivityat = ? WHERE userid = ?"}
	preferencesOf   = preferenceKind.query("PreferenceStore.GetAll", "WHERE userid = ?")
	storePreference = upsert("preferences", "userid, category, name, value", "userid, category, name", "value")
)

// usersLike lists active users with a name, first or last name or nickname that begins with each word of the term.
func (st *store) usersLike(ctx context.Context, term, teamID, channelID string, limit int) ([]*user, error) {
	clause, args := "", []any{}
	if channelID != "" {
		clause, args = "JOIN channelmembers c ON c.userid = u.id AND c.channelid = ? ", append(args, channelID)
	}
	if teamID != "" {
		clause, args = clause+"JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ? ", append(args, teamID)
	}
	cond, more := named(term)
	return userKind.list(ctx, st, "UserStore.Search", clause+"WHERE u.deleteat = 0"+cond+" ORDER BY u.username LIMIT ?", append(append(args, more...), limit)...)
}

// usersBeside is usersLike for the members of a team who are not in a channel.
func (st *store) usersBeside(ctx context.Context, term, teamID, channelID string, limit int) ([]*user, error) {
	cond, more := named(term)
	return userKind.list(ctx, st, "UserStore.AutocompleteUsersInChannel", `JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ? LEFT JOIN channelmembers c ON c.userid = u.id AND c.channelid = ?
		WHERE u.deleteat = 0 AND c.userid IS NULL`+cond+" ORDER BY u.username LIMIT ?", append(append([]any{teamID, channelID}, more...), limit)...)
}

// named returns the condition of usersLike.
func named(term string) (cond string, args []any) {
	for word := range strings.FieldsSeq(term) {
		like := likeTerm(strings.TrimLeft(word, "@")) + "%"
		cond += ` AND (lower(u.username) LIKE ? ESCAPE '!' OR lower(u.firstname) LIKE ? ESCAPE '!' OR lower(u.lastname) LIKE ? ESCAPE '!' OR lower(u.nickname) LIKE ? ESCAPE '!')`
		args = append(args, like, like, like, like)
	}
	return cond, args
}

func (st *store) insertBot(ctx context.Context, u *user, owner string) error {
	return st.method(ctx, "BotStore.Save", func(tx *sql.Tx) error {
		if err := userKind.insert(ctx, st, tx, u); err != nil {
			return err
		}
		return st.run(ctx, tx, "INSERT INTO bots (userid, description, ownerid, createat, updateat, deleteat) VALUES (?,?,?,?,?,?)",
			u.ID, u.BotDescription, owner, u.CreateAt, u.UpdateAt, 0)
	})
}

// termsAccepted queries the terms of service that a user accepted; there are none to accept.
func (st *store) termsAccepted(ctx context.Context, userID string) (err error) {
	defer st.timed("UserTermsOfServiceStore.GetByUser", &err)()
	var id string
	err = st.row(ctx, nil, []any{&id}, "SELECT termsofserviceid FROM usertermsofservice WHERE userid = ?", userID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func (st *store) savePreferences(ctx context.Context, list []preference) (err error) {
	defer st.timed("PreferenceStore.Save", &err)()
	return st.transact(ctx, func(tx *sql.Tx) error {
		for _, p := range list {
			if err := st.run(ctx, tx, storePreference, p.UserID, p.Category, p.Name, p.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

var preferenceKind = define(kind[preference]{
	table: "preferences", columns: "userid, category, name, value",
	fields: func(p *preference) []any { return []any{&p.UserID, &p.Category, &p.Name, &p.Value} },
})

var statusesByIDs = define(kind[status]{
	table: "status", columns: "userid, status, manual, lastactivityat",
	fields: func(x *status) []any { return []any{&x.UserID, &x.Status, &x.Manual, &x.LastActivityAt} },
}).query("StatusStore.GetByIds", "WHERE userid = ANY(?)")
