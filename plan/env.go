package plan

import (
	"maps"
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

// envKey returns the key of a file for an engine of an Env.
func envKey(engine string) string {
	if engine == "" {
		return allEngines
	}
	return engine
}

// env decodes an [Env]. It is by engine if a value is a mapping.
func (d *decoder) env(path string, n *yaml.Node, to *Env) {
	const want = "a mapping such as {NAME: value}, or one for each engine such as {all: {NAME: value}, mysql: {NAME: value}}"
	byEngine := false
	if n.Kind == yaml.MappingNode {
		for i := 1; i < len(n.Content); i += 2 {
			byEngine = byEngine || n.Content[i].Kind == yaml.MappingNode
		}
	}
	set := func(engine string, vars map[string]string) {
		if len(vars) == 0 {
			return
		}
		if *to == nil {
			*to = Env{}
		}
		(*to)[engine] = vars
	}
	if !byEngine {
		var vars map[string]string
		decodeMap[map[string]string](want, (*decoder).text)(d, path, n, &vars)
		set("", vars)
		return
	}
	keys := append([]string{allEngines}, engines...)
	d.entries(path, n, want, func(key string, c *yaml.Node) {
		p := join(path, key)
		d.nodes[p] = c
		switch {
		case c.Kind != yaml.MappingNode:
			d.fail(c, p, "is %s, and others here are mappings by engine; write this variable below %s", kindOf(c), allEngines)
			return
		case !slices.Contains(keys, key):
			d.fail(c, p, "is not an engine; %swant %s", hint(key, keys), strings.Join(keys, ", "))
			return
		}
		var vars map[string]string
		decodeMap[map[string]string]("a mapping such as {NAME: value}", (*decoder).text)(d, p, c, &vars)
		if key == allEngines {
			key = ""
		}
		set(key, vars)
	})
}

// checkEnvs checks the variables for each engine.
func (d *decoder) checkEnvs(path string, env Env, p *Plan) {
	for _, engine := range slices.Sorted(maps.Keys(env)) {
		at := path
		if below := join(path, envKey(engine)); d.isMapping(below) {
			at = below
		}
		if engine != "" && !slices.Contains(p.Engines(), engine) && d.good(at, "database.engine") {
			d.at(at, "%s is not in database.engine; add it there, or remove it here", engine)
		}
		d.checkEnv(at, env[engine])
	}
}

// isMapping reports whether the file has a mapping at the path.
func (d *decoder) isMapping(path string) bool {
	n := d.nodes[path]
	return n != nil && n.Kind == yaml.MappingNode
}

// env writes an [Env], flat if it holds none by engine.
func (e *encoder) env(depth int, key string, env Env) {
	if len(env) == 0 {
		return
	}
	write := mapping[map[string]string](quote)
	if vars, flat := env[""]; flat && len(env) == 1 {
		write(e, depth, key, vars)
		return
	}
	e.line(depth, key, "")
	for _, engine := range slices.Sorted(maps.Keys(env)) { // "" first
		write(e, depth+1, envKey(engine), env[engine])
	}
}

// envSchema returns the schema of an [Env] at a path of keyTexts.
func envSchema(path string) object {
	each := object{}
	for _, engine := range append([]string{allEngines}, engines...) {
		each[engine] = named(textual)(path)
	}
	return anyOf(named(textual)(path), byEngine(each))
}
