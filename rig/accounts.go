package rig

import (
	"fmt"

	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
)

// CheckUsersFile reads the plan's file of accounts to its end, and returns what is wrong with it for this plan, and a
// caution about a good one; "" for none. Without such a file both are empty.
func CheckUsersFile(p *plan.Plan) (caution string, err error) {
	users, err := readUsersFile(p)
	if users != nil && users.caution != "" {
		caution = "workload.users_file: " + users.caution
	}
	return caution, err
}

// WithUsersAt returns a plan whose file of accounts is at a path of this process, with the digest of its content. One
// that cannot be read has none: who reads the accounts reports what is wrong.
func WithUsersAt(p *plan.Plan, at string) *plan.Plan {
	digest, err := workload.AccountsDigest(at)
	if err != nil {
		digest = ""
	}
	return p.WithUsersAt(at, digest)
}

// readUsers is what was read of a plan's file of accounts.
type readUsers struct {
	rows    *workload.Accounts
	of      workload.AccountFile
	caution string // about a good file
}

// readUsersFile reads as many rows of the plan's file of accounts as its tests may need. It is nil of a plan without
// such a file.
func readUsersFile(p *plan.Plan) (*readUsers, error) {
	path := p.Workload.UsersPath()
	if path == "" {
		return nil, nil
	}
	need, key := p.MostUsers()
	rows, of, err := workload.ReadAccounts(path, need)
	if err != nil {
		return nil, plan.Usagef("workload.users_file: %w", err)
	}
	if want := p.Workload.UsersDigest; want != "" && of.Digest != want {
		return nil, plan.Usagef("workload.users_file: %s has the digest %s, and the plan is of %s: put that file back, or remove users_digest and begin anew", of.Name, of.Digest, want)
	}
	if of.Rows < need {
		end := &workload.AccountError{File: of.Name, Line: of.Lines, Column: 1, Problem: fmt.Sprintf("is the end, after %d accounts; %s needs %d, one for each user", of.Rows, key, need)}
		return nil, plan.Usagef("workload.users_file: %w", end)
	}
	out := &readUsers{rows: rows, of: of}
	if of.Shared {
		out.caution = fmt.Sprintf("others than its owner may read %s; protect it (chmod 600 %s)", path, path)
	}
	return out, nil
}

// hold keeps the accounts that were read for the session's users. What they hold is a secret from then on.
func (s *Session) hold(users *readUsers) {
	if users == nil {
		return
	}
	for _, a := range users.rows.Rows {
		s.Secrets.Add(a.Password, a.Token)
	}
	s.accounts = users.rows
	s.usersFile = &record.AccountsFile{Name: users.of.Name, Rows: users.of.Rows, Digest: users.of.Digest}
}

// accountsOf is the record of the accounts that the users of a system have; nil where they were made.
func (s *Session) accountsOf(sys *deploy.System) *record.AccountsFile {
	if s.usersFile == nil {
		return nil
	}
	f := *s.usersFile
	if s.Plan.Target.Driver == plan.External && (sys.Installation == nil || !sys.Installation.Resets()) {
		return &f // nothing is reset
	}
	env := sys.Env()
	for _, part := range sys.Mix {
		if b, ok := part.Behavior.(workload.Adopter); ok && b.Unseen(env) {
			f.Unseen = true
		}
	}
	return &f
}
