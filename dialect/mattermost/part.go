package mattermost

// A part names the users that a process has: those of some ranks, in whose order its lists are. A nil *part is all of
// them, by rank.
type part struct {
	ranks []int
	at    map[int]int // places by rank
}

func partOf(ranks []int) *part {
	if ranks == nil {
		return nil
	}
	p := &part{ranks: ranks, at: make(map[int]int, len(ranks))}
	for i, rank := range ranks {
		p.at[rank] = i
	}
	return p
}

// index returns the place of a rank in a list of the process, which has n entries; ok is false for the ranks of others.
func (p *part) index(rank, n int) (i int, ok bool) {
	if p == nil {
		return rank, rank < n
	}
	i, ok = p.at[rank]
	return i, ok && i < n
}

// rank is the rank of a place.
func (p *part) rank(i int) int {
	if p == nil {
		return i
	}
	return p.ranks[i]
}

// some returns the ranks among those wanted that the process has, and their places in its lists of n entries; nil for
// all that it has.
func (p *part) some(want []int, n int) (ranks, places []int) {
	for _, rank := range want {
		if i, ok := p.index(rank, n); ok {
			ranks, places = append(ranks, rank), append(places, i)
		}
	}
	return ranks, places
}

// at returns the entries of a list at places. A list that is empty stays so.
func at[T any](list []T, places []int) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(places))
	for k, i := range places {
		out[k] = list[i]
	}
	return out
}

// some returns the roster of some places, with the names of all: they are public, and users look for each other.
func (r *roster) some(places []int) *roster {
	if r == nil {
		return nil
	}
	return &roster{Rows: at(r.Rows, places), Names: r.Names, IDs: at(r.IDs, places), Open: at(r.Open, places), file: r.file}
}
