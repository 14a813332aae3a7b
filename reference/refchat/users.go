package refchat

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

var (
	nameForm  = regexp.MustCompile(`^[a-z][a-z0-9._-]{2,21}$`)
	emailForm = regexp.MustCompile(`^[^\s@]+@[^\s@]+$`)
)

// self returns the user as the user may see it: without the password.
func (u *user) self() *user {
	c := *u
	c.Password = ""
	c.FailedAttempts = 0
	return &c
}

// public returns the user as others see it.
func (u *user) public() *user {
	c := *u.self()
	c.NotifyProps = nil
	c.EmailVerified, c.AllowMarketing = false, false
	c.LastPasswordUpdate = 0
	return &c
}

// publicUsers makes each user of a list public.
func publicUsers(list []*user) []*user {
	for i, u := range list {
		list[i] = u.public()
	}
	return list
}

// newUser returns a user with the initial values.
func newUser(name, email, password string) *user {
	now := millis()
	return &user{
		ID:                 newID(),
		CreateAt:           now,
		UpdateAt:           now,
		Username:           name,
		Email:              email,
		Password:           password,
		Roles:              "system_user",
		Locale:             "en",
		LastPasswordUpdate: now,
		Props:              map[string]string{},
		Timezone: map[string]string{
			"automaticTimezone":    "",
			"manualTimezone":       "",
			"useAutomaticTimezone": "true",
		},
		NotifyProps: map[string]string{
			"email":         "true",
			"push":          "mention",
			"desktop":       "mention",
			"desktop_sound": "true",
			"mention_keys":  "",
			"channel":       "true",
			"push_status":   "away",
			"comments":      "never",
			"first_name":    "false",
		},
	}
}

func (s *Server) ensureAdmin(ctx context.Context) error {
	there, err := userByName.one(ctx, s.st, s.cfg.AdminUser)
	if err == nil && !loopback(s.cfg.Listen) &&
		s.hash.verify(there.Password, DefaultAdminPassword) {
		return fmt.Errorf(
			"-listen %s: %w: the account %s was made with it; change it there, or name another with -admin",
			s.cfg.Listen,
			errOpen,
			s.cfg.AdminUser,
		)
	}
	if !noRow(err) {
		return err
	}
	hash, err := s.hash.hash(s.cfg.AdminPassword)
	if err != nil {
		return err
	}
	u := newUser(s.cfg.AdminUser, s.cfg.AdminUser+"@localhost", hash)
	u.Roles = "system_admin system_user"
	u.EmailVerified = true
	err = userKind.save(ctx, s.st, "UserStore.Save", u)
	if duplicate(err, "") {
		return nil // another server on this database was first
	}
	return err
}

func (s *Server) user(ctx context.Context, id string) (*user, error) {
	u, err := s.users.through(id, func() (*user, error) {
		return userByID.one(fromMaster(ctx), s.st, id)
	})
	return u, errFind("user.get", err, errNoUser)
}

func (q *request) createUser(in *user) error {
	in.Username = strings.ToLower(in.Username)
	in.Email = strings.ToLower(in.Email)
	switch {
	case !nameForm.MatchString(in.Username):
		return errUsername
	case len(in.Email) > 128 || !emailForm.MatchString(in.Email):
		return badRequest("model.user.is_valid.email.app_error", "Invalid email.")
	case len(in.Password) < 5 || len(in.Password) > 72:
		return badRequest("api.user.check_user_password.invalid.app_error",
			"Your password must contain at least 5 characters.")
	}
	hash, err := q.hash.hash(in.Password)
	if err != nil {
		return err
	}
	u := newUser(in.Username, in.Email, hash)
	u.Nickname = clip(in.Nickname, 64)
	u.FirstName = clip(in.FirstName, 64)
	u.LastName = clip(in.LastName, 64)
	u.Position = clip(in.Position, 128)
	if err := savedUser(userKind.save(q, q.st, "UserStore.Save", u)); err != nil {
		return err
	}
	q.publish("new_user", broadcast{}, "user_id", u.ID)
	return q.created(u.self())
}

