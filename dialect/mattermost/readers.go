package mattermost

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// reader names the person as a reader of a channel for the audit. Open channels need none: an
// administrator reads them on every release. Direct and group channels are closed to administrators
// who are not members on releases of the 9.x line: seen on 9.11.
func (a *person) reader(ch *channel) string {
	if ch.kind == 'O' {
		return ""
	}
	return strconv.Itoa(a.u.Rank)
}

// readers opens sessions of persons for the audit. It is safe for concurrent use.
type readers struct {
	credentials func(rank int) (login, password string)
	have        func(rank int) string // a session that the person has, or ""

	mu     sync.Mutex
	opened map[string]string // by reader
}

// newReaders returns the readers that provisioning makes by prefix, without sessions.
func newReaders(env *workload.Env, set settings) *readers {
	password := personPassword(env)
	return &readers{
		credentials: func(rank int) (login, secret string) {
			return personName(set.users, rank), password
		},
		have:   func(int) string { return "" },
		opened: map[string]string{},
	}
}

// session gives a client the session of a reader: a known one or, with anew, one opened with the
// password.
func (r *readers) session(ctx context.Context, c *api.Client, reader string, anew bool) error {
	rank, err := strconv.Atoi(reader)
	if err != nil || rank < 0 {
		return fmt.Errorf("%w: no person %q", errRefused, reader)
	}
	r.mu.Lock()
	token := r.opened[reader]
	r.mu.Unlock()
	if token == "" {
		token = r.have(rank)
	}
	if token != "" && !anew {
		c.SetToken(token)
		return nil
	}
	login, password := r.credentials(rank)
	if login == "" {
		return fmt.Errorf(
			"%w: no login of person %q is known: it has a token alone, or the account is another behavior's",
			errRefused,
			reader,
		)
	}
	if _, err := workload.Again(ctx, refused, func() (api.Profile, error) {
		return c.Login(ctx, login, password)
	}); err != nil {
		return err
	}
	r.mu.Lock()
	r.opened[reader] = c.Token
	r.mu.Unlock()
	return nil
}

var errRefused = errors.New("refused")

// refused reports whether the caller has no session or no permission.
func refused(err error) bool {
	return unauthorized(err) || status(err) == 403 || errors.Is(err, errRefused)
}
