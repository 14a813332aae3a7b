package plan_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/plan"
)

// minimal is a plan to which the cases add one mistake; its last line is line 4.
const minimal = "name: n\ntarget: {driver: server}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, src string
		want      string // beginning of the only problem
	}{
		{"empty", "", "1:1: the plan is empty"},
		{"only a comment", "# nothing\n", "1:1: the plan is empty"},
		{"null", "~\n", "1:1: the plan is empty"},
		{"list", "- a\n", "1:1: is a list; want a mapping of name, seed"},
		{"scalar", "hello\n", "1:1: is a single value; want a mapping of name"},
		{"not yaml", "name: n\ntarget: {driver: server\nworkload: x: y\n", "2:1: this is not YAML: did not find expected ',' or '}'; look at"},
		{"not yaml either", minimal + "seed: 1: 2\n", "5:1: this is not YAML: mapping values are not allowed"},
		{"not yaml in a section", minimal + "setup:\n  a: 1\n  b\n  c: 3\n", "7:1: this is not YAML: could not find expected ':'; look at"},
		{"tab", "name: n\ntarget:\n\tdriver: server\n", "3:1: this is not YAML: "},
		{"two documents", minimal + "---\nname: m\n", "5:1: a second document begins here; write one plan per file"},
		{"alias", "name: &a n\ntarget: {driver: server}\nworkload: {behavior: poster}\nbounded: {users: 5}\n", "1:7: anchors (&a) are not allowed"},
		{"tag", minimal + "seed: !!int 5\n", "5:7: tags (!!int) are not allowed"},
		{"too large", minimal + "# " + strings.Repeat("x", 1<<20), "1:1: the plan is larger than 1048576 bytes"},

		{"unknown key", minimal + "sed: 5\n", `5:1: sed: unknown key; did you mean "seed"?`},
		{"unknown key of a section", minimal + "unbounded: {max_users: 9, budgte: 5m}\n", `5:27: unbounded.budgte: unknown key; did you mean "budget"?`},
		{"key of another section", minimal + "users: 5\n", `5:1: users: unknown key; did you mean "bounded.users"?`},
		{"key of the top", minimal + "compare: {seed: 5, arms: {base: {}, new: {}}}\n", `5:11: compare.seed: unknown key; did you mean "seed" at the top level?`},
		{"strange key", minimal + "zzzzzz: 5\n", `5:1: zzzzzz: unknown key; known here: name, seed, target`},
		{"merge key", minimal + "<<: {seed: 4}\n", `5:1: <<: unknown key`},
		{"complex key", minimal + "? [a, b]\n: 5\n", `5:3: a key is a list; want a name`},
		{"duplicate key", minimal + "name: m\n", `5:1: name: is there twice, first on line 1; keep one`},
		{"duplicate name", minimal + "setup:\n  a: 1\n  a: 2\n", `7:3: setup.a: is there twice, first on line 6; keep one`},
		{"empty name", minimal + "setup: {\"\": 1}\n", `5:9: setup: "" cannot be a name`},

		{"no value", minimal + "seed:\n", "5:6: seed: has no value; write one, or remove the key"},
		{"no value in a list", minimal + "placement: {target: [~]}\n", "5:22: placement.target[0]: has no value"},
		{"number is text", minimal + "seed: seven\n", `5:7: seed: "seven" is not a whole number; want one such as 200`},
		{"negative", minimal + "seed: -1\n", `5:7: seed: "-1" is negative; want 0 or more`},
		{"too large a number", minimal + "seed: 18446744073709551616\n", `5:7: seed: "18446744073709551616" is too large`},
		{"underscores", minimal + "seed: 1_000\n", `5:7: seed: "1_000" is not a whole number`},
		{"leading zero", minimal + "seed: 010\n", `5:7: seed: "010" is not a whole number`},
		{"text is a list", minimal + "setup: {note: [a]}\n", `5:15: setup.note: is a list; want a text`},
		{"list is a text", minimal + "placement: {target: 1}\n", `5:21: placement.target: is a single value; want a list of CPU numbers`},
		{"section is a text", minimal + "placement: here\n", `5:12: placement: is a single value; want a mapping of generator, target`},
		{"boolean", minimal + "compare: {arms: {base: {}, new: {}}, combine: yes}\n", `5:47: compare.combine: "yes" is neither true nor false`},
		{"duration without unit", minimal + "unbounded: {max_users: 9, budget: 90}\n", `5:35: unbounded.budget: "90" has no unit; write 90s for seconds`},
		{"duration in days", minimal + "unbounded: {max_users: 9, budget: 2d}\n", `5:35: unbounded.budget: "2d" is not a time; the largest unit is h`},
		{"duration in percent", minimal + "unbounded: {max_users: 9, budget: 5%}\n", `5:35: unbounded.budget: "5%" is a percentage; want a time`},
		{"negative duration", minimal + "unbounded: {max_users: 9, budget: -5s}\n", `5:35: unbounded.budget: "-5s" is negative`},
		{"endless duration", minimal + "unbounded: {max_users: 9, budget: 200h}\n", `5:35: unbounded.budget: "200h" is more than seven days`},
		{"percent without unit", minimal + "unbounded: {max_users: 9, step: 5}\n", `5:33: unbounded.step: "5" has no unit; write 5% if percent is meant`},
		{"fraction for percent", minimal + "unbounded: {max_users: 9, step: 0.05}\n", `5:33: unbounded.step: "0.05" has no unit; write 0.05%, or 5% if a fraction is meant`},
		{"points for percent", minimal + "unbounded: {max_users: 9, step: 5pp}\n", `5:33: unbounded.step: "5pp" is in percentage points`},
		{"negative percent", minimal + "unbounded: {max_users: 9, step: -5%}\n", `5:33: unbounded.step: "-5%" is negative`},
		{"step out of range", minimal + "unbounded: {max_users: 9, step: 51%}\n", `5:33: unbounded.step: 51% is out of range; want 0.01% to 50%`},

		{"name missing", minimal[len("name: n\n"):], "1:1: name: is missing; write it"},
		{"name empty", strings.Replace(minimal, "name: n", `name: ""`, 1), `1:7: name: "" cannot be a name`},
		{"name with a slash", strings.Replace(minimal, "name: n", "name: a/b", 1), `1:7: name: "a/b" cannot be a name`},
		{"driver missing", strings.Replace(minimal, "driver: server", "version: 5", 1), "2:9: target.driver: is missing"},
		{"behavior missing", strings.Replace(minimal, "behavior: poster", "pace: 2", 1), "3:11: workload.behavior: is missing"},
		{"no test", strings.Replace(minimal, "bounded: {users: 5}\n", "", 1), "1:1: has neither bounded nor unbounded"},
		{"users missing", strings.Replace(minimal, "users: 5", "ramp: 5s", 1), "4:10: bounded.users: is missing"},
		{"no users", strings.Replace(minimal, "users: 5", "users: 0", 1), "4:18: bounded.users: 0 is out of range; want 1 to 10000000"},
		{"nothing measured", strings.Replace(minimal, "users: 5", "users: 5, measure: 0s", 1), "4:30: bounded.measure: 0s is out of range"},

		{"instances", strings.Replace(minimal, "driver: server", "driver: server, instances: 0", 1), "2:37: target.instances: 0 is out of range; want 1 to 64"},
		{"url", strings.Replace(minimal, "driver: server", "driver: server, url: localhost", 1), `2:31: target.url: "localhost" is not an address of a server`},
		{"ready", strings.Replace(minimal, "driver: server", "driver: server, ready: ping", 1), `2:33: target.ready: "ping" is not an address`},
		{"signal", strings.Replace(minimal, "driver: server", "driver: server, stop_signal: KILL", 1), `2:39: target.stop_signal: "KILL" is not a signal; want one of TERM`},
		{"external without url", strings.Replace(minimal, "driver: server", "driver: external", 1), "2:9: target.url: is missing; the driver external"},
		{"external instances", strings.Replace(minimal, "driver: server", `driver: external, url: "http://h", instances: 2`, 1), "2:56: target.instances: the driver external has no way to start 2 instances"},
		{"external with a database", strings.Replace(minimal, "driver: server}", "driver: external, url: \"http://h\"}\ndatabase: {engine: mysql}", 1), "3:20: database.engine: the driver external brings its own database"},
		{"external on cores", strings.Replace(minimal, "driver: server}", "driver: external, url: \"http://h\"}\nplacement: {target: [0]}", 1), "3:21: placement.target: the driver external starts nothing"},
		{"a command of a driver that has its own", strings.Replace(minimal, "driver: server", "driver: server, command: [x]", 1), "2:35: target.command: has no effect, because the driver server knows its own"},
		{"external with args", strings.Replace(minimal, "driver: server", `driver: external, url: "http://h", args: [x]`, 1), "2:51: target.args: has no effect"},
		{"process without command", strings.Replace(minimal, "driver: server", "driver: process", 1), "2:9: target.command: is missing"},
		{"process with one binary", strings.Replace(minimal, "driver: server", "driver: process", 1) + "compare: {arms: {base: {}, new: {binary: x}}}\n", "2:9: target.command: is missing"},
		{"empty command", strings.Replace(minimal, "driver: server", `driver: process, command: ["", a]`, 1), "2:37: target.command[0]: is empty"},
		{"env name", strings.Replace(minimal, "driver: server", "driver: server, env: {A-B: c}", 1), `2:37: target.env.A-B: "A-B" cannot name an environment variable`},

		{"engine unknown", minimal + "database: {engine: mysqk}\n", `5:20: database.engine: "mysqk" is not a known engine; did you mean "mysql"?`},
		{"engine in a list", minimal + "database: {engine: [mysql, sqlite]}\n", `5:28: database.engine[1]: "sqlite" is not a known engine; known: postgresql, mysql`},
		{"engine twice", minimal + "database: {engine: [mysql, mysql]}\n", `5:28: database.engine[1]: "mysql" is there twice`},
		{"users of an engine missing", strings.Replace(minimal, "users: 5", "users: {mysql: 5}", 1) + "database: {engine: [mysql, postgresql]}\n", "4:18: bounded.users: has no number for the engine postgresql"},
		{"users of no engine", strings.Replace(minimal, "users: 5", "users: {mysql: 5, postgres: 4}", 1) + "database: {engine: mysql}\n", `4:39: bounded.users.postgres: "postgres" is not a known engine; did you mean "postgresql"?`},
		{"users of another engine", strings.Replace(minimal, "users: 5", "users: {mysql: 5, postgresql: 4}", 1) + "database: {engine: mysql}\n", `4:41: bounded.users.postgresql: postgresql is not in database.engine; add it there`},
		{"users without engines", strings.Replace(minimal, "users: 5", "users: {mysql: 5}", 1), "4:26: bounded.users.mysql: database.engine is not set"},

		{"overlap", minimal + "placement: {generator: [1, 2], target: [0, 2]}\n", "5:44: placement.target[1]: CPU 2 is also in placement.generator"},
		{"no address", minimal + "placement: {source: [10.0.0.7, 10.0.0.256]}\n", "5:32: placement.source[1]: \"10.0.0.256\" is no address"},
		{"address twice", minimal + "placement: {source: [10.0.0.7, 10.0.0.7]}\n", "5:32: placement.source[1]: \"10.0.0.7\" is there twice"},
		{"budget too small", minimal + "placement: {memory: 7MB}\n", "5:21: placement.memory: 7MB is out of range; want 8MB to 1048576GB"},
		{"budget of nothing", minimal + "placement: {memory: 0MB}\n", "5:21: placement.memory: 0GB is out of range; want 8MB to 1048576GB"},
		{"budget without a unit", minimal + "placement: {memory: 256}\n", "5:21: placement.memory: \"256\" is no amount of memory; want one such as 4GB or 512MB"},
		{"cpu twice", minimal + "placement: {generator: [1, 1]}\n", "5:28: placement.generator[1]: CPU 1 is there twice"},
		{"cpu too large", minimal + "placement: {generator: [4096]}\n", "5:25: placement.generator[0]: 4096 is out of range; want 0 to 4095"},

		{"shares", strings.Replace(minimal, "behavior: poster", "behavior: poster, share: 80%, with: {a: 10%}", 1), "3:37: workload.share: share and with add up to 90%; want 100%"},
		{"shares over", strings.Replace(minimal, "behavior: poster", "behavior: poster, with: {a: 60%, b: 40%}", 1), "3:36: workload.with: leaves nothing for workload.behavior"},
		{"share of itself", strings.Replace(minimal, "behavior: poster", "behavior: poster, share: 50%, with: {poster: 50%}", 1), "3:57: workload.with.poster: is workload.behavior itself"},
		{"share zero", strings.Replace(minimal, "behavior: poster", "behavior: poster, share: 100%, with: {a: 0%}", 1), "3:53: workload.with.a: 0% is out of range"},
		{"pace zero", strings.Replace(minimal, "behavior: poster", "behavior: poster, pace: 0", 1), "3:36: workload.pace: 0 is out of range; want 0.001 to 100"},
		{"pace in percent", strings.Replace(minimal, "behavior: poster", "behavior: poster, pace: 10%", 1), `3:36: workload.pace: "10%" is a percentage; want a number such as 0.1`},
		{"pace not a number", strings.Replace(minimal, "behavior: poster", "behavior: poster, pace: .nan", 1), `3:36: workload.pace: ".nan" is not a number`},
		{"login", strings.Replace(minimal, "behavior: poster", "behavior: poster, login: hot", 1), `3:37: workload.login: "hot" is not a way to log in; want warm or cold`},

		{"mix of nothing", strings.Replace(minimal, "behavior: poster", "behavior: poster, mix: custom, weights: {a: 0}", 1), "3:35: workload.mix: custom is nothing but workload.weights"},
		{"mix no name", strings.Replace(minimal, "behavior: poster", "behavior: poster, mix: a b", 1), `3:35: workload.mix: "a b" is neither the name of a mix nor a file`},
		{"negative weight", strings.Replace(minimal, "behavior: poster", "behavior: poster, weights: {a: -1}", 1), `3:43: workload.weights.a: "-1" is not a number`},
		{"huge weight", strings.Replace(minimal, "behavior: poster", "behavior: poster, weights: {a: 2000000}", 1), "3:43: workload.weights.a: 2000000 is out of range; want 0 to 1000000"},
		{"storm without a time", strings.Replace(minimal, "users: 5", "users: 5, stages: [{storm: x}]", 1), "4:30: bounded.stages[0].at: is missing; write when"},
		{"storm without a kind", strings.Replace(minimal, "users: 5", "users: 5, stages: [{at: 5s}]", 1), "4:30: bounded.stages[0].storm: is missing; write its kind"},
		{"storm of nobody", strings.Replace(minimal, "users: 5", "users: 5, stages: [{at: 5s, storm: x, share: 0%}]", 1), "4:56: bounded.stages[0].share: 0% is out of range"},
		{"storm of too many", strings.Replace(minimal, "users: 5", "users: 5, stages: [{at: 5s, storm: x, share: 101%}]", 1), "4:56: bounded.stages[0].share: 101% is out of range"},
		{"storm after the end", strings.Replace(minimal, "users: 5", "users: 5, measure: 10s, stages: [{at: 9s, storm: x, over: 1s}]", 1), "4:44: bounded.stages[0]: from 9s over 1s ends beyond bounded.measure 10s"},
		{"storms at once", strings.Replace(minimal, "users: 5", "users: 5, stages: [{at: 5s, storm: x, over: 3s}, {at: 7s, storm: y}]", 1), "4:60: bounded.stages[1]: begins at 7s, before the storm above it ends at 8s"},
		{"storm key", strings.Replace(minimal, "users: 5", "users: 5, stages: [{at: 5s, storm: x, shaer: 5%}]", 1), `4:49: bounded.stages[0].shaer: unknown key; did you mean "share"?`},

		{"max_users missing", minimal + "unbounded: {budget: 5m}\n", "5:12: unbounded.max_users: is missing"},
		{"max_users too small", minimal + "unbounded: {max_users: 5}\n", "5:24: unbounded.max_users: 5 leaves no room above bounded.users 5"},
		{"start too large", minimal + "unbounded: {max_users: 9, start: 10}\n", "5:34: unbounded.start: 10 is more than unbounded.max_users 9"},
		{"budget too small", minimal + "unbounded: {max_users: 9, budget: 20s}\n", "5:35: unbounded.budget: 20s is less than two windows of 15s"},
		{"budget too small at a pace", strings.Replace(minimal, "behavior: poster", "behavior: poster, pace: 0.1", 1) + "unbounded: {max_users: 9, budget: 2s}\n", "5:35: unbounded.budget: 2s is less than two windows of 15s at pace 0.1"},
		{"no rules", minimal + "unbounded: {max_users: 9, slo: []}\n", "5:32: unbounded.slo: is an empty list"},
		{"rule as a mapping", minimal + "unbounded:\n  max_users: 9\n  slo:\n    - promql: x < 1\n", `8:7: unbounded.slo[0]: is a mapping; put the rule in quotes`},
		{"bad rule", minimal + "unbounded: {max_users: 9, slo: [p99(op) < 2s, p98(op) < 2]}\n", `5:47: unbounded.slo[1]: the limit of p98(op): "2" has no unit`},
		{"rule twice", minimal + "unbounded: {max_users: 9, slo: [p99(op) < 2s, p99(op)<2000ms]}\n", `5:47: unbounded.slo[1]: is the same rule as unbounded.slo[0]`},
		{"bounded rule twice", strings.Replace(minimal, "bounded: {", "bounded: {slo: [p99(op) < 2s, p99(op)<2000ms], ", 1), "4:31: bounded.slo[1]: is the same rule as bounded.slo[0]; keep one"},
		{"no bounded rules", strings.Replace(minimal, "bounded: {", "bounded: {slo: [], ", 1), "4:16: bounded.slo: is an empty list; write a rule, or remove the key for the default rules"},
		{"bad bounded rule", strings.Replace(minimal, "bounded: {", "bounded: {slo: [p98(op) < 2], ", 1), `4:17: bounded.slo[0]: the limit of p98(op): "2" has no unit`},
		{"rule for too long", minimal + "unbounded: {max_users: 9, budget: 1m, slo: [p99(op) < 2s for 2m]}\n", `5:45: unbounded.slo[0]: for 2m is longer than unbounded.budget 1m`},

		{"arms missing", minimal + "compare: {blocks: 6}\n", "5:10: compare.arms: has 0 of at least two arms"},
		{"one arm", minimal + "compare: {arms: {base: {}}}\n", "5:17: compare.arms: has 1 of at least two arms"},
		{"no base", minimal + "compare: {arms: {old: {}, new: {}}}\n", `5:17: compare.arms: has no arm named "base"`},
		{"arm twice", minimal + "compare: {arms: {base: {}, new: {}, new: {}}}\n", "5:37: compare.arms.new: is there twice"},
		{"arm is nothing", minimal + "compare:\n  arms:\n    base:\n    new: {}\n", "7:10: compare.arms.base: has no value; write {} for an arm"},
		{"arm name", minimal + "compare: {arms: {base: {}, a b: {}}}\n", `5:33: compare.arms.a b: "a b" cannot be the name of an arm`},
		{"key of an arm", minimal + "compare: {arms: {base: {}, new: {arg: [x]}}}\n", `5:34: compare.arms.new.arg: unknown key; did you mean "args"?`},
		{"blocks", minimal + "compare: {arms: {base: {}, new: {}}, blocks: 0}\n", "5:46: compare.blocks: 0 is out of range; want 1 to 100"},
		{"combine", minimal + "compare: {arms: {base: {}, new: {}}, combine: true}\n", "5:47: compare.combine: joins both tests, but unbounded is missing"},
		{"margin endpoint", minimal + "compare: {arms: {base: {}, new: {}}, margin: {capcity: 5%}}\n", `5:56: compare.margin.capcity: unknown endpoint; did you mean "capacity"?`},
		{"margin zero", minimal + "compare: {arms: {base: {}, new: {}}, margin: 0%}\n", `5:46: compare.margin: "0%" is not a possible margin`},
		{"margin relative", minimal + "compare: {arms: {base: {}, new: {}}, margin: {errors: 5%}}\n", "5:55: compare.margin.errors: 5% is relative"},
		{"margin points", minimal + "compare: {arms: {base: {}, new: {}}, margin: 5pp}\n", "5:46: compare.margin.capacity: 5pp is in percentage points"},
	}
	mustParse(t, minimal)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.Parse([]byte(tt.src))
			var all *plan.Error
			if !errors.As(err, &all) {
				t.Fatalf("Parse gave %v, %v; want *plan.Error", p, err)
			}
			if p != nil {
				t.Error("a plan beside an error")
			}
			if len(all.Problems) != 1 || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant only\n%s", err, tt.want)
			}
			if msg := all.Problems[0].Msg; !strings.Contains(msg, ";") {
				t.Errorf("no remedy in %q", msg)
			}
		})
	}
}

