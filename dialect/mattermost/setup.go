package mattermost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

const (
	provisionWorkers = 8 // requests at a time
	// of one request, if the plan's is shorter: a full server is not under test yet.
	provisionTimeout = 60 * time.Second
)

// setup is the state of one Provision.
type setup struct {
	context.Context // of one Provision, which this does not outlive

	env   *workload.Env
	set   settings
	token string // of the administrator, and
	admin string // its id
	// member is true if that is only a user of [workload.Env.Accounts], who makes nothing.
	member   bool
	table    *api.Table
	rec      api.Recorder
	call     time.Duration // of one request
	clock    *clock.Clock  // in whose time it counts; nil for real time
	patience *api.Patience // waits where a rate limit refuses a call; nil: the call fails
}

// setupRecorder records provisioning. Every op is due when it is sent.
type setupRecorder struct {
	rec   *measure.Recorder
	epoch time.Time
}

// Begin implements Recorder: no phase has begun.
func (r setupRecorder) Begin(measure.Name) {}

// Done implements Recorder.
func (r setupRecorder) Done(
	n measure.Name, _, sent, done time.Time, class measure.Class, bytes int64,
) time.Duration {
	at := sent.Sub(r.epoch)
	r.rec.Record(n, &measure.Op{
		Intended: at,
		Due:      at,
		Sent:     at,
		Done:     done.Sub(r.epoch),
		Class:    class,
		Bytes:    bytes,
	})
	return at
}

func newSetup(ctx context.Context, env *workload.Env, set settings) *setup {
	reg := env.Registry
	if reg == nil {
		reg = measure.NewRegistry(1) // not recorded
	}
	return &setup{
		Context: ctx, env: env, set: set, table: api.NewTable(reg, workload.Setup),
		rec: setupRecorder{reg.Recorder(0), time.Now()}, call: max(env.Timeout, provisionTimeout),
	}
}

func (s *setup) log(format string, args ...any) {
	if s.env.Log != nil {
		s.env.Log(format, args...)
	}
}

// patient makes calls wait where a rate limit refuses them.
func (s *setup) patient() { s.patience = &api.Patience{Log: s.env.Log} }

// heldUp logs the time for which a rate limit held calls up.
func (s *setup) heldUp() {
	if held, refused := s.patience.Held(); refused > 0 {
		s.log(
			"a rate limit held the preparation up for %.1f s: %d calls were refused, and repeated",
			held.Seconds(),
			refused,
		)
	}
}

func (s *setup) client(token string) (*api.Client, error) {
	return api.NewClient(api.Options{
		URL: s.env.URL, HTTP2: s.env.HTTP2, Token: token, Timeout: s.call, Clock: s.clock,
		Recorder: s.rec, Table: s.table, Secrets: s.env.Secrets,
		Patience: s.patience,
	})
}

