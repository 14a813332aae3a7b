package refchat

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	sessionLength   = 180 * 24 * time.Hour
	maxAttempts     = 10              // failed logins before an account is locked
	activityTimeout = 5 * time.Minute // between updates of a session's last activity
)

// session returns the valid session of a token, of a login or of a personal access token.
func (s *Server) session(ctx context.Context, token string) (*session, error) {
	if !validID(token) {
		return nil, errSession
	}
	sess, err := s.sessions.through(token, func() (*session, error) {
		return s.loadSession(fromMaster(ctx), token)
	})
	if err != nil {
		return nil, err
	}
	if sess.ExpiresAt > 0 && millis() > sess.ExpiresAt {
		s.sessions.drop(token)
		return nil, errSession
	}
	return sess, nil
}

func (s *Server) loadSession(ctx context.Context, token string) (*session, error) {
	sess, err := sessionByToken.one(ctx, s.st, token)
	if noRow(err) {
		if sess, err = tokenOwner.one(ctx, s.st, token, true); err == nil {
			sess.Token = token
			sess.Props = map[string]string{"type": "UserAccessToken"}
			err = s.st.saveSession(ctx, sess)
		}
	}
	if noRow(err) {
		return nil, errSession
	}
	if err != nil {
		return nil, errStore("session.get", err)
	}
	return sess, nil
}

// touch notes that a session is in use, at most every five minutes in the database.
func (s *Server) touch(sess *session) {
	now := millis()
	if now-sess.LastActivityAt < activityTimeout.Milliseconds() {
		return
	}
	c := *sess
	c.LastActivityAt = now
	s.sessions.set(sess.Token, &c)
	s.background(func(ctx context.Context) {
		s.warn("updating a session", touchSession.run(ctx, s.st, now, sess.ID))
	})
}

// credentials are the fields of a login.
type credentials struct {
	ID       string `json:"id"`
	LoginID  string `json:"login_id"`
	Password string `json:"password"`
}

func (q *request) login(in *credentials) error {
	q.audit(in.ID, "attempt - login_id="+in.LoginID)
	u, err := q.authenticate(in)
	if err != nil {
		return err
	}
	q.audit(u.ID, "authenticated")
	if q.hash.outdated(u.Password) {
		if fresh, err := q.hash.hash(in.Password); err == nil {
			now := millis()
			q.warn("renewing a password hash", setPassword.run(q, q.st, fresh, now, now, u.ID))
			q.invalidate(dropUser, u.ID)
		}
	}
	sess := &session{
		UserID:    u.ID,
		Roles:     u.Roles,
		ExpiresAt: millis() + sessionLength.Milliseconds(),
		Props:     map[string]string{"csrf": newID()},
	}
	if err := q.st.saveSession(q, sess); err != nil {
		return errStore("session.save", err)
	}
	q.sessions.set(sess.Token, sess)
	q.inTeams.drop(u.ID) // a login reads the user's teams again
	if _, err := q.teamsOfUser(q, u.ID); err != nil {
		return err
	}
	q.audit(u.ID, "success")
	q.met.logins.Inc()
	q.w.Header().Set("Token", sess.Token)
	if q.r.Header.Get("X-Requested-With") == "XMLHttpRequest" {
		setCookies(q.w, sess)
	}
	if _, err := terms.find(q, q.st, u.ID); err != nil {
		return errStore("terms.get", err)
	}
	return q.reply(u.self())
}

