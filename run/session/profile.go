package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/probe"
	"plimsoll/watch/profile"
)

// profiledRoles are the roles whose CPU time a comparison attributes to functions.
var profiledRoles = []string{"app", "db"}

// A profiled is a source of profiles that samples while its gate is open.
type profiled interface {
	Gate(open bool)
	// Profiles ends the sampling and returns the profiles by role, and the errors of roles without.
	Profiles() (map[string]profile.Stored, error)
	Close() error
}

// A profileGate opens sources of profiles in the measured phase; those that follow turns in the
// run's own turns only.
type profileGate struct {
	mu             sync.Mutex
	measured, turn bool
	sampler        *profile.Sampler // nil: none
	page           *profile.Page    // nil: none
}

// set changes what the gate depends on.
func (g *profileGate) set(change func(*profileGate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
	if g.sampler != nil {
		g.sampler.Gate(g.measured && g.turn)
	}
	if g.page != nil { // its server runs elsewhere, and is not paused
		g.page.Gate(g.measured)
	}
}

// sources are those of the gate.
func (g *profileGate) sources() (out []profiled) {
	if g.sampler != nil {
		out = append(out, g.sampler)
	}
	if g.page != nil {
		out = append(out, g.page)
	}
	return out
}

// profiles reports whether the run is profiled: one with a bounded test, of a comparison.
func (r *run) profiles() bool {
	c := r.Plan.Compare
	return c != nil && c.Profile && r.Comparison != "" && !r.Pilot && r.spec.Bounded != nil
}

// profileTarget samples the target's processes in the measured phase.
func profileTarget(ctx context.Context, r *run) error {
	if !r.profiles() {
		return nil
	}
	g := &profileGate{turn: r.turns == nil}
	r.closing(func() (err error) {
		for _, s := range g.sources() {
			err = errors.Join(err, s.Close())
		}
		return err
	})
	var here []string
	var roles []profile.Role
	for _, role := range r.sys.Roles() {
		if slices.Contains(profiledRoles, role.Name) && len(role.PIDs()) > 0 {
			here = append(here, role.Name)
			roles = append(roles, profile.Role{Name: role.Name, PIDs: role.PIDs})
		}
	}
	if len(roles) > 0 {
		var err error
		if g.sampler, err = profile.Open(roles, r.Cores.Of(r.sys)); err != nil {
			here = nil
			if err := r.notProfiled("", err.Error()); err != nil {
				return err
			}
		}
	}
	if !slices.Contains(here, "app") {
		if err := r.openProfilePage(ctx, g, len(roles) == 0); err != nil {
			return err
		}
	}
	r.profile = g
	r.spec.Phase = func(name string) {
		g.set(func(g *profileGate) { g.measured = name == "measure" })
	}
	if r.turns != nil {
		r.turns.Hear(func(on bool) { g.set(func(g *profileGate) { g.turn = on }) })
	}
	return nil
}

// openProfilePage has the target's server profile itself, if the plan names its page. Without one,
// unseen says that no other reason was given.
func (r *run) openProfilePage(ctx context.Context, g *profileGate, unseen bool) error {
	i := slices.IndexFunc(r.sys.Probes, func(p plan.Probe) bool {
		return p.Kind == plan.ProbePprof && p.Role == "app"
	})
	if i < 0 {
		if !unseen {
			return nil
		}
		return r.notProfiled("app", "its processes are not on this host; where the server has "+
			"net/http/pprof, add {kind: pprof, role: app, url: http://HOST:PORT/debug/pprof} to "+
			"probes, or run plimsoll on its host with a probe of kind pid")
	}
	at, err := plan.Expand(r.sys.Probes[i].URL, r.Lookup)
	if err != nil {
		return err
	}
	r.Hide(at)
	g.page = profile.OpenPage(ctx, "app", func(ctx context.Context, d time.Duration) ([]byte, error) {
		return probe.CPUProfile(ctx, at, int(d.Seconds()))
	})
	return nil
}

// notProfiled notes in the events why a role has no profile; all roles without a name.
func (r *run) notProfiled(role, why string) error {
	return r.w.Event(record.Event{
		At: r.clock.Now(), Kind: record.NotProfiledEvent, Rule: role, Text: why,
	})
}

// writeProfiles puts the profiles beside the records of the run.
func writeProfiles(ctx context.Context, r *run) (err error) {
	if r.profile == nil || ctx.Err() != nil || r.out.Interrupted != "" {
		return nil
	}
	for _, source := range r.profile.sources() {
		all, why := source.Profiles()
		if why != nil {
			err = errors.Join(err, r.notProfiled("", why.Error()))
		}
		for _, role := range slices.Sorted(maps.Keys(all)) {
			f, ferr := r.w.Profile(role)
			if ferr != nil {
				return errors.Join(err, ferr)
			}
			err = errors.Join(err, profile.Write(f, all[role]), f.Close())
		}
	}
	return err
}
