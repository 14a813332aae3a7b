package plan

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// allEngines is the key of a file for the variables that an [Env] holds under "".
const allEngines = "all"

// An Env holds environment variables by database engine; those under "" are set on every engine. An
// engine's own win over them. A file writes it flat, {NAME: value}, or by engine, {all: {…},
// postgresql: {…}, mysql: {…}}.
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

// with returns e with other laid over it: a variable of other for all engines also replaces one of
// e for a single engine. The result shares no map with either; it is nil when both are empty.
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

var envEngineRE = regexp.MustCompile("^(" + strings.Join(envEngines, "|") + ")$")

// envEngines are the keys of an [Env] by engine.
var envEngines = append([]string{allEngines}, engines...)

// env returns the type of an [Env]. It is by engine if a value is a mapping. The text describes a
// variable.
func env(about string) valueType {
	vars := func(want string) valueType {
		return mapping(want, variable, about).
			naming(envRE, "cannot name an environment variable; want letters, digits and underscore")
	}
	flat := vars("a mapping such as {NAME: value}, " +
		"or one for each engine such as {all: {NAME: value}, mysql: {NAME: value}}")
	byEngine := mapping(
		"",
		vars("a mapping such as {NAME: value}, or this variable below all"),
		"",
	).
		naming(envEngineRE, "is not an engine; want "+strings.Join(envEngines, ", "))
	renamed := func(all Env, from, to string) Env {
		all = maps.Clone(all)
		if vars, ok := all[from]; ok {
			delete(all, from)
			all[to] = vars
		}
		return all
	}
	t := custom(func(n node, to *Env) {
		if slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
			return c.Kind == yaml.MappingNode
		}) {
			byEngine.read(n, reflect.ValueOf(to).Elem())
		} else {
			var all map[string]string
			flat.read(n, reflect.ValueOf(&all).Elem())
			*to = Env{allEngines: all}
		}
		maps.DeleteFunc(*to, func(_ string, vars map[string]string) bool { return len(vars) == 0 })
		if *to = renamed(*to, allEngines, ""); len(*to) == 0 {
			*to = nil
		}
	}, func(e *encoder, depth int, key string, all Env) {
		if vars, ok := all[""]; ok && len(all) == 1 {
			flat.write(e, depth, key, reflect.ValueOf(vars))
			return
		}
		byEngine.write(e, depth, key, reflect.ValueOf(renamed(all, "", allEngines)))
	}, func(valueType) object {
		one := flat.schema(flat)
		one["propertyNames"] = object{"pattern": envRE.String()}
		return anyOf(one, engineSchema(envEngines, one))
	})
	return t.in(flat.want)
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
