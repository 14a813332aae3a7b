package deploy

import (
	"maps"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/internal/plain"
	"plimsoll/plan"
)

func TestSecretsComeFromTheEnvironmentOnly(t *testing.T) {
	env := map[string]string{"PLIMSOLL_ADMIN_PASSWORD": "from-env", "MY_TOKEN": "tok"}
	e := &Resolver{
		Env:     func(k string) string { return env[k] },
		Drivers: map[string]OwnDriver{"refchat": {UserPassword: "known"}},
	}
	p := &plan.Plan{
		Target: plan.Target{Driver: "external"},
		Workload: plan.Workload{Params: map[string]string{
			"bot_token": "${ENV:MY_TOKEN}",
			"team":      "t",
		}},
	}
	get := e.SecretsOf(p)
	if get("admin_password") != "from-env" || get("bot_token") != "tok" ||
		get("user_password") != "" {
		t.Errorf("%q %q %q", get("admin_password"), get("bot_token"), get("user_password"))
	}
	if got := e.Params(p, get); got["bot_token"] != "" || got["team"] != "t" {
		t.Errorf("params %v", got)
	}
	p.Target.Driver = "refchat"
	delete(env, "PLIMSOLL_ADMIN_PASSWORD")
	if a, b := e.SecretsOf(p)("admin_password"), e.SecretsOf(p)("admin_password"); len(a) < 20 ||
		a == b {
		t.Errorf("the passwords of our own servers are %q and %q", a, b)
	}
}

// TestVariables: a script has the plan's params under any name, references resolved and masked;
// what no other behavior knows is not among the settings of others.
func TestVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{"MY_KEY": "very-secret"}
	hidden := new(plain.Secrets)
	e := &Resolver{
		Env:     func(k string) string { return env[k] },
		Secrets: hidden,
		Dialects: dialect.Set{{Behaviors: dialect.Registry{"talker": nil}, Settings: dialect.Settings{
			Params: map[string]string{"team": ""}, Secrets: map[string]string{"token": ""},
		}}},
	}
	p := &plan.Plan{Workload: plan.Workload{Script: "a.js", Params: map[string]string{
		"API_KEY": "${ENV:MY_KEY}", "ROOM": "r1", "team": "t", "token": "${ENV:MY_KEY}",
	}}}
	get := e.SecretsOf(p)
	want := map[string]string{"API_KEY": "very-secret", "ROOM": "r1", "team": "t", "token": "very-secret"}
	if got := e.Variables(p, get); !maps.Equal(got, want) {
		t.Errorf("variables %v", got)
	}
	if got := e.Params(p, get); !maps.Equal(got, map[string]string{"team": "t"}) {
		t.Errorf("settings %v", got)
	}
	if got := hidden.Text("a very-secret b"); strings.Contains(got, "very") {
		t.Errorf("%q shows the secret", got)
	}
	env["MY_KEY"] = ""
	if _, err := e.Resolve(plan.Target{}, p.Workload); err == nil ||
		!strings.Contains(err.Error(), "workload.params.API_KEY: ") {
		t.Errorf("a reference that leads nowhere: %v", err)
	}
	p.Workload.Script = ""
	if got := e.Variables(p, get); got != nil {
		t.Errorf("without a script: %v", got)
	}
}
