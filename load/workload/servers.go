package workload

// Of returns the environment of user u, whose URL leads to the user's own server: the r-th user
// of a behavior has the server number r modulo their number, and the next behavior begins with the
// next server. So every server has its part of every behavior, on any number of agents.
func (e Env) Of(u *User) Env { return e.at(u.Rank + u.Class) }

// OfArrival returns the environment of a user who serves arrivals like the k-th: [Env.Server] is
// its server.
func (e Env) OfArrival(k int64) Env { return e.at(e.Server(k)) }

// Server returns the number of the server that arrival k goes to: the servers have the arrivals in
// turn.
func (e Env) Server(k int64) int {
	if len(e.URLs) == 0 {
		return 0
	}
	return int(k % int64(len(e.URLs)))
}

func (e Env) at(i int) Env {
	if len(e.URLs) > 0 {
		e.URL = e.URLs[i%len(e.URLs)]
	}
	return e
}

// Parts returns the ranks of the users of each agent in each behavior, when so many users are
// dealt. Where an agent has none, the list is empty and not nil.
func Parts(users int, d *Deal, shares ...float64) [][][]int {
	out := make([][][]int, d.agents)
	for k := range out {
		out[k] = make([][]int, len(shares))
		for c := range shares {
			out[k][c] = []int{}
		}
	}
	deal := NewStrata(shares...)
	for i := range users {
		class, rank := deal.Next()
		agent, _ := d.Of(i)
		list := &out[agent][class]
		*list = append(*list, rank)
	}
	return out
}

// Spread returns how many of the first users of a mix each of n servers has. shares are those of
// the behaviors.
func Spread(users, n int, shares ...float64) []int {
	out := make([]int, n)
	deal := NewStrata(shares...)
	for range users {
		class, rank := deal.Next()
		out[(rank+class)%n]++
	}
	return out
}