var errUsername = badRequest("model.user.is_valid.username.app_error",
	"Username must begin with a letter, and contain "+
		`between 3 to 22 lowercase characters made up of numbers, letters, and the symbols ".", "-", and "_".`)

// savedUser turns the store's answer to an insertion of a user into the API's.
func savedUser(err error) error {
	switch {
	case duplicate(err, "username"):
		return badRequest("app.user.save.username_exists.app_error",
			"An account with that username already exists.")
	case duplicate(err, "email"):
		return badRequest("app.user.save.email_exists.app_error",
			"An account with that email already exists.")
	}
	return errStore("user.save", err)
}

func (q *request) getUser() error {
	u, err := q.user(q, q.id)
	if err != nil {
		return err
	}
	if q.id == q.sess.UserID {
		if _, err := terms.find(q, q.st, q.id); err != nil {
			return errStore("terms.get", err)
		}
	}
	if q.notModified(
		q.cfg.Version + "." + u.ID + "." + strconv.FormatInt(u.UpdateAt, 10) + ".0.true.true.0",
	) {
		return nil
	}
	if q.id == q.sess.UserID || q.sess.isAdmin() {
		return q.reply(u.self())
	}
	return q.reply(u.public())
}

// mayLookIn admits callers who are in a team and in a channel; "" is none.
func (q *request) mayLookIn(teamID, channelID string) error {
	if channelID != "" {
		if err := q.mustRead(channelID); err != nil {
			return err
		}
	}
	if teamID == "" {
		return nil
	}
	return q.mustBeInTeam(teamID)
}

func (q *request) getUsers() error {
	teamID, channelID := q.query("in_team"), q.query("in_channel")
	if err := q.mayLookIn(teamID, channelID); err != nil {
		return err
	}
	find, args := usersInServer, []any{}
	outside := q.query("not_in_channel")
	switch {
	case outside != "" && teamID == "":
		return errURL("team_id")
	case outside != "":
		if err := q.mustRead(outside); err != nil {
			return err
		}
		find, args = usersOutside, []any{teamID, outside}
	case channelID != "":
		find, args = usersInOne, []any{channelID}
	case teamID != "":
		find, args = usersInTeam, []any{teamID}
	}
	list, err := find.list(q, q.st, q.paged(args...)...)
	return q.answer(publicUsers(list), errStore("user.get_profiles", err))
}

func (q *request) getUsersByIDs(ids []string) error {
	since, _ := strconv.ParseInt(q.query("since"), 10, 64)
	out := make([]*user, 0, len(ids))
	var missing []string
	gens := map[string]uint64{}
	for _, id := range ids {
		u, gen, ok := q.users.get(id)
		if !ok {
			missing = append(missing, id)
			gens[id] = gen
		} else if u.UpdateAt > since {
			out = append(out, u.public())
		}
	}
	if len(missing) > 0 {
		list, err := usersByIDs.list(fromMaster(q), q.st, missing)
		if err != nil {
			return errStore("user.get_profiles", err)
		}
		for _, u := range list {
			q.users.put(u.ID, u, gens[u.ID])
			if u.UpdateAt > since {
				out = append(out, u.public())
			}
		}
	}
	return q.reply(out)
}

func (q *request) getUsersByNames(names []string) error {
	list, err := usersByNames.list(q, q.st, names)
	return q.answer(publicUsers(list), errStore("user.get_profiles", err))
}

func (q *request) autocompleteUsers() error {
	v := q.r.URL.Query()
	teamID, channelID := v.Get("in_team"), v.Get("in_channel")
	if err := q.mayLookIn(teamID, channelID); err != nil {
		return err
	}
	limit, _ := strconv.Atoi(v.Get("limit")) // no number is no limit
	list, err := q.st.usersLike(q, v.Get("name"), teamID, channelID, limit)
	if err != nil {
		return errStore("user.search", err)
	}
	out := map[string]any{"users": publicUsers(list)}
	if teamID != "" && channelID != "" { // then also users that the author could invite
		others, err := q.st.usersNamed(q, "UserStore.AutocompleteUsersInChannel", v.Get("name"),
			limit, inTeam+notIn+"WHERE u.deleteat = 0 AND c.userid IS NULL", teamID, channelID)
		if err != nil {
			return errStore("user.search", err)
		}
		out["out_of_channel"] = publicUsers(others)
	}
	return q.reply(out)
}

