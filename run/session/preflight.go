package session

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"

	"plimsoll/internal/plain"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/preflight"
	"plimsoll/run/users"
)

// A Clearance is what a program's preflight needs besides the plan, and whether there was one. The
// program carries it out once.
type Clearance struct {
	// Source is the text of the plan's file, for the places of problems; nil where there is none.
	Source []byte
	// Part is the only part of the plan that is carried out; nil means all of it.
	Part *RunPart

	done     bool
	accounts *users.UsersFile
}

// Preflight checks what can be known of a plan before work begins, on this host and by asking the
// target: a few requests that leave nothing there. It takes at most five seconds, starts nothing and
// writes nothing. The authority of the plan's target is one of this process from then on.
func (pr *Program) Preflight(ctx context.Context, p *plan.Plan, root string) (preflight.Result, error) {
	pr.clearance().done = true
	f := &flight{Program: pr, p: p, root: root, part: pr.clearance().Part}
	f.arms = f.armsOf()
	var first preflight.Result
	// Connections with TLS need the authority, and secrets the references: they come before.
	first, err := preflight.Run(ctx, []preflight.Check{{Name: "files and variables", Do: f.inputs}})
	if err != nil {
		return first, err
	}
	checks := append(f.hostChecks(), f.addressChecks()...)
	r, err := preflight.Run(ctx, checks)
	r.Problems = slices.Concat(first.Problems, r.Problems)
	r.Cautions = slices.Concat(first.Cautions, r.Cautions)
	r.Left = slices.Concat(first.Left, r.Left)
	return r, err
}

// preflight is [Program.Preflight] of a verb that carries a plan out: problems are its error, and the
// rest is told. A program that another of ours started after its own preflight only reads the accounts.
func (pr *Program) preflight(ctx context.Context, p *plan.Plan, root string) (err error) {
	if pr.clearance().done {
		return nil
	}
	if sandbox.Inside(pr.Env) {
		pr.clearance().accounts, err = users.ReadUsersFile(p)
		return err
	}
	r, err := pr.Preflight(ctx, p, root)
	if err != nil {
		return err
	}
	pr.Tell(r)
	if len(r.Problems) > 0 {
		return pr.Grounded(r, "the plan %s cannot be carried out here", p.Name)
	}
	return nil
}

// Tell writes the cautions of a preflight, and what it left out.
func (pr *Program) Tell(r preflight.Result) {
	for _, c := range plan.Located(pr.clearance().Source, r.Cautions).Problems {
		plain.Fprintf(pr.Warn, "plimsoll: warning: %s\n", c)
	}
	for _, what := range r.Left {
		plain.Fprintf(pr.Warn, "plimsoll: warning: not checked in time: %s\n", what)
	}
}

// Grounded returns the problems of a preflight as bad usage, each at its place in the plan, below a line
// of a format and its arguments.
func (pr *Program) Grounded(r preflight.Result, format string, args ...any) error {
	return plan.UsageError{Err: plain.Below(plan.Located(pr.clearance().Source, r.Problems), format, args...)}
}

// clearance returns that of the program, which has one from then on.
func (pr *Program) clearance() *Clearance {
	if pr.Clearance == nil {
		pr.Clearance = new(Clearance)
	}
	return pr.Clearance
}

// A flight is one preflight.
type flight struct {
	*Program
	p     *plan.Plan
	root  string
	part  *RunPart
	arms  []flightArm
	users int // of a run, at most
}

// A flightArm is one variant of the target.
type flightArm struct {
	name    string // "" for the target of a plan without arms
	own     plan.Arm
	target  plan.Target
	engines []string // at least one; "" is none of ours
}

// armsOf returns the arms that are carried out.
func (f *flight) armsOf() (out []flightArm) {
	if f.p.Compare == nil {
		return []flightArm{{target: f.p.Target, engines: f.enginesOf("")}}
	}
	for _, a := range f.p.Compare.Arms {
		if f.part == nil || f.part.Arm == a.Name {
			out = append(out, flightArm{a.Name, a, f.p.Target.With(a), f.enginesOf(a.Name)})
		}
	}
	return out
}

// enginesOf returns the engines of an arm that are carried out.
func (f *flight) enginesOf(arm string) []string {
	if f.part != nil {
		return []string{f.part.Engine}
	}
	var out []string
	for _, e := range f.p.Database.Engine {
		if e = f.p.EngineOf(arm, e); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		out = []string{f.p.EngineOf(arm, "")}
	}
	return out
}

// at returns the key of a setting of the arm: its own, or that of the target.
func (a flightArm) at(key string, own bool) string {
	if own && a.name != "" {
		return "compare.arms." + a.name + "." + key
	}
	return "target." + key
}

// urlKey is the key of the arm's addresses.
func (a flightArm) urlKey() string { return a.at("url", len(a.own.URL) > 0) }

// behaviors returns the names of those of the plan, sorted.
func (f *flight) behaviors() []string { return slices.Sorted(maps.Keys(f.p.Workload.Mix())) }

// mostUsers returns how many users the part that is carried out has at most, and the key that says so.
func (f *flight) mostUsers() (int, string) {
	n, key := f.p.MostUsers()
	if f.part == nil || !f.part.Bounded && !f.part.Unbounded {
		return n, key
	}
	if f.part.Bounded {
		key = "bounded.users"
	}
	s := &Session{Plan: f.p}
	return s.Users(*f.part), key
}

// envOf is what behaviors are given of an arm's server at an address.
func (f *flight) envOf(at string) workload.Env {
	secrets := f.SecretsOf(f.p)
	env := workload.Env{
		URL: at, HTTP2: f.p.Target.HTTP == plan.HTTP2, Seed: f.p.Seed, Pace: 1, Params: f.Params(f.p, secrets),
		Secret: secrets, Secrets: f.Secrets, Timeout: preflight.Within, Mix: f.p.Workload.ActionMix,
	}
	if a := f.clearance().accounts; a != nil {
		env.Accounts = a.Rows
	}
	return env
}

// keyRE is the beginning of an error that names a key of a plan.
var keyRE = regexp.MustCompile(`^((?:target|database|placement|fleet|workload|bounded|unbounded|sizing|` +
	`probes|metrics|gates|compare)(?:\.[\w-]+|\[\d+\])*): `)

// problem notes an error that may begin with a key; key is that of any other.
func problem(log *preflight.Log, key string, err error) {
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
