package deploy

import (
	"testing"

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
