package script

import (
	"cmp"
	"os"

	"github.com/grafana/sobek"

	"plimsoll/load/workload"
)

// baseURL is the variable that holds the target's URL.
const baseURL = "BASE_URL"

// secretNames are the variables of the program's own secrets, by their name in workload.Env.Secret.
var secretNames = map[string]string{
	"PLIMSOLL_ADMIN":          "admin",
	"PLIMSOLL_ADMIN_PASSWORD": "admin_password",
	"PLIMSOLL_ADMIN_TOKEN":    "admin_token",
	"PLIMSOLL_BOT_TOKEN":      "bot_token",
	"PLIMSOLL_USER_PASSWORD":  "user_password",
}

// valuesOf returns the values of the variables that a script mentions, without [baseURL], which is
// each user's own: those of the plan's params, else the program's secrets, else those of this
// process. Those that look secret are registered; what Secret returns is by itself, also a reference
// among the params.
func valuesOf(names []string, env *workload.Env) map[string]string {
	values := map[string]string{}
	for _, name := range names {
		if v, ok := valueOf(name, env); ok && name != baseURL {
			values[name] = v
			if workload.SoundsSecret(name) {
				env.Secrets.Add(v)
			}
		}
	}
	return values
}

// EnvironmentOf returns the values of the variables of these names that the users of a run see.
func EnvironmentOf(names []string, env workload.Env) Environment {
	values := valuesOf(names, &env)
	values[baseURL] = env.URL
	return values
}

func valueOf(name string, env *workload.Env) (string, bool) {
	for _, of := range []map[string]string{env.Variables, env.Params} {
		if v, ok := of[name]; ok {
			return v, true
		}
	}
	if env.Secret != nil {
		if v := env.Secret(cmp.Or(secretNames[name], name)); v != "" {
			return v, true
		}
	}
	return os.LookupEnv(name)
}

// variables returns the global object __ENV.
func (r *realm) variables() *sobek.Object {
	names := append([]string{baseURL}, sortedKeys(r.Values)...)
	return r.host(module{names, func(r *realm, name string) sobek.Value {
		if name == baseURL {
			return r.rt.ToValue(r.env.URL)
		}
		return r.rt.ToValue(r.Values[name])
	}})
}
