package refchat

import (
	"context"
	"strings"
	"unicode"
)

// audience holds the members of a channel and the words that mention them. It is shared and does
// not change.
type audience struct {
	members  []string
	keywords map[string][]string // "@name" and other mention keywords → members
	everyone []string            // members that @channel, @all and @here reach
	comments map[string]string   // members who want to be notified of replies: "any" or "root"
}

// audienceOf returns the members of a channel with the notification settings of their profiles and
// memberships.
func (s *Server) audienceOf(ctx context.Context, channelID string) (*audience, error) {
	return s.audience.through(channelID,
		func() (*audience, error) { return s.st.loadAudience(fromMaster(ctx), channelID) })
}

func (st *store) loadAudience(ctx context.Context, channelID string) (a *audience, err error) {
	defer st.timed("UserStore.GetAllProfilesInChannel", &err)()
	users, err := userKind.rows(
		ctx,
		st,
		"JOIN channelmembers m ON m.userid = u.id WHERE m.channelid = ? AND u.deleteat = 0",
		channelID,
	)
	if err != nil {
		return nil, err
	}
	members, err := memberKind.rows(ctx, st, "WHERE m.channelid = ?", channelID)
	if err != nil {
		return nil, err
	}
	ignore := map[string]bool{}
	for _, m := range members {
		ignore[m.UserID] = m.NotifyProps["ignore_channel_mentions"] == "on"
	}
	a = &audience{keywords: make(map[string][]string, len(users)), comments: map[string]string{}}
	for _, u := range users {
		a.members = append(a.members, u.ID)
		if u.IsBot {
			continue
		}
		a.add("@"+u.Username, u.ID)
		for k := range strings.SplitSeq(u.NotifyProps["mention_keys"], ",") {
			a.add(strings.TrimSpace(k), u.ID)
		}
		if u.NotifyProps["first_name"] == "true" {
			a.add(u.FirstName, u.ID)
		}
		if u.NotifyProps["channel"] != "false" && !ignore[u.ID] {
			a.everyone = append(a.everyone, u.ID)
		}
		if c := u.NotifyProps["comments"]; c == "any" || c == "root" {
			a.comments[u.ID] = c
		}
	}
	return a, nil
}

func (a *audience) add(keyword, userID string) {
	if keyword != "" && keyword != "@" {
		k := strings.ToLower(keyword)
		a.keywords[k] = append(a.keywords[k], userID)
	}
}

// maxNotified is the real server's MaxNotificationsPerChannel: larger channels cannot be mentioned
// as a whole.
const maxNotified = 1000

// mentioned returns the members that a message names, the author excepted.
func (a *audience) mentioned(message, author string) map[string]bool {
	found := map[string]bool{}
	for _, word := range words(strings.ToLower(message), "@.-_:") { // the characters of user names
		switch word {
		case "@channel", "@all", "@here":
			if len(a.members) <= maxNotified {
				for _, id := range a.everyone {
					found[id] = true
				}
			}
			continue
		}
		for {
			if ids, ok := a.keywords[word]; ok {
				for _, id := range ids {
					found[id] = true
				}
				break
			}
			// "@ann." may name ann at the end of a sentence, or the user "ann."
			n := len(word)
			if word = strings.TrimRight(word, ".-_:"); len(word) == n || word == "" {
				break
			}
		}
	}
	delete(found, author)
	return found
}

// hashtags returns the hashtags of a message, separated by spaces.
func hashtags(message string) string {
	if !strings.Contains(message, "#") {
		return ""
	}
	var tags []string
	size := 0
	for w := range strings.FieldsSeq(message) {
		w = strings.TrimRight(w, ".,:;!?)")
		if len(w) < 3 || w[0] != '#' || !unicode.IsLetter(rune(w[1])) || size+len(w) > 900 {
			continue
		}
		size += len(w) + 1
		tags = append(tags, w)
	}
	return strings.Join(tags, " ")
}
