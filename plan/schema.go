package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// An object is one of JSON.
type object = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of a plan, for editors that complete and underline. It is made from
// the types; rules that it cannot express, such as sums and overlaps, only [Parse] checks.
func Schema() []byte {
	root := schemaOf(reflect.TypeFor[Plan](), "", "")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Plimsoll plan"
	root["description"] = "One load test, or one comparison of several."
	if props, ok := root["properties"].(object); ok {
		props["format"] = object{"const": FormatVersion, "description": "Version of the syntax of plans. A program that reads an older one refuses the plan."}
	}
	root["required"] = []string{"name", "target", "workload"}
	root["anyOf"] = []any{
		object{"required": []string{"bounded"}},
		object{"required": []string{"unbounded"}},
		object{"required": []string{"sizing"}},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // maps, slices and texts only
	}
	return b.Bytes()
}

// required lists the keys that a section needs.
var required = map[string][]string{
	"target": {"driver"}, "workload": {"behavior"}, "workload.arrival": {"rate"}, "bounded": {"users"}, "unbounded": {"max_users"}, "compare": {"arms"},
	"bounded.stages.*": {"at", "storm"}, "prices.*": {"name", "vcpu", "memory", "price", "currency"}, "probes.*": {"kind", "role"},
	"metrics": {"prometheus"}, "compare.arms.*.metrics": {"labels"},
}

