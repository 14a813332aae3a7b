package refchat

import (
	"context"
	"strings"
)

var userKind = define(kind[user]{
	table: "users",
	alias: "u",
	columns: "id, createat, updateat, deleteat, username, password, authservice, email, emailverified, nickname, " +
		"firstname, lastname, position, roles, props, notifyprops, lastpasswordupdate, lastpictureupdate, " +
		"failedattempts, locale, timezone",
	more:   ", b.userid IS NOT NULL, COALESCE(b.description, '')",
	moreTo: "isbot, botdescription",
	join:   " LEFT JOIN bots b ON b.userid = u.id",
	fixed:  ", allowmarketing, lastlogin",
	values: []any{false, 0},
})

const (
	inTeam     = "JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ? "
	notIn      = "LEFT JOIN channelmembers c ON c.userid = u.id AND c.channelid = ? "
	userPage   = " ORDER BY u.username LIMIT ? OFFSET ?"
	usersFirst = " ORDER BY u.username LIMIT ?"
)

var (
	userByID    = userKind.query("UserStore.Get", "WHERE u.id = ?")
	userByLogin = userKind.query("UserStore.GetForLogin",
		"WHERE u.username = ? OR u.email = ? LIMIT 1")
	userByLoginID = userKind.query("UserStore.GetForLogin", "WHERE u.id = ?")
	userByName    = userKind.query("UserStore.GetByUsername", "WHERE u.username = ?")
	usersByIDs    = userKind.query("UserStore.GetProfileByIds", "WHERE u.id = ANY(?)")
	usersByNames  = userKind.query("UserStore.GetProfilesByUsernames",
		"WHERE u.username = ANY(?) ORDER BY u.username")
	usersInTeam = userKind.query("UserStore.GetProfiles",
		"JOIN teammembers m ON m.userid = u.id AND m.deleteat = 0 WHERE m.teamid = ?"+userPage)
	usersInServer = userKind.query("UserStore.GetAllProfiles", userPage[1:])
	usersInOne    = userKind.query("UserStore.GetProfilesInChannel",
		"JOIN channelmembers m ON m.userid = u.id WHERE m.channelid = ?"+userPage)
	// usersOutside are the members of a team who are not in a channel.
	usersOutside = userKind.query("UserStore.GetProfilesNotInChannel",
		inTeam+notIn+"WHERE c.userid IS NULL"+userPage)

	setPassword = command{"UserStore.UpdatePassword",
		"UPDATE users SET password = ?, lastpasswordupdate = ?, updateat = ?, failedattempts = 0 WHERE id = ?"}
	// setAttempts stores the number of failed logins since the last good one.
	setAttempts = command{"UserStore.UpdateFailedPasswordAttempts",
		"UPDATE users SET failedattempts = ? WHERE id = ?"}
	// terms are the terms of service that a user accepted; there are none to accept.
	terms = selects[string]("UserTermsOfServiceStore.GetByUser", "",
		"SELECT termsofserviceid FROM usertermsofservice WHERE userid = ?")
)

// usersLike lists active users with a name, first or last name or nickname that begins with each
// word of the term.
func (st *store) usersLike(
	ctx context.Context,
	term, teamID, channelID string,
	limit int,
) ([]*user, error) {
	clause := ""
	var args []any
	if channelID != "" {
		clause = "JOIN channelmembers c ON c.userid = u.id AND c.channelid = ? "
		args = append(args, channelID)
	}
	if teamID != "" {
		clause += inTeam
		args = append(args, teamID)
	}
	return st.usersNamed(
		ctx,
		"UserStore.Search",
		term,
		limit,
		clause+"WHERE u.deleteat = 0",
		args...)
}

// usersNamed lists the users of a clause whom the words of a term name: limit of them if that is 1
// to 1000, else 100.
func (st *store) usersNamed(
	ctx context.Context,
	method, term string,
	limit int,
	clause string,
	args ...any,
) ([]*user, error) {
	if limit < 1 || limit > 1000 {
		limit = 100
	}
	for word := range strings.FieldsSeq(term) {
		like := likeTerm(strings.TrimLeft(word, "@")) + "%"
		clause += " AND (lower(u.username) LIKE ? ESCAPE '!' OR lower(u.firstname) LIKE ? ESCAPE '!' OR " +
			"lower(u.lastname) LIKE ? ESCAPE '!' OR lower(u.nickname) LIKE ? ESCAPE '!')"
		args = append(args, like, like, like, like)
	}
	return userKind.list(ctx, st, method, clause+usersFirst, append(args, limit)...)
}

func (st *store) insertBot(ctx context.Context, u *user, owner string) error {
	return st.method(ctx, "BotStore.Save", func(tx *store) error {
		if err := userKind.insert(ctx, tx, u); err != nil {
			return err
		}
		return tx.run(ctx,
			insertInto("bots", "userid, description, ownerid, createat, updateat, deleteat"),
			u.ID, u.BotDescription, owner, u.CreateAt, u.UpdateAt, 0)
	})
}

var tokenKind = define(kind[accessToken]{
	table: "useraccesstokens", columns: "id, token, userid, description, isactive",
})

var (
	preferenceKind = define(kind[preference]{
		table:   "preferences",
		columns: "userid, category, name, value",
	})
	preferencesOf   = preferenceKind.query("PreferenceStore.GetAll", "WHERE userid = ?")
	storePreference = preferenceKind.upsert("userid, category, name", "value")
)

func (st *store) savePreferences(ctx context.Context, list []preference) error {
	return st.method(ctx, "PreferenceStore.Save", func(tx *store) error {
		for _, p := range list {
			if err := tx.run(ctx, storePreference, preferenceKind.content(&p)...); err != nil {
				return err
			}
		}
		return nil
	})
}

var (
	statusKind = define(kind[status]{
		table:   "status",
		columns: "userid, status, manual, lastactivityat",
	})
	statusesByIDs = statusKind.query("StatusStore.GetByIds", "WHERE userid = ANY(?)")
	saveStatus    = command{"StatusStore.SaveOrUpdate",
		statusKind.upsert("userid", "status, manual, lastactivityat")}
	touchStatus = command{"StatusStore.UpdateLastActivityAt",
		"UPDATE status SET lastactivityat = ? WHERE userid = ?"}
)