// All mistakes of one file come at once and in its order.
func TestAllProblemsAtOnce(t *testing.T) {
	src, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Parse(src)
	if err == nil {
		t.Fatal("accepted")
	}
	golden(t, "wrong.golden", []byte(err.Error()+"\n"))
	for range 20 {
		if _, again := plan.Parse(src); again.Error() != err.Error() {
			t.Fatalf("two runs differ:\n%v\n\n%v", err, again)
		}
	}
}

func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := range 60 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	_, err := plan.Parse([]byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "are not allowed in plans") {
		t.Errorf("got %v", err)
	}
	if _, err := plan.Parse([]byte(strings.Repeat("[", 200000))); err == nil {
		t.Error("accepted 200000 brackets")
	}
	if _, err := plan.Parse([]byte("a: &a [*a]\n")); err == nil {
		t.Error("accepted a list that holds itself")
	}
}

func TestKnown(t *testing.T) {
	k := plan.Known{
		Drivers:   []string{"server", "external"},
		Behaviors: []string{"poster", "reader"},
		Ops:       []string{"post", "login"},
		Roles:     map[string][]string{"server": {"app", "db"}},
	}
	const src = `name: n
target: {driver: %s}
workload: {behavior: %s, with: {%s: 10%%}}
unbounded: {max_users: 9, slo: [p99(%s) < 2s, cpu(%s) < 85%%, p99(delivery) < 1s, p99(op) < 1s]}
`
	if _, err := k.Parse(fmt.Appendf(nil, src, "server", "poster", "reader", "post", "app")); err != nil {
		t.Fatal(err)
	}
	_, err := k.Parse(fmt.Appendf(nil, src, "server", "postr", "raeder", "psot", "ap"))
	const want = `3:22: workload.behavior: "postr" is not a known behavior; did you mean "poster"? known: poster, reader
3:44: workload.with.raeder: "raeder" is not a known behavior; did you mean "reader"? known: poster, reader
4:33: unbounded.slo[0]: "psot" is not an operation; did you mean "post"? known: op, delivery, post, login
4:49: unbounded.slo[1]: the target server has no role "ap" to watch; did you mean "app"? roles: app, db`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := k.Parse(fmt.Appendf(nil, src, "sever", "poster", "reader", "post", "ap")); err == nil ||
		err.Error() != `2:18: target.driver: "sever" is not a known driver; did you mean "server"? known: server, external` {
		t.Errorf("got %v", err)
	}
}

