package refchat

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

const userColumns = `u.id, u.createat, u.updateat, u.deleteat, u.username, u.password, u.authservice, u.email, u.emailverified, u.nickname,
	u.firstname, u.lastname, u.position, u.roles, u.props, u.notifyprops, u.lastpasswordupdate, u.lastpictureupdate, u.failedattempts, u.locale,
	u.timezone, b.userid IS NOT NULL, COALESCE(b.description, '')`

const userFrom = " FROM users u LEFT JOIN bots b ON b.userid = u.id "

func userFields(u *user) []any {
	return []any{&u.ID, &u.CreateAt, &u.UpdateAt, &u.DeleteAt, &u.Username, &u.Password, &u.AuthService, &u.Email, &u.EmailVerified,
		&u.Nickname, &u.FirstName, &u.LastName, &u.Position, &u.Roles, encoded[map[string]string]{&u.Props, textMap},
		encoded[map[string]string]{&u.NotifyProps, textMap}, &u.LastPasswordUpdate, &u.LastPictureUpdate,
		&u.FailedAttempts, &u.Locale, encoded[map[string]string]{&u.Timezone, textMap}, &u.IsBot, &u.BotDescription}
}

// selectUsers returns the users that a clause (WHERE …) finds.
func (st *store) selectUsers(ctx context.Context, clause string, args ...any) ([]*user, error) {
	return collect(ctx, st, nil, userFields, nil, "SELECT "+userColumns+userFrom+clause, args...)
}

func (st *store) selectUser(ctx context.Context, clause string, args ...any) (*user, error) {
	return first(st.selectUsers(ctx, clause, args...))
}

func (st *store) userByID(ctx context.Context, id string) (u *user, err error) {
	defer st.timed("UserStore.Get", &err)()
	return st.selectUser(ctx, "WHERE u.id = ?", id)
}

func (st *store) userForLogin(ctx context.Context, id, login string) (u *user, err error) {
	defer st.timed("UserStore.GetForLogin", &err)()
	if id != "" {
		return st.selectUser(ctx, "WHERE u.id = ?", id)
	}
	login = strings.ToLower(login)
	return st.selectUser(ctx, "WHERE u.username = ? OR u.email = ? LIMIT 1", login, login)
}

func (st *store) userByName(ctx context.Context, name string) (u *user, err error) {
	defer st.timed("UserStore.GetByUsername", &err)()
	return st.selectUser(ctx, "WHERE u.username = ?", name)
}

func (st *store) usersByIDs(ctx context.Context, ids []string) (list []*user, err error) {
	defer st.timed("UserStore.GetProfileByIds", &err)()
	cond, args := st.anyOf("u.id", ids)
	return st.selectUsers(ctx, "WHERE "+cond, args...)
}

func (st *store) usersByNames(ctx context.Context, names []string) (list []*user, err error) {
	defer st.timed("UserStore.GetProfilesByUsernames", &err)()
	cond, args := st.anyOf("u.username", names)
	return st.selectUsers(ctx, "WHERE "+cond+" ORDER BY u.username", args...)
}

// userPage lists users by name: all, or those of a team or channel.
func (st *store) userPage(ctx context.Context, teamID, channelID string, page, per int) (list []*user, err error) {
	switch {
	case channelID != "":
		defer st.timed("UserStore.GetProfilesInChannel", &err)()
		return st.selectUsers(ctx, "JOIN channelmembers m ON m.userid = u.id WHERE m.channelid = ? ORDER BY u.username LIMIT ? OFFSET ?", channelID, per, page*per)
	case teamID != "":
		defer st.timed("UserStore.GetProfiles", &err)()
		return st.selectUsers(ctx, "JOIN teammembers m ON m.userid = u.id AND m.deleteat = 0 WHERE m.teamid = ? ORDER BY u.username LIMIT ? OFFSET ?", teamID, per, page*per)
	}
	defer st.timed("UserStore.GetAllProfiles", &err)()
	return st.selectUsers(ctx, "ORDER BY u.username LIMIT ? OFFSET ?", per, page*per)
}

// usersOutside lists the members of a team who are not in a channel.
func (st *store) usersOutside(ctx context.Context, teamID, channelID string, page, per int) (list []*user, err error) {
	defer st.timed("UserStore.GetProfilesNotInChannel", &err)()
	return st.selectUsers(ctx, `JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ?
		LEFT JOIN channelmembers c ON c.userid = u.id AND c.channelid = ? WHERE c.userid IS NULL ORDER BY u.username LIMIT ? OFFSET ?`,
		teamID, channelID, per, page*per)
}

// usersLike lists active users with a name, first or last name or nickname that begins with each word of the term.
func (st *store) usersLike(ctx context.Context, term, teamID, channelID string, limit int) (list []*user, err error) {
	defer st.timed("UserStore.Search", &err)()
	clause, args := "", []any{}
	if channelID != "" {
		clause, args = "JOIN channelmembers c ON c.userid = u.id AND c.channelid = ? ", append(args, channelID)
	}
	if teamID != "" {
		clause, args = clause+"JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ? ", append(args, teamID)
	}
	cond, more := named(term)
	return st.selectUsers(ctx, clause+"WHERE u.deleteat = 0"+cond+" ORDER BY u.username LIMIT ?", append(append(args, more...), limit)...)
}

