package workload

import "fmt"

// Accounts are accounts that a system has already, and that users have instead of accounts of a
// behavior's own making. Their rows are not changed after they were read, so they may be shared
// between goroutines.
type Accounts struct {
	// File is the name of the file that they are from, without its directory.
	File string
	Rows []Account

	claims map[string]string // places of rows, by the system's id of the user
}

// An Account is one row of a file of accounts. It is as secret as the password and the token in it:
// its text is the line alone.
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

// Claim notes that row i is the account of the system's user with an id, whatever its login looks
// like. It is an error that names both rows if another row is it already, also one of another
// behavior that the accounts were dealt to with these. Calls on what was dealt at once are not
// concurrent.
func (a *Accounts) Claim(i int, id string) error {
	if a.claims == nil {
		a.claims = map[string]string{}
	}
	at := a.At(i)
	if first, claimed := a.claims[id]; claimed && first != at {
		return fmt.Errorf(
			"%s: this is the account of %s too; each user needs one of its own",
			at,
			first,
		)
	}
	a.claims[id] = at
	return nil
}

// An Adopter is a [Behavior] whose users can have accounts that are there already; see
// [Env.Accounts].
type Adopter interface {
	Behavior
	// Displaced lists the settings and secrets that have no effect then.
	Displaced() []string
	// Unseen reports whether accounts are taken to be as they were when users are provisioned
	// again, after a reset, without another look at each.
	Unseen(env Env) bool
}

// Deal gives accounts to users as users are dealt to behaviors of these shares: user i has account
// i. It returns the accounts of each behavior, by rank.
func (a *Accounts) Deal(users int, shares ...float64) []*Accounts {
	of, claims := make([]*Accounts, len(shares)), map[string]string{}
	for k := range of {
		of[k] = &Accounts{File: a.File, claims: claims}
	}
	deal := NewStrata(shares...)
	for i := range users {
		k, _ := deal.Next()
		of[k].Rows = append(of[k].Rows, a.Rows[i])
	}
	return of
}
