package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/plan"
)

// checked returns the plan for whom the names are known. It fails the test unless the plan has the
// one problem that begins with want, or none, and is read all the same as a stored one.
func checked(t *testing.T, k plan.Known, text []byte, want string) *plan.Plan {
	t.Helper()
	p, err := k.Parse(text)
	if want == "" && err != nil || want != "" && (err == nil ||
		!strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := plan.Parse(text); err != nil {
		t.Errorf("a stored plan cannot be read: %v", err)
	}
	return p
}

// Arms of a server that is not ours are one server: two versions of it would be two releases in the
// report, and always the same.
func TestArmsOfOneServer(t *testing.T) {
	k := plan.Known{Drivers: []string{"server", "external"}}
	const src = "name: n\ntarget: {driver: %s, url: \"http://h\", version: \"1.0\"}\nworkload: {behavior: poster}\nbounded: {users: 5}\ncompare: {arms: %s}\n"
	const refused = `5:17: compare.arms: base and new are the one server at "http://h", whatever their versions say; write target.install`
	for _, tt := range []struct{ name, driver, arms, want string }{
		{"alike", "external", "{base: {}, new: {}}", ""},
		{"one version", "external", `{base: {version: "2.0"}, new: {version: "2.0"}}`, ""},
		{"that of the target", "external", `{base: {}, new: {version: "1.0"}}`, ""},
		{"two versions", "external", `{base: {version: "1.0"}, new: {version: "2.0"}}`, refused},
		{"one of the arms", "external", `{base: {}, new: {version: "2.0"}}`, refused},
		{"the third", "external", `{base: {}, copy: {}, new: {version: "2.0"}}`, refused},
		{"ours", "server", `{base: {}, new: {version: "2.0"}}`, ""},
		{"one of two addresses", "external", `{base: {url: ["http://a", "http://h"]}, new: {version: "2.0"}}`, refused},
		{"another order", "external", `{base: {url: ["http://a", "http://h"]}, new: {version: "2.0", url: ["http://h", "http://a"]}}`, refused},
		{"addresses of their own", "external", `{base: {url: ["http://a", "http://h"]}, new: {version: "2.0", url: "http://b"}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := fmt.Appendf(nil, src, tt.driver, tt.arms)
			checked(t, k, text, tt.want)
		})
	}
}

// Arms on their own databases with different loads could be compared by their capacities alone.
func TestArmsOfOneLoad(t *testing.T) {
	k := plan.Known{Drivers: []string{"server"}}
	const src = "name: n\ntarget: {driver: server}\ndatabase: {engine: postgresql}\nworkload: {behavior: poster}\nbounded: {users: %s}\n%scompare: {arms: {base: {database: mysql}, new: {}}}\n"
	for _, tt := range []struct{ name, users, search, want string }{
		{"one number", "9", "", ""},
		{"the same", "{postgresql: 9, mysql: 9}", "", ""},
		{"two", "{postgresql: 9, mysql: 8}", "", "5:18: bounded.users: the arms have databases of their own with different numbers of users"},
		{"two and a search", "{postgresql: 9, mysql: 8}", "unbounded: {max_users: 90}\n", ""},
	} {
		text := fmt.Appendf(nil, src, tt.users, tt.search)
		checked(t, k, text, tt.want)
	}
}

// A margin by which nothing can be judged would be left out of the verdict without a warning.
func TestMarginsThatAreJudged(t *testing.T) {
	k := plan.Known{
		Ops:   []string{"post", "reply"},
		Apart: []string{"login", "storm_reconnect_websocket"},
	}
	const arms = "compare: {arms: {base: {}, new: {}}, margin: {%s: 20%%}}\n"
	search := strings.Replace(minimal, "bounded: {users: 5}", "unbounded: {max_users: 9}", 1)
	for _, tt := range []struct{ name, head, endpoint, want string }{
		{"percentile", minimal, "p95(reply)", ""},
		{"lowest percentile", minimal, "p50(post)", ""},
		{"highest percentile", minimal, "p99.9(post)", ""},
		{"mean of all", minimal, "mean(op)", ""},
		{"maximum of deliveries", minimal, "max(delivery)", ""},
		{"throughput", minimal, "throughput(reply)", ""},
		{"throughput of all", minimal, "throughput(op)", ""},
		{"login", minimal, "p95(login)", ""},
		{"storm", minimal, "p95(storm_reconnect_websocket)", ""},
		{"usual without its test", search, "p95(post)", ""},
		{"capacity without its test", minimal, "capacity", ""},

		{"operation", minimal, "p95(psot)", `5:58: compare.margin.p95(psot): "psot" is not an operation; did you mean "post"? known: op, delivery, post, reply`},
		{"operation of a throughput", minimal, "throughput(rply)", `5:65: compare.margin.throughput(rply): "rply" is not an operation; did you mean "reply"?`},
		{"operation of a login", minimal, "mean(lgoin)", `5:60: compare.margin.mean(lgoin): "lgoin" is not an operation; did you mean "login"?`},
		{"low percentile", minimal, "p25(post)", `5:58: compare.margin.p25(post): "p25" is out of range; want p50 to p99.9`},
		{"just too low", minimal, "p49.9(post)", `5:60: compare.margin.p49.9(post): "p49.9" is out of range; want p50 to p99.9`},
		{"without its test", search, "mean(post)", "5:59: compare.margin.mean(post): is a number of the bounded test, which this plan does not have; add a section bounded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := fmt.Appendf(nil, tt.head+arms, tt.endpoint)
			if p := checked(t, k, text, tt.want); p != nil {
				plan.ReadAgain(t, p)
			}
		})
	}
}
