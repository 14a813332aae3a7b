package mattermost

import (
	"context"

	"plimsoll/dialect/mattermost/api"
)

// newcomer reports whether the person with this rank has no account before the run: dealt, so that any stretch of
// persons has the requested share.
func (b *Person) newcomer(rank int) bool {
	return int(float64(rank+1)*b.set.signUp+1e-9) > int(float64(rank)*b.set.signUp+1e-9)
}

// present returns the identifiers of the persons that have an account before the run.
func (b *Person) present() []string {
	var ids []string
	for _, id := range b.ids {
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// signUp is a newcomer's beginning: it makes its account, opens a session, and joins the team and its channels. An
// account that an earlier run has left is used.
func (a *person) signUp(ctx context.Context) error {
	name := personName(a.b.set.users, a.u.Rank)
	if _, err := a.c.CreateUser(ctx, name, mailOf(name), a.b.password); err != nil && !exists(err) {
		return err
	}
	p, err := a.c.Login(ctx, name, a.b.password)
	if err != nil {
		return err
	}
	if err := a.c.JoinTeam(ctx, a.b.team, p.ID); err != nil {
		return err
	}
	for _, k := range a.b.channelsOf(a.u.Rank) {
		if err := a.c.JoinChannel(ctx, a.b.channels[k], p.ID); err != nil {
			return err
		}
	}
	a.is(p)
	return nil
}

// is remembers which account is the person's.
func (a *person) is(p api.Profile) {
	a.id, a.self = p.ID, a.b.dir.profile(api.ParseID(p.ID), p.Username)
}
