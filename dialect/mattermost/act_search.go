package mattermost

import (
	"slices"
	"strings"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// searchActions look for posts, people and channels.
var searchActions = []action{
	// A search asks again with each typed letter: 2.5 of a channel's name on average, about ten of
	// a user's.
	{"search_users", 0.032, always, searchUsers, proveSearchUsers, "searchUsers", 10},
	{"search_posts", 0.0218, always, searchPosts, proveSearchPosts,
		"searchPostsInTeam searchPosts", 1},
	{"search_group_channels", 0.0204, always, searchGroupChannels, proveSearchGroupChannels,
		"searchGroupChannels", 2.5},
	{"search_channels", 0.015, always, searchChannels, proveSearchChannels,
		"searchChannelsForTeam searchAllChannels", 2.5},
	{"search_posts_all_teams", 0.0109, hasAllTeams, searchPostsAllTeams, proveSearchPosts,
		"searchPostsInAllTeams", 1},
}

const (
	modifierShare = 0.2 // of each of the five kinds of modifier of a search
	mostLetters   = 4   // after which a channel is found
)

// A query is a search for posts as a person means to type it.
type query struct {
	words, phrase []string
	not           string // an excluded word
	date          string // "before:2026-01-31", "after:..." or "on:..."
	from          string // a user
	in            *channel
}

// query draws a search: one to four words and, each in one of five searches, an author, a channel,
// a date, an excluded word and a phrase. Everything is drawn before any request.
func (a *person) query() (q query) {
	r := a.content
	word := func() string { return one(r, vocabulary()) }
	for range 1 + r.IntN(4) {
		q.words = append(q.words, word())
	}
	is := func() bool { return r.Float64() < modifierShare }
	if from, whom := is(), r.IntN(max(1, a.b.count())); from {
		q.from = a.b.name(whom)
	}
	if is() {
		if k, ok := a.otherPlace(a.inTeam); ok {
			q.in = a.places[k].ch
		}
	}
	if is() {
		days := r.IntN(30)
		q.date = []string{"before:", "after:", "on:"}[r.IntN(3)] +
			time.Now().AddDate(0, 0, -days).Format("2006-01-02")
	}
	if not := word(); is() {
		q.not = not
	}
	if x, y := word(), word(); is() {
		q.phrase = []string{x, y}
	}
	return q
}

// terms formats the query.
func (q *query) terms() string {
	parts := slices.Clone(q.words)
	if q.phrase != nil {
		parts = append(parts, `"`+strings.Join(q.phrase, " ")+`"`)
	}
	if q.not != "" {
		parts = append(parts, "-"+q.not)
	}
	if q.date != "" {
		parts = append(parts, q.date)
	}
	if q.from != "" {
		parts = append(parts, "from:"+q.from)
	}
	if q.in != nil {
		parts = append(parts, "in:"+q.in.name)
	}
	return strings.Join(parts, " ")
}

func searchPosts(a *act) error { return a.searchIn(a.team) }

// proveSearchPosts has the witness write a post that the search must find, and shows that the
// person found as many posts as the witness.
func proveSearchPosts(s *stage) {
	a := s.actor
	for seed := uint64(1); ; seed++ {
		// A query that a post of the witness can answer: of words and phrases. Proofs look for one
		// with both.
		a.renew(seed, seed)
		q := a.query()
		if q.phrase == nil || q.not == "" || q.date != "" || q.from != "" || q.in != nil {
			continue
		}
		text := strings.Join(append(slices.Clone(q.words), q.phrase...), " ")
		ch := a.here()
		p := s.say(ch, text)
		s.say(ch, text+" "+q.not)
		team := a.team
		if s.doing.name == "search_posts_all_teams" {
			team = ""
		}
		// An index may lag behind.
		for range 20 {
			a.own().found = 0
			check(s.carryOutAs(seed, seed, s.doing.do))
			theirs := must(s.witness.c.SearchPosts(s, team, q.terms(), 0))
			if hasPost(theirs, api.ParseID(p.ID)) && a.own().found == len(theirs) {
				return
			}
			check(a.u.Pause(s, time.Second))
		}
		disproved(true,
			"the search %s does not find the post %s, or not the same for both", q.terms(), p.ID)
	}
}

func searchPostsAllTeams(a *act) error { return a.searchIn("") }

// searchIn types a search, with the server's help for names, and looks at the results.
func (a *act) searchIn(team string) error {
	q := a.query()
	if q.from != "" {
		if err := a.typeOut(q.from, func(part string) error {
			return a.lookUp("", part)
		}); err != nil {
			return err
		}
	}
	if q.in != nil {
		if err := a.typeOut(q.in.name, func(part string) error {
			_, err := a.c.AutocompleteChannels(a, a.team, part)
			return err
		}); err != nil {
			return err
		}
	}
	_, offset := time.Now().Zone()
	posts, err := a.c.SearchPosts(a, team, q.terms(), offset)
	if err != nil {
		return err
	}
	a.own().found = len(posts)
	return a.meet(posts)
}

// searchUsers looks for a person by name, letter by letter.
func searchUsers(a *act) error {
	if a.b.count() == 0 {
		return errNoUser
	}
	name := a.b.name(a.pick.IntN(a.b.count()))
	return a.typeOut(name, func(part string) error {
		people, err := a.c.SearchUsers(a, part)
		if err != nil {
			return err
		}
		a.own().found = len(people)
		return a.show(people)
	})
}

// proveSearchUsers shows that the person found one user by a full name, where the witness finds all
// by the beginning of their names.
func proveSearchUsers(s *stage) {
	s.act()
	all := must(s.witness.c.SearchUsers(s, s.b.set.users))
	disproved(s.actor.own().found != 1 || len(all) < stagePersons,
		"the person found %d users by a full name; %d have names of that kind", s.actor.own().found,
		len(all))
}

// searchChannels looks for a channel to go to, by one to four of its letters.
func searchChannels(a *act) error {
	letters := 1 + a.choice.IntN(mostLetters)
	k, ok := a.otherPlace(a.inTeam)
	if !ok {
		return errNoChannel
	}
	team := "" // the web app looks in all of them
	if a.b.Version.before(version{7, 8}) {
		team = a.team
	}
	name := a.places[k].ch.name
	return a.typeOut(name[:min(letters, len(name))], func(part string) error {
		found, err := a.c.SearchChannels(a, team, part)
		a.own().found = len(found)
		return err
	})
}

// proveSearchChannels shows that the person found at least the channel whose name it began to type,
// which the witness finds, too.
func proveSearchChannels(s *stage) {
	s.actor.own().found = 0
	s.act()
	for _, p := range s.actor.places {
		if s.actor.inTeam(p) && p.ch.kind == 'O' {
			theirs := must(s.witness.c.SearchChannels(s, s.b.Team, p.ch.name))
			disproved(
				s.actor.own().found == 0 || !hasChannel(theirs, p.ch.key),
				"the person found %d channels; the witness finds %v for %s",
				s.actor.own().found,
				theirs,
				p.ch.name,
			)
		}
	}
}

// searchGroupChannels looks for a group channel by one to four letters of a member's name.
func searchGroupChannels(a *act) error {
	letters := 1 + a.choice.IntN(mostLetters)
	if a.b.count() == 0 {
		return errNoUser
	}
	name := a.b.name(a.pick.IntN(a.b.count()))
	return a.typeOut(name[:min(letters, len(name))], func(part string) error {
		found, err := a.c.SearchGroupChannels(a, part)
		a.own().found = len(found)
		return err
	})
}

// proveSearchGroupChannels makes a group channel of the actor and shows that it is found.
func proveSearchGroupChannels(s *stage) {
	ch := must(s.witness.c.Open(s, []string{s.witness.id, s.actor.id, s.b.IDs[2]}))
	s.actor.own().found = 0
	s.act()
	theirs := must(s.witness.c.SearchGroupChannels(s, s.b.set.users))
	disproved(s.actor.own().found == 0 || !hasChannel(theirs, ch.ID),
		"the person found %d group channels, the witness %d", s.actor.own().found, len(theirs))
}
