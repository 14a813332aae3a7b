package dialect

import (
	"context"

	"plimsoll/load/workload"
	"plimsoll/plan"
)

// A Dialect is Plimsoll's knowledge of one kind of server. It is a value without state: its
// functions may be called from several goroutines.
type Dialect struct {
	// Name identifies the dialect, such as "mattermost". Title stands for its servers in sentences:
	// "the chat server".
	Name, Title string
	// Any reports that the behaviors are of no kind of server: they go with those of every other
	// dialect and with every driver, and their settings have any names.
	Any bool
	// Behaviors makes the behaviors of simulated users.
	Behaviors Registry
	// Drivers deploy the dialect's own servers.
	Drivers  []ServerDriver
	Settings Settings
	// Weighted names the behavior whose users draw their actions by weight; "" if there is none.
	// Mixes returns the weights by mix and action, or is nil; only their ratios count.
	Weighted string
	Mixes    func() map[string]map[string]float64
	// Ops returns the operations of the steady state, which rules may name; nil if they have any
	// names. Apart returns the series of logins and storms, which are not part of the steady state;
	// nil if there are none.
	Ops, Apart func() []string
	// Refused reports whether the text of a failed operation shows that something between the users
	// and the server refused it; nil if the dialect cannot tell.
	Refused func(text string) bool

	// Notes returns notes for people on a good plan whose target is a server of the dialect; it may
	// be nil.
	Notes func(p *plan.Plan) []string
	// Rules returns the default rules of a search beside those about the client's view, which are
	// the same for every server; nil stands for [HostRules]. scraped reports whether the metrics of
	// the plan's target are read.
	Rules func(p *plan.Plan, scraped bool) []string
	// Graphs are the graphs of reports. See [Set.Graphs].
	Graphs []GraphQuery
	// Indicators are signs of a server's limits, beside the signs that every system shows.
	Indicators []Sign
	// Metrics are the metrics that a server exposes about itself.
	Metrics Metrics
	// Wants returns secrets of Settings.Secrets, one of which users of these behaviors need, and
	// why; none if env has what they need. It is nil in a dialect without secrets.
	Wants func(env workload.Env, behaviors []string) (secrets []string, why string)
	// Visit looks at a server as its users will: its version, a login, a WebSocket, a call that
	// reads, and the settings that stop a run. It makes about ten requests and leaves nothing on
	// the server. It is nil where the answer of the page that shows that a server is ready is all
	// that is asked.
	Visit func(ctx context.Context, v Visit)
	// Release returns the names that the server at env.URL gives its version, the number first; nil
	// if the API does not report it.
	Release func(ctx context.Context, env workload.Env) ([]string, error)
	// Objects counts the server's users, channels and posts by these names; nil if the API does not
	// report them. It needs an administrator, and creates one on a server without accounts.
	Objects func(ctx context.Context, env workload.Env) (map[string]int64, error)
	// Obstacles returns the settings of the server at env.URL that matter to a run of some users;
	// nil if the API does not report them. It needs an administrator, as Objects does.
	Obstacles func(ctx context.Context, env workload.Env, users int) ([]Obstacle, error)
	// Pages returns the supplements that a comparison's report has beside its own; nil if the
	// dialect has none.
	Pages func(context.Context, Compared) ([]Supplement, error)
}

// Settings describe workload.params of a plan.
type Settings struct {
	// Params lists the settings, and Secrets those whose values are secrets, with their meaning.
	Params, Secrets map[string]string
	// Check reports everything that is wrong with values, as [SettingError]s that may be joined. Nil
	// takes any value of Params.
	Check func(params map[string]string) error
	// CheckStorm reports a problem with the settings of a kind of storm; "" if there is none. It is
	// nil in a dialect without storms.
	CheckStorm func(kind string, params map[string]string) (key, problem string)
}

// A ServerDriver describes one way to deploy a dialect's own server. The code that deploys it is
// found by its name.
type ServerDriver struct {
	Name string
	// Roles are the processes that can be watched.
	Roles []string
	// Profiles are the accepted values of target.profile, the usual one first.
	Profiles []string
	// Ready and Metrics are the paths of the pages that report that the server is ready, and its
	// metrics. Without Metrics it has none.
	Ready, Metrics string
	// Secrets are passed to the server in its environment: names of secrets, by variable.
	Secrets map[string]string
	// Release reports that target.binary, or each arm's, is the directory of a release of the
	// server. Otherwise it is the program, by default this one.
	Release bool
	// NeedsDatabase reports that the server does not run without a database.
	NeedsDatabase bool
	// Topologies reports that several servers on one database work together.
	Topologies bool
}

// Metrics names the metrics that servers of a dialect expose about themselves, in Prometheus's
// format.
type Metrics struct {
	// Prefix stands before the usual names of the metrics about the process, such as
	// process_cpu_seconds_total; often "".
	Prefix string
	// Requests is the counter of the requests that a server has answered; "" if it has none.
	Requests string
	// Stores are the histograms of calls to the server's stores.
	Stores []CallTimes
	// Gauges are compared between arms.
	Gauges []Gauge
}

// A CallTimes is a histogram of how long calls take, in seconds, and the labels that tell them
// apart.
type CallTimes struct {
	Metric string
	By     []string
}

// A Gauge is one number about a server over a stretch of time.
type Gauge struct {
	Name, Unit string
	// Query is PromQL over the stretch $w.
	Query string
	// Higher reports that more is better.
	Higher bool
	// Floor is the smallest difference that matters, in Unit.
	Floor float64
}

// A Sign speaks for one limiter in the series of a run.
type Sign struct {
	// Limiter is the name in package verdict of the limiter that the sign indicates.
	Limiter string
	// Loss reports that work was lost or refused; otherwise it waited.
	Loss bool
	// What describes the sign in words, without the role.
	What string
	// Query is PromQL with one line for each role; $w is the rate window, $inflight the requests
	// under way. Dose is PromQL for the value that must rise with the load, if that is not Query
	// itself.
	Query, Dose string
	// Limit is the value at and above which the sign speaks for its limiter, in Unit.
	Limit float64
	Unit  string
}
