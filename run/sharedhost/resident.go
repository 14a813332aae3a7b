package sharedhost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// Clues lead to the processes of a target of others.
type Clues struct {
	URLs []string // of all instances
	URL  string   // of the instance, or the proxy, that gets the requests
	// Ready is the URL, or path, of the page that reports that it is ready; empty for the page at
	// URL.
	Ready string
	// Named holds the processes that the plan names, by role. They have no other role.
	Named map[string][]int
}

// A Resident is the part of a target of others that runs on this host. The zero Resident has found
// nothing, and so has a nil one. It is for one goroutine at a time.
type Resident struct {
	at        []netip.AddrPort // addresses of this host that lead to it
	listening []int            // the processes that accept connections there
	roles     roles
	apart     bool // none of its processes may run on the generator's cores
	confined  *lab.Confinement
}

// Find looks for the processes that listen where a server is reached on this host, and for the
// processes that they hand requests to. It reports whether anything of the server is here. It is
// called again before each run, because a reset may have started other processes.
func (r *Resident) Find(ctx context.Context, c Clues) (here bool, err error) {
	if err := r.find(ctx, c); err != nil {
		return false, err
	}
	if len(r.at) == 0 && len(c.Named) == 0 {
		return false, nil
	}
	named := slices.Concat(slices.Collect(maps.Values(c.Named))...)
	for role, pids := range r.roles {
		r.roles[role] = slices.DeleteFunc(pids, func(pid int) bool {
			return slices.Contains(named, pid)
		})
	}
	maps.DeleteFunc(r.roles, func(_ string, pids []int) bool { return len(pids) == 0 })
	maps.Copy(r.roles, c.Named)
	return true, nil
}

// find looks for processes by where the server is reached. It keeps the roles where the same ones
// still listen.
func (r *Resident) find(ctx context.Context, c Clues) error {
	r.at = nil
	var listening []int
	found := roles{}
	for _, at := range Reached(c.URLs) {
		pids, listens, err := probe.Listeners(at)
		if err != nil {
			return fmt.Errorf("looking for the process that listens at %s: %w", at, err)
		}
		if !listens || len(pids) > 0 && tunnel(pids) {
			continue
		}
		r.at = append(r.at, at)
		listening = append(listening, pids...)
		for _, pid := range pids {
			found.add(programRole(pid, "app"), pid)
		}
	}
	if r.roles != nil && slices.Equal(listening, r.listening) {
		return nil
	}
	r.roles = found
	r.listening = listening
	found.follow(ctx, c, r.at)
	return nil
}

// Here reports whether the target is reached at an address of this host.
func (r *Resident) Here() bool { return r != nil && len(r.at) > 0 }

// Apart reports whether none of the target's processes may run on the generator's cores, as
// [Resident.Confine] found.
func (r *Resident) Apart() bool { return r != nil && r.apart }

// Roles returns the names of the roles that have processes here, in order.
func (r *Resident) Roles() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.roles))
}

// PIDs returns the first processes of a role.
func (r *Resident) PIDs(role string) []int { return r.roles[role] }

// family returns all processes of the target, with their descendants.
func (r *Resident) family() ([]int, error) {
	var pids []int
	for _, role := range r.Roles() {
		pids = append(pids, r.roles[role]...)
	}
	return probe.Family(pids)
}

// Confine notes whether the target is off the generator's cores, and, with move, keeps it on its
// own ones where it is not. [Resident.End] ends that.
func (r *Resident) Confine(cores Cores, move bool) {
	family, err := r.family()
	if err != nil || len(family) == 0 {
		r.apart = false
		return
	}
	free := func() bool {
		return !slices.ContainsFunc(family, func(pid int) bool {
			cpus, err := lab.AllowedCPUs(pid)
			return err == nil && slices.ContainsFunc(cpus,
				func(c int) bool { return slices.Contains(cores.Generator, c) })
		})
	}
	if r.apart = free(); r.apart || !move || len(cores.Target) == 0 {
		return
	}
	confined, err := lab.Confine(family, cores.Target)
	if err != nil {
		return
	}
	if r.confined == nil { // else of a server that was started again
		r.confined = confined
	}
	r.apart = free()
}

// End lets the target run where it ran before.
func (r *Resident) End() error {
	if r == nil || r.confined == nil {
		return nil
	}
	family, err := r.family()
	return errors.Join(err, r.confined.End(family))
}

// Placement says where the target runs, and where the generator does if it has cores on this host.
func (r *Resident) Placement(cores Cores) string {
	text := "the target is on this host"
	if of := r.String(); of != "" {
		text += ": " + of
	} else {
		text += ", in a process that is not seen: it is this program's or another user's; run as " +
			"root, or name it (probes: kind pid)"
	}
	if len(r.roles["proxy"]) > 0 && len(r.roles["app"]) == 0 {
		text += "; the server behind it was not found: name it (probes: kind pid)"
	}
	if len(cores.Generator) == 0 {
		return text
	}
	own, others := coresText(cores.Generator), coresText(cores.Target)
	switch {
	case !r.apart:
		return text + fmt.Sprintf(
			"; it may run on the generator's core %s too: taskset -acp %s PID "+
				"keeps it off",
			own,
			others,
		)
	case r.confined != nil:
		return text + fmt.Sprintf(
			"; the generator has core %s for itself, and the target is kept on "+
				"%s until the end",
			own,
			others,
		)
	}
	return text + fmt.Sprintf("; the generator has core %s for itself", own)
}

// coresText writes a list of cores: "0,2"; "any" for none.
func coresText(cores []int) string {
	if len(cores) == 0 {
		return "any"
	}
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(cores), "[]")), ",")
}

// String names the processes of each role: "nginx 12 (proxy), postgres 34 (db)".
func (r *Resident) String() string {
	var parts []string
	for _, role := range r.Roles() {
		for _, pid := range r.roles[role] {
			parts = append(parts, fmt.Sprintf("%s %d (%s)", probe.Command(pid), pid, role))
		}
	}
	return strings.Join(parts, ", ")
}
