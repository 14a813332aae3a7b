package refchat

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// SeedSpec sets the numbers of objects that [Seed] makes. All names and identifiers follow from the numbers, so that
// the same spec gives the same database.
type SeedSpec struct {
	Seed        uint64 // of identifiers, memberships and posts
	Teams       int    // team-1, team-2, …; open to all users; at least 1 when there are channels
	Channels    int    // channel-1, … : open channels, spread over the teams in turn
	Users       int    // user-1, … with mail user-1@example.com; members of every team
	Memberships int    // channels per user, spread evenly, at most Channels
	Posts       int    // root posts of 200 characters, spread evenly over the channels
	Tokens      bool   // also a personal access token per user: login without the cost of a password hash
	Password    string // of all users, hashed once; default DefaultSeedPassword
	Hash        string // as Config.Hash
}

// DefaultSeedPassword is the password of seeded users unless SeedSpec.Password is set.
const DefaultSeedPassword = "Password-1"

// Seeded lists the content of a seeded database, each list in order of the names' numbers.
type Seeded struct {
	TeamIDs    []string
	ChannelIDs []string
	UserIDs    []string
	Usernames  []string
	Tokens     []string // secrets; empty without SeedSpec.Tokens
}

// Migrate makes the schema in an empty database; it does nothing to one that has it.
func Migrate(ctx context.Context, dsn string) error {
	db, eng, err := openDB(ctx, dsn, 2)
	if err != nil {
		return err
	}
	defer db.Close()
	return migrate(ctx, db, eng)
}

