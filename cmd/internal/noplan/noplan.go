// Package noplan makes the plan of a test that begins with the address of a server in place of a
// plan: it identifies the server, finds the administrator's account, and lets package draft write
// the plan, which is then parsed and checked like any other. It starts no test.
package noplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"plimsoll/cmd/internal/ask"
	"plimsoll/dialect"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/plan/draft"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
)

// The variables of the environment with the administrator's account.
const (
	adminName     = "PLIMSOLL_ADMIN"
	adminPassword = "PLIMSOLL_ADMIN_PASSWORD"
	adminToken    = "PLIMSOLL_ADMIN_TOKEN"
)

// A Request is a command line that names an address.
type Request struct {
	Question draft.Question
	Address  string
	Users    int // 0: the usual number
	Flags    *Flags
	Program  *session.Program
	Known    plan.Known
	Person   *ask.Person // who is asked for an account that the environment lacks
	Talk     io.Writer
	// Complete reads the files that a plan in a file names.
	Complete func(p *plan.Plan, file string) (*plan.Plan, error)
}

// Make returns the plan, and the environment with the account that the person has given. It returns
// the error of a server that would stop the test.
func (r *Request) Make(ctx context.Context) (*plan.Plan, func(string) string, error) {
	f, err := r.facts()
	if err != nil {
		return nil, nil, err
	}
	if f.Script == "" {
		err = r.meet(ctx, &f)
	} else { // which alone speaks with the server
		f.URL, err = preflight.Reach(ctx, f.URL, f.CA)
	}
	if err != nil {
		return nil, nil, err
	}
	text, p, err := r.compose(f)
	if err != nil {
		return nil, nil, err
	}
	return p, r.Program.Env, Save(*r.Flags.save, text)
}

// compose writes the plan and completes it. A script whose options say how many users there are and
// how long has its test from them, unless the command line says either.
func (r *Request) compose(f draft.Facts) (text string, p *plan.Plan, err error) {
	if f.Script != "" && f.Question == draft.Hold && r.Users == 0 && *r.Flags.length == 0 {
		shaped := f
		shaped.Shaped = true
		text = shaped.YAML()
		if p, err = r.Known.Parse([]byte(text)); err == nil {
			p, err = r.Complete(p, *r.Flags.save)
		}
		if err != nil || p.HasTest() {
			return text, p, err
		}
	}
	if text, p, err = Compose(f, r.Known, r.Program.Dialects); err == nil {
		p, err = r.Complete(p, *r.Flags.save)
	}
	return text, p, err
}

// meet asks the server what it is, and what its users need.
func (r *Request) meet(ctx context.Context, f *draft.Facts) error {
	met, err := preflight.Meet(ctx, &r.Program.Resolver, f.URL, f.CA)
	if err != nil {
		return err
	}
	f.URL, f.What = met.Address, met.String()
	plain.Fprintf(r.Talk, "%s is %s\n", f.URL, f.What)
	if err := r.choose(met.Dialect, f); err != nil {
		return err
	}
	if err := r.account(ctx, met.Dialect, f); err != nil {
		return err
	}
	return r.fit(ctx, met, f)
}

// facts returns the facts of the command line.
func (r *Request) facts() (draft.Facts, error) {
	usual, least := r.Question.Length()
	f := draft.Facts{
		Question: r.Question,
		File:     cmp.Or(*r.Flags.save, "plan.yaml"),
		URL:      URL(r.Address),
		CA:       *r.Flags.ca,
		Behavior: *r.Flags.behavior,
		Script:   Beside(*r.Flags.script, *r.Flags.save),
		Users:    r.Users,
		Length:   cmp.Or(*r.Flags.length, usual),
		Params:   map[string]string{},
	}
	switch {
	case planFile.MatchString(f.URL):
		return f, plan.Usagef("%s is the address of a file; download it, and name the file", f.URL)
	case f.Script != "" && f.Behavior != "":
		return f, plan.Usagef("-script and -behavior: users follow one of them; remove the other")
	case r.Users < 0:
		return f, plan.Usagef("-users %d: want a number above 0", r.Users)
	case f.Length < least:
		return f, plan.Usagef("-for %v: want at least %v", f.Length, least)
	}
	if *r.Flags.save != "" {
		return f, Free(*r.Flags.save)
	}
	return f, nil
}

// choose sets the behavior: the dialect's behavior of weighted actions, or else its first one.
func (r *Request) choose(d *dialect.Dialect, f *draft.Facts) error {
	f.Behavior = Behavior(d, f.Behavior)
	if _, err := d.Behaviors.New(f.Behavior); err != nil {
		return plan.Usagef("-behavior: %w", err)
	}
	return nil
}

