package rig

import (
	"fmt"

	"plimsoll/internal/plain"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/record"
)

// CheckUsersFile reads the plan's file of accounts to its end, and returns what is wrong with it for this plan, and a
// caution about a good one; "" for none. Without such a file both are empty.
func CheckUsersFile(p *plan.Plan) (caution string, err error) {
	_, _, caution, err = readUsersFile(p)
	return caution, err
}

// readUsersFile reads as many rows of the plan's file of accounts as its tests may need.
func readUsersFile(p *plan.Plan) (rows *workload.Accounts, of workload.AccountFile, caution string, err error) {
	path := p.Workload.UsersFile
	if path == "" {
		return nil, of, "", nil
	}
	need, key := p.MostUsers()
	if rows, of, err = workload.ReadAccounts(path, need); err != nil {
		return nil, of, "", plan.Usagef("workload.users_file: %w", err)
	}
	if of.Rows < need {
		end := &workload.AccountError{File: of.Name, Line: of.Lines, Column: 1, Problem: fmt.Sprintf("is the end, after %d accounts; %s needs %d, one for each user", of.Rows, key, need)}
		return nil, of, "", plan.Usagef("workload.users_file: %w", end)
	}
	if of.Shared {
		caution = fmt.Sprintf("workload.users_file: others than its owner may read %s; protect it (chmod 600 %s)", path, path)
	}
	return rows, of, caution, nil
}

// readAccounts reads the accounts of the session's users. What they hold is a secret from then on.
func (s *Session) readAccounts() error {
	rows, of, caution, err := readUsersFile(s.Plan)
	if err != nil || rows == nil {
		return err
	}
	for _, a := range rows.Rows {
		s.Secrets.Add(a.Password, a.Token)
	}
	if caution != "" {
		plain.Fprintf(s.Warn, "plimsoll: warning: %s\n", caution)
	}
	s.accounts = rows
	s.usersFile = &record.AccountsFile{Name: of.Name, Rows: of.Rows, Digest: of.Digest}
	return nil
}
