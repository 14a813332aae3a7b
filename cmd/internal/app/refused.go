package app

import (
	"fmt"
	"strings"

	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
)

// refused reports the parts of a plan that this program could not carry out, so that plan check
// reports the same errors as run, with their place. It does not examine the host: run reports
// problems of the host, such as ports in use.
func (a *App) refused(p *plan.Plan) []plan.Refusal {
	out := a.Dialects().CheckPlan(p)
	refuse := func(path, format string, args ...any) {
		out = append(out, plan.Refusal{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	// The search is run with the default rules as well; breaches of written rules are reported
	// already.
	if why := a.Dialects().WithDefaultRules(p).ToleratesMore(); why != "" &&
		p.ToleratesMore() == "" &&
		p.Compare.Margin["errors"].Points {
		refuse("compare.margin.errors", "%s", why)
	}
	if check := a.Services().Drivers()[p.Target.Driver].CheckFault; check != nil {
		faults(p, check, refuse)
	}
	if p.Networked() {
		if err := sandbox.Networkable(p, a.Dialects().Contained()); err != nil {
			path, text, _ := strings.Cut(err.Error(), ": ")
			refuse(path, "%s", text)
		}
	}
	return out
}

// faults refuses the planted faults that the driver's server does not know. Another build of it may
// know others.
func faults(
	p *plan.Plan,
	known func(fault string) error,
	refuse func(path, format string, args ...any),
) {
	check := func(path string, args []string) {
		for i, arg := range args {
			if fault, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "fault="); ok {
				if err := known(fault); err != nil {
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