func TestKnownProfiles(t *testing.T) {
	k := plan.Known{Drivers: []string{"server", "other"}, Profiles: map[string][]string{"server": {"quick", "full"}}}
	const src = "name: n\ntarget: {driver: %s, profile: %s}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"
	for _, name := range []string{"quick", "full"} {
		p, err := k.Parse(fmt.Appendf(nil, src, "server", name))
		if err != nil || p.Target.Profile != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct{ driver, profile, want string }{
		{"server", "fall", `2:35: target.profile: "fall" is not a known profile of the driver server; did you mean "full"? known: quick, full`},
		{"server", `""`, `2:35: target.profile: "" cannot be a name; want letters, digits, dot, underscore and dash, at most 64`},
		{"other", "full", `2:34: target.profile: has no effect, because the driver other has no profiles; remove it`},
		{"sever", "full", `2:18: target.driver: "sever" is not a known driver; did you mean "server"? known: server, other`},
	} {
		if _, err := k.Parse(fmt.Appendf(nil, src, c.driver, c.profile)); err == nil || err.Error() != c.want {
			t.Errorf("%s %s: got\n%v\nwant\n%s", c.driver, c.profile, err, c.want)
		}
	}
}

func TestKnownMixesAndStorms(t *testing.T) {
	k := plan.Known{Mixes: []string{"busy"}, Actions: map[string][]string{"reader": {"post", "react"}}, Storms: map[string][]string{"poster": nil, "reader": {"reconnect", "join"}}}
	const src = `name: n
target: {driver: server}
workload: {behavior: %s, mix: %s, weights: {%s: 1}}
bounded: {users: 5, stages: [{at: 5s, storm: %s}]}
`
	for _, tt := range []struct {
		behavior, mix, action, storm string
		want                         string
	}{
		{"reader", "default", "post", "join", ""},
		{"reader", "busy", "post", "join", ""},
		{"reader", "custom", "react", "join", ""},
		{"reader", "./mine.yaml", "react", "join", ""},
		{"reader", "mine.yml", "react", "join", ""},
		{"reader", "bussy", "post", "join", `3:35: workload.mix: "bussy" is not a known mix; did you mean "busy"? known: default, custom, busy`},
		{"reader", "busy", "raect", "join", `3:58: workload.weights.raect: "raect" is not a known action; did you mean "react"? known: post, react`},
		{"reader", "busy", "post", "reconect", `4:46: bounded.stages[0].storm: "reconect" is not a known storm of these behaviors; did you mean "reconnect"? known: join, reconnect`},
		{"poster", "busy", "post", "join", `3:35: workload.mix: has no effect, because no behavior of this plan draws its actions by weight; remove it
3:50: workload.weights: has no effect, because no behavior of this plan draws its actions by weight; remove it
4:46: bounded.stages[0].storm: no behavior of this plan knows a storm; remove`},
	} {
		_, err := k.Parse(fmt.Appendf(nil, src, tt.behavior, tt.mix, tt.action, tt.storm))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%+v:\n%v", tt, err)
		}
	}
}

