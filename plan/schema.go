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

// keyDoc is the text that an editor shows for a key, and its limits.
type keyDoc struct {
	text     string
	def      any
	enum     []string
	min, max float64 // both 0: no limits
	pattern  string
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

// keyDocs holds one entry for each key, by its path; "*" stands for a name that the author chooses.
var keyDocs = map[string]keyDoc{
	"name":      {text: "Label of runs, files and reports.", pattern: nameRE.String()},
	"seed":      {text: "Feeds every random choice of the load and the order of the blocks.", def: 1},
	"target":    {text: "What is tested, and how it is started."},
	"database":  {text: "On which database engines; with two, everything is done on each."},
	"placement": {text: "CPU numbers of the two sides when they share a host. A side that is not named has the CPUs that are left; without any, the users have the last one."},
	"workload":  {text: "What the simulated users do, and how fast."},
	"bounded":   {text: "The test with a fixed number of users. Its times are wall-clock time; pace does not touch them."},
	"unbounded": {text: "The search for capacity. Its budget is wall-clock time; its other times are those of pace 1."},
	"probes":    {text: "What to watch, once a second, of systems that the target does not start itself: servers, databases, proxies."},
	"metrics":   {text: "A Prometheus server that watches the target's hosts already: its samples answer rules, graphs and limiter."},
	"gates":     {text: "Limits on the load generator's own health. Beyond amber a run has a finding, beyond red it is not valid."},
	"compare":   {text: "The arms of a comparison, and which differences matter."},
	"setup":     {text: "Further rows of the report's Setup table, in this order."},
	"setup.*":   {text: "The value of the row."},
	"report":    {text: "Texts of a person for the report of a comparison, in place of those that are drafted from the findings."},

	"target.driver":      {text: "The way of deployment, such as process or external; an unknown one is an error that lists those there are.", pattern: nameRE.String()},
	"target.profile":     {text: "One of the sets of parts that the driver can deploy. Default: its usual one.", pattern: nameRE.String()},
	"target.instances":   {text: "Number of servers on one database. The users are spread over all of them, or reach the proxy before them: target.topology.", def: 1, min: 1, max: maxInstances},
	"target.binary":      {text: "The server's executable, or the directory of its release."},
	"target.command":     {text: "The whole command line of a process, program first."},
	"target.args":        {text: "Arguments for the server."},
	"target.env":         {text: "Additional environment variables of the server, or of install and reset, or a mapping of them for each engine: all, postgresql, mysql. Secrets only as ${ENV:NAME} or ${FILE:PATH}."},
	"target.env.*":       {text: "The value of the variable."},
	"target.url":         {text: "Base address of the target, http or https; with the driver external also a list, over which the users are spread: the i-th of a behavior, from 0, goes to the server i modulo their number."},
	"target.ready":       {text: "Path or address that answers 200 once the target can be used. Default the page of its API for that."},
	"target.metrics_url": {text: "Path or address of the target's Prometheus metrics; with the driver external also a list, of one for each server."},
	"target.ca":          {text: "File with the certificate, in PEM, of a private authority that signed the certificates of a target of the driver external. The system's authorities stay."},
	"target.http":        {text: "Protocol of the users' requests to a target of the driver external, by its name in ALPN. h2 needs https; WebSockets stay HTTP/1.1. Default http/1.1.", enum: protocols},
	"target.stop_signal": {text: "The signal that asks the server to stop.", enum: signals},
	"target.version":     {text: "Label of the build when the target cannot say it itself. The driver refchat also plays that release if it is MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1."},
	"target.install":     {text: "With the driver external: command, program first, that puts an arm's version there. It is run when an arm's turn comes and another one is there."},
	"target.reset":       {text: "With the driver external: command, program first, that puts the state back before every run."},

	"target.verify":           {text: "What must be true after install and reset, by the server's API; a run before which it is not is void."},
	"target.verify.version":   {text: "from-api: the server reports the arm's version. Default where versions are installed or have addresses of their own. none: not compared.", enum: []string{FromAPI, Unverified}},
	"target.verify.users":     {text: "How many users there are: 1200 ±0, same ±0 (as the first run found, the default with a reset), none."},
	"target.verify.channels":  {text: "How many channels there are, direct ones left out, in the same form."},
	"target.verify.posts":     {text: "How many posts there are, in the same form."},
	"target.timeouts":         {text: "Longest times of the commands; beyond them a run is void."},
	"target.timeouts.install": {text: "Of install. Default 20m."},
	"target.timeouts.reset":   {text: "Of reset. Default 30m."},
	"target.timeouts.ready":   {text: "Until the target answers, after a command too. Default 5m with commands, else 30s."},

	"target.dataset": {text: "What the database holds before a run: none, a preset or spec file of generated data, or the directory of a dump."},

	"target.topology":          {text: "Servers around the program, in the roles of a cluster: several instances, a proxy."},
	"target.topology.apps":     {text: "Number of servers on one database. Default: target.instances.", min: 1, max: maxInstances},
	"target.topology.proxy":    {text: "The proxy before them, through which alone users then reach them. Without it, none.", enum: proxies},
	"target.topology.replicas": {text: "Copies of the database for reads, whose addresses are in ${DSN_REPLICAS}. 0 to 8.", min: 0, max: maxReplicas},
	"target.topology.hosts":    {text: "Where the roles run. shared: on this host's loopback device. netns: each in a network namespace with an address of its own, on one switch, beside the users; needs root.", def: HostsShared, enum: hosts},
	"target.topology.links":    {text: "With hosts: netns, limits of the links between hosts and switch, by role: all, app, proxy, db, replica, generator. A role's own win over those of all."},

	"target.topology.links.*":       {text: "The link of each host of the role."},
	"target.topology.links.*.delay": {text: "What a packet takes longer over the link, in either direction, such as 500us; between two hosts are two links. At most 10s, in whole microseconds. Needs the kernel's netem."},
	"target.topology.links.*.rate":  {text: "Bits per second over the link in each direction, such as 100Mbit/s, from 64kbit/s to 100Gbit/s. Needs the kernel's tbf."},

	"probes.*":      {text: "One source."},
	"probes.*.kind": {text: "prometheus: a metrics page, such as node_exporter's. pprof: a Go server's profiles. postgresql, mysql: a database server. nginx: its stub_status page. agent: another host's probes, from plimsoll agent -join -role there. pid, container: processes of this host.", enum: probeKinds},
	"probes.*.role": {text: "The label role of its series, such as app, db or proxy.", pattern: nameRE.String()},
	"probes.*.url":  {text: "Address of the page, of kinds prometheus, pprof and nginx. Secrets in it only as ${ENV:NAME} or ${FILE:PATH}."},
	"probes.*.dsn":  {text: "Reference to the address of the database, of kinds postgresql and mysql: ${ENV:NAME} or ${FILE:PATH}."},

	"metrics.prometheus": {text: "Base address of its HTTP API. Secrets in it only as ${ENV:NAME} or ${FILE:PATH}."},
	"metrics.labels":     {text: "For each role (app, db, proxy), the label matchers of its series."},
	"metrics.labels.*":   {text: "Matchers without braces, such as instance=~\"app-.*\",env=\"test\"."},

	"probes.*.pid":       {text: "Of kind pid: number of a process on this host; the processes that it started count too."},
	"probes.*.container": {text: "Of kind container: name of a container of podman or docker on this host."},
	"probes.*.agent":     {text: "Of kind agent: name of the agent, as that of its token file. Default: any that has joined with the role.", pattern: nameRE.String()},

	"database.engine":          {text: "One engine, or a list of them. None: the database is not ours to start.", enum: engines},
	"placement.generator":      {text: "CPUs of the simulated users.", min: 0, max: maxCPU},
	"placement.memory":         {text: "Byte budget of the users: what answers and messages under way may hold at once, such as 512MB, at least 8MB. Default: an eighth of this host's memory, or of its control group's, and 192MB at most."},
	"placement.processes":      {text: "Processes that the users are divided among, at least; more if their connections would not fit under the limit of open files.", def: 1, min: 1, max: MostProcesses},
	"placement.agents":         {text: "Other hosts that have the users: how many, or a mapping with count and match. They run plimsoll agent -join.", min: 1, max: MostAgents},
	"placement.agents.count":   {text: "How many of those that match; default all that are known.", min: 1, max: MostAgents},
	"placement.agents.match":   {text: "Labels that they must have, as plimsoll agent -label gives them."},
	"placement.agents.match.*": {text: "The value of the label."},
	"placement.share":          {text: "How users are divided among other hosts. equal: each has as many. rating: in proportion to the users that plimsoll calibrate found each can drive; every agent must have a rating.", def: ShareEqual, enum: divisions},
	"fleet":                    {text: "Settings of agents on other hosts; pace does not touch the times."},
	"fleet.join":               {text: "How long a run waits for its agents.", def: "1m"},
	"fleet.hold":               {text: "How long an agent may be silent until a search holds its level.", def: "3s"},
	"fleet.resend":             {text: "How long an agent may be silent until it is lost and the run is not valid; until then its reports are sent again.", def: "20s"},
	"fleet.leave":              {text: "How long the coordinator may be silent until the users of an agent leave; more than resend.", def: "25s"},
	"fleet.over":               {text: "The time in which they leave.", def: "5s"},
	"fleet.relay":              {text: "The most agents (processes with users) whose acknowledgments are relayed to each other one by one; more go by sequence. 0: all do.", def: DefaultRelay, min: 0, max: MostAgents * MostProcesses},

	"placement.source": {text: "Addresses of this host from which the users connect, in turn, when one has too few ports."},
	"placement.target": {text: "CPUs of the target and its database.", min: 0, max: maxCPU},

	"workload.behavior":          {text: "What most users do.", pattern: nameRE.String()},
	"workload.share":             {text: "Share of users that follow behavior. Default: what with leaves."},
	"workload.with":              {text: "Shares of users that follow other behaviors. With share they add up to 100%."},
	"workload.with.*":            {text: "Share of users that follow this behavior."},
	"workload.pace":              {text: "Multiplies every wait of the users and every time constant of the search but its budget; 0.1 is ten times as fast.", def: 1, min: minPace, max: maxPace},
	"workload.login":             {text: "warm: users log in before the ramp, unmeasured. cold: the login is a part of the load.", def: LoginWarm, enum: logins},
	"workload.arrival":           {text: "An open model beside the users: actions of behavior that come by a schedule, however fast the target is."},
	"workload.arrival.rate":      {text: "How many actions come. Pace does not touch it."},
	"workload.arrival.process":   {text: "constant: even intervals. poisson: independent ones.", def: Constant, enum: []string{Constant, Poisson}},
	"workload.arrival.in_flight": {text: "Actions under way at most; further ones wait, and the wait counts as theirs.", def: 500, min: 1, max: maxInFlight},
	"workload.arrival.queue":     {text: "Actions that wait at most; further ones are dropped, which counts as an error.", def: 10_000, min: 0, max: maxQueue},
	"workload.users_file":        {text: "File of accounts that the users have, instead of accounts that are made: CSV with the columns login, password and token in a header; user i has row i. A path counts from the directory of the plan."},
	"workload.users_digest":      {text: "SHA-256 of the file of accounts, as sha256:HEX. plimsoll writes it into the plans of runs; a file with another one is refused."},
	"workload.params":            {text: "Settings of the behaviors. Secrets only as ${ENV:NAME} or ${FILE:PATH}."},
	"workload.params.*":          {text: "The value of the setting."},

	"bounded.users":       {text: "Number of users, or one for each engine; 0 only beside workload.arrival. auto: the number at which the busiest role of the base uses 40 to 50 % of its cores, found by a pilot on each engine.", min: 0, max: maxUsers},
	"bounded.ramp":        {text: "Time from the first user to the last.", def: "1m"},
	"bounded.settle":      {text: "Time with all users that is not measured.", def: "1m"},
	"bounded.measure":     {text: "Time that counts; with until the longest. auto: in a duet, until the inside of a block leaves no more variance than deployments have, within measure_min and measure_max.", def: "5m"},
	"bounded.measure_min": {text: "With measure: auto, the shortest measured phase. Default 7s."},
	"bounded.measure_max": {text: "With measure: auto, the longest measured phase, and that of a test outside a duet. Default 30s."},
	"bounded.until":       {text: "Stop rule: disk=10GiB ends the measured phase as soon as the files of the target take so much."},
	"bounded.slo":         {text: "Rules by which the test is judged, in the form of unbounded.slo; their times are wall-clock time. Default: the rules of unbounded; without that, failed operations and broken WebSockets (docs/capacity.md).", pattern: rulePattern},
	"bounded.window":      {text: "Which part of the measured phase counts: last 60m. Without it all."},

	"workload.mix":       {text: "Where the weights of the users' actions come from: default, custom (weights alone), another known name, or the path of a file.", def: MixDefault},
	"workload.weights":   {text: "Weights of single actions instead of those of the mix. Only their ratios count."},
	"workload.weights.*": {text: "The weight of this action; 0 leaves it out.", min: 0, max: maxWeight},

	"bounded.stages":            {text: "Storms in the measured phase: what some of the users do at nearly the same time."},
	"bounded.stages.*":          {text: "One storm."},
	"bounded.stages.*.at":       {text: "When it begins, counted from the beginning of the measured phase."},
	"bounded.stages.*.storm":    {text: "Its kind, such as reconnect.", pattern: nameRE.String()},
	"bounded.stages.*.share":    {text: "Share of the users who take part. Without it: one single user."},
	"bounded.stages.*.over":     {text: "Time from the first of them to the last. Default 1s."},
	"bounded.stages.*.params":   {text: "Settings of the kind."},
	"bounded.stages.*.params.*": {text: "The value of the setting."},

	"unbounded.max_users": {text: "More users than this are never simulated.", min: 1, max: maxUsers},
	"unbounded.slo":       {text: "Rules that must hold: STAT(op|role) < VALUE [for D] [over D] [min N] [grace D] [warning], or promql: EXPR < VALUE [for D] [grace D] [warning]. Default: the rules of docs/capacity.md.", pattern: rulePattern},
	"unbounded.mode":      {text: "tracking: up after a healthy window, down after a violated one. staircase: plateaus, and a logistic fit to them; it also recommends a number of users, and takes longer.", def: Tracking, enum: modes},
	"unbounded.start":     {text: "Number of users at which the search starts, or one for each engine.", min: 1, max: maxUsers},
	"unbounded.budget":    {text: "Longest time of the search, in wall-clock time: pace does not touch it. Default: 1h times workload.pace."},
	"unbounded.ramp_rate": {text: "Growth while nothing is violated, of the present users per second. Divided by workload.pace it is less than 100%.", def: "0.2%"},
	"unbounded.window":    {text: "How far back a rule looks, and the time between two decisions.", def: "15s"},
	"unbounded.step":      {text: "Change of the tracking phase, of the present users: less than 20%.", def: "0.5%"},
	"unbounded.precision": {text: "The search ends when the half-width of the interval is below this part of the capacity.", def: "2%"},

	"sizing":        {text: "A ladder of load steps on one deployment: a grade for each, and advice. Its times are wall-clock time."},
	"sizing.steps":  {text: "Numbers of users, ascending. Without it: steps around the capacity that a first search finds, which needs unbounded.", min: 1, max: maxUsers},
	"sizing.ramp":   {text: "How fast users come: a step takes 20 s, unless that is a rate outside this range.", def: "5/s to 30/s"},
	"sizing.settle": {text: "Time with all users that is not measured.", def: "1m"},
	"sizing.hold":   {text: "Time of a step that counts.", def: "10m"},
	"sizing.offer":  {text: "The one of prices that is measured."},

	"prices":            {text: "Machines that can be rented, for the cost of a user."},
	"prices.*":          {text: "One offer."},
	"prices.*.name":     {text: "What the seller calls it."},
	"prices.*.vcpu":     {text: "How many virtual CPUs it has.", min: 1, max: maxCPU},
	"prices.*.memory":   {text: "How much main memory it has, such as 4GB."},
	"prices.*.price":    {text: "What a month costs.", min: 0, max: 1e9},
	"prices.*.currency": {text: "Code of three letters, such as EUR.", pattern: currencyRE.String()},

	"compare.arms":               {text: "Two variants of the target or more; one is named base."},
	"compare.arms.*":             {text: "What this arm changes; {} for nothing."},
	"compare.arms.*.binary":      {text: "Replaces the target's binary."},
	"compare.arms.*.args":        {text: "Follow the target's arguments."},
	"compare.arms.*.env":         {text: "Laid over the target's environment, in the same forms."},
	"compare.arms.*.env.*":       {text: "The value of the variable."},
	"compare.arms.*.version":     {text: "Label of the build. The driver refchat also plays that release if it is MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1."},
	"compare.arms.*.url":         {text: "With the driver external: where this arm's servers are, if all arms are up at addresses of their own."},
	"compare.arms.*.metrics_url": {text: "With url: address or path of this arm's Prometheus metrics."},
	"compare.arms.*.probes":      {text: "Sources of numbers about this arm alone."},
	"compare.arms.*.probes.*":    {text: "One source, as in probes."},
	"compare.arms.*.metrics":     {text: "With url: a Prometheus server that watches this arm's hosts, in place of that of the plan; without prometheus, that server."},
	"compare.arms.*.database":    {text: "The engine that this arm runs on instead of database.engine, which then is one at most.", enum: engines},
	"compare.arms.*.deployment":  {text: "How this arm's server is run. What one arm sets, all have: the others none and 100%."},

	"compare.arms.*.deployment.network": {text: "none: a plain process. bridge: a container behind a bridge, its port published by address translation. host: a container with its host's network. Each with users, server and stores in networks of their own.", enum: networks},
	"compare.arms.*.deployment.cpus":    {text: "CPU time that may be used, of the target's cores, by a quota of a control group."},
	"compare.arms.*.deployment.memory":  {text: "Memory that may be used, such as 512MB, by a limit of a control group."},
	"compare.arms.*.deployment.of":      {text: "Whose: target is the server and all its stores together, app the server alone. Default target.", enum: limitedWhose},

	"compare.combine":     {text: "Carry both tests out in one run: the plateau, then the search from there.", def: false},
	"compare.blocks":      {text: "Runs of each arm on each engine; below 6 a verdict is only indicative. auto: as many as are needed, at most 30, within budget.", def: 6, min: 1, max: maxBlocks},
	"compare.budget":      {text: "With blocks: auto, the time after which no more blocks begin. The comparison is judged after 6, 9, 12 and so on up to 30 blocks and ends when every primary endpoint is decided. Default 30m."},
	"compare.looks":       {text: "Numbers of blocks after which the comparison is judged and ends if it is decided: [6, 9, 12]. Without it: one look, after all blocks.", min: 6, max: 12},
	"compare.mode":        {text: "sequence: the arms of a block run one after the other. duet: they are up at once and take turns in short slices. Default: duet where plimsoll starts all arms on this host and the plan has no search, else sequence; plimsoll plan check prints which, and why.", enum: compareModes},
	"compare.slice":       {text: "How long a turn in a duet takes, 100ms to 5s. Default, and 0s: ten times the longest p95 of an operation, 200ms at least."},
	"compare.swap":        {text: "With the driver external, install, and a url and a version in every arm: the arms exchange their addresses from block to block, so that differences of the hosts cancel."},
	"compare.retry":       {text: "How long the comparison may take, in all, to wait for a quiet host and to run voided blocks again; 0s for neither. Default: the time of a third of the blocks, in whole minutes."},
	"compare.endpoints":   {text: "Endpoints that are judged also where the plan could not decide them. An endpoint with another margin than the usual one is judged too."},
	"compare.margin":      {text: "Differences that do not matter. A single value sets capacity."},
	"compare.margin.*":    {text: "Of capacity, and of the bounded test errors, cost(app), cost(db), typical(OP), p50(OP) to p99.9(OP), mean(OP), max(OP), throughput(OP): 5% is relative; 0.025pp is percentage points, for errors, and at most what the strictest rule of bounded.slo and unbounded.slo allows; none, of an endpoint that is judged by default, has it not judged."},
	"report.comments":     {text: "Items below Comments, in Markdown: a text or a list of them."},
	"report.action_items": {text: "Items below Action Items, in Markdown: a text or a list of them."},
}

// schemaOf returns the schema of a type at a path of keyDocs.
func schemaOf(t reflect.Type, path, kind string) object {
	return keyDocs[path].describe(typeOf(t, kind).schema(path))
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
func (k keyDoc) describe(s object) object {
	if k.text != "" {
		s["description"] = k.text
	}
	if k.def != nil {
		s["default"] = k.def
	}
	return s
}

// scalar returns the schema of a single value with the limits of its key.
func scalar(schema object) describer {
	return func(path string) object {
		k, s := keyDocs[path], maps.Clone(schema)
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
	if keyDocs[path].enum == nil {
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
		s := object{"type": "object", "additionalProperties": keyDocs[path].describe(value(path))}
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
