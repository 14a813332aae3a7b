package refchat

import (
	"context"
	"strings"
)

// likeTerm escapes a search term for LIKE ... ESCAPE '!'.
func likeTerm(term string) string {
	return strings.NewReplacer(`!`, `!!`, `%`, `!%`, `_`, `!_`).Replace(strings.ToLower(term))
}

// matching returns a condition that a channel's name, display name or purpose contains the term, or
// words that begin like its words.
func (st *store) matching(term string) (string, []any) {
	words := words(term, "_")
	if strings.TrimSpace(term) == "" {
		return "", nil
	}
	like := "%" + likeTerm(term) + "%"
	cond := "lower(c.name) LIKE ? ESCAPE '!' OR lower(c.displayname) LIKE ? ESCAPE '!' OR lower(c.purpose) LIKE ? ESCAPE '!'"
	args := []any{like, like, like}
	if len(words) > 0 {
		cond += " OR " + st.eng.matches("c.name, c.displayname, c.purpose")
		args = append(args, st.eng.beginnings(words))
	}
	return " AND (" + cond + ")", args
}

// channelsLike finds open channels of a team.
func (st *store) channelsLike(
	ctx context.Context,
	teamID, term string,
	limit int,
) ([]*channel, error) {
	cond, more := st.matching(term)
	return channelKind.list(
		ctx,
		st,
		"ChannelStore.SearchInTeam",
		"WHERE c.teamid = ? AND c.type = 'O' AND c.deleteat = 0"+cond+" ORDER BY c.displayname LIMIT ?",
		append(append([]any{teamID}, more...), limit)...)
}

// allChannelsLike finds open and private channels of all teams. With a user, it searches the user's
// teams and leaves out private channels that the user is not in.
func (st *store) allChannelsLike(ctx context.Context, userID, term string) ([]*channel, error) {
	clause, args := "WHERE c.type IN ('O', 'P') AND c.deleteat = 0", []any{}
	if userID != "" {
		clause += ` AND c.teamid IN (SELECT tm.teamid FROM teammembers tm WHERE tm.userid = ? AND tm.deleteat = 0)
			AND (c.type = 'O' OR c.id IN (SELECT m.channelid FROM channelmembers m WHERE m.userid = ?))`
		args = append(args, userID, userID)
	}
	cond, more := st.matching(term)
	return channelKind.list(ctx, st, "ChannelStore.SearchAllChannels",
		clause+cond+" ORDER BY c.displayname LIMIT 100", append(args, more...)...)
}

// myChannelsLike finds channels of a team that a user is in, and group channels.
func (st *store) myChannelsLike(
	ctx context.Context,
	userID, teamID, term string,
) ([]*channel, error) {
	cond, more := st.matching(term)
	return channelKind.list(
		ctx,
		st,
		"ChannelStore.AutocompleteInTeamForSearch",
		`JOIN channelmembers m ON m.channelid = c.id WHERE (c.teamid = ? OR c.teamid = '' AND c.type = 'G') AND m.userid = ? AND c.deleteat = 0`+
			cond+" ORDER BY c.displayname LIMIT 50",
		append([]any{teamID, userID}, more...)...)
}

// myDirectLike are direct channels of a user with others of that name; their display name is the
// other's.
var myDirectLike = channelKind.with(", u.username", "displayname",
	" JOIN channelmembers m ON m.channelid = c.id "+
		"JOIN channelmembers o ON o.channelid = c.id JOIN users u ON u.id = o.userid",
).query("ChannelStore.AutocompleteInTeamForSearch",
	`WHERE c.type = 'D' AND m.userid = ? AND u.id <> ?
	AND (lower(u.username) LIKE ? ESCAPE '!' OR lower(u.nickname) LIKE ? ESCAPE '!') LIMIT 50`)

// groupsLike finds a user's group channels whose members' names contain every word of the term.
func (st *store) groupsLike(ctx context.Context, userID, term string) ([]*channel, error) {
	const names = "array_to_string(array_agg(u.username), ', ')"
	args := []any{userID}
	having := []string{"1 = 1"}
	for word := range strings.FieldsSeq(term) {
		having = append(having, names+" LIKE ? ESCAPE '!'")
		args = append(args, "%"+likeTerm(word)+"%")
	}
	return channelKind.list(ctx, st, "ChannelStore.SearchGroupChannels",
		`WHERE c.id IN (SELECT id FROM (SELECT mine.id FROM
		(SELECT g.id FROM channels g JOIN channelmembers gm ON gm.channelid = g.id WHERE g.type = 'G' AND gm.userid = ?) mine
		JOIN channelmembers m ON m.channelid = mine.id JOIN users u ON u.id = m.userid GROUP BY mine.id HAVING `+strings.Join(having, " AND ")+" LIMIT 50) found)", args...)
}

// channelSearch is a client's search of channels.
type channelSearch struct {
	Term string `json:"term"`
}

func (q *request) searchTeamChannels(in *channelSearch) error {
	list, err := q.st.channelsLike(q, q.teamID, in.Term, 100)
	return q.answer(list, errStore("channel.search", err))
}

// searchAllChannels is for administrators, and with system_console=false for all users.
func (q *request) searchAllChannels(in *channelSearch) error {
	userID := ""
	if q.query("system_console") == "false" {
		userID = q.sess.UserID
	} else if !q.sess.isAdmin() {
		return errPermission
	}
	list, err := q.st.allChannelsLike(q, userID, in.Term)
	return q.answer(list, errStore("channel.search", err))
}

func (q *request) searchGroupChannels(in *channelSearch) error {
	list, err := q.st.groupsLike(q, q.sess.UserID, in.Term)
	return q.answer(list, errStore("channel.search_group", err))
}

// searchAutocompleteChannels offers the channels that "in:" can name.
func (q *request) searchAutocompleteChannels() error {
	term := q.query("name")
	list, err := q.st.myChannelsLike(q, q.sess.UserID, q.teamID, term)
	if err != nil {
		return errStore("channel.autocomplete", err)
	}
	like := "%" + likeTerm(term) + "%"
	direct, err := myDirectLike.list(q, q.st, q.sess.UserID, q.sess.UserID, like, like)
	return q.answer(append(list, direct...), errStore("channel.autocomplete", err))
}
