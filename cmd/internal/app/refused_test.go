package app

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// TestCheckRefusesWhatRunRefuses: with the place, and the accepted values. Stored plans stay
// readable.
func TestCheckRefusesWhatRunRefuses(t *testing.T) {
	const chat = "name: n\ntarget: {driver: refchat}\ndatabase: {engine: postgresql}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"
	with := func(old, new string) string { return strings.Replace(chat, old, new, 1) }
	for _, tt := range []struct{ name, src, want string }{
		{"unknown setting", with("poster}", "poster, params: {chanels: 3}}"), "4:48: workload.params.chanels: is unknown; there are admin, away, bot, channel, channels,"},
		{"speed", with("poster}", "poster, params: {speed: fast}}"), `4:46: workload.params.speed: "fast": want mixed, or a number from 0.01 to 1000`},
		{"two at once", with("poster}", "poster, params: {speed: fast, away: never}}"), `workload.params.away: "never": want a time up to 24h`},
		{"reference under a name that nothing asks for", with("poster}", `poster, params: {bot_tokn: "${ENV:TOKEN}"}}`), "workload.params.bot_tokn: is unknown as a reference to a secret; there are admin_password"},
		{"a storm's settings", strings.Replace(with("poster", "mattermost"), "users: 5", "users: 5, stages: [{at: 1s, storm: mention, params: {posts: many}}]", 1), `bounded.stages[0].params.posts: "many": want a whole number from 1`},
		{"a storm that has none", strings.Replace(with("poster", "mattermost"), "users: 5", "users: 5, stages: [{at: 1s, storm: login, params: {posts: 1}}]", 1), "bounded.stages[0].params.posts: is unknown"},
		{"a fault that is none", with("driver: refchat", `driver: refchat, args: ["-hash=bcrypt:4", "-fault=cpu"]`), "target.args[1]: "},
		{"several servers", with("driver: refchat", "driver: refnull, instances: 2"), "2:38: target.instances: 2 servers, and the driver refnull starts one; want 1"},
		{"a margin of errors beyond the default rules", chat + "unbounded: {max_users: 90}\ncompare: {arms: {base: {}, new: {}}, margin: {errors: 0.1pp}}\n",
			"7:55: compare.margin.errors: 0.1pp is more than the rule rate(5xx) < 0.025% min 8000 allows at all"},
		{"a margin of errors beyond the rule of a bounded test", chat + "compare: {arms: {base: {}, new: {}}, margin: {errors: 0.2pp}}\n",
			"compare.margin.errors: 0.2pp is more than the rule rate(errors) < 0.1% min 2000 allows at all"},
		{"a margin of errors beyond the rule that is added", chat + "unbounded: {max_users: 90, slo: [\"p99(op) < 2s\"]}\ncompare: {arms: {base: {}, new: {}}, margin: {errors: 0.2pp}}\n",
			"compare.margin.errors: 0.2pp is more than the rule rate(errors) < 0.1% min 2000 allows at all"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failure.Says(t, failure.Of(new(App).Known().Parse([]byte(tt.src))), tt.want)
			if _, err := plan.Parse([]byte(tt.src)); err != nil {
				t.Errorf("a stored plan is not readable: %v", err)
			}
		})
	}
	if _, err := new(App).Known().Parse([]byte(chat)); err != nil {
		t.Errorf("a good plan: %v", err)
	}
}