// with runs f with a client of the administrator.
func (s *setup) with(f func(c *api.Client) error) error {
	c, err := s.client(s.token)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// asked returns the answer to one call of the administrator.
func asked[T any](
	s *setup, f func(*api.Client, context.Context) (T, error),
) (answer T, err error) {
	err = s.with(func(c *api.Client) error {
		answer, err = f(c, s)
		return err
	})
	return answer, err
}

// parallel calls f for 0 to n-1, a few at a time, each caller with its own client. It stops at the
// first error.
func (s *setup) parallel(n int, f func(ctx context.Context, c *api.Client, i int) error) error {
	ctx, cancel := context.WithCancelCause(s)
	defer cancel(nil)
	var next atomic.Int64
	take := func() int { return int(next.Add(1) - 1) }
	var wg sync.WaitGroup
	for range min(n, provisionWorkers) {
		wg.Go(func() {
			c, err := s.client(s.token)
			if err != nil {
				cancel(err)
				return
			}
			defer c.Close()
			for i := take(); i < n && ctx.Err() == nil; i = take() {
				if err := boundary.Do("preparing the server", func() error {
					return f(ctx, c, i)
				}); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// each is parallel for the elements of a list.
func each[T any](s *setup, list []T, f func(ctx context.Context, c *api.Client, v T) error) error {
	return s.parallel(len(list), func(ctx context.Context, c *api.Client, i int) error {
		return f(ctx, c, list[i])
	})
}

// status returns the status of the answer to a failed call; 0 without an answer.
func status(err error) int {
	if e, ok := errors.AsType[*api.OpError](err); ok {
		return e.Status
	}
	return 0
}

// answered reports whether err is of an operation, which is recorded already.
func answered(err error) bool {
	_, ok := errors.AsType[*api.OpError](err)
	return ok
}

// missing reports whether err means, as on the real server, that an object does not exist.
func missing(err error) bool { return status(err) == 404 }

// unauthorized reports whether the server does not accept a token or password.
func unauthorized(err error) bool { return status(err) == 401 }

// exists reports whether err means that an object exists already: another process was faster.
func exists(err error) bool {
	e, ok := errors.AsType[*api.OpError](err)
	return ok && (e.Status == 400 || e.Status == 409) && strings.Contains(e.Code, "exist")
}

// asAdmin obtains the administrator's token; on a server without accounts it creates the
// administrator.
func (s *setup) asAdmin() error {
	token := secret(s.env, "admin_token")
	password := secret(s.env, "admin_password")
	if token == "" && password == "" {
		return errors.New(
			"provisioning needs an administrator: give the secret admin_password (or admin_token)",
		)
	}
	c, err := s.client(token)
	if err != nil {
		return err
	}
	defer c.Close()
	var p api.Profile
	if token != "" {
		p, err = c.Me(s)
	} else {
		p, err = c.Login(s, s.set.admin, password)
		if unauthorized(err) {
			// On a server that has accounts it would be an ordinary one, which nobody asked for.
			if config, cerr := c.ClientConfig(s); cerr == nil && config["NoAccounts"] == "false" {
				return fmt.Errorf("logging in as administrator %s: %w; give its password, or name another with the setting admin: the server has accounts, so none is made", s.set.admin, err)
			}
			// An account that is there, and whose password differs, makes this fail too.
			if _, cerr := c.CreateUser(s, s.set.admin, mailOf(s.set.admin), password); cerr != nil {
				return fmt.Errorf("logging in as administrator %s: %w; creating it: %w", s.set.admin, err, cerr)
			}
			s.log("created the administrator %s", s.set.admin)
			p, err = c.Login(s, s.set.admin, password)
		}
	}
	if err != nil {
		return fmt.Errorf("logging in as administrator %s: %w", s.set.admin, err)
	}
	if !slices.Contains(strings.Fields(p.Roles), "system_admin") {
		return fmt.Errorf(
			"user %s is not an administrator of the server; make it one, or name another with the setting admin",
			p.Username,
		)
	}
	s.token = c.Token
	s.admin = p.ID
	return nil
}

// administered returns a setup with an administrator, for what is no part of a run.
func administered(ctx context.Context, env *workload.Env) (*setup, error) {
	set, err := parse(env.Params, env.Mix)
	if err != nil {
		return nil, err
	}
	s := newSetup(ctx, env, set)
	return s, s.asAdmin()
}

// valid reports whether a token obtained earlier still opens a session; a reset to an earlier state
// ends it.
func (s *setup) valid(token string) (bool, error) {
	_, err := s.who(token)
	if unauthorized(err) {
		return false, nil
	}
	return err == nil, err
}

// who returns the user that a token belongs to.
func (s *setup) who(token string) (p api.Profile, err error) {
	c, err := s.client(token)
	if err != nil {
		return p, err
	}
	defer c.Close()
	return c.Me(s)
}

// adminRemedy is the end of an error whose remedy is an administrator.
const adminRemedy = "or give the secret admin_password or admin_token of an administrator, who does it"

// noAdmin is the reason for objects that are missing because only an administrator uses or makes
// them.
const noAdmin = "no administrator's secret is given"

// absent completes the error of an object that only an administrator can make.
func (s *setup) absent(err error) error {
	return fmt.Errorf("%w; make it, name others with the settings team and channel, %s", err,
		adminRemedy)
}

// hasAdmin reports whether an administrator's secret is given.
func hasAdmin(env *workload.Env) bool {
	return secret(env, "admin_token") != "" || secret(env, "admin_password") != ""
}
