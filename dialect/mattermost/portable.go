package mattermost

import (
	"cmp"
	"encoding/json"
	"fmt"

	"plimsoll/load/workload"
)

// personState holds the objects that Provision of a Person has found and made. Settings and mix follow
// from the plan.
type personState struct {
	Password     string             `json:"password"`
	Team         string             `json:"team"`
	Channels     []string           `json:"channels"`
	IDs          []string           `json:"ids"`
	Tokens       []string           `json:"tokens,omitempty"`
	AdminToken   string             `json:"admin_token"`
	Attribute    string             `json:"attribute,omitempty"`
	MostNotified int                `json:"most_notified"`
	Version      string             `json:"version"`
	Config       map[string]string  `json:"config"`
	License      license            `json:"license"`
	Denied       map[feature]string `json:"denied,omitempty"`
	Roster       *roster            `json:"roster,omitempty"`
	// Ranks are those of IDs, Tokens and the roster's lists, of All; nil: all of them.
	Ranks []int `json:"ranks,omitempty"`
	All   int   `json:"all,omitempty"`
}

// State implements workload.Portable. Persons of other processes are left out, but for the names of accounts that were
// there: each learns who the others are as a client does, from the server.
func (b *Person) State(ranks []int) ([]byte, error) {
	if b.facts == nil {
		return nil, fmt.Errorf("mattermost: Provision has not been called")
	}
	s := personState{b.password, b.team, b.channels, b.ids, b.tokens, b.adminToken, b.attribute, b.mostNotified,
		b.facts.version.String(), b.facts.config, b.facts.license, b.facts.denied, b.roster, nil, 0}
	if b.part != nil {
		s.Ranks, s.All = b.part.ranks, b.all
	}
	if ranks != nil {
		own, places := b.part.some(ranks, len(b.ids))
		s.IDs, s.Tokens, s.Roster, s.Ranks, s.All = at(b.ids, places), at(b.tokens, places), b.roster.some(places), own, b.count()
	}
	return json.Marshal(s)
}

// Restore implements workload.Portable.
func (b *Person) Restore(env workload.Env, state []byte) (err error) {
	var s personState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("mattermost: state of another process: %w", err)
	}
	mixName := cmp.Or(env.Mix, DefaultMix)
	if b.set, err = parse(env.Params, mixName); err != nil {
		return err
	}
	b.facts = &facts{version: parseVersion(s.Version), config: s.Config, license: s.License, denied: s.Denied}
	weights := env.Weights
	if weights == nil {
		weights = Mixes()[mixName]
	}
	if b.mix, err = newMix(weights, b.facts); err != nil {
		return err
	}
	b.password, b.team, b.channels, b.ids, b.tokens = s.Password, s.Team, s.Channels, s.IDs, s.Tokens
	b.adminToken, b.attribute, b.mostNotified, b.roster = s.AdminToken, s.Attribute, s.MostNotified, s.Roster
	if s.All > 0 {
		b.part, b.all = partOf(append([]int{}, s.Ranks...)), s.All
	}
	if n := len(b.ids); b.part != nil && n != len(b.part.ranks) || len(b.tokens) > 0 && len(b.tokens) != n || !s.Roster.whole() {
		return fmt.Errorf("mattermost: state of another process: its lists differ in length")
	}
	b.dir = b.newDirectory()
	env.Secrets.Add(s.Password, s.AdminToken)
	env.Secrets.Add(s.Tokens...)
	b.roster.hide(env)
	return nil
}

// whole reports whether the roster's lists are of the same accounts.
func (r *roster) whole() bool {
	return r == nil || len(r.IDs) == len(r.Rows) && len(r.Open) == len(r.Rows)
}

// hide adds what must not be shown of accounts to the secrets.
func (r *roster) hide(env workload.Env) {
	for i := range r.len() {
		env.Secrets.Add(r.Rows[i].Password, r.Rows[i].Token, r.Open[i])
	}
}

// posterState holds the objects that Provision of a Poster has found and made.
type posterState struct {
	Channels []string `json:"channels"`
	Token    string   `json:"token"`
	Roster   *roster  `json:"roster,omitempty"`
	Ranks    []int    `json:"ranks,omitempty"` // of the roster's lists, if it is a part
	Part     bool     `json:"part,omitempty"`
}

// State implements workload.Portable.
func (p *Poster) State(ranks []int) ([]byte, error) {
	s := posterState{p.channels, p.token, p.roster, nil, p.part != nil}
	if p.part != nil {
		s.Ranks = p.part.ranks
	}
	if ranks != nil && p.roster != nil {
		own, places := p.part.some(ranks, p.roster.len())
		s.Roster, s.Ranks, s.Part = p.roster.some(places), own, true
	}
	return json.Marshal(s)
}

// Restore implements workload.Portable.
func (p *Poster) Restore(env workload.Env, state []byte) (err error) {
	var s posterState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("poster: state of another process: %w", err)
	}
	p.channels, p.token, p.roster = s.Channels, s.Token, s.Roster
	if s.Part {
		p.part = partOf(append([]int{}, s.Ranks...))
	}
	if !s.Roster.whole() || p.part != nil && s.Roster.len() != len(p.part.ranks) {
		return fmt.Errorf("poster: state of another process: its lists differ in length")
	}
	env.Secrets.Add(s.Token)
	p.roster.hide(env)
	p.set, err = parse(env.Params, env.Mix)
	return err
}

var (
	_ workload.Portable = (*Person)(nil)
	_ workload.Portable = (*Poster)(nil)
)

// A part names the users that a process has: those of some ranks, in whose order its lists are. A nil *part is all of
// them, by rank.
type part struct {
	ranks []int
	at    map[int]int // places by rank
}

func partOf(ranks []int) *part {
	if ranks == nil {
		return nil
	}
	p := &part{ranks: ranks, at: make(map[int]int, len(ranks))}
	for i, rank := range ranks {
		p.at[rank] = i
	}
	return p
}

// index returns the place of a rank in a list of the process, which has n entries; ok is false for the ranks of others.
func (p *part) index(rank, n int) (i int, ok bool) {
	if p == nil {
		return rank, rank < n
	}
	i, ok = p.at[rank]
	return i, ok && i < n
}

// rank is the rank of a place.
func (p *part) rank(i int) int {
	if p == nil {
		return i
	}
	return p.ranks[i]
}

// some returns the ranks among those wanted that the process has, and their places in its lists of n entries; nil for
// all that it has.
func (p *part) some(want []int, n int) (ranks, places []int) {
	for _, rank := range want {
		if i, ok := p.index(rank, n); ok {
			ranks, places = append(ranks, rank), append(places, i)
		}
	}
	return ranks, places
}

// at returns the entries of a list at places. A list that is empty stays so.
func at[T any](list []T, places []int) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(places))
	for k, i := range places {
		out[k] = list[i]
	}
	return out
}

// some returns the roster of some places, with the names of all: they are public, and users look for each other.
func (r *roster) some(places []int) *roster {
	if r == nil {
		return nil
	}
	return &roster{Rows: at(r.Rows, places), Names: r.Names, IDs: at(r.IDs, places), Open: at(r.Open, places), file: r.file}
}