// authenticate returns the user of a name and a password. It counts the failures of an account.
func (q *request) authenticate(in *credentials) (*user, error) {
	if in.Password == "" {
		return nil, badRequest(
			"api.user.login.blank_pwd.app_error",
			"Password field must not be blank",
		)
	}
	name := strings.ToLower(in.LoginID)
	find, names := userByLogin, []any{name, name}
	if in.ID != "" {
		find, names = userByLoginID, []any{in.ID}
	}
	u, err := find.one(q, q.st, names...)
	if noRow(err) {
		q.audit(in.ID, "failure - login_id="+in.LoginID)
		return nil, errLogin
	}
	if err != nil {
		return nil, errStore("user.login", err)
	}
	if u.FailedAttempts >= maxAttempts {
		return nil, newError(
			http.StatusUnauthorized,
			"api.user.check_user_login_attempts.too_many.app_error",
			"Your account is locked because of too many failed password attempts. "+
				"Please reset your password.",
		)
	}
	if u.DeleteAt != 0 || u.IsBot || !q.hash.verify(u.Password, in.Password) {
		if err := setAttempts.run(q, q.st, u.FailedAttempts+1, u.ID); err != nil {
			return nil, errStore("user.attempts", err)
		}
		q.audit(u.ID, "failure - login_id="+in.LoginID)
		return nil, errLogin
	}
	if err := setAttempts.run(q, q.st, 0, u.ID); err != nil {
		return nil, errStore("user.attempts", err)
	}
	return u, nil
}

// setCookies sets the cookies by which a browser keeps a session.
func setCookies(w http.ResponseWriter, sess *session) {
	for _, c := range []http.Cookie{
		{Name: "MMAUTHTOKEN", Value: sess.Token, HttpOnly: true},
		{Name: "MMUSERID", Value: sess.UserID},
		{Name: "MMCSRF", Value: sess.Props["csrf"]},
	} {
		c.Path = "/"
		c.MaxAge = int(sessionLength.Seconds())
		c.Expires = time.UnixMilli(sess.ExpiresAt)
		http.SetCookie(w, &c)
	}
}

func (q *request) logout() error {
	if q.sess != nil {
		if err := removeSession.run(q, q.st, q.sess.ID); err != nil {
			return errStore("session.remove", err)
		}
		q.invalidate(dropSession, q.sess.Token)
	}
	for _, name := range []string{"MMAUTHTOKEN", "MMUSERID", "MMCSRF"} {
		http.SetCookie(q.w, &http.Cookie{Name: name, Path: "/", MaxAge: -1})
	}
	return q.ok()
}

// audit writes a row of the audit trail; that it cannot is logged and does not fail the request.
func (q *request) audit(userID, info string) {
	var sess string
	if q.sess != nil {
		sess = q.sess.ID
	}
	host, _, err := net.SplitHostPort(q.r.RemoteAddr)
	if err != nil {
		host = q.r.RemoteAddr
	}
	q.warn("writing an audit", q.st.run(
		q,
		insertAudit,
		newID(),
		millis(),
		clip(userID, 26),
		clip(q.r.URL.Path, 512),
		clip(info, 1024),
		host,
		sess,
	))
}

var insertAudit = insertInto("audits",
	"id, createat, userid, action, extrainfo, ipaddress, sessionid")

// clip cuts s to at most n bytes, for columns of the audit trail.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string([]rune(s[:n-3]))
}

var sessionKind = define(kind[session]{
	table:   "sessions",
	columns: "id, token, createat, expiresat, lastactivityat, userid, roles, props",
	fixed:   ", deviceid, isoauth, expirednotify",
	values:  []any{"", false, false},
})

var (
	sessionByToken = sessionKind.query("SessionStore.Get", "WHERE token = ?")
	touchSession   = command{"SessionStore.UpdateLastActivityAt",
		"UPDATE sessions SET lastactivityat = ? WHERE id = ?"}
	removeSession = command{"SessionStore.Remove", "DELETE FROM sessions WHERE id = ?"}
	// tokenOwner is a session with nothing but the owner of a personal access token.
	tokenOwner = selects[session]("UserAccessTokenStore.GetByToken", "userid, roles",
		`SELECT t.userid, u.roles FROM useraccesstokens t JOIN users u ON u.id = t.userid
		WHERE t.token = ? AND t.isactive = ? AND u.deleteat = 0`)
)

// saveSession stores a new session; an empty Token is drawn.
func (st *store) saveSession(ctx context.Context, x *session) error {
	x.ID = newID()
	x.Token = cmp.Or(x.Token, newID())
	x.CreateAt = millis()
	x.LastActivityAt = x.CreateAt
	return sessionKind.save(ctx, st, "SessionStore.Save", x)
}