// account finds the administrator, if the dialect has one.
func (r *Request) account(ctx context.Context, d *dialect.Dialect, f *draft.Facts) error {
	if _, needed := d.Settings.Secrets["admin_password"]; !needed {
		return nil
	}
	env := r.Program.Env
	name := env(adminName)
	if env(adminToken) == "" && env(adminPassword) == "" {
		if !r.Person.There() {
			return plan.Usagef(
				"the test makes its accounts on %s as the administrator: set %s, or %s and, unless it is the usual one, the login name in %s",
				f.URL,
				adminToken,
				adminPassword,
				adminName,
			)
		}
		var err error
		if name == "" {
			name, err = r.Person.Line(
				ctx,
				"login name of the administrator",
				usualAdmin,
				func(string) error {
					return nil
				},
			)
		}
		if err != nil {
			return err
		}
		password, err := r.Person.Secret(ctx, "password of "+name)
		if err != nil {
			return err
		}
		r.Program.Secrets.Add(password)
		r.Program.Env = func(key string) string {
			if key == adminPassword {
				return password
			}
			return env(key)
		}
	}
	if name != "" && name != usualAdmin {
		f.Params["admin"] = name
	}
	return nil
}

// usualAdmin is the login name that a dialect has in mind where nobody names another.
const usualAdmin = "sysadmin"

// fit reads the server's limits, and lowers the number of users to them unless the command line
// sets it.
func (r *Request) fit(ctx context.Context, met *preflight.Met, f *draft.Facts) error {
	users := cmp.Or(f.Users, f.Question.Usual())
	list, err := met.Obstacles(
		ctx,
		&r.Program.Resolver,
		f.Params["admin"],
		max(users, f.Question.Most(users)),
	)
	if err != nil {
		return fmt.Errorf("%w (%s sets the login name)", err, adminName)
	}
	for _, o := range list {
		switch {
		case !o.Stops:
		case o.Most == 0 || o.Most < r.Users:
			return plan.Usagef("%s would stop the test: %v", f.URL, o)
		case f.Most == 0 || o.Most < f.Most:
			f.Most, f.Limit = o.Most, fmt.Sprintf("%s is %s", o.Setting, o.Value)
		}
	}
	if f.Most > 0 {
		plain.Fprintf(
			r.Talk,
			"at most %d users, because %s; raise it there for more\n",
			f.Most,
			f.Limit,
		)
	}
	return nil
}

// Behavior returns the behavior of that name, or the usual one of the dialect if it is empty.
func Behavior(d *dialect.Dialect, name string) string {
	if name = cmp.Or(name, d.Weighted); name != "" {
		return name
	}
	names := slices.Sorted(maps.Keys(d.Behaviors))
	return strings.Join(names[:min(1, len(names))], "")
}

// Compose writes the plan with the rules that it would have without any, so that a person sees and
// can change them.
func Compose(
	f draft.Facts,
	known plan.Known,
	of dialect.Set,
) (text string, p *plan.Plan, err error) {
	text = f.YAML()
	if p, err = known.Parse([]byte(text)); err != nil {
		return text, nil, plain.Below(err, "the plan of this test is no good plan")
	}
	for _, rule := range rules(f.Question, p, of) {
		f.Rules = append(f.Rules, rule.Source)
	}
	text = f.YAML()
	if p, err = known.Parse([]byte(text)); err != nil {
		err = plain.Below(err, "the plan of this test is no good plan")
	}
	return text, p, err
}

// rules returns the rules that the program gives a plan without any. A test of some users also has
// the latency rules of a search, so that both call the same number of users supported.
func rules(q draft.Question, p *plan.Plan, of dialect.Set) (out []plan.SLO) {
	searched := *p
	if p.Unbounded == nil {
		searched.Unbounded = &plan.Unbounded{MaxUsers: 1}
	}
	search := of.WithDefaultRules(&searched).Unbounded.SLO
	switch q {
	case draft.Supported:
		return search
	case draft.Graded, draft.Changed:
	case draft.Hold:
		out = slices.DeleteFunc(search, func(r plan.SLO) bool { return r.Unit != "s" })
		return append(out, of.WithDefaultRules(p).Bounded.SLO...)
	}
	return nil
}

// Free refuses to overwrite a file.
func Free(name string) error {
	if _, err := os.Lstat(name); err == nil {
		return plan.UsageError{Err: taken(name)}
	}
	return nil
}

// Save writes a plan to a new file; "" is none.
func Save(name, text string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		err = taken(name)
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

func taken(name string) error { return fmt.Errorf("%s is there already; name a new file", name) }
