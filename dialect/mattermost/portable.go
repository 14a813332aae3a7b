package mattermost

import (
	"encoding/json"
	"errors"
	"fmt"

	"plimsoll/load/workload"
)

// State implements workload.Portable. Persons of other processes are left out, but for the names of
// a file's accounts: each process learns who the others are as a client does, from the server.
func (b *Person) State(ranks []int) ([]byte, error) {
	if b.Version == (version{}) {
		return nil, errors.New("mattermost: Provision has not been called")
	}
	state := b.found
	if ranks != nil {
		state.accounts = b.part(ranks)
	}
	return json.Marshal(&state)
}

// Restore implements workload.Portable.
func (b *Person) Restore(env workload.Env, state []byte) (err error) {
	if err := json.Unmarshal(state, &b.found); err != nil {
		return fmt.Errorf("mattermost: state of another process: %w", err)
	}
	if err := b.restored(env); err != nil {
		return fmt.Errorf("mattermost: %w", err)
	}
	env.Secrets.Add(b.Password, b.AdminToken, b.Webhook, b.Bot.Token)
	if b.set, err = parse(env.Params, env.Mix); err != nil {
		return err
	}
	if err := b.choose(&env); err != nil {
		return err
	}
	b.dir = newDirectory()
	b.learnNames()
	return nil
}

// State implements workload.Portable.
func (p *Poster) State(ranks []int) ([]byte, error) {
	state := p.posting
	if ranks != nil && p.ofFile() {
		state.accounts = p.part(ranks)
	}
	return json.Marshal(&state)
}

// Restore implements workload.Portable.
func (p *Poster) Restore(env workload.Env, state []byte) (err error) {
	if err := json.Unmarshal(state, &p.posting); err != nil {
		return fmt.Errorf("poster: state of another process: %w", err)
	}
	if err := p.restored(env); err != nil {
		return fmt.Errorf("poster: %w", err)
	}
	env.Secrets.Add(p.Token)
	p.set, err = parse(env.Params, env.Mix)
	return err
}

var (
	_ workload.Portable = (*Person)(nil)
	_ workload.Portable = (*Poster)(nil)
)
