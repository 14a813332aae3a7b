package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/load/workload"
	"plimsoll/plan"
)

// A Set holds the dialects of a program, the usual server's first.
type Set []*Dialect

// ErrMixed is the error of behaviors of two dialects in one plan.
var ErrMixed = errors.New("behaviors of two kinds of server do not go together")

// OfBehavior returns the dialect that has the behavior, or nil.
func (s Set) OfBehavior(name string) *Dialect {
	for _, d := range s {
		if d.Behaviors[name] != nil {
			return d
		}
	}
	return nil
}

// OfPlan returns the dialect of the plan's main behavior, or nil. Of behaviors that go with any
// server it is the dialect of the others, or of the driver's servers, if there is one.
func (s Set) OfPlan(p *plan.Plan) *Dialect {
	d := s.OfBehavior(p.Workload.Behavior)
	if d == nil || !d.Any {
		return d
	}
	of, err := s.Of(slices.Sorted(maps.Keys(p.Workload.Mix())))
	if err == nil && !of.Any {
		return of
	}
	return cmp.Or(s.OfDriver(p.Target.Driver), d)
}

// OfDriver returns the dialect whose servers the driver deploys. It is nil for a driver of any
// server, such as external.
func (s Set) OfDriver(name string) *Dialect {
	for _, d := range s {
		if _, ok := d.Driver(name); ok {
			return d
		}
	}
	return nil
}

// Of returns the dialect of all behaviors, those that go with any aside: [ErrMixed] if they have
// none in common, another error if one is unknown.
func (s Set) Of(behaviors []string) (*Dialect, error) {
	var of *Dialect
	for _, name := range behaviors {
		switch d := s.OfBehavior(name); {
		case d == nil:
			_, err := s.Behaviors().New(name)
			return nil, err
		case of == nil || of.Any:
			of = d
		case d != of && !d.Any:
			return nil, ErrMixed
		}
	}
	return of, nil
}

// Driver returns the dialect's driver of a name.
func (d *Dialect) Driver(name string) (ServerDriver, bool) {
	for _, x := range d.Drivers {
		if x.Name == name {
			return x, true
		}
	}
	return ServerDriver{}, false
}

// Driver returns the driver of a name that deploys a server of one of the dialects.
func (s Set) Driver(name string) (ServerDriver, bool) {
	if d := s.OfDriver(name); d != nil {
		return d.Driver(name)
	}
	return ServerDriver{}, false
}

// Drivers returns the names of the drivers of the dialects' own servers, in order.
func (s Set) Drivers() []string {
	var names []string
	for _, d := range s {
		for _, x := range d.Drivers {
			names = append(names, x.Name)
		}
	}
	return names
}

// Contained returns the drivers whose servers run in a container of their program alone.
func (s Set) Contained() []string {
	return slices.DeleteFunc(s.Drivers(), func(name string) bool {
		d, _ := s.Driver(name)
		return d.Release
	})
}

// Behaviors returns the behaviors of all dialects, in a map of its own.
func (s Set) Behaviors() Registry {
	all := Registry{}
	for _, d := range s {
		maps.Copy(all, d.Behaviors)
	}
	return all
}

// IsSetting reports whether a behavior knows a setting of that name that is not a secret.
func (s Set) IsSetting(name string) bool {
	return slices.ContainsFunc(s, func(d *Dialect) bool {
		_, ok := d.Settings.Params[name]
		return ok
	})
}

// Knows reports whether a behavior knows a setting of that name, or a secret.
func (s Set) Knows(name string) bool {
	return slices.ContainsFunc(s, func(d *Dialect) bool {
		_, ok := d.Settings.Secrets[name]
		return ok
	}) || s.IsSetting(name)
}

