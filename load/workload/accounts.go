package workload

import "fmt"

// Accounts are accounts that a system has already, and that users have instead of accounts of a behavior's own making.
// They are not changed after they were read, so they may be shared between goroutines.
type Accounts struct {
	// File is the name of the file that they are from, without its directory.
	File string
	Rows []Account
}

// An Account is one row of a file of accounts. It is as secret as the password and the token in it: its text is the
// line alone.
type Account struct {
	// Login is a user name or an address of mail; it may be empty with a Token.
	Login string `json:"login,omitempty"`
	// Password is empty only with a Token.
	Password string `json:"password,omitempty"`
	// Token opens sessions without a login; "" if there is none.
	Token string `json:"token,omitempty"`
	// Line of the file, from 1.
	Line int `json:"line"`
}

// String returns the line.
func (a Account) String() string { return fmt.Sprintf("line %d", a.Line) }

// GoString returns the line too, so that no format shows a secret.
func (a Account) GoString() string { return a.String() }

// At names the place of row i: "users.csv:12".
func (a *Accounts) At(i int) string { return fmt.Sprintf("%s:%d", a.File, a.Rows[i].Line) }

// An Adopter is a [Behavior] whose users can have accounts that are there already; see [Env.Accounts].
type Adopter interface {
	Behavior
	// Displaced lists the settings and secrets that have no effect then.
	Displaced() []string
}

// Deal gives accounts to users as users are dealt to behaviors of these shares: user i has account i. It returns those
// of each behavior, by rank.
func (a *Accounts) Deal(users int, shares ...float64) []*Accounts {
	of := make([]*Accounts, len(shares))
	for k := range of {
		of[k] = &Accounts{File: a.File}
	}
	deal := NewStrata(shares...)
	for i := range users {
		k, _ := deal.Next()
		of[k].Rows = append(of[k].Rows, a.Rows[i])
	}
	return of
}
