package refchat

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
)

// postSearch is one question to the full-text index: for words of messages, or for hashtags.
type postSearch struct {
	hashtags    bool
	words, not  []searchWord
	any         bool     // of the words instead of all
	in, notIn   []string // channels
	from, notBy []string // users
	dates       []dateRange
	deleted     bool // also in archived channels
}

// searchWord is a word, a beginning of words, or a phrase of several.
type searchWord struct {
	words  []string
	prefix bool
}

// dateRange restricts the time of posts in milliseconds, both ends included; not turns it around.
type dateRange struct {
	from, to int64
	not      bool
}

// parsedSearch is a search as a user typed it.
type parsedSearch struct {
	words, not, tags, notTags []searchWord
	// The modifiers' filters, with names.
	in, notIn, from, notFrom []string
	dates                    []dateRange
}

// parsePostSearch parses a user's search: words, "phrases", beginnings*, #hashtags, each excluded
// by a leading -, and modifiers such as from:ann, in:town-square or before:2024-05-01, whose days
// begin offset seconds east of Greenwich.
func parsePostSearch(text string, offset int) (p parsedSearch) {
	list := searchTokens(text)
	for i := 0; i < len(list); i++ {
		w, minus := strings.CutPrefix(list[i], "-")
		if name, value, ok := strings.Cut(w, ":"); ok &&
			slices.Contains(modifiers, strings.ToLower(name)) {
			if value == "" && i+1 < len(list) { // "from: ann"
				i++
				value = list[i]
			}
			if value != "" {
				p.filter(strings.ToLower(name), value, minus, offset)
				continue
			}
		}
		p.word(w, minus)
	}
	return p
}

// words splits a text into words of letters, digits and the further characters.
func words(text, further string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(further, r)
	})
}

// word adds a word or a phrase, which begins with a quotation mark.
func (p *parsedSearch) word(w string, minus bool) {
	phrase, isPhrase := strings.CutPrefix(w, `"`)
	x := searchWord{
		prefix: !isPhrase && strings.HasSuffix(w, "*"),
		words:  words(phrase, "_"),
	}
	hashtag := !isPhrase && strings.HasPrefix(w, "#") && len(w) > 2
	to := &p.words
	switch {
	case hashtag && minus:
		to = &p.notTags
	case hashtag:
		to = &p.tags
	case minus:
		to = &p.not
	}
	if isPhrase && len(x.words) > 0 || len(x.words) == 1 {
		*to = append(*to, x)
		return
	}
	for _, one := range x.words { // "ship-shape" is two words
		*to = append(*to, searchWord{words: []string{one}})
	}
}

// searchTokens splits a search at its spaces. A phrase is one token without its second quotation
// mark.
func searchTokens(text string) (list []string) {
	rest := text
	for rest != "" {
		before, after, quoted := strings.Cut(rest, `"`)
		phrase, next, closed := strings.Cut(after, `"`)
		if !quoted || !closed {
			list = append(list, strings.Fields(strings.ReplaceAll(rest, `"`, " "))...)
			break
		}
		sign := ""
		if b, cut := strings.CutSuffix(before, "-"); cut {
			before, sign = b, "-"
		}
		list = append(append(list, strings.Fields(before)...), sign+`"`+phrase)
		rest = next
	}
	return list
}

var modifiers = []string{"from", "in", "channel", "before", "after", "on"}

const day = 24 * time.Hour

func (p *parsedSearch) filter(name, value string, minus bool, offset int) {
	to, not := &p.in, &p.notIn
	if name == "from" {
		to, not = &p.from, &p.notFrom
	}
	if minus {
		to = not
	}
	switch name {
	case "in", "channel", "from":
		*to = append(*to, value)
		return
	}
	at, err := time.ParseInLocation("2006-1-2", value, time.FixedZone("", offset))
	if err != nil {
		return
	}
	d := dateRange{not: minus, from: at.UnixMilli(), to: at.Add(day).UnixMilli() - 1}
	switch name {
	case "before":
		d.from, d.to = 0, at.UnixMilli()-1
	case "after":
		d.from, d.to = at.Add(day).UnixMilli(), 1<<62
	}
	p.dates = append(p.dates, d)
}