// userSearch is a client's search of users.
type userSearch struct {
	Term      string `json:"term"`
	TeamID    string `json:"team_id"`
	ChannelID string `json:"in_channel_id"`
	Limit     int    `json:"limit"`
}

func (q *request) searchUsers(in *userSearch) error {
	if in.Term == "" {
		return errBody("term")
	}
	if err := q.mayLookIn(in.TeamID, in.ChannelID); err != nil {
		return err
	}
	list, err := q.st.usersLike(q, in.Term, in.TeamID, in.ChannelID, in.Limit)
	return q.answer(publicUsers(list), errStore("user.search", err))
}

// getProfileImage answers with a small picture in a color of the user's name.
func (q *request) getProfileImage() error {
	u, err := q.user(q, q.id)
	if err != nil {
		return err
	}
	if q.notModified(strconv.FormatInt(u.LastPictureUpdate, 10)) {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(u.Username))
	hue := h.Sum32() % 256
	body, err := q.images.through(strconv.Itoa(int(hue)), func() ([]byte, error) {
		pal := color.Palette{color.RGBA{uint8(hue), uint8(255 - hue), uint8(64 + hue/2), 255},
			color.White}
		img := image.NewPaletted(image.Rect(0, 0, 128, 128), pal)
		for y := 32; y < 96; y++ {
			for x := 32; x < 96; x++ {
				if (x+y+int(hue))%16 < 8 {
					img.SetColorIndex(x, y, 1)
				}
			}
		}
		var buf bytes.Buffer
		err := png.Encode(&buf, img)
		return buf.Bytes(), err
	})
	if err != nil {
		return err
	}
	q.w.Header().Set("Cache-Control", "max-age=86400, private")
	return q.write(http.StatusOK, "image/png", body)
}

func (q *request) updatePreferences(list []preference) error {
	for _, p := range list {
		if p.UserID != q.userID {
			return forbidden("api.preference.update_preferences.set.app_error",
				"Unable to set user preferences.")
		}
		if p.Category == "" || len(p.Category) > 32 || len(p.Name) > 32 || len(p.Value) > 2000 {
			return badRequest("model.preference.is_valid.category.app_error", "Invalid category.")
		}
	}
	if err := q.st.savePreferences(q, list); err != nil {
		return errStore("preference.save", err)
	}
	q.publish("preferences_changed", broadcast{UserID: q.userID}, "preferences", jsonText(list))
	return q.ok()
}

// mustBeOwn admits the user of the path, and administrators.
func (q *request) mustBeOwn() (err error) {
	q.userID, err = q.idParam("user_id")
	if err == nil && q.userID != q.sess.UserID && !q.sess.isAdmin() {
		err = errPermission
	}
	return err
}

func (q *request) createBot(in *bot) error {
	if !nameForm.MatchString(in.Username) {
		return errUsername
	}
	u := newUser(in.Username, in.Username+"@localhost", "")
	u.FirstName = clip(in.DisplayName, 64)
	u.BotDescription = clip(in.Description, 1024)
	if err := savedUser(q.st.insertBot(q, u, q.sess.UserID)); err != nil {
		return err
	}
	return q.created(bot{
		UserID:      u.ID,
		Username:    u.Username,
		DisplayName: u.FirstName,
		Description: u.BotDescription,
		OwnerID:     q.sess.UserID,
		CreateAt:    u.CreateAt,
		UpdateAt:    u.UpdateAt,
	})
}

func (q *request) createToken(in *accessToken) error {
	if in.Description == "" {
		return errBody("description")
	}
	if _, err := q.user(q, q.id); err != nil {
		return err
	}
	t := &accessToken{
		ID:          newID(),
		Token:       newID(),
		UserID:      q.id,
		Description: clip(in.Description, 255),
		IsActive:    true,
	}
	return q.answer(t, errStore(
		"user_access_token.save",
		tokenKind.save(q, q.st, "UserAccessTokenStore.Save", t),
	))
}
