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
}

// State implements workload.Portable.
func (b *Person) State() ([]byte, error) {
	if b.facts == nil {
		return nil, fmt.Errorf("mattermost: Provision has not been called")
	}
	return json.Marshal(personState{b.password, b.team, b.channels, b.ids, b.tokens, b.adminToken, b.attribute, b.mostNotified,
		b.facts.version.String(), b.facts.config, b.facts.license, b.facts.denied, b.roster})
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
	b.dir = b.newDirectory()
	env.Secrets.Add(s.Password, s.AdminToken)
	env.Secrets.Add(s.Tokens...)
	b.roster.hide(env)
	return nil
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
}

// State implements workload.Portable.
func (p *Poster) State() ([]byte, error) {
	return json.Marshal(posterState{p.channels, p.token, p.roster})
}

// Restore implements workload.Portable.
func (p *Poster) Restore(env workload.Env, state []byte) (err error) {
	var s posterState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("poster: state of another process: %w", err)
	}
	p.channels, p.token, p.roster = s.Channels, s.Token, s.Roster
	env.Secrets.Add(s.Token)
	p.roster.hide(env)
	p.set, err = parse(env.Params, env.Mix)
	return err
}

var (
	_ workload.Portable = (*Person)(nil)
	_ workload.Portable = (*Poster)(nil)
)