// Seed makes the schema and fills it by rows of many at a time: thousands of users per second, without a server.
// The database must not hold a seed already.
func Seed(ctx context.Context, dsn string, spec SeedSpec) (*Seeded, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Password == "" {
		spec.Password = DefaultSeedPassword
	}
	if spec.Hash == "" {
		spec.Hash = DefaultHash
	}
	h, err := parseHash(spec.Hash)
	if err != nil {
		return nil, err
	}
	hash, err := h.hash(spec.Password)
	if err != nil {
		return nil, err
	}
	db, eng, err := openDB(ctx, dsn, 2)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := migrate(ctx, db, eng); err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("seeding: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	s := &seeder{spec: spec, eng: eng, tx: tx, rng: rand.New(rand.NewPCG(spec.Seed, 1)), now: millis()}
	if err := s.all(ctx, hash); err != nil {
		return nil, fmt.Errorf("seeding: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("seeding: %w", err)
	}
	return &s.out, nil
}

func (p SeedSpec) check() error {
	switch {
	case min(p.Teams, p.Channels, p.Users, p.Memberships, p.Posts) < 0:
		return fmt.Errorf("seed: numbers must not be negative")
	case p.Channels > 0 && p.Teams == 0:
		return fmt.Errorf("seed: %d channels need at least 1 team", p.Channels)
	case p.Memberships > p.Channels:
		return fmt.Errorf("seed: %d memberships per user, but only %d channels", p.Memberships, p.Channels)
	case p.Posts > 0 && (p.Channels == 0 || p.Users == 0):
		return fmt.Errorf("seed: posts need channels and users")
	}
	return nil
}

type seeder struct {
	spec SeedSpec
	eng  engine
	tx   *sql.Tx
	rng  *rand.Rand
	now  int64
	out  Seeded
}

// id draws an identifier from the seed.
func (s *seeder) id() string {
	var b [16]byte
	for i := 0; i < 16; i += 8 {
		x := s.rng.Uint64()
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
	return idEncoding.EncodeToString(b[:])
}

func (s *seeder) all(ctx context.Context, hash string) error {
	spec := s.spec
	rows := s.rows(teamInsert)
	for i := range spec.Teams {
		t := &team{ID: s.id(), CreateAt: s.now, UpdateAt: s.now, Name: fmt.Sprintf("team-%d", i+1), DisplayName: fmt.Sprintf("Team %d", i+1),
			Type: "O", InviteID: s.id(), AllowOpenInvite: true}
		s.out.TeamIDs = append(s.out.TeamIDs, t.ID)
		if err := rows.add(ctx, teamValues(t)); err != nil {
			return err
		}
	}
	if err := rows.flush(ctx); err != nil {
		return err
	}
	var channels []*channel
	for i := range spec.Channels {
		c := &channel{ID: s.id(), CreateAt: s.now, UpdateAt: s.now, LastPostAt: s.now, TeamID: s.out.TeamIDs[i%spec.Teams], Type: openChannel,
			Name: fmt.Sprintf("channel-%d", i+1), DisplayName: fmt.Sprintf("Channel %d", i+1)}
		c.TotalMsgCount = int64((spec.Posts + spec.Channels - 1 - i) / spec.Channels)
		c.TotalMsgCountRoot = c.TotalMsgCount
		channels = append(channels, c)
		s.out.ChannelIDs = append(s.out.ChannelIDs, c.ID)
	}
	town := s.townSquares()
	rows = s.rows(channelInsert)
	for _, c := range slices.Concat(channels, town) {
		if err := rows.add(ctx, channelValues(c)); err != nil {
			return err
		}
	}
	if err := rows.flush(ctx); err != nil {
		return err
	}
	if err := s.users(ctx, hash); err != nil {
		return err
	}
	if err := s.members(ctx, channels, town); err != nil {
		return err
	}
	return s.posts(ctx)
}

// townSquares makes every team's default channels.
func (s *seeder) townSquares() []*channel {
	var list []*channel
	for _, id := range s.out.TeamIDs {
		for _, d := range defaultChannels {
			list = append(list, &channel{ID: s.id(), CreateAt: s.now, UpdateAt: s.now, LastPostAt: s.now, TeamID: id, Type: openChannel, Name: d.name, DisplayName: d.display})
		}
	}
	return list
}

func (s *seeder) users(ctx context.Context, hash string) error {
	rows := s.rows("INSERT INTO users (" + userInsertColumns + ") VALUES (" + marks(23) + ")")
	for i := range s.spec.Users {
		name := fmt.Sprintf("user-%d", i+1)
		u := newUser(name, name+"@example.com", hash)
		u.ID, u.CreateAt, u.UpdateAt = s.id(), s.now, s.now
		s.out.UserIDs, s.out.Usernames = append(s.out.UserIDs, u.ID), append(s.out.Usernames, name)
		if err := rows.add(ctx, userValues(u)); err != nil {
			return err
		}
	}
	if err := rows.flush(ctx); err != nil || !s.spec.Tokens {
		return err
	}
	rows = s.rows("INSERT INTO useraccesstokens (id, token, userid, description, isactive) VALUES (?,?,?,?,?)")
	for _, id := range s.out.UserIDs {
		token := newID() // a secret is not drawn from the seed
		s.out.Tokens = append(s.out.Tokens, token)
		if err := rows.add(ctx, []any{s.id(), token, id, "seeded", true}); err != nil {
			return err
		}
	}
	return rows.flush(ctx)
}

// members puts every user into every team and its default channels, and into Memberships channels that follow each
// other from the user's own place on, so that all channels get equally many members (one more or less).
func (s *seeder) members(ctx context.Context, channels, town []*channel) error {
	rows := s.rows("INSERT INTO teammembers (teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest) VALUES (?,?,?,?,?,?,?)")
	for _, u := range s.out.UserIDs {
		for _, t := range s.out.TeamIDs {
			if err := rows.add(ctx, []any{t, u, "", 0, true, false, false}); err != nil {
				return err
			}
		}
	}
	if err := rows.flush(ctx); err != nil {
		return err
	}
	rows = s.rows(memberInsert)
	for i, u := range s.out.UserIDs {
		var in []*channel
		for k := range s.spec.Memberships {
			in = append(in, channels[(i*s.spec.Memberships+k)%len(channels)])
		}
		for _, c := range slices.Concat(in, town) {
			m := newMember(c, u, false)
			m.LastViewedAt, m.LastUpdateAt = memberTime(s.now), memberTime(s.now)
			if err := rows.add(ctx, memberValues(m)); err != nil {
				return err
			}
		}
	}
	return rows.flush(ctx)
}

// posts writes the history: one second apart, the last one a second ago.
func (s *seeder) posts(ctx context.Context) error {
	rows := s.rows(postInsert)
	var b strings.Builder
	for i := range s.spec.Posts {
		b.Reset()
		for b.Len() < 190 {
			b.WriteString(seedWords[s.rng.IntN(len(seedWords))])
			b.WriteByte(' ')
		}
		at := s.now - int64(s.spec.Posts-i)*1000
		p := &post{ID: s.id(), CreateAt: at, UpdateAt: at, UserID: s.out.UserIDs[s.rng.IntN(len(s.out.UserIDs))],
			ChannelID: s.out.ChannelIDs[i%len(s.out.ChannelIDs)], Message: strings.TrimSpace(b.String())}
		if err := rows.add(ctx, postValues(p)); err != nil {
			return err
		}
	}
	return rows.flush(ctx)
}

var seedWords = strings.Fields(`about after again answer because before better bring build carry change check clear close could count
	deploy doing early enough every found friday further great group happen hello history house issue large later leave level light
	meeting might monday month morning never notes number often order other paper people place plan point problem question quick reach
	ready release report right round second server short small sound start still table team thanks their thing think today tomorrow
	under until update version water week where which while world would write`)

// rowBatch collects rows for one INSERT of many.
type rowBatch struct {
	s      *seeder
	head   string
	width  int
	args   []any
	n, max int
}

// rows begins a batch; insert is a statement for one row.
func (s *seeder) rows(insert string) *rowBatch {
	head, _, _ := strings.Cut(insert, " VALUES ")
	width := strings.Count(insert, "?")
	return &rowBatch{s: s, head: head, width: width, max: max(1, min(500, 30000/width))}
}

func (b *rowBatch) add(ctx context.Context, values []any) error {
	b.args = append(b.args, values...)
	if b.n++; b.n < b.max {
		return nil
	}
	return b.flush(ctx)
}

func (b *rowBatch) flush(ctx context.Context) error {
	if b.n == 0 {
		return nil
	}
	row := "(" + marks(b.width) + ")"
	text := rebind(b.s.eng, b.head+" VALUES "+strings.TrimSuffix(strings.Repeat(row+",", b.n), ","))
	_, err := b.s.tx.ExecContext(ctx, text, b.args...)
	b.args, b.n = b.args[:0], 0
	if err != nil {
		return fmt.Errorf("%s: %w", b.head, err)
	}
	return nil
}

// SchemaVersion is the value of the name "schema" in a database's systems table; with another version the server
// refuses it.
const SchemaVersion = schemaVersion

// HashPassword returns the value of the users table for a password. hash is as in [Config]; "" means
// DefaultHash.
func HashPassword(hash, password string) (string, error) {
	if hash == "" {
		hash = DefaultHash
	}
	h, err := parseHash(hash)
	if err != nil {
		return "", err
	}
	return h.hash(password)
}