const (
	durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	ratePattern     = `^[0-9]+(\.[0-9]+)? */s$`
	percentPattern  = `^[0-9]+(\.[0-9]+)? *%$`
	rampPattern     = `^[0-9]+(\.[0-9]+)? */s( +to +[0-9]+(\.[0-9]+)? */s)?$`
	diskPattern     = `^disk *= *[0-9]+(\.[0-9]+)? ?[MGT]iB$`
	lastPattern     = `^last +([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	memoryPattern   = `^[0-9]+(\.[0-9]+)? ?[GM]i?B$`
	bitratePattern  = `^[0-9]+(\.[0-9]+)? ?[kMG]bit(/s)?$`
	marginPattern   = `^([0-9]+(\.[0-9]+)? *(%|pp)|none)$`
	rulePattern     = `^\s*(promql:.*\S\s*[<>].*|[A-Za-z][A-Za-z0-9. ]*\([^()]+\)\s*<.*)$`
)

// keyTexts holds the text that an editor shows for each key, by its path; "*" stands for a name that the author
// chooses.
var keyTexts = map[string]string{
	"name":      "Label of runs, files and reports.",
	"seed":      "Feeds every random choice of the load and the order of the blocks.",
	"target":    "What is tested, and how it is started.",
	"database":  "On which database engines; with two, everything is done on each.",
	"placement": "CPU numbers of the two sides when they share a host. A side that is not named has the CPUs that are left; without any, the users have the last one.",
	"workload":  "What the simulated users do, and how fast.",
	"bounded":   "The test with a fixed number of users. Its times are wall-clock time; pace does not touch them.",
	"unbounded": "The search for capacity. Its budget is wall-clock time; its other times are those of pace 1.",
	"probes":    "What to watch, once a second, of systems that the target does not start itself: servers, databases, proxies.",
	"metrics":   "A Prometheus server that watches the target's hosts already: its samples answer rules, graphs and limiter.",
	"gates":     "Limits on the load generator's own health. Beyond amber a run has a finding, beyond red it is not valid.",
	"compare":   "The arms of a comparison, and which differences matter.",
	"setup":     "Further rows of the report's Setup table, in this order.",
	"setup.*":   "The value of the row.",
	"report":    "Texts of a person for the report of a comparison, in place of those that are drafted from the findings.",

	"target.driver":      "The way of deployment, such as process or external; an unknown one is an error that lists those there are.",
	"target.profile":     "One of the sets of parts that the driver can deploy. Default: its usual one.",
	"target.instances":   "Number of servers on one database. The users are spread over all of them, or reach the proxy before them: target.topology.",
	"target.binary":      "The server's executable, or the directory of its release.",
	"target.command":     "The whole command line of a process, program first.",
	"target.args":        "Arguments for the server.",
	"target.env":         "Additional environment variables of the server, or of install and reset, or a mapping of them for each engine: all, postgresql, mysql. Secrets only as ${ENV:NAME} or ${FILE:PATH}.",
	"target.env.*":       "The value of the variable.",
	"target.url":         "Base address of the target, http or https; with the driver external also a list, over which the users are spread: the i-th of a behavior, from 0, goes to the server i modulo their number.",
	"target.ready":       "Path or address that answers 200 once the target can be used. Default the page of its API for that.",
	"target.metrics_url": "Path or address of the target's Prometheus metrics; with the driver external also a list, of one for each server.",
	"target.ca":          "File with the certificate, in PEM, of a private authority that signed the certificates of a target of the driver external. The system's authorities stay.",
	"target.http":        "Protocol of the users' requests to a target of the driver external, by its name in ALPN. h2 needs https; WebSockets stay HTTP/1.1. Default http/1.1.",
	"target.stop_signal": "The signal that asks the server to stop.",
	"target.version":     "Label of the build when the target cannot say it itself. The driver refchat also plays that release if it is MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1.",
	"target.install":     "With the driver external: command, program first, that puts an arm's version there. It is run when an arm's turn comes and another one is there.",
	"target.reset":       "With the driver external: command, program first, that puts the state back before every run.",

	"target.verify":           "What must be true after install and reset, by the server's API; a run before which it is not is void.",
	"target.verify.version":   "from-api: the server reports the arm's version. Default where versions are installed or have addresses of their own. none: not compared.",
	"target.verify.users":     "How many users there are: 1200 ±0, same ±0 (as the first run found, the default with a reset), none.",
	"target.verify.channels":  "How many channels there are, direct ones left out, in the same form.",
	"target.verify.posts":     "How many posts there are, in the same form.",
	"target.timeouts":         "Longest times of the commands; beyond them a run is void.",
	"target.timeouts.install": "Of install. Default 20m.",
	"target.timeouts.reset":   "Of reset. Default 30m.",
	"target.timeouts.ready":   "Until the target answers, after a command too; where it is written, a run waits for a server that is not up yet. Default 5m with commands, else 30s.",

	"target.dataset": "What the database holds before a run: none, a preset or spec file of generated data, or the directory of a dump.",

	"target.topology":          "Servers around the program, in the roles of a cluster: several instances, a proxy.",
	"target.topology.apps":     "Number of servers on one database. Default: target.instances.",
	"target.topology.proxy":    "The proxy before them, through which alone users then reach them. Without it, none.",
	"target.topology.replicas": "Copies of the database for reads, whose addresses are in ${DSN_REPLICAS}. 0 to 8.",
	"target.topology.hosts":    "Where the roles run. shared: on this host's loopback device. netns: each in a network namespace with an address of its own, on one switch, beside the users; needs root.",
	"target.topology.links":    "With hosts: netns, limits of the links between hosts and switch, by role: all, app, proxy, db, replica, generator. A role's own win over those of all.",

	"target.topology.links.*":       "The link of each host of the role.",
	"target.topology.links.*.delay": "What a packet takes longer over the link, in either direction, such as 500us; between two hosts are two links. At most 10s, in whole microseconds. Needs the kernel's netem.",
	"target.topology.links.*.rate":  "Bits per second over the link in each direction, such as 100Mbit/s, from 64kbit/s to 100Gbit/s. Needs the kernel's tbf.",

	"probes.*":      "One source.",
	"probes.*.kind": "prometheus: a metrics page, such as node_exporter's. pprof: a Go server's profiles. postgresql, mysql: a database server. nginx: its stub_status page. agent: another host's probes, from plimsoll agent -join -role there. pid, container: processes of this host.",
	"probes.*.role": "The label role of its series, such as app, db or proxy.",
	"probes.*.url":  "Address of the page, of kinds prometheus, pprof and nginx. Secrets in it only as ${ENV:NAME} or ${FILE:PATH}.",
	"probes.*.dsn":  "Reference to the address of the database, of kinds postgresql and mysql: ${ENV:NAME} or ${FILE:PATH}.",

	"metrics.prometheus": "Base address of its HTTP API. Secrets in it only as ${ENV:NAME} or ${FILE:PATH}.",
	"metrics.labels":     "For each role (app, db, proxy), the label matchers of its series.",
	"metrics.labels.*":   "Matchers without braces, such as instance=~\"app-.*\",env=\"test\".",

	"probes.*.pid":       "Of kind pid: number of a process on this host; the processes that it started count too.",
	"probes.*.container": "Of kind container: name of a container of podman or docker on this host.",
	"probes.*.agent":     "Of kind agent: name of the agent, as that of its token file. Default: any that has joined with the role.",

	"database.engine":          "One engine, or a list of them. None: the database is not ours to start.",
	"placement.generator":      "CPUs of the simulated users.",
	"placement.memory":         "Byte budget of the users: what answers and messages under way may hold at once, such as 512MB, at least 8MB. Default: an eighth of this host's memory, or of its control group's, and 192MB at most.",
	"placement.processes":      "Processes that the users are divided among, at least; more if their connections would not fit under the limit of open files.",
	"placement.agents":         "Other hosts that have the users: how many, or a mapping with count and match. They run plimsoll agent -join.",
	"placement.agents.count":   "How many of those that match; default all that are known.",
	"placement.agents.match":   "Labels that they must have, as plimsoll agent -label gives them.",
	"placement.agents.match.*": "The value of the label.",
	"placement.share":          "How users are divided among other hosts. equal: each has as many. rating: in proportion to the users that plimsoll calibrate found each can drive; every agent must have a rating.",
	"fleet":                    "Settings of agents on other hosts; pace does not touch the times.",
	"fleet.join":               "How long a run waits for its agents.",
	"fleet.hold":               "How long an agent may be silent until a search holds its level.",
	"fleet.resend":             "How long an agent may be silent until it is lost and the run is not valid; until then its reports are sent again.",
	"fleet.leave":              "How long the coordinator may be silent until the users of an agent leave; more than resend.",
	"fleet.over":               "The time in which they leave.",

	"placement.source": "Addresses of this host from which the users connect, in turn, when one has too few ports.",
	"placement.target": "CPUs of the target and its database.",

	"workload.behavior":          "What most users do.",
	"workload.share":             "Share of users that follow behavior. Default: what with leaves.",
	"workload.with":              "Shares of users that follow other behaviors. With share they add up to 100%.",
	"workload.with.*":            "Share of users that follow this behavior.",
	"workload.pace":              "Multiplies every wait of the users and every time constant of the search but its budget; 0.1 is ten times as fast. Default 1; 0.03 in a plan without a search whose users and measure are auto.",
	"workload.login":             "warm: users log in before the ramp, unmeasured. cold: the login is a part of the load.",
	"workload.arrival":           "An open model beside the users: actions of behavior that come by a schedule, however fast the target is.",
	"workload.arrival.rate":      "How many actions come. Pace does not touch it.",
	"workload.arrival.process":   "constant: even intervals. poisson: independent ones.",
	"workload.arrival.in_flight": "Actions under way at most; further ones wait, and the wait counts as theirs.",
	"workload.arrival.queue":     "Actions that wait at most; further ones are dropped, which counts as an error.",
	"workload.users_file":        "File of accounts that the users have, instead of accounts that are made: CSV with the columns login, password and token in a header; user i has row i. A path counts from the directory of the plan.",
	"workload.users_digest":      "SHA-256 of the file of accounts, as sha256:HEX. plimsoll writes it into the plans of runs; a file with another one is refused.",
	"workload.params":            "Settings of the behaviors. Secrets only as ${ENV:NAME} or ${FILE:PATH}.",
	"workload.params.*":          "The value of the setting.",

	"bounded.users":       "Number of users, or one for each engine; 0 only beside workload.arrival. auto: the number at which the busiest role of the base uses 40 to 50 % of its cores, found by a pilot on each engine.",
	"bounded.ramp":        "Time from the first user to the last. Default 1m; 4s in a plan without a search whose users and measure are auto.",
	"bounded.settle":      "Time with all users that is not measured. Default 1m; 6s in a plan without a search whose users and measure are auto.",
	"bounded.measure":     "Time that counts; with until the longest. auto: in a duet, until the inside of a block leaves no more variance than deployments have, within measure_min and measure_max.",
	"bounded.measure_min": "With measure: auto, the shortest measured phase. Default 7s.",
	"bounded.measure_max": "With measure: auto, the longest measured phase, and that of a test outside a duet. Default 30s.",
	"bounded.until":       "Stop rule: disk=10GiB ends the measured phase as soon as the files of the target take so much.",
	"bounded.slo":         "Rules by which the test is judged, in the form of unbounded.slo; their times are wall-clock time. Default: the rules of unbounded; without that, failed operations and broken WebSockets (docs/capacity.md).",
	"bounded.window":      "Which part of the measured phase counts: last 60m. Without it all.",

	"workload.mix":       "Where the weights of the users' actions come from: default, custom (weights alone), another known name, or the path of a file.",
	"workload.weights":   "Weights of single actions instead of those of the mix. Only their ratios count.",
	"workload.weights.*": "The weight of this action; 0 leaves it out.",

	"bounded.stages":            "Storms in the measured phase: what some of the users do at nearly the same time.",
	"bounded.stages.*":          "One storm.",
	"bounded.stages.*.at":       "When it begins, counted from the beginning of the measured phase.",
	"bounded.stages.*.storm":    "Its kind, such as reconnect.",
	"bounded.stages.*.share":    "Share of the users who take part. Without it: one single user.",
	"bounded.stages.*.over":     "Time from the first of them to the last. Default 1s.",
	"bounded.stages.*.params":   "Settings of the kind.",
	"bounded.stages.*.params.*": "The value of the setting.",

	"unbounded.max_users": "More users than this are never simulated.",
	"unbounded.slo":       "Rules that must hold: STAT(op|role) < VALUE [for D] [over D] [min N] [grace D] [warning], or promql: EXPR < VALUE [for D] [grace D] [warning]. Default: the rules of docs/capacity.md.",
	"unbounded.mode":      "tracking: up after a healthy window, down after a violated one. staircase: plateaus, and a logistic fit to them; it also recommends a number of users, and takes longer.",
	"unbounded.start":     "Number of users at which the search starts, or one for each engine.",
	"unbounded.budget":    "Longest time of the search, in wall-clock time: pace does not touch it. Default: 1h times workload.pace.",
	"unbounded.ramp_rate": "Growth while nothing is violated, of the present users per second. Divided by workload.pace it is less than 100%.",
	"unbounded.window":    "How far back a rule looks, and the time between two decisions.",
	"unbounded.step":      "Change of the tracking phase, of the present users: less than 20%.",
	"unbounded.precision": "The search ends when the half-width of the interval is below this part of the capacity.",

	"sizing":        "A ladder of load steps on one deployment: a grade for each, and advice. Its times are wall-clock time.",
	"sizing.steps":  "Numbers of users, ascending. Without it: steps around the capacity that a first search finds, which needs unbounded.",
	"sizing.ramp":   "How fast users come: a step takes 20 s, unless that is a rate outside this range.",
	"sizing.settle": "Time with all users that is not measured.",
	"sizing.hold":   "Time of a step that counts.",
	"sizing.offer":  "The one of prices that is measured.",

	"prices":            "Machines that can be rented, for the cost of a user.",
	"prices.*":          "One offer.",
	"prices.*.name":     "What the seller calls it.",
	"prices.*.vcpu":     "How many virtual CPUs it has.",
	"prices.*.memory":   "How much main memory it has, such as 4GB.",
	"prices.*.price":    "What a month costs.",
	"prices.*.currency": "Code of three letters, such as EUR.",

	"compare.arms":               "Two variants of the target or more; one is named base.",
	"compare.arms.*":             "What this arm changes; {} for nothing.",
	"compare.arms.*.binary":      "Replaces the target's binary.",
	"compare.arms.*.args":        "Follow the target's arguments.",
	"compare.arms.*.env":         "Laid over the target's environment, in the same forms.",
	"compare.arms.*.env.*":       "The value of the variable.",
	"compare.arms.*.version":     "Label of the build. The driver refchat also plays that release if it is MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1.",
	"compare.arms.*.url":         "With the driver external: where this arm's servers are, if all arms are up at addresses of their own.",
	"compare.arms.*.metrics_url": "With url: address or path of this arm's Prometheus metrics.",
	"compare.arms.*.probes":      "Sources of numbers about this arm alone.",
	"compare.arms.*.probes.*":    "One source, as in probes.",
	"compare.arms.*.metrics":     "With url: a Prometheus server that watches this arm's hosts, in place of that of the plan; without prometheus, that server.",
	"compare.arms.*.database":    "The engine that this arm runs on instead of database.engine, which then is one at most.",
	"compare.arms.*.deployment":  "How this arm's server is run. What one arm sets, all have: the others none and 100%.",

	"compare.arms.*.deployment.network": "none: a plain process. bridge: a container behind a bridge, its port published by address translation. host: a container with its host's network. Each with users, server and stores in networks of their own.",
	"compare.arms.*.deployment.cpus":    "CPU time that may be used, of the target's cores, by a quota of a control group.",
	"compare.arms.*.deployment.memory":  "Memory that may be used, such as 512MB, by a limit of a control group.",
	"compare.arms.*.deployment.of":      "Whose: target is the server and all its stores together, app the server alone. Default target.",

	"compare.combine":     "Carry both tests out in one run: the plateau, then the search from there.",
	"compare.blocks":      "Runs of each arm on each engine; below 6 a verdict is only indicative. auto: as many as are needed, at most 30, within budget.",
	"compare.budget":      "With blocks: auto, the time after which no more blocks begin. The comparison is judged after 6, 9, 12 and so on up to 30 blocks and ends when every primary endpoint is decided. Default 30m.",
	"compare.looks":       "Numbers of blocks after which the comparison is judged and ends if it is decided: [6, 9, 12]. Without it: one look, after all blocks.",
	"compare.mode":        "sequence: the arms of a block run one after the other. duet: they are up at once and take turns in short slices. Default: duet where plimsoll starts all arms on this host and the plan has no search, else sequence; plimsoll plan check prints which, and why.",
	"compare.slice":       "How long a turn in a duet takes, 100ms to 5s. Default, and 0s: ten times the longest p95 of an operation, 200ms at least.",
	"compare.swap":        "With the driver external, install, and a url and a version in every arm: the arms exchange their addresses from block to block, so that differences of the hosts cancel.",
	"compare.retry":       "How long the comparison may take, in all, to wait for a quiet host and to run voided blocks again; 0s for neither. Default: the time of a third of the blocks, in whole minutes.",
	"compare.endpoints":   "Endpoints that are judged also where the plan could not decide them. An endpoint with another margin than the usual one is judged too.",
	"compare.margin":      "Differences that do not matter. A single value sets capacity.",
	"compare.margin.*":    "Of capacity, and of the bounded test errors, cost(app), cost(db), typical(OP), p50(OP) to p99.9(OP), mean(OP), max(OP), throughput(OP): 5% is relative; 0.025pp is percentage points, for errors, and at most what the strictest rule of bounded.slo and unbounded.slo allows; none, of an endpoint that is judged by default, has it not judged.",
	"report.comments":     "Items below Comments, in Markdown: a text or a list of them.",
	"report.action_items": "Items below Action Items, in Markdown: a text or a list of them.",
}

// A keyLimit holds the default and the accepted values of a key.
type keyLimit struct {
	def      any
	enum     []string
	min, max float64 // both 0: no limits
	pattern  string
}

// keyLimits holds the limits of the keys that have some, by the paths of keyTexts. The schema and the checks read them.
var keyLimits = map[string]keyLimit{
	"name":                              {pattern: nameRE.String()},
	"seed":                              {def: 1},
	"target.driver":                     {pattern: nameRE.String()},
	"target.profile":                    {pattern: nameRE.String()},
	"target.instances":                  {def: 1, min: 1, max: maxInstances},
	"target.http":                       {enum: protocols},
	"target.stop_signal":                {enum: signals},
	"target.verify.version":             {enum: []string{FromAPI, Unverified}},
	"target.topology.apps":              {min: 1, max: maxInstances},
	"target.topology.proxy":             {enum: proxies},
	"target.topology.replicas":          {min: 0, max: maxReplicas},
	"target.topology.hosts":             {def: HostsShared, enum: hosts},
	"probes.*.kind":                     {enum: probeKinds},
	"probes.*.role":                     {pattern: nameRE.String()},
	"probes.*.agent":                    {pattern: nameRE.String()},
	"database.engine":                   {enum: engines},
	"placement.generator":               {min: 0, max: maxCPU},
	"placement.processes":               {def: 1, min: 1, max: MostProcesses},
	"placement.agents":                  {min: 1, max: MostAgents},
	"placement.agents.count":            {min: 1, max: MostAgents},
	"placement.share":                   {def: ShareEqual, enum: divisions},
	"fleet.join":                        {def: "1m"},
	"fleet.hold":                        {def: "3s"},
	"fleet.resend":                      {def: "20s"},
	"fleet.leave":                       {def: "25s"},
	"fleet.over":                        {def: "5s"},
	"placement.target":                  {min: 0, max: maxCPU},
	"workload.behavior":                 {pattern: nameRE.String()},
	"workload.pace":                     {min: minPace, max: maxPace},
	"workload.login":                    {def: LoginWarm, enum: []string{LoginWarm, LoginCold}},
	"workload.arrival.process":          {def: Constant, enum: []string{Constant, Poisson}},
	"workload.arrival.in_flight":        {def: 500, min: 1, max: maxInFlight},
	"workload.arrival.queue":            {def: 10_000, min: 0, max: maxQueue},
	"bounded.users":                     {min: 0, max: maxUsers},
	"bounded.measure":                   {def: "5m"},
	"bounded.slo":                       {pattern: rulePattern},
	"workload.mix":                      {def: MixDefault},
	"workload.weights.*":                {min: 0, max: maxWeight},
	"bounded.stages.*.storm":            {pattern: nameRE.String()},
	"unbounded.max_users":               {min: 1, max: maxUsers},
	"unbounded.slo":                     {pattern: rulePattern},
	"unbounded.mode":                    {def: Tracking, enum: []string{Tracking, Staircase}},
	"unbounded.start":                   {min: 1, max: maxUsers},
	"unbounded.ramp_rate":               {def: "0.2%"},
	"unbounded.window":                  {def: "15s"},
	"unbounded.step":                    {def: "0.5%"},
	"unbounded.precision":               {def: "2%"},
	"sizing.steps":                      {min: 1, max: maxUsers},
	"sizing.ramp":                       {def: "5/s to 30/s"},
	"sizing.settle":                     {def: "1m"},
	"sizing.hold":                       {def: "10m"},
	"prices.*.vcpu":                     {min: 1, max: maxCPU},
	"prices.*.price":                    {min: 0, max: 1e9},
	"prices.*.currency":                 {pattern: currencyRE.String()},
	"compare.arms.*.database":           {enum: engines},
	"compare.arms.*.deployment.network": {enum: networks},
	"compare.arms.*.deployment.of":      {enum: limitedWhose},
	"compare.combine":                   {def: false},
	"compare.blocks":                    {def: 6, min: 1, max: maxBlocks},
	"compare.looks":                     {min: 6, max: 12},
	"compare.mode":                      {enum: compareModes},
}

// schemaOf returns the schema of a type at a path of keyTexts.
func schemaOf(t reflect.Type, path, kind string) object {
	return describe(path, typeOf(t, kind).schema(path))
}

// structSchema returns the schema of a section.
func structSchema(t reflect.Type, path string) object {
	props := object{}
	for _, f := range fields(reflect.New(t).Elem()) {
		props[f.key] = schemaOf(f.typ.Type, join(path, f.key), f.kind)
	}
	s := object{"type": "object", "properties": props, "additionalProperties": false}
	if keys := required[path]; keys != nil {
		s["required"] = keys
	}
	return s
}

// describe adds the text and the default of a key.
func describe(path string, s object) object {
	if text := keyTexts[path]; text != "" {
		s["description"] = text
	}
	if def := keyLimits[path].def; def != nil {
		s["default"] = def
	}
	return s
}

// scalar returns the schema of a single value with the limits of its key.
func scalar(schema object) describer {
	return func(path string) object {
		k, s := keyLimits[path], maps.Clone(schema)
		if k.enum != nil {
			s["enum"] = slices.Clone(k.enum)
		}
		if k.pattern != "" {
			s["pattern"] = k.pattern
		}
		if k.max > 0 {
			s["minimum"], s["maximum"] = k.min, k.max
		}
		return s
	}
}

// textual returns the schema of one text. A text that YAML takes for a number is still a text of a plan, unless it is
// one of a few words.
func textual(path string) object {
	s := scalar(object{"type": "string"})(path)
	if keyLimits[path].enum == nil {
		s["type"] = []string{"string", "number", "boolean"}
	}
	return s
}

func patterned(pattern string) object { return object{"type": "string", "pattern": pattern} }

func anyOf(forms ...any) object { return object{"anyOf": forms} }

func list(item object) object { return object{"type": "array", "items": item} }

// named returns the schema of a mapping whose keys the author chooses.
func named(value describer) describer {
	return func(path string) object {
		path += ".*"
		s := object{"type": "object", "additionalProperties": describe(path, value(path))}
		if strings.HasSuffix(path, ".env.*") {
			s["propertyNames"] = object{"pattern": envRE.String()}
		}
		return s
	}
}

// byEngine returns the schema of a mapping with a key for each engine.
func byEngine(each object) object {
	return object{"type": "object", "properties": each, "additionalProperties": false, "minProperties": 1}
}