// innoStopWords are the words that InnoDB's full-text indexes leave out by default; a search for
// one would find nothing.
var innoStopWords = strings.Fields(
	"a about an are as at be by com de en for from how i in is it la of on or that the this to was what when where who will with und www",
)

// tsquery writes a search in the language of PostgreSQL's to_tsquery.
func (x *postSearch) tsquery() string {
	one := func(w searchWord) string {
		if w.prefix {
			return w.words[0] + ":*"
		}
		if len(w.words) > 1 {
			return "(" + strings.Join(w.words, " <-> ") + ")"
		}
		return w.words[0]
	}
	join := func(list []searchWord, op string) string {
		var parts []string
		for _, w := range list {
			parts = append(parts, one(w))
		}
		return strings.Join(parts, op)
	}
	op := " & "
	if x.any {
		op = " | "
	}
	var parts []string
	if len(x.words) > 0 {
		parts = append(parts, "("+join(x.words, op)+")")
	}
	if len(x.not) > 0 {
		parts = append(parts, "!("+join(x.not, " | ")+")")
	}
	return strings.Join(parts, " & ")
}

// boolean writes a search in the language of MATCH ... AGAINST (... IN BOOLEAN MODE); "" finds
// nothing.
func (x *postSearch) boolean() string {
	var parts []string
	for _, w := range x.words {
		text := w.words[0]
		switch {
		case len(w.words) > 1:
			text = `"` + strings.Join(w.words, " ") + `"`
		case w.prefix:
			text += "*"
		case !x.hashtags && slices.Contains(innoStopWords, strings.ToLower(text)):
			continue
		}
		if !x.any {
			text = "+" + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	for _, w := range x.not {
		parts = append(parts, `-"`+strings.Join(w.words, " ")+`"`)
	}
	return strings.Join(parts, " ")
}

// searchPosts finds the newest 100 posts that match, in the user's channels of the team (all teams
// if "").
func (st *store) searchPosts(
	ctx context.Context,
	userID, teamID string,
	x *postSearch,
) ([]*post, error) {
	clause := "WHERE p.deleteat = 0 AND p.type NOT LIKE 'system_%'"
	var args []any
	ids := func(column string, list, not []string) {
		if len(list) > 0 {
			clause += " AND " + column + " = ANY(?)"
			args = append(args, list)
		}
		if len(not) > 0 {
			clause += " AND NOT (" + column + " = ANY(?))"
			args = append(args, not)
		}
	}
	if len(x.from) > 0 || len(x.notBy) > 0 {
		clause += " AND p.userid IN (SELECT u.id FROM users u, teammembers tm WHERE u.id = tm.userid"
		if teamID != "" {
			clause += " AND tm.teamid = ?"
			args = append(args, teamID)
		}
		ids("u.id", x.from, x.notBy)
		clause += ")"
	}
	clause += " AND p.channelid IN (SELECT c.id FROM channels c, channelmembers m WHERE c.id = m.channelid AND m.userid = ?"
	args = append(args, userID)
	if teamID != "" {
		clause += " AND (c.teamid = ? OR c.teamid = '')"
		args = append(args, teamID)
	}
	if !x.deleted {
		clause += " AND c.deleteat = 0"
	}
	ids("c.id", x.in, x.notIn)
	clause += ")"
	var dates strings.Builder
	for _, d := range x.dates {
		dates.WriteString(map[bool]string{
			false: " AND p.createat BETWEEN ? AND ?",
			true:  " AND p.createat NOT BETWEEN ? AND ?",
		}[d.not])
		args = append(args, d.from, d.to)
	}
	clause += dates.String()
	column := "p.message"
	if x.hashtags {
		column = "p.hashtags"
	}
	if len(x.words) > 0 || len(x.not) > 0 {
		expr := st.eng.expression(x)
		if expr == "" {
			return nil, nil
		}
		clause += " AND " + st.eng.matches(column)
		args = append(args, expr)
	}
	return countedKind.list(
		ctx,
		st,
		"PostStore.Search",
		clause+" ORDER BY p.createat DESC LIMIT 100",
		args...)
}

// searchRequest is a client's search of posts.
type searchRequest struct {
	Terms          string `json:"terms"`
	IsOrSearch     bool   `json:"is_or_search"`
	TimeZoneOffset int    `json:"time_zone_offset"`
	Page           int    `json:"page"`
	IncludeDeleted bool   `json:"include_deleted_channels"`
}

// searchPosts searches a team, or all of the caller's where the path names none.
func (q *request) searchPosts(in *searchRequest) error {
	if strings.TrimSpace(in.Terms) == "" {
		return errBody("terms")
	}
	f := parsePostSearch(in.Terms, in.TimeZoneOffset)
	base := postSearch{any: in.IsOrSearch, dates: f.dates, deleted: in.IncludeDeleted}
	if err := q.resolve(&f, &base); err != nil {
		return err
	}
	var asked []postSearch
	if len(f.words)+len(f.not) > 0 {
		x := base
		x.words = f.words
		x.not = f.not
		asked = append(asked, x)
	}
	if len(f.tags)+len(f.notTags) > 0 {
		x := base
		x.hashtags = true
		x.words = f.tags
		x.not = f.notTags
		asked = append(asked, x)
	}
	if asked == nil && len(f.in)+len(f.notIn)+len(f.from)+len(f.notFrom)+len(f.dates) > 0 {
		asked = append(asked, base)
	}
	var found []*post
	if in.Page > 0 {
		asked = nil // the database search has one page
	}
	for i := range asked {
		list, err := q.st.searchPosts(q, q.sess.UserID, q.teamID, &asked[i])
		if err != nil { // the real server answers that it found nothing
			return errStore("post.search", err)
		}
		for _, p := range list {
			if !asked[i].hashtags || p.hasTag(f.tags) {
				found = append(found, p)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *post) int {
		return cmp.Compare(b.CreateAt, a.CreateAt)
	})
	found = slices.CompactFunc(found, func(a, b *post) bool { return a.ID == b.ID })
	l, err := q.listOf(found, false, true)
	if err != nil {
		return err
	}
	q.w.Header().Set("Cache-Control", "no-cache, no-store, must-revalidate")
	return q.reply(struct {
		*postList
		Matches map[string][]string `json:"matches"`
	}{postList: l})
}

// hasTag reports whether one of the post's hashtags is exactly one of those; the index has only
// their words.
func (p *post) hasTag(tags []searchWord) bool {
	for tag := range strings.FieldsSeq(p.Hashtags) {
		for _, w := range tags {
			if strings.EqualFold(strings.TrimPrefix(tag, "#"), strings.Join(w.words, "-")) ||
				w.prefix &&
					strings.HasPrefix(strings.ToLower(tag[1:]), strings.ToLower(w.words[0])) {
				return true
			}
		}
	}
	return len(tags) == 0
}

// resolve turns the names in filters into ids; an unknown name finds nothing.
func (q *request) resolve(f *parsedSearch, x *postSearch) error {
	for _, r := range []struct {
		names []string
		ids   *[]string
		find  func(string) (string, error)
	}{
		{f.in, &x.in, q.channelNamed},
		{f.notIn, &x.notIn, q.channelNamed},
		{f.from, &x.from, q.userNamed},
		{f.notFrom, &x.notBy, q.userNamed},
	} {
		for _, name := range r.names {
			id, err := r.find(strings.ToLower(name))
			if err != nil && !noRow(err) {
				return errStore("post.search", err)
			}
			*r.ids = append(*r.ids, cmp.Or(id, name))
		}
	}
	return nil
}

func (q *request) userNamed(name string) (string, error) {
	u, err := userByName.one(q, q.st, strings.TrimPrefix(name, "@"))
	if err != nil {
		return "", err
	}
	return u.ID, nil
}

// channelNamed finds a channel by its name, or by @name the direct one with a user.
func (q *request) channelNamed(name string) (string, error) {
	teamID := q.teamID
	if other, ok := strings.CutPrefix(name, "@"); ok {
		id, err := q.userNamed(other)
		if err != nil {
			return "", err
		}
		teamID, name = "", directName(q.sess.UserID, id)
	}
	c, err := channelByName.one(q, q.st, name, teamID)
	if err != nil {
		return "", err
	}
	return c.ID, nil
}
