package plan

// MostUsers returns the largest number of users that a test of the plan may have on any engine, and the key that sets
// it. Users who serve arrivals are not among them.
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

// WithUsersFile returns a copy of the plan with another path of its file of accounts: a plan that was run is found from
// any directory.
func (p *Plan) WithUsersFile(path string) *Plan {
	q := *p
	q.Workload.UsersFile = path
	return &q
}

// checkUsersFile checks what goes with a file of accounts; the file itself is not read here.
func (d *decoder) checkUsersFile(w Workload) {
	const path = "workload.users_file"
	switch {
	case !d.given(path) || !d.good(path):
	case w.UsersFile == "":
		d.at(path, "is empty; want the path of a file with one account a line, or remove it")
	case hasReference(w.UsersFile):
		d.at(path, "holds a reference; want the path itself, which is no secret")
	case w.Arrival != nil && d.good("workload.arrival"):
		d.at(path, "does not go with workload.arrival, whose actions are those of one bot; remove one of them")
	}
}
