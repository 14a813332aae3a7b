package dataset

import (
	"fmt"
	"slices"
	"strconv"
)

// A Type is the type of a channel.
type Type uint8

// Types of channels.
const (
	Public Type = iota
	Private
	Group
	Direct
)

// A Population is the set of objects that a [Spec] describes. Its methods may be called from
// several goroutines.
type Population struct {
	spec     Spec
	channels []channel
	teams    []int // number of members
	popular  alias // of channels, for roots
	clock    clock
	words    *vocabulary
}

// channel is the stored part of a channel.
type channel struct {
	key   uint64 // of the order of its members
	size  int32
	rank  int32 // within team and type; the default channels of a team are -2 and -1
	team  int16 // of public and private channels
	typ   Type
	pairs int32 // number of a direct channel's pair
}

// A User is a row of a population.
type User struct {
	ID                    ID
	Name                  string // TEAM-user-00000, …
	FirstName, LastName   string
	CreateAt, LastActive  int64 // milliseconds since 1970
	Position, MailAddress string
}

// A Team is a row of a population.
type Team struct {
	ID, InviteID      ID
	Name, DisplayName string
	CreateAt          int64
	Members           int // the first users are the members
}

// A Channel is a row of a population.
type Channel struct {
	ID   ID
	Type Type
	Team int // of public and private channels; else -1
	// empty for direct and group channels, whose names their server makes from the members
	Name, DisplayName string
	Header, Purpose   string
	CreateAt          int64
	Creator           int // user
	Members           int // how many; see Member
}

// DefaultChannels are the names of the two channels that every member of a team is in.
var DefaultChannels = [2]string{"town-square", "off-topic"}

// Made reports whether a user made a channel of a team; servers make the default ones.
func (c Channel) Made() bool { return c.Team >= 0 && !slices.Contains(DefaultChannels[:], c.Name) }

// Letter is the type as the API of servers writes it; the letters are in the order of the types.
func (t Type) Letter() string { return "OPGD"[t : t+1] }

// New makes the population of a checked spec.
func New(spec Spec) (*Population, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	p := &Population{spec: spec, words: newVocabulary(), clock: newClock(spec)}
	for t := range spec.Teams {
		p.teams = append(p.teams, spec.Users>>t)
	}
	p.makeChannels()
	p.popular = newAlias(p.weights())
	return p, nil
}

// Spec returns the spec of the population.
func (p *Population) Spec() Spec { return p.spec }

// numbers returns how many channels of each type there are, default channels left out.
func (s Spec) numbers() [4]int {
	n := [4]int{
		Public:  s.Channels * int(s.Types.Public) / 1_000_000,
		Private: s.Channels * int(s.Types.Private) / 1_000_000,
		Group:   s.Channels * int(s.Types.Group) / 1_000_000,
	}
	n[Direct] = s.Channels - n[Public] - n[Private] - n[Group]
	if s.Types.Direct == 0 {
		n[Public] += n[Direct]
		n[Direct] = 0
	}
	return n
}

func (p *Population) makeChannels() {
	s := p.spec
	n := s.numbers()
	add := func(c channel) {
		c.key = uint64(newStream(s.Seed, kindMember, uint64(len(p.channels))))
		p.channels = append(p.channels, c)
	}
	for t, members := range p.teams {
		for d := range DefaultChannels {
			add(channel{
				typ:  Public,
				team: int16(t),
				size: int32(members),
				rank: int32(d - len(DefaultChannels)),
			})
		}
	}
	for _, typ := range []Type{Public, Private} {
		left := n[typ]
		for t, members := range p.teams {
			here := (left + 1) / 2 // like the teams, each half of the one before
			if t == len(p.teams)-1 {
				here = left
			}
			left -= here
			for k := range here {
				size, least := members/(k+1), 5
				if typ == Private {
					size, least = members/(8*(k+1)), 3
				}
				add(channel{
					typ:  typ,
					team: int16(t),
					size: int32(min(max(size, least), members)),
					rank: int32(k),
				})
			}
		}
	}
	seen := map[string]bool{}
	for k := range n[Group] {
		c := channel{typ: Group, team: -1, rank: int32(k)}
		for try := uint64(0); ; try++ { // the same people have one group only
			r := newStream(s.Seed, kindChannel, uint64(k)<<16|try)
			c.key, c.size = r.next(), int32(min(3+r.zipf(6), s.Users))
			if set := fmt.Sprint(p.group(c)); !seen[set] {
				seen[set] = true
				break
			}
		}
		p.channels = append(p.channels, c)
	}
	pairs := newPermutation(s.Users*(s.Users-1)/2, uint64(newStream(s.Seed, kindChannel, 1<<48)))
	for k := range n[Direct] {
		p.channels = append(p.channels, channel{
			typ:   Direct,
			team:  -1,
			size:  2,
			rank:  int32(k),
			pairs: int32(k),
			key:   uint64(pairs.at(k)),
		})
	}
}

