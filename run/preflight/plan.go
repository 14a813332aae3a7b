package preflight

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/run/users"
)

// OneRun names the only run of a plan that is carried out.
type OneRun struct {
	Arm, Engine        string
	Bounded, Unbounded bool // the tests that the run carries
}

// Users returns how many users a part of a plan may need at most.
func (pt OneRun) Users(p *plan.Plan) int {
	n := 0
	if b := p.Bounded; b != nil && pt.Bounded {
		n, _ = b.UsersFor(pt.Engine)
	}
	if u := p.Unbounded; u != nil && pt.Unbounded {
		n = max(n, u.MaxUsers)
	}
	return n
}

// An Inspection checks what can be known of a plan before work begins, on this host and by asking
// the target.
type Inspection struct {
	deploy.Resolver
	Plan *plan.Plan
	Root string  // of the store
	Part *OneRun // nil: all of the plan is carried out
	// Fleet is the address at which agents join, and Keys the file with their keys.
	Fleet users.Door
	Keys  string
	// Reached says that the series of runs are read from other hosts, or sent to them.
	Reached bool

	arms     []armTarget
	users    int // of a run, at most
	accounts *users.UsersFile
}

// Do makes the checks: a few requests that leave nothing on the target. It takes at most five
// seconds, starts nothing and writes nothing. The authority of the plan's target is one of this
// process from then on. accounts are those of the plan's users; nil where behaviors make them.
func (f *Inspection) Do(ctx context.Context) (r Result, accounts *users.UsersFile, err error) {
	f.arms = f.armsOf()
	// Connections with TLS need the authority, and secrets the references: they come before.
	first, err := Run(ctx, []Check{{Name: "files and variables", Do: f.inputs}})
	if err != nil {
		return first, f.accounts, err
	}
	checks := append(f.hostChecks(), f.addressChecks()...)
	r, err = Run(ctx, checks)
	r.Problems = slices.Concat(first.Problems, r.Problems)
	r.Cautions = slices.Concat(first.Cautions, r.Cautions)
	r.Left = slices.Concat(first.Left, r.Left)
	return r, f.accounts, err
}

// An armTarget is one variant of the target.
type armTarget struct {
	name    string // "" for the target of a plan without arms
	own     plan.Arm
	target  plan.Target
	engines []string // at least one; "" is none of ours
}

// armsOf returns the arms that are carried out.
func (f *Inspection) armsOf() (out []armTarget) {
	if f.Plan.Compare == nil {
		return []armTarget{{target: f.Plan.Target, engines: f.enginesOf("")}}
	}
	for _, a := range f.Plan.Compare.Arms {
		if f.Part == nil || f.Part.Arm == a.Name {
			out = append(out, armTarget{a.Name, a, f.Plan.Target.With(a), f.enginesOf(a.Name)})
		}
	}
	return out
}

// enginesOf returns the engines of an arm that are carried out.
func (f *Inspection) enginesOf(arm string) []string {
	if f.Part != nil {
		return []string{f.Part.Engine}
	}
	var out []string
	for _, e := range f.Plan.Database.Engine {
		if e = f.Plan.EngineOf(arm, e); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		out = []string{f.Plan.EngineOf(arm, "")}
	}
	return out
}

// at returns the key of a setting of the arm: its own, or the target's.
func (a armTarget) at(key string, own bool) string {
	if own && a.name != "" {
		return "compare.arms." + a.name + "." + key
	}
	return "target." + key
}

// urlKey is the key of the arm's addresses.
func (a armTarget) urlKey() string { return a.at("url", len(a.own.URL) > 0) }

// mostUsers returns how many users the part that is carried out has at most, and the key that says
// so.
func (f *Inspection) mostUsers() (int, string) {
	n, key := f.Plan.MostUsers()
	if f.Part == nil || !f.Part.Bounded && !f.Part.Unbounded {
		return n, key
	}
	if f.Part.Bounded {
		key = "bounded.users"
	}
	return f.Part.Users(f.Plan), key
}

// envOf returns what behaviors are given of an arm's server at an address.
func (f *Inspection) envOf(at string) workload.Env {
	secrets := f.SecretsOf(f.Plan)
	env := workload.Env{
		URL:     at,
		HTTP2:   f.Plan.Target.HTTP == plan.HTTP2,
		Seed:    f.Plan.Seed,
		Pace:    1,
		Params:  f.Params(f.Plan, secrets),
		Secret:  secrets,
		Secrets: f.Secrets,
		Timeout: Within,
		Mix:     f.Plan.Workload.ActionMix,
	}
	if a := f.accounts; a != nil {
		env.Accounts = a.Rows
	}
	return env
}

// keyRE is the beginning of an error that names a key of a plan.
var keyRE = regexp.MustCompile(
	`^((?:target|database|placement|fleet|workload|bounded|unbounded|sizing|` +
		`probes|metrics|gates|compare)(?:\.[\w-]+|\[\d+\])*): `,
)

// problem notes an error that may begin with a key; any other gets key.
func problem(log *Log, key string, err error) {
	if err == nil {
		return
	}
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		for _, one := range joined.Unwrap() {
			problem(log, key, one)
		}
		return
	}
	key, text := keyOf(key, err)
	log.Problem(key, "%s", text)
}

// keyOf returns the key that an error begins with, or the other one, and the rest of its text.
func keyOf(other string, err error) (key, text string) {
	text = err.Error()
	if m := keyRE.FindStringSubmatch(text); m != nil {
		return m[1], text[len(m[0]):]
	}
	return other, text
}
