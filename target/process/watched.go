package process

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll/target/lab"
)

// A watchable program is one that a [lab.Crashes] can follow.
type watchable interface{ Watched() lab.Watched }

// Watched returns the programs that run now, for a [lab.Crashes]: instances, database and
// companions. They change at Reset.
func (d *deployment) Watched() []lab.Watched {
	s := d.running()
	var out []lab.Watched
	add := func(server any, role string) *lab.Watched {
		x, ok := server.(watchable)
		if !ok {
			return new(lab.Watched)
		}
		out = append(out, x.Watched())
		w := &out[len(out)-1]
		w.Role = role
		return w
	}
	add(s.proxy, proxyRole)
	for i, p := range s.procs {
		w := lab.Watched{PID: p.PID(), Done: p.Done(), Err: p.Err, Tail: p.Tail}
		if x, ok := p.(watchable); ok {
			w = x.Watched()
		}
		w.Role, w.Name = "app", fmt.Sprintf("app-%d", i)
		out = append(out, w)
	}
	add(s.db, "db")
	for i, r := range s.replicas {
		add(r, replicaRole).Name = replicaName(i)
	}
	for _, role := range slices.Sorted(maps.Keys(s.companions)) {
		add(s.companions[role], role)
	}
	return out
}

// Hide takes the secrets that were given to the programs out of a text of theirs.
func (d *deployment) Hide(text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hide(text)
}
