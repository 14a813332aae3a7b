package script

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"plimsoll/load/script/bundle"
	"plimsoll/load/workload"
)

// A Described is what the init code of a script shows of it.
type Described struct {
	// Options is the script's export of that name; nil without.
	Options json.RawMessage `json:"options,omitempty"`
	// The functions that the script exports.
	Default  bool `json:"default,omitempty"`
	Setup    bool `json:"setup,omitempty"`
	Teardown bool `json:"teardown,omitempty"`
	Audit    bool `json:"audit,omitempty"`
	// Actions are in the order of the script; with Default it is one of that name.
	Actions []ActionWeight `json:"actions,omitempty"`
	// Sockets is true if the script imports a module that opens them.
	Sockets bool `json:"sockets,omitempty"`
	// Opened are the names of the files that it opened, sorted.
	Opened []string `json:"opened,omitempty"`
}

// An Environment holds the variables that a script sees as __ENV; [baseURL] may be among them.
type Environment map[string]string

// described returns what the init code has shown, without options.
func (r *realm) described() Described {
	e := &r.exports
	_, ws := r.modules["k6/ws"]
	_, own := r.modules["plimsoll"]
	return Described{
		Default: e.plain, Setup: e.setup != nil, Teardown: e.teardown != nil, Audit: e.audit != nil,
		Actions: e.names, Sockets: ws || own,
	}
}

// Describe runs the init code of a bundle once, within the limits of scripts. Files that it opens are
// added to the bundle. An exception is an [*Exception].
func Describe(b *bundle.Bundle, env Environment) (*Described, error) {
	p, err := playOf(b)
	if err != nil {
		return nil, err
	}
	var opened []string
	p.Values = env
	p.opener = func(name string) ([]byte, error) {
		opened = append(opened, name)
		return b.Open(name)
	}
	r, err := p.aside(context.Background(), workload.Env{URL: env[baseURL]})
	if err != nil {
		return nil, err
	}
	defer r.close()
	d := r.described()
	if d.Options, err = r.options(); err != nil {
		return nil, errors.Join(errors.New("export options"), err)
	}
	slices.Sort(opened)
	d.Opened = slices.Compact(opened)
	return &d, nil
}
