package users

import (
	"fmt"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// A UsersFile holds the first rows of a plan's file of accounts.
type UsersFile struct {
	Rows *workload.Accounts
	File record.AccountsFile
	// Caution is a remark on a valid file; empty for none.
	Caution string
}

// ReadUsersFile reads as many rows of the plan's file of accounts as its tests may need. It is nil
// of a plan without such a file. An error is one of usage.
func ReadUsersFile(p *plan.Plan) (*UsersFile, error) {
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
		return nil, plan.Usagef(
			"workload.users_file: %s has the digest %s, and the plan is of %s: "+
				"put that file back, or remove users_digest and begin anew",
			of.Name,
			of.Digest,
			want,
		)
	}
	if of.Rows < need {
		end := &workload.AccountError{
			File:   of.Name,
			Line:   of.Lines,
			Column: 1,
			Problem: fmt.Sprintf(
				"is the end, after %d accounts; %s needs %d, one for each user",
				of.Rows,
				key,
				need,
			),
		}
		return nil, plan.Usagef("workload.users_file: %w", end)
	}
	out := &UsersFile{Rows: rows,
		File: record.AccountsFile{Name: of.Name, Rows: of.Rows, Digest: of.Digest}}
	if of.Shared {
		out.Caution = fmt.Sprintf(
			"others than its owner may read %s; protect it (chmod 600 %s)",
			path,
			path,
		)
	}
	return out, nil
}

// CheckUsersFile reads the plan's file of accounts to its end, and returns its error for this plan,
// or a caution about a valid file; "" for none. Without such a file both are empty.
func CheckUsersFile(p *plan.Plan) (caution string, err error) {
	f, err := ReadUsersFile(p)
	if f != nil && f.Caution != "" {
		caution = "workload.users_file: " + f.Caution
	}
	return caution, err
}

// WithUsersAt returns a plan whose file of accounts is at a path of this process, with the digest
// of its content. A file that cannot be read has none: the reader of the accounts reports the
// error.
func WithUsersAt(p *plan.Plan, at string) *plan.Plan {
	digest, err := workload.AccountsDigest(at)
	if err != nil {
		digest = ""
	}
	return p.WithUsersAt(at, digest)
}

// Secrets returns the passwords and tokens of the accounts.
func (f *UsersFile) Secrets() (out []string) {
	for _, a := range f.Rows.Rows {
		out = append(out, a.Password, a.Token)
	}
	return out
}

// Record returns the record of the accounts in a run of a mix; nil of a nil file. env is the
// environment in which a reset was checked; reset is false where nothing is reset.
func (f *UsersFile) Record(mix []engine.Part, env workload.Env, reset bool) *record.AccountsFile {
	if f == nil {
		return nil
	}
	out := f.File
	for _, part := range mix {
		if b, ok := part.Behavior.(workload.Adopter); ok && reset && b.Unseen(env) {
			out.Unseen = true
		}
	}
	return &out
}

// OfFile describes the file of the accounts; nil of a nil file.
func (f *UsersFile) OfFile() *record.AccountsFile {
	if f == nil {
		return nil
	}
	return &f.File
}
