package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/dialect/newsfeed"
	"plimsoll/plan"
	"plimsoll/refchat"
)

// refused reports what this program could not carry out of a plan, so that plan check says of it what run would say, with its place.
// It asks nothing of the host: what only the host can tell, such as free ports, run says.
func refused(p *plan.Plan) []plan.Refusal {
	var out []plan.Refusal
	refuse := func(path, format string, args ...any) {
		out = append(out, plan.Refusal{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	names := slices.Sorted(maps.Keys(p.Workload.Mix()))
	feeds := 0
	for _, n := range names {
		if behaviors()[n] == nil {
			return nil // said already, and nothing is known of its settings
		}
		if newsfeed.Behaviors()[n] != nil {
			feeds++
		}
	}
	if feeds > 0 && feeds < len(names) {
		refuse("workload.with", "behaviors of two kinds of server do not go together: %s; want those of one", strings.Join(names, ", "))
		return out
	}
	for _, err := range unjoined(errors.Join(checkReferences(p.Workload.Params), checkSettings(names, params(p)))) {
		if s, ok := errors.AsType[*dialect.SettingError](err); ok {
			refuse("workload.params."+s.Key, "%s", s.Problem)
		} else {
			refuse("workload.params", "%s", err)
		}
	}
	switch d := p.Target.Driver; {
	case d == feedDriver && feeds == 0 || (d == "refchat" || d == "refnull") && feeds > 0:
		kind := mattermost.Behaviors()
		if d == feedDriver {
			kind = newsfeed.Behaviors()
		}
		refuse("workload.behavior", "%s is of another kind of server than the driver %s; want one of %s", p.Workload.Behavior, d, strings.Join(slices.Sorted(maps.Keys(kind)), ", "))
	case d == feedDriver && len(p.Engines()) == 0:
		refuse("database.engine", "is missing; the news feed needs a database, as in database: {engine: postgresql}")
	}
	if p.Bounded != nil {
		for i, s := range p.Bounded.Stages {
			if key, problem := mattermost.CheckStorm(s.Storm, s.Params); problem != "" {
				refuse(fmt.Sprintf("bounded.stages[%d].params.%s", i, key), "%s", problem)
			}
		}
	}
	// The search is run with the default rules as well; what breaks a rule that is written is said already.
	if why := withDefaultRules(p).ToleratesMore(); why != "" && p.ToleratesMore() == "" && p.Compare.Margin["errors"].Points {
		refuse("compare.margin.errors", "%s", why)
	}
	if p.Target.Driver == "refchat" {
		faults(p, refuse)
	}
	if p.Networked() {
		if err := networkable(p); err != nil {
			path, text, _ := strings.Cut(err.Error(), ": ")
			refuse(path, "%s", text)
		}
	}
	return out
}

// faults refuses the planted faults that the reference server does not know. Another build of it may know others.
func faults(p *plan.Plan, refuse func(path, format string, args ...any)) {
	check := func(path string, args []string) {
		for i, arg := range args {
			if fault, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "fault="); ok {
				if err := refchat.CheckFault(fault); err != nil {
					refuse(fmt.Sprintf("%s[%d]", path, i), "%s", err)
				}
			}
		}
	}
	if p.Target.Binary == "" {
		check("target.args", p.Target.Args)
	}
	if p.Compare == nil {
		return
	}
	for _, a := range p.Compare.Arms {
		if a.Binary == "" && p.Target.Binary == "" {
			check("compare.arms."+a.Name+".args", a.Args)
		}
	}
}

// unjoined takes joined errors apart, however deep.
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