// CheckSettings reports everything that is wrong with the settings of behaviors: values, names, and
// references to secrets that nothing asks for. The values of references, which contain "${", are
// not looked at, nor are names that no behavior knows beside one whose settings have any.
func (s Set) CheckSettings(behaviors []string, params map[string]string) error {
	var errs []error
	secrets := map[string]string{}
	for _, d := range s {
		maps.Copy(secrets, d.Settings.Secrets)
	}
	values := map[string]string{}
	free := slices.ContainsFunc(behaviors, func(name string) bool {
		d := s.OfBehavior(name)
		return d != nil && d.Any
	})
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if free && !s.Knows(k) {
			continue
		}
		if !strings.Contains(params[k], "${") {
			values[k] = params[k]
		} else if _, secret := secrets[k]; !secret && !s.IsSetting(k) {
			errs = append(errs, &SettingError{k,
				"is unknown as a reference to a secret; there are " +
					strings.Join(slices.Sorted(maps.Keys(secrets)), ", ")})
		}
	}
	d, err := s.Of(behaviors)
	if err == nil && d != nil && !d.Any {
		err = d.Settings.check(values)
	}
	return errors.Join(append(errs, err)...)
}

// Weights returns the weights of a plan; nil for the behavior's own.
func (s Set) Weights(w plan.Workload) map[string]float64 {
	if w.ActionMix == plan.MixDefault && len(w.Weights) == 0 {
		return nil
	}
	out := map[string]float64{}
	for _, d := range s {
		if d.Mixes != nil && w.ActionMix != plan.MixCustom {
			maps.Copy(out, d.Mixes()[w.ActionMix])
		}
	}
	maps.Copy(out, w.Weights)
	return out
}

// Known returns the names that plans may use.
func (s Set) Known() plan.Known {
	anyServer := []string{plan.Process, plan.External}
	k := plan.Known{
		Drivers: append(s.Drivers(), anyServer...), Profiles: map[string][]string{},
		Actions: map[string][]string{}, Storms: map[string][]string{},
		Mixes: []string{}, Topologies: []string{plan.Process},
		Roles: map[string][]string{plan.Process: {"app", "target", "generator"},
			plan.External: {"generator"}},
	}
	for _, d := range s {
		if d.Ops != nil {
			k.Ops = append(k.Ops, d.Ops()...)
		}
		if d.Apart != nil {
			k.Apart = append(k.Apart, d.Apart()...)
		}
		for _, x := range d.Drivers {
			k.Roles[x.Name] = x.Roles
			if x.Topologies {
				k.Topologies = append(k.Topologies, x.Name)
			}
			if len(x.Profiles) > 0 {
				k.Profiles[x.Name] = x.Profiles
			}
		}
		if d.Mixes == nil {
			continue
		}
		mixes := d.Mixes()
		k.Actions[d.Weighted] = slices.Sorted(maps.Keys(mixes[plan.MixDefault]))
		delete(mixes, plan.MixDefault)
		k.Mixes = append(k.Mixes, slices.Collect(maps.Keys(mixes))...)
	}
	slices.Sort(k.Mixes)
	slices.Sort(k.Ops)
	k.Ops = slices.Compact(k.Ops)
	behaviors := s.Behaviors()
	k.Behaviors = slices.Sorted(maps.Keys(behaviors))
	for _, name := range k.Behaviors {
		b := behaviors[name]()
		if _, ok := b.(workload.ArrivalBehavior); ok {
			k.Arrivals = append(k.Arrivals, name)
		}
		if x, ok := b.(workload.StormKinds); ok {
			k.Storms[name] = x.StormKinds()
		}
	}
	return k
}

// Graphs returns the graphs of reports on targets of a driver: each dialect's, except graphs of the
// dialect's own drivers on other targets. A graph of two dialects is one, and tries the sources of
// each in turn.
func (s Set) Graphs(driver string) []GraphQuery {
	var all []GraphQuery
	for _, d := range s {
		_, own := d.Driver(driver)
		for _, g := range d.Graphs {
			i := slices.IndexFunc(all, func(x GraphQuery) bool { return x.Name == g.Name })
			switch {
			case g.Own && !own:
			case i < 0:
				g.Sources = slices.Clone(g.Sources)
				all = append(all, g)
			default:
				all[i].Sources = append(all[i].Sources, g.Sources...)
				all[i].Needs += " or " + g.Needs
			}
		}
	}
	return all
}

// Refused reports whether the text of a failed operation shows that something between the users and
// the server refused it.
func (s Set) Refused(text string) bool {
	return slices.ContainsFunc(s, func(d *Dialect) bool {
		return d.Refused != nil && d.Refused(text)
	})
}

