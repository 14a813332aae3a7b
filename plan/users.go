package plan

import (
	"cmp"
	"errors"
	"regexp"
)

// MostUsers returns the largest number of users that a test of the plan may have on any engine, and
// the key that sets it. Users who serve arrivals are not among them.
func (p *Plan) MostUsers() (n int, key string) {
	take := func(m int, at string) {
		if m > n {
			n, key = m, at
		}
	}
	if p.Bounded != nil {
		for engine, m := range p.Bounded.Users {
			at := "bounded.users"
			if engine != "" {
				at = join(at, engine)
			}
			take(m, at)
		}
	}
	if p.Unbounded != nil {
		take(p.Unbounded.MaxUsers, "unbounded.max_users")
	}
	if p.Sizing != nil {
		for _, m := range p.Sizing.Steps {
			take(m, "sizing.steps")
		}
	}
	return n, key
}

// UsersPath returns the path of the plan's file of accounts for this process; empty without one.
func (w Workload) UsersPath() string { return cmp.Or(w.UsersAt, w.UsersFile) }

// WithUsersAt returns a copy of the plan whose file of accounts is at another path for this
// process, and has this digest unless that is empty. The path does not change the plan's digest,
// which is the same in every directory.
func (p *Plan) WithUsersAt(path, digest string) *Plan {
	q := *p
	q.Workload.UsersAt, q.Workload.UsersDigest = path, cmp.Or(q.Workload.UsersDigest, digest)
	return &q
}

// WithoutFiles returns a copy of the plan without a file of accounts, and without the path of its
// script, whose digest stays.
func (p *Plan) WithoutFiles() *Plan {
	q := *p
	q.Workload.UsersFile = ""
	q.Workload.UsersDigest = ""
	q.Workload.UsersAt = ""
	q.Workload.Script = ""
	q.Workload.ScriptAt = ""
	q.Workload.Bundle = nil
	return &q
}

var digestRE = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

var (
	usersFile = text.checked(func(s string) error {
		switch {
		case s == "":
			return errors.New(
				"is empty; want the path of a file with one account a line, or remove it",
			)
		case hasReference(s):
			return errors.New("holds a reference; want the path itself, which is no secret")
		}
		return nil
	})
	sha256Digest = text.checked(func(s string) error {
		if digestRE.MatchString(s) {
			return nil
		}
		return refuse(s, "is no digest; want sha256: and 64 hexadecimal digits, as plan print shows it, "+
			"or remove it")
	})
)

// checkUsersFile checks the settings beside a file of accounts; the file itself is not read here.
func (d *decoder) checkUsersFile(w Workload) {
	const path, digest = "workload.users_file", "workload.users_digest"
	if d.given(digest) && w.UsersFile == "" && d.good(digest, path) {
		d.at(digest, "has no effect without users_file; remove it, or name the file")
	}
	if w.UsersFile != "" && w.Arrival != nil && d.good(path, "workload.arrival") {
		d.at(path,
			"does not go with workload.arrival, whose actions are those of one bot; remove "+
				"one of them")
	}
}
