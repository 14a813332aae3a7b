package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe"
	"plimsoll/watch/profile"
)

// profiledRoles are the roles whose CPU time a comparison attributes to functions.
var profiledRoles = []string{"app", "db"}

// Profiles are the profiles of one run: of its measured phase, and in a duet of its own turns. The
// methods are safe for concurrent use.
type Profiles struct {
	mu             sync.Mutex
	measured, turn bool
	sampler        *profile.Sampler   // of processes on this host; nil: none
	page           *profile.PprofPage // of a server elsewhere; nil: none
	missing        []record.Event
}

// Profiles opens the profiles of a system whose processes run on cores, all without any. turns are
// the run's part of the time; nil: all of it. The caller calls Close, also after an error.
func (o *Opener) Profiles(
	ctx context.Context, x *deploy.System, cores []int, turns *probe.Turns,
) (p *Profiles, err error) {
	p = &Profiles{turn: turns == nil}
	var roots []profile.Roots
	seen := map[string]bool{}
	for _, role := range x.Roles() {
		if slices.Contains(profiledRoles, role.Name) && len(role.PIDs()) > 0 {
			seen[role.Name] = true
			roots = append(roots, profile.Roots{Name: role.Name, PIDs: role.PIDs})
		}
	}
	if len(roots) > 0 {
		if p.sampler, err = profile.Open(roots, cores); err != nil {
			p.miss("", err.Error())
			seen = nil
		}
	}
	if !seen["app"] {
		if err := o.openPage(ctx, x, p); err != nil {
			return p, err
		}
	}
	if turns != nil {
		turns.Hear(func(on bool) { p.set(func() { p.turn = on }) })
	}
	return p, nil
}

// openPage has the server profile itself, if the plan names its page.
func (o *Opener) openPage(ctx context.Context, x *deploy.System, p *Profiles) error {
	i := slices.IndexFunc(x.Probes, func(p plan.Probe) bool {
		return p.Kind == plan.ProbePprof && p.Role == "app"
	})
	if i < 0 {
		if len(p.missing) == 0 {
			p.miss("app", "its processes are not on this host; where the server has "+
				"net/http/pprof, add {kind: pprof, role: app, url: http://HOST:PORT/debug/pprof} "+
				"to probes, or run plimsoll on its host, with a probe of kind pid")
		}
		return nil
	}
	at, err := plan.Expand(x.Probes[i].URL, o.Lookup)
	if err != nil {
		return plan.Usagef("probes[%d]: %w", i, err)
	}
	o.Hide(at)
	p.page = profile.OpenPage(ctx, "app", func(ctx context.Context, d time.Duration) ([]byte, error) {
		return probe.CPUProfile(ctx, at, int(d.Seconds()))
	})
	return nil
}

// miss notes why a role has no profile; all of them without a name.
func (p *Profiles) miss(role, why string) {
	p.missing = append(p.missing, record.Event{
		Kind: record.NotProfiledEvent, Rule: role, Text: why,
	})
}

// Phase notes that a phase of the trial has begun, or with "" ended.
func (p *Profiles) Phase(name string) { p.set(func() { p.measured = name == "measure" }) }

// set changes what the gates of the profiles depend on. A server elsewhere is not paused.
func (p *Profiles) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	if p.sampler != nil {
		p.sampler.Gate(p.measured && p.turn)
	}
	if p.page != nil {
		p.page.Gate(p.measured)
	}
}

// Write ends the profiles and puts them beside the records of the run. It returns the roles that
// have none, with the reasons, as events without a time.
func (p *Profiles) Write(w *record.Writer) (missing []record.Event, err error) {
	all := map[string]profile.Stored{}
	if p.sampler != nil {
		some, why := p.sampler.Profiles()
		maps.Copy(all, some)
		p.lack(why)
	}
	if p.page != nil {
		some, why := p.page.Profiles()
		maps.Copy(all, some)
		p.lack(why)
	}
	for _, role := range slices.Sorted(maps.Keys(all)) {
		f, ferr := w.Profile(role)
		if ferr != nil {
			return p.missing, errors.Join(err, ferr)
		}
		if werr := errors.Join(profile.Write(f, all[role]), f.Close()); werr != nil {
			err = errors.Join(err, fmt.Errorf("profile of %s: %w", role, werr))
		}
	}
	return p.missing, err
}

func (p *Profiles) lack(why error) {
	if why != nil {
		p.miss("", why.Error())
	}
}

// Close ends the profiles.
func (p *Profiles) Close() (err error) {
	if p.sampler != nil {
		err = p.sampler.Close()
	}
	if p.page != nil {
		err = errors.Join(err, p.page.Close())
	}
	return err
}
