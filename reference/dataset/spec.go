package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Spec sets the size of a population. [ParseSpec] and [Preset] return complete ones.
type Spec struct {
	Name string `yaml:"name" json:"name"` // label: letters, digits, dot, underscore, dash
	Seed uint64 `yaml:"seed" json:"seed"` // of every random choice; default 1
	// Name of the first team and beginning of all names; default plimsoll.
	Team  string `yaml:"team" json:"team"`
	Users int    `yaml:"users" json:"users"` // 3 to 1,000,000
	// 1 to 100; the first has all users, each further one half of the one before; default 1.
	Teams int `yaml:"teams" json:"teams"`
	// Of all types, besides two default ones per team; default 2 per user.
	Channels int `yaml:"channels" json:"channels"`
	// Share of each type of channel; default 3, 7, 15 and 75 %, as on large real servers.
	Types   Types `yaml:"types" json:"types"`
	Posts   int   `yaml:"posts" json:"posts"`     // 1 to 1,000,000,000, replies included
	History Days  `yaml:"history" json:"history"` // over how many days; default 180
	// after the last post; default 2026-06-01T00:00:00Z
	End Instant `yaml:"end" json:"end"`
	// posts that are replies, at most 80 %; default 50 %
	Replies Percent `yaml:"replies" json:"replies"`
	Reacted Percent `yaml:"reacted" json:"reacted"` // posts that have reactions; default 10 %
	Files   Percent `yaml:"files" json:"files"`     // roots that have files; default 2 %
}

// Types are the shares of the types of channels, which sum to 100 %.
type Types struct {
	Public  Percent `yaml:"public" json:"public"`
	Private Percent `yaml:"private" json:"private"`
	Group   Percent `yaml:"group" json:"group"`
	Direct  Percent `yaml:"direct" json:"direct"`
}

// A Percent is a share in millionths, written "7.5%".
type Percent int

// UnmarshalText reads "7.5%".
func (p *Percent) UnmarshalText(b []byte) error {
	f, err := strconv.ParseFloat(strings.TrimSuffix(string(b), "%"), 64)
	if err != nil || !bytes.HasSuffix(b, []byte("%")) || !(f >= 0 && f <= 100) {
		return fmt.Errorf("%q: want a percentage such as 7.5%%", b)
	}
	*p = Percent(f*10_000 + 0.5)
	return nil
}

// MarshalText writes "7.5%".
func (p Percent) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(p)/10_000, 'f', -1, 64) + "%"), nil
}

// Days are a length of time in whole days, written "180d".
type Days int

// UnmarshalText reads "180d".
func (d *Days) UnmarshalText(b []byte) error {
	n, err := strconv.Atoi(strings.TrimSuffix(string(b), "d"))
	if err != nil || !bytes.HasSuffix(b, []byte("d")) {
		return fmt.Errorf("%q: want days such as 180d", b)
	}
	*d = Days(n)
	return nil
}

// MarshalText writes "180d".
func (d Days) MarshalText() ([]byte, error) { return []byte(strconv.Itoa(int(d)) + "d"), nil }

// An Instant is a point in time in milliseconds since 1970, written as in RFC 3339.
type Instant int64

// UnmarshalText reads "2026-06-01T00:00:00Z".
func (i *Instant) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return fmt.Errorf("%q: want a time such as 2026-06-01T00:00:00Z", b)
	}
	*i = Instant(t.UnixMilli())
	return nil
}

// MarshalText writes "2026-06-01T00:00:00Z".
func (i Instant) MarshalText() ([]byte, error) {
	return []byte(time.UnixMilli(int64(i)).UTC().Format(time.RFC3339)), nil
}

// defaults returns a spec of defaults. Channels follows from Users.
func defaults() Spec {
	return Spec{
		Seed: 1, Team: "plimsoll", Teams: 1, Types: Types{30_000, 70_000, 150_000, 750_000},
		History: 180, End: Instant(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC).UnixMilli()),
		Replies: 500_000, Reacted: 100_000, Files: 20_000,
	}
}

// presets are the specs that have a name.
var presets = []string{
	"{name: tiny, users: 100, posts: 10000, channels: 400, history: 30d}",
	"{name: small, users: 1000, posts: 100000, teams: 2, history: 90d}",
	"{name: million, users: 5000, posts: 1000000, teams: 2}",
	"{name: seed-000, users: 20000, posts: 12000000, teams: 5, history: 365d}",
}