func (p *Population) group(c channel) []int {
	var users []int
	for k := range int(c.size) {
		users = append(users, p.member(&c, k))
	}
	slices.Sort(users)
	return users
}

// weights are the shares of roots of the channels: see the package comment.
func (p *Population) weights() []uint64 {
	share := [4]uint64{Public: 35, Private: 25, Group: 10, Direct: 30}
	w := make([]uint64, len(p.channels))
	var sum [4]uint64
	for i, c := range p.channels {
		rank := uint64(c.rank)
		if c.rank < 0 {
			rank = 9 // a default channel is as busy as the tenth
		}
		w[i] = 1 << 32 / (rank + 1)
		sum[c.typ] += w[i]
	}
	for i, c := range p.channels {
		w[i] = max(w[i]*share[c.typ]/(sum[c.typ]>>16+1), 1)
	}
	return w
}

// Teams returns the number of teams.
func (p *Population) Teams() int { return len(p.teams) }

// Users returns the number of users.
func (p *Population) Users() int { return p.spec.Users }

// Channels returns the number of channels.
func (p *Population) Channels() int { return len(p.channels) }

// before is a time shortly before the history: teams, users and channels are made in this order, a
// millisecond apart.
func (p *Population) before(n int) int64 {
	return p.clock.start - int64(len(p.teams)+p.spec.Users+len(p.channels)) + int64(n)
}

// made returns the time when channel c was made.
func (p *Population) made(c int) int64 { return p.before(len(p.teams) + p.spec.Users + c) }

// TeamName returns the name of team t.
func (p *Population) TeamName(t int) string {
	if t == 0 {
		return p.spec.Team
	}
	return p.spec.Team + "-" + strconv.Itoa(t+1)
}

// Team returns team t.
func (p *Population) Team(t int) Team {
	return Team{
		ID: p.TeamID(t), InviteID: newID(p.spec.Seed, kindInvite, uint64(t)), Name: p.TeamName(t),
		DisplayName: p.TeamName(t), CreateAt: p.before(t), Members: p.teams[t],
	}
}

// TeamID returns the identifier of team t.
func (p *Population) TeamID(t int) ID { return newID(p.spec.Seed, kindTeam, uint64(t)) }

// UserID returns the identifier of user u.
func (p *Population) UserID(u int) ID { return newID(p.spec.Seed, kindUser, uint64(u)) }

// UserName returns the name of user u: TEAM-user-00000, the name for which simulated users search.
func (p *Population) UserName(u int) string {
	n := strconv.Itoa(u)
	return p.spec.Team + "-user-" + "00000"[min(len(n), 5):] + n
}

// User returns user u.
func (p *Population) User(u int) User {
	r := newStream(p.spec.Seed, kindStatus, uint64(u))
	name := p.UserName(u)
	return User{
		ID:          p.UserID(u),
		Name:        name,
		MailAddress: name + "@example.com",
		CreateAt:    p.before(len(p.teams) + u),
		FirstName:   capital(p.words.word(r.below(words))),
		LastName:    capital(p.words.word(r.below(words))),
		Position:    p.words.word(r.below(words)),
		LastActive:  p.clock.end - 1 - int64(r.zipf(int(p.clock.end-p.clock.start))),
	}
}