func TestParseWeights(t *testing.T) {
	k := plan.Known{Actions: map[string][]string{"reader": {"post", "react"}}}
	got, err := k.ParseWeights([]byte("# measured\npost: 1\nreact: 0.13\n"))
	if err != nil || got["post"] != 1 || got["react"] != 0.13 || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, tt := range []struct{ src, want string }{
		{"", "1:1: the file is empty"},
		{"- 1\n", "1:1: weights: is a list; want a mapping"},
		{"post: 1\npots: 2\n", `2:7: weights.pots: "pots" is not a known action; did you mean "post"?`},
		{"post: x\n", `1:7: weights.post: "x" is not a number`},
		{"post: 1000000000\n", `1:7: weights.post: 1000000000 is out of range; want 0 to 1000000`},
		{"post: 0\n", "1:1: weights: gives no action a weight above 0"},
		{"post: 1\npost: 2\n", "2:1: weights.post: is there twice"},
	} {
		if _, err := k.ParseWeights([]byte(tt.src)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.src, err, tt.want)
		}
	}
}

// A plan that was run is complete by itself: its digest covers every value of the file.
func TestWithWeights(t *testing.T) {
	p := mustParse(t, strings.Replace(minimal, "behavior: poster", "behavior: poster, mix: mixes/a.yaml, weights: {post: 3}", 1))
	if p.Workload.MixFile() != "mixes/a.yaml" {
		t.Fatalf("file %q", p.Workload.MixFile())
	}
	q := p.WithWeights(map[string]float64{"post": 1, "react": 2})
	if w := q.Workload; w.ActionMix != plan.MixCustom || w.Weights["post"] != 3 || w.Weights["react"] != 2 || p.Workload.Weights["react"] != 0 {
		t.Errorf("%+v", w)
	}
	again := mustParse(t, q.String())
	if again.Digest() != q.Digest() || q.Digest() == p.WithWeights(map[string]float64{"post": 1}).Digest() {
		t.Error("the digest does not hold the weights")
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range examples(f) {
		f.Add(src)
	}
	wrong, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wrong)
	f.Add([]byte(full))
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := plan.Parse(src)
		if err != nil {
			var all *plan.Error
			if !errors.As(err, &all) || len(all.Problems) == 0 {
				t.Fatalf("%q: an error without a problem: %v", src, err)
			}
			for _, one := range all.Problems {
				if one.Line < 1 || one.Col < 1 || one.Msg == "" {
					t.Fatalf("%q: a problem without a place: %+v", src, one)
				}
			}
			return
		}
		again, err := plan.Parse([]byte(p.String()))
		if err != nil {
			t.Fatalf("%q was accepted, its canonical form was not:\n%v\n%s", src, err, p)
		}
		if again.Digest() != p.Digest() || again.String() != p.String() {
			t.Fatalf("%q changed when read again:\n%s\n%s", src, p, again)
		}
	})
}
