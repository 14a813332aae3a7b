package users

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"

	"plimsoll/load/engine"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// A Layout divides the users of a run among processes and hosts. It is not changed after it was
// made.
type Layout struct {
	Users     int // at most
	Processes int // in all
	// Members are the agents on other hosts, in the order of their numbers; none for users on this
	// host.
	Members []join.Member
	// Ratings are the members' ratings, in whose proportion the users are divided; nil: equally.
	Ratings []int
	// Sources are the addresses of this host from which the connections go out; none for the usual
	// one.
	Sources []netip.Addr
}

// Apart reports whether the users are in separate processes.
func (y Layout) Apart() bool { return y.Processes > 1 || len(y.Members) > 0 }

// LayOut divides the users of a mix for a run against a target at a URL. It returns an error if the
// hosts cannot hold them. It waits for the agents of a crew, which is nil for users on this host.
func LayOut(ctx context.Context, p *plan.Plan, crew *Crew, target string, mix []engine.Part,
	users int) (Layout, error) {
	y := Layout{Users: users}
	conns := Sockets(mix, users)
	if crew != nil {
		return y.among(ctx, p, crew, conns)
	}
	l, err := probe.ReadLimits()
	if err != nil {
		return y, err
	}
	n, err := Processes(users, conns, l)
	if err != nil {
		return y, err
	}
	y.Processes = max(n, p.Placement.Processes)
	var own []netip.Addr
	for _, text := range p.Placement.Source {
		a, err := netip.ParseAddr(text)
		if err == nil {
			err = CheckSource(a)
		}
		if err != nil {
			return y, plan.Usagef("placement.source: %w", err)
		}
		own = append(own, a)
	}
	u, err := url.Parse(target)
	if err != nil {
		return y, fmt.Errorf("target's address: %w", err)
	}
	var to netip.Addr
	if addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()); err == nil &&
		len(addrs) > 0 {
		to = addrs[0].Unmap()
	}
	y.Sources, err = sources(conns, to, own, l)
	return y, err
}

// among divides the users among the agents of a crew.
func (y Layout) among(ctx context.Context, p *plan.Plan, crew *Crew, conns int) (Layout, error) {
	var err error
	if y.Members, err = crew.await(ctx); err != nil {
		return y, err
	}
	if y.Ratings, err = ratings(p, y.Members); err != nil {
		return y, err
	}
	each, err := y.split(conns, p.Placement.Processes)
	y.Processes = each * len(y.Members)
	return y, err
}

// split returns the number of processes that each member starts for all these connections, at least
// least. All members start as many as the neediest one, so that an agent's number determines its
// host.
func (y Layout) split(conns, least int) (int, error) {
	deal, err := workload.NewDeal(len(y.Members), y.Ratings)
	if err != nil {
		return 0, err
	}
	most := max(least, 1)
	for i, has := range deal.Hosts(y.Users) {
		part := float64(has) / float64(max(y.Users, 1))
		n, err := Processes(has, int(math.Ceil(float64(conns)*part)),
			probe.Limits{Files: y.Members[i].Files})
		if err != nil {
			return 0, fmt.Errorf("agent %s: %w", y.Members[i].Name, err)
		}
		most = max(most, n)
	}
	return most, nil
}

// Sockets returns how many connections n users of a mix keep.
func Sockets(mix []engine.Part, n int) int {
	sum := 0
	for _, part := range mix {
		each := 1
		if c, ok := part.Behavior.(workload.Connected); ok {
			each = c.Sockets()
		}
		sum += int(math.Ceil(part.Share*float64(n))) * each
	}
	return sum
}

// Processes returns the number of processes that hold these connections of users when each process
// may have this process's limit of open files. It returns an error of usage with its remedy if
// there are too many.
func Processes(users, conns int, l probe.Limits) (int, error) {
	room := l.Files - probe.ReservedFiles
	if here := l.Files - l.FilesOpen - probe.ReservedFiles; conns <= here {
		return 1, nil
	}
	n := plan.MostProcesses + 1
	if room > 0 {
		n = (conns + room - 1) / room
		if n == 1 {
			n = 2 // this one has more files open, and one agent alone would gain too little
		}
	}
	if n <= plan.MostProcesses {
		return n, nil
	}
	fit := max(0, room) * plan.MostProcesses * users / max(conns, 1)
	each := (conns+plan.MostProcesses-1)/plan.MostProcesses + probe.ReservedFiles
	return 0, plan.Usagef(
		"%d users keep %d connections, more than %d processes with %d open files "+
			"each can hold beside a reserve of %d. "+
			"Raise the limit before starting (as root: ulimit -n %d; for a service: LimitNOFILE=%d; for "+
			"good: \"* - nofile %d\" in /etc/security/limits.conf), or simulate at most %d users here",
		users,
		conns,
		plan.MostProcesses,
		l.Files,
		probe.ReservedFiles,
		each,
		each,
		each,
		fit,
	)
}

// An Admission prepares the users of a plan on its target.
type Admission struct {
	Plan     *plan.Plan
	Crew     *Crew      // nil: this host has the users
	Accounts *UsersFile // nil: behaviors make the accounts
}

// Admit returns an error if n users of a mix cannot be laid out.
func (a Admission) Admit(ctx context.Context, url string, mix []engine.Part, n int) error {
	_, err := LayOut(ctx, a.Plan, a.Crew, url, mix, n)
	return err
}

// Provision makes the accounts of n users of a mix.
func (a Admission) Provision(
	ctx context.Context, env workload.Env, mix []engine.Part, n int,
) error {
	return Provision(ctx, env, mix, n, a.Accounts)
}