// A refuser reports something in a plan that cannot be carried out.
type refuser func(path, format string, args ...any)

// CheckPlan reports the parts of a plan that no dialect can carry out: behaviors of two dialects,
// settings, a driver of another dialect, a database that is missing, and the settings of storms. Of
// a plan with unknown behaviors it reports nothing.
func (s Set) CheckPlan(p *plan.Plan) []plan.Refusal {
	var out []plan.Refusal
	refuse := func(path, format string, args ...any) {
		out = append(out, plan.Refusal{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	names := slices.Sorted(maps.Keys(p.Workload.Mix()))
	if slices.ContainsFunc(names, func(n string) bool { return s.OfBehavior(n) == nil }) {
		return nil
	}
	speaks, err := s.Of(names)
	if err != nil {
		refuse("workload.with", "%s: %s; want those of one", err, strings.Join(names, ", "))
		return out
	}
	s.checkUsersFile(p, names, refuse)
	s.unfed(p, speaks, refuse)
	for _, err := range unjoined(s.CheckSettings(names, p.Workload.Params)) {
		if e, ok := errors.AsType[*SettingError](err); ok {
			refuse("workload.params."+e.Key, "%s", e.Problem)
		} else {
			refuse("workload.params", "%s", err)
		}
	}
	if deploys := s.OfDriver(p.Target.Driver); deploys != nil {
		driver, _ := deploys.Driver(p.Target.Driver)
		switch {
		case deploys != speaks && !speaks.Any:
			refuse(
				"workload.behavior",
				"%s is of another kind of server than the driver %s; want one of %s",
				p.Workload.Behavior,
				driver.Name,
				strings.Join(slices.Sorted(maps.Keys(deploys.Behaviors)), ", "),
			)
		case driver.NeedsDatabase && len(p.Engines()) == 0:
			refuse(
				"database.engine",
				"is missing; %s needs a database, as in database: {engine: postgresql}",
				deploys.Title,
			)
		case driver.Release && lacksBinary(p):
			refuse(
				"target.binary",
				"is missing; the driver %s needs the directory of a release, here or in every arm",
				driver.Name,
			)
		}
	}
	if p.Bounded != nil && speaks.Settings.CheckStorm != nil {
		for i, storm := range p.Bounded.Stages {
			if key, problem := speaks.Settings.CheckStorm(storm.Storm, storm.Params); problem != "" {
				refuse(fmt.Sprintf("bounded.stages[%d].params.%s", i, key), "%s", problem)
			}
		}
	}
	return out
}

// lacksBinary reports whether the target of a plan, or of one of its arms, has no binary.
func lacksBinary(p *plan.Plan) bool {
	if p.Target.Binary != "" || p.Compare == nil {
		return p.Target.Binary == ""
	}
	return slices.ContainsFunc(p.Compare.Arms, func(a plan.Arm) bool { return a.Binary == "" })
}

// checkUsersFile reports behaviors that cannot use accounts of a file, and settings without effect
// beside it.
func (s Set) checkUsersFile(p *plan.Plan, names []string, refuse refuser) {
	if p.Workload.UsersFile == "" {
		return
	}
	behaviors := s.Behaviors()
	for _, name := range names {
		adopter, ok := behaviors[name]().(workload.Adopter)
		if !ok {
			refuse("workload.users_file",
				"users of the behavior %s log in without accounts of a file; remove it", name)
			continue
		}
		for _, key := range adopter.Displaced() {
			if _, set := p.Workload.Params[key]; set {
				refuse("workload.params."+key, "has no effect beside workload.users_file, "+
					"whose accounts the users have; remove one of them")
			}
		}
	}
}

// unjoined returns the errors that were joined, at any depth.
func unjoined(err error) (out []error) {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			out = append(out, unjoined(e)...)
		}
		return out
	}
	return []error{err}
}

// Notes returns notes for people on a good plan: the plan's own, and the dialect's.
func (s Set) Notes(p *plan.Plan) []string {
	notes := p.Notes()
	if d, err := s.Of([]string{p.Workload.Behavior}); err == nil && d != nil && d.Notes != nil {
		notes = append(notes, d.Notes(p)...)
	}
	return notes
}