// usersBeside is usersLike for the members of a team who are not in a channel.
func (st *store) usersBeside(ctx context.Context, term, teamID, channelID string, limit int) (list []*user, err error) {
	defer st.timed("UserStore.AutocompleteUsersInChannel", &err)()
	cond, more := named(term)
	return st.selectUsers(ctx, `JOIN teammembers t ON t.userid = u.id AND t.deleteat = 0 AND t.teamid = ? LEFT JOIN channelmembers c ON c.userid = u.id AND c.channelid = ?
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

func (st *store) insertUser(ctx context.Context, tx *sql.Tx, u *user) (err error) {
	defer st.timed("UserStore.Save", &err)()
	return st.run(ctx, tx, "INSERT INTO users ("+userInsertColumns+") VALUES ("+marks(23)+")", userValues(u)...)
}

const userInsertColumns = `id, createat, updateat, deleteat, username, password, authservice, email, emailverified, nickname, firstname, lastname,
	position, roles, allowmarketing, props, notifyprops, lastpasswordupdate, lastpictureupdate, failedattempts, locale, timezone, lastlogin`

func userValues(u *user) []any {
	return []any{u.ID, u.CreateAt, u.UpdateAt, u.DeleteAt, u.Username, u.Password, u.AuthService, u.Email, u.EmailVerified,
		u.Nickname, u.FirstName, u.LastName, u.Position, u.Roles, u.AllowMarketing, jsonText(u.Props), jsonText(u.NotifyProps),
		u.LastPasswordUpdate, u.LastPictureUpdate, u.FailedAttempts, u.Locale, jsonText(u.Timezone), 0}
}

func (st *store) insertBot(ctx context.Context, u *user, owner string) error {
	return st.method(ctx, "BotStore.Save", func(tx *sql.Tx) error {
		if err := st.insertUser(ctx, tx, u); err != nil {
			return err
		}
		return st.run(ctx, tx, "INSERT INTO bots (userid, description, ownerid, createat, updateat, deleteat) VALUES (?,?,?,?,?,?)",
			u.ID, u.BotDescription, owner, u.CreateAt, u.UpdateAt, 0)
	})
}

func (st *store) setPassword(ctx context.Context, id, hash string) (err error) {
	defer st.timed("UserStore.UpdatePassword", &err)()
	now := millis()
	return st.run(ctx, nil, "UPDATE users SET password = ?, lastpasswordupdate = ?, updateat = ?, failedattempts = 0 WHERE id = ?", hash, now, now, id)
}

// setAttempts stores the number of failed logins since the last good one.
func (st *store) setAttempts(ctx context.Context, id string, n int) error {
	return st.do(ctx, "UserStore.UpdateFailedPasswordAttempts", "UPDATE users SET failedattempts = ? WHERE id = ?", n, id)
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

func (st *store) saveToken(ctx context.Context, t *accessToken) error {
	return st.do(ctx, "UserAccessTokenStore.Save", "INSERT INTO useraccesstokens (id, token, userid, description, isactive) VALUES (?,?,?,?,?)",
		t.ID, t.Token, t.UserID, t.Description, true)
}

func (st *store) preferences(ctx context.Context, userID string) (list []preference, err error) {
	defer st.timed("PreferenceStore.GetAll", &err)()
	list = []preference{}
	err = st.query(ctx, nil, func(r *sql.Rows) error {
		var p preference
		err := r.Scan(&p.UserID, &p.Category, &p.Name, &p.Value)
		list = append(list, p)
		return err
	}, "SELECT userid, category, name, value FROM preferences WHERE userid = ?", userID)
	return list, err
}

func (st *store) savePreferences(ctx context.Context, list []preference) (err error) {
	defer st.timed("PreferenceStore.Save", &err)()
	text := st.upsert("preferences", "userid, category, name, value", "userid, category, name", "value")
	return st.transact(ctx, func(tx *sql.Tx) error {
		for _, p := range list {
			if err := st.run(ctx, tx, text, p.UserID, p.Category, p.Name, p.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (st *store) statusesByIDs(ctx context.Context, ids []string) (list []*status, err error) {
	defer st.timed("StatusStore.GetByIds", &err)()
	cond, args := st.anyOf("userid", ids)
	return collect(ctx, st, nil, func(x *status) []any { return []any{&x.UserID, &x.Status, &x.Manual, &x.LastActivityAt} }, nil, "SELECT userid, status, manual, lastactivityat FROM status WHERE "+cond, args...)
}

func (st *store) saveStatus(ctx context.Context, x *status) error {
	return st.do(ctx, "StatusStore.SaveOrUpdate", st.upsert("status", "userid, status, manual, lastactivityat", "userid", "status, manual, lastactivityat"),
		x.UserID, x.Status, x.Manual, x.LastActivityAt)
}

func (st *store) touchStatus(ctx context.Context, userID string, at int64) error {
	return st.do(ctx, "StatusStore.UpdateLastActivityAt", "UPDATE status SET lastactivityat = ? WHERE userid = ?", at, userID)
}
