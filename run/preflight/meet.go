package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/target"
)

// meetTime bounds every question to a server before there is a plan.
const meetTime = 5 * time.Second

// A Met is a server that has been asked what it is.
type Met struct {
	Address string // as CheckServer wants it, without a slash at its end
	Dialect *dialect.Dialect
	Version string // as the server reports it; "" if it does not
}

// String returns the server in words, such as "a chat server, version 11.0.0".
func (m *Met) String() string {
	if m.Version == "" {
		return m.Dialect.Title
	}
	return m.Dialect.Title + ", version " + m.Version
}

// Meet asks the server at an address, for at most five seconds, which of the program's dialects it
// speaks, in their order. Nobody logs in. ca is the file of a private authority that signed its
// certificate, or "".
func Meet(ctx context.Context, r *deploy.Resolver, at, ca string) (*Met, error) {
	if err := named(at, ca); err != nil {
		return nil, err
	}
	m := &Met{Address: strings.TrimRight(at, "/")}
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		meetTime,
		fmt.Errorf("no answer within %v", meetTime),
	)
	defer cancel()
	var errs []error
	for _, d := range r.Dialects {
		if d.Any {
			continue
		}
		version, err := ask(ctx, d, workload.Env{
			URL:     m.Address,
			Timeout: meetTime,
			Secrets: r.Secrets,
		})
		if err == nil {
			m.Dialect, m.Version = d, version
			return m, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			errs = append(errs, cause)
			break
		}
		errs = append(errs, fmt.Errorf("as %s: %w", d.Title, err))
	}
	return nil, fmt.Errorf(
		"asking %s what it is, %w",
		target.Shown(m.Address),
		errors.Join(errs...),
	)
}

// named checks an address, and trusts the authority of its certificate, as a command line has them.
func named(at, ca string) error {
	if err := plan.CheckServer(at); err != nil {
		return plan.UsageError{Err: err}
	}
	if ca == "" {
		return nil
	}
	if err := Trust(ca); err != nil {
		return plan.Usagef("-ca: %w", err)
	}
	return nil
}

// Reach is [Meet] of any server: one answer is enough. It returns the address.
func Reach(ctx context.Context, at, ca string) (string, error) {
	if err := named(at, ca); err != nil {
		return "", err
	}
	at = strings.TrimRight(at, "/")
	if err := target.Ready(ctx, target.Join(at, target.AnyAnswer)); err != nil {
		return "", fmt.Errorf("%s: %w", target.Shown(at), err)
	}
	return at, nil
}

// ask asks a server for its version in a dialect, or whether it is ready where the dialect has no
// versions: of one without a driver every answer is.
func ask(ctx context.Context, d *dialect.Dialect, env workload.Env) (version string, err error) {
	if d.Release == nil {
		ready := target.AnyAnswer
		if len(d.Drivers) > 0 {
			ready = d.Drivers[0].Ready
		}
		return "", target.Ready(ctx, target.Join(env.URL, ready))
	}
	names, err := d.Release(ctx, env)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// Obstacles reads the settings of a server that matter to a run of so many users, as the
// administrator of that login name; "" is the dialect's usual one. A server without accounts gets
// this administrator.
func (m *Met) Obstacles(
	ctx context.Context,
	r *deploy.Resolver,
	admin string,
	users int,
) ([]dialect.Obstacle, error) {
	if m.Dialect.Obstacles == nil {
		return nil, nil
	}
	p := &plan.Plan{Target: plan.Target{Driver: plan.External}}
	env := workload.Env{
		URL:     m.Address,
		Timeout: meetTime,
		Params:  map[string]string{},
		Secret:  r.SecretsOf(p),
		Secrets: r.Secrets,
	}
	if admin != "" {
		env.Params["admin"] = admin
	}
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		2*meetTime,
		fmt.Errorf("no answer within %v", 2*meetTime),
	)
	defer cancel()
	list, err := m.Dialect.Obstacles(ctx, env, users)
	if err != nil {
		err = fmt.Errorf(
			"asking %s as its administrator: %w",
			target.Shown(m.Address),
			cmp.Or(context.Cause(ctx), err),
		)
	}
	return list, err
}
