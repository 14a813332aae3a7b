package script

import (
	"encoding/json"
	"errors"
	"fmt"

	"plimsoll/internal/plain"
	"plimsoll/load/script"
	"plimsoll/load/script/bundle"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// Read returns the plan with its script: read, bundled and run once up to its exports, with the
// digest and what its options say ([Merge]) in the plan. A plan without a script is returned as it
// is. env has the values that the script sees as variables. All errors are the caller's: what is
// wrong in the script's text, at its places, and another digest than the plan's.
func Read(p *plan.Plan, env workload.Env) (*plan.Plan, error) {
	path := p.Workload.ScriptPath()
	if path == "" {
		return p, nil
	}
	b, d, err := read(path, env)
	if err != nil {
		return nil, plan.Usagef("workload.script: %w", err)
	}
	if want := p.Workload.ScriptDigest; want != "" && want != b.Digest {
		return nil, plan.Usagef("workload.script: %s has the digest %s, and the plan is of %s: "+
			"put that file back, or remove script_digest and begin anew", b.Name, b.Digest, want)
	}
	if !d.Default && len(d.Actions) == 0 {
		return nil, plan.Usagef("workload.script: %s exports nothing that users do; write export "+
			"default function () { ... }, or export const actions = { ... }", b.Name)
	}
	if p, err = shaped(p, d.Options); err != nil {
		return nil, err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("the bundle of %s: %w", b.Name, err)
	}
	return p.WithScriptAt(path, b.Digest).WithBundle(text), nil
}

// shaped returns the plan with what the script's options say, checked as any plan is.
func shaped(p *plan.Plan, options json.RawMessage) (*plan.Plan, error) {
	if len(options) == 0 {
		return p, nil
	}
	shape, wrong := Plan(options)
	q, more := p, []plan.Refusal(nil)
	if len(wrong) == 0 {
		q, more = Merge(p, shape)
	}
	var errs []error
	for _, r := range append(wrong, more...) {
		errs = append(errs, plan.Usagef("%s: %s", r.Path, r.Text))
	}
	if len(errs) > 0 {
		return nil, plan.UsageError{Err: errors.Join(errs...)}
	}
	if q.String() == p.String() {
		return p, nil
	}
	q, err := plan.Parse([]byte(q.String()))
	if err != nil {
		return nil, plan.UsageError{Err: plain.Below(err, "the plan with the options of the script is no good plan")}
	}
	return q.WithUsersAt(p.Workload.UsersAt, ""), nil
}

// read bundles a script, and runs its init code, by which it may open files.
func read(path string, env workload.Env) (*bundle.Bundle, *script.Described, error) {
	b, err := bundle.Read(path)
	if err != nil {
		return nil, nil, err
	}
	d, err := script.Describe(b, script.EnvironmentOf(b.Env, env))
	if exception, ok := errors.AsType[*script.Exception](err); ok {
		err = fmt.Errorf("the init code threw an exception: %w", exception)
	}
	return b, d, err
}
