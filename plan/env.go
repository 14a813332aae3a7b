package plan

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// allEngines is the key of a file for the variables that an [Env] holds under "".
const allEngines = "all"

// An Env holds environment variables by database engine; those under "" are set on every engine. An engine's own win
// over them. A file writes it flat, {NAME: value}, or by engine, {all: {…}, postgresql: {…}, mysql: {…}}.
type Env map[string]map[string]string

// For returns the variables for an engine, as a new map; "" is a target without one of ours.
func (e Env) For(engine string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, e[""])
	if engine != "" {
		maps.Copy(out, e[engine])
	}
	return out
}

// with returns e with other laid over it: a variable of other for all engines also replaces one of e for a single
// engine. The result shares no map with either; it is nil when both are empty.
func (e Env) with(other Env) Env {
	out := Env{}
	set := func(engine, name, value string) {
		if out[engine] == nil {
			out[engine] = map[string]string{}
		}
		out[engine][name] = value
	}
	for engine, vars := range e {
		for name, value := range vars {
			if _, replaced := other[""][name]; engine == "" || !replaced {
				set(engine, name, value)
			}
		}
	}
	for engine, vars := range other {
		for name, value := range vars {
			set(engine, name, value)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// variable is the value of an environment variable.
var variable = raw.accepting(func(name string, v reflect.Value) string {
	value := v.String()
	// A variable that a driver fills with a secret names one just as well as a reference.
	if wrong := secretValue(name, filledRE.ReplaceAllString(value, "$${ENV:$1}")); wrong != "" {
		return wrong
	}
	rest := referenceRE.ReplaceAllString(value, "")
	if rest != value && strings.ContainsRune(rest, '$') {
		return "holds a reference and another $; beside a reference no variable is filled in. " +
			"Give the reference a variable of its own"
	}
	return ""
})

// envEngines are the keys of an [Env] by engine.
var envEngines = append([]string{allEngines}, engines...)

// env returns the type of an [Env]. It is by engine if a value is a mapping. The text describes a
// variable.
func env(about string) valueType {
	vars := func(want string) valueType {
		return mapping(want, variable, about).
			naming(envRE, "cannot name an environment variable; want letters, digits and underscore")
	}
	flat := vars("a mapping such as {NAME: value}, or one for each engine " +
		"such as {all: {NAME: value}, mysql: {NAME: value}}")
	one := vars("a mapping such as {NAME: value}")
	set := func(t valueType, d *decoder, path string, n *yaml.Node, to *Env, engine string) {
		var m map[string]string
		t.decode(d, path, n, reflect.ValueOf(&m).Elem())
		if len(m) == 0 {
			return
		}
		if *to == nil {
			*to = Env{}
		}
		(*to)[engine] = m
	}
	read := func(d *decoder, path string, n *yaml.Node, to *Env) {
		isMapping := func(c *yaml.Node) bool { return c.Kind == yaml.MappingNode }
		if !isMapping(n) || !slices.ContainsFunc(n.Content, isMapping) {
			set(flat, d, path, n, to, "")
			return
		}
		d.entries(path, n, "", func(key string, c *yaml.Node) {
			p := join(path, key)
			d.nodes[p] = c
			switch {
			case !isMapping(c):
				d.fail(c, p, "is %s, and others here are mappings by engine; write this variable below %s",
					kindOf(c), allEngines)
			case !slices.Contains(envEngines, key):
				d.fail(c, p, "is not an engine; %swant %s", hint(key, envEngines),
					strings.Join(envEngines, ", "))
			case key == allEngines:
				set(one, d, p, c, to, "")
			default:
				set(one, d, p, c, to, key)
			}
		})
	}
	write := func(e *encoder, depth int, key string, all Env) {
		vars, flatly := all[""]
		switch {
		case len(all) == 0:
		case flatly && len(all) == 1:
			flat.write(e, depth, key, reflect.ValueOf(vars))
		default:
			e.line(depth, key, "")
			for _, engine := range slices.Sorted(maps.Keys(all)) { // "" first
				one.write(e, depth+1, cmp.Or(engine, allEngines), reflect.ValueOf(all[engine]))
			}
		}
	}
	return custom(read, write, func(valueType) object {
		vars := one.schema(one)
		vars["propertyNames"] = object{"pattern": envRE.String()}
		return anyOf(vars, byEngine(envEngines, vars))
	}).in(flat.want)
}

// checkEnvs checks the variables for each engine.
func (d *decoder) checkEnvs(path string, env Env, p *Plan) {
	for _, engine := range slices.Sorted(maps.Keys(env)) {
		at := path
		if below := join(path, cmp.Or(engine, allEngines)); d.isMapping(below) {
			at = below
		}
		if engine != "" && !slices.Contains(p.Engines(), engine) && d.good(at, "database.engine") {
			d.at(at, "%s is not in database.engine; add it there, or remove it here", engine)
		}
	}
}

// isMapping reports whether the file has a mapping at the path.
func (d *decoder) isMapping(path string) bool {
	n := d.nodes[path]
	return n != nil && n.Kind == yaml.MappingNode
}