// Category returns the identifier of a user's sidebar category of a kind in a team.
func (p *Population) Category(kind string, u, t int) string {
	return kind + "_" + p.UserID(u).String() + "_" + p.TeamID(t).String()
}

// ChannelID returns the identifier of channel c.
func (p *Population) ChannelID(c int) ID { return newID(p.spec.Seed, kindChannel, uint64(c)) }

// Channel returns channel c.
func (p *Population) Channel(c int) Channel {
	ch := &p.channels[c]
	out := Channel{
		ID:       p.ChannelID(c),
		Type:     ch.typ,
		Team:     int(ch.team),
		CreateAt: p.made(c),
		Creator:  p.member(ch, 0),
		Members:  int(ch.size),
	}
	switch {
	case ch.typ == Group || ch.typ == Direct:
		return out
	case ch.rank < 0:
		out.Name = DefaultChannels[int(ch.rank)+len(DefaultChannels)]
		out.DisplayName = []string{"Town Square", "Off-Topic"}[int(ch.rank)+len(DefaultChannels)]
		return out
	}
	form := "%s-%03d"
	if ch.typ == Private {
		form = "%s-private-%03d"
	}
	out.Name = fmt.Sprintf(form, p.TeamName(int(ch.team)), ch.rank)
	r := newStream(p.spec.Seed, kindText, 1<<56|uint64(c))
	out.DisplayName = capital(p.words.word(r.zipf(words))) + " " + p.words.word(r.zipf(words)) +
		" " + strconv.Itoa(int(ch.rank))
	out.Purpose = string(p.words.appendWords(nil, &r, 3+r.below(8)))
	out.Header = string(p.words.appendWords(nil, &r, 3+r.below(8)))
	return out
}

// Member returns the k-th member of channel c, the most active first. All members are different.
func (p *Population) Member(c, k int) int { return p.member(&p.channels[c], k) }

func (p *Population) member(c *channel, k int) int {
	switch c.typ {
	case Direct: // the pairs (a, b), a > b, in the order (1,0), (2,0), (2,1), (3,0), …
		a := triangle(int(c.key))
		if k == 0 {
			return a
		}
		return int(c.key) - a*(a-1)/2
	case Group:
		return newPermutation(p.spec.Users, c.key).at(k)
	default:
		key := c.key
		if 2*int(c.size) > p.teams[c.team] {
			key = p.spec.Seed // a user who is active in one large channel is active in all
		}
		return newPermutation(p.teams[c.team], key).at(k)
	}
}

// triangle returns the largest a with a(a-1)/2 <= n.
func triangle(n int) int {
	lo, hi := 1, 1<<31
	for lo+1 < hi {
		if mid := (lo + hi) / 2; mid*(mid-1)/2 <= n {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// ReadTo says how far a member has read: everything, or everything before a post's number. See
// [Population.ReadTo].
type ReadTo int

// How far members have read.
const (
	ReadAll    ReadTo = iota // 70 %, and authors of posts in the unread part
	ReadRecent               // 20 %: up to the last half percent of the posts, at most 10,000
	ReadOld                  // 10 %: up to the last five percent of the posts, at most 50,000
)

// ReadTo returns how far the k-th member of channel c has read, unless they posted since:
// [Totals.Seat] knows.
func (p *Population) ReadTo(c, k int) ReadTo {
	r := newStream(p.spec.Seed, kindMember, uint64(c)<<24^uint64(k)|1<<63)
	switch x := r.below(100); {
	case x < 70:
		return ReadAll
	case x < 90:
		return ReadRecent
	default:
		return ReadOld
	}
}

// cut returns the number of the first post that is unread by those who have read so far.
func (p *Population) cut(r ReadTo) int {
	switch r {
	case ReadRecent:
		return p.spec.Posts - min(p.spec.Posts/200, 10_000)
	case ReadOld:
		return p.spec.Posts - min(p.spec.Posts/20, 50_000)
	default:
		return p.spec.Posts
	}
}