// Presets lists the names of the presets, smallest first: tiny (10 thousand posts), small (100
// thousand), million, and seed-000 (12 million, as the dumps of published performance comparisons).
func Presets() (names []string) {
	for _, text := range presets {
		s, _ := ParseSpec([]byte(text)) // they are right
		names = append(names, s.Name)
	}
	return names
}

// Preset returns the spec of that name and whether there is one.
func Preset(name string) (Spec, bool) {
	i := slices.Index(Presets(), name)
	if i < 0 {
		return Spec{}, false
	}
	s, err := ParseSpec([]byte(presets[i]))
	return s, err == nil
}

// ParseSpec reads a spec as one strict YAML document, fills in defaults and checks it.
func ParseSpec(src []byte) (Spec, error) {
	s := defaults()
	dec := yaml.NewDecoder(bytes.NewReader(src))
	dec.KnownFields(true)
	if err := dec.Decode(&s); errors.Is(err, io.EOF) {
		return Spec{}, errors.New("the spec is empty; it needs at least name, users and posts")
	} else if err != nil {
		return Spec{},
			errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "in type dataset.",
				"in a "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Spec{}, errors.New("the spec is followed by something else; write one spec per file")
	}
	if s.Channels == 0 {
		s.Channels = 2 * s.Users
	}
	return s, s.Check()
}

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	// The name and "-user-000000" must fit into 22 characters.
	teamForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,8}[a-z0-9]$`)
)

// Check reports everything that is impossible.
func (s Spec) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	between := func(what string, v, least, most int) {
		if v < least || v > most {
			bad("%s: %d is out of range; want %d to %d", what, v, least, most)
		}
	}
	if !nameForm.MatchString(s.Name) {
		bad("name: %q cannot be a name; want letters, digits, dot, underscore and dash, at most 64",
			s.Name)
	}
	if !teamForm.MatchString(s.Team) {
		bad("team: %q cannot be a team's name; want 2 to 10 lower-case letters, digits and dashes",
			s.Team)
	}
	between("users", s.Users, 3, 1_000_000)
	between("teams", s.Teams, 1, 100)
	between("channels", s.Channels, 1, 10_000_000)
	between("posts", s.Posts, 1, 1_000_000_000)
	between("history", int(s.History), 1, 3650)
	between("replies", int(s.Replies)/10_000, 0, 80)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if sum := s.Types.Public + s.Types.Private + s.Types.Group + s.Types.Direct; sum != 1_000_000 {
		got, _ := sum.MarshalText() // never fails
		bad("types: sum to %s; want 100%%", got)
	}
	if d, pairs := s.numbers()[Direct], s.Users*(s.Users-1)/2; d > pairs {
		bad(
			"channels: %d direct channels, but %d users have only %d pairs; want fewer channels or more users",
			d,
			s.Users,
			pairs,
		)
	}
	// There are larger groups too, which leaves room.
	if g, triples := s.numbers()[Group], s.Users*(s.Users-1)*(s.Users-2)/6; g > triples {
		bad(
			"channels: %d group channels are too many for %d users; want at most %d",
			g,
			s.Users,
			triples,
		)
	}
	if s.Users>>(s.Teams-1) < 3 {
		bad(
			"teams: %d are too many for %d users: each has half as many members as the one before, and at least 3",
			s.Teams,
			s.Users,
		)
	}
	// The busiest hour has 3.3 times the mean; two posts in one millisecond would have one time.
	if perDay := s.Posts / int(s.History); perDay > 8_000_000 {
		bad("posts: %d a day are more than 8,000,000; want a longer history", perDay)
	}
	// Users and channels are made in the hours before the history.
	if first := int64(1+s.History) * 24 * hourMillis; int64(s.End) < first ||
		int64(s.End) > 4_102_444_800_000 {
		least, _ := Instant(first).MarshalText() // never fails
		bad(
			"end: want a time from %s, that is %d days of history and one more after 1970 began, to 2100",
			least,
			s.History,
		)
	}
	return errors.Join(errs...)
}

// String returns the spec as YAML, complete and in one form.
func (s Spec) String() string {
	b, err := yaml.Marshal(s)
	if err != nil {
		return err.Error() // a struct of numbers and texts can always be written
	}
	return string(b)
}

// Digest is the SHA-256 of the spec and of the version of the model, in hexadecimal: equal digests
// mean equal data.
func (s Spec) Digest() string {
	sum := sha256.Sum256([]byte(modelVersion + "\n" + s.String()))
	return hex.EncodeToString(sum[:])
}

// modelVersion changes whenever the same spec gives other data; TestGolden detects that.
const modelVersion = "plimsoll dataset 1"
