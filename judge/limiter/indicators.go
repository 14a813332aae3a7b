package limiter

import "slices"

// The limiters that an indicator may speak for. A [Limiter]'s name is one of them and the role it
// was found on: "db-pool app".
const (
	LimitCPU      = "cpu"       // cores are busy
	LimitQuota    = "cpu-quota" // a control group is throttled
	LimitGC       = "gc"        // garbage collection takes the CPU
	LimitAppLocks = "app-locks" // goroutines wait for mutexes
	// requests wait for a database connection of the app's own pool.
	LimitPool = "db-pool"
	// requests wait for a thread or another place of the app that handles them.
	LimitWorkers = "workers"
	// requests wait for a connection of the app's pool to a service that it calls.
	LimitOutbound = "outbound-pool"
	LimitDBConns  = "db-connections"  // the server's own limit of connections
	LimitDBLocks  = "db-locks"        // sessions wait for locks of rows, tables or transactions
	LimitLag      = "replication-lag" // a copy of the database is behind it
	LimitDisk     = "disk"            // sessions wait for reads, writes and syncs
	LimitMemory   = "memory"          // reclaim, swap, kills
	LimitLoss     = "network-loss"    // segments vanish between hosts
	// the network card drops packets that the host does not fetch in time.
	LimitRing       = "nic-ring"
	LimitAllowance  = "nic-allowance"     // the cloud drops packets beyond the instance's allowance
	LimitPackets    = "packet-queue"      // the kernel drops packets that no core takes up
	LimitConntrack  = "conntrack"         // the table of tracked connections is full
	LimitBacklog    = "accept-backlog"    // connections are refused a place in the accept queue
	LimitFiles      = "fd-limit"          // the limit of open files
	LimitPorts      = "ports"             // source ports of a client of the next tier
	LimitProxyConns = "proxy-connections" // the proxy's limit of connections
	// the target answers 429 or 503 instead of serving the request.
	LimitRefusals = "refusals"
	// the target refuses connections, or cuts them before it has answered.
	LimitCut       = "cut-connections"
	LimitFanOut    = "fan-out"      // events for WebSockets wait in or fall out of queues
	LimitFailures  = "failures"     // all operations failed, or nearly all
	LimitShared    = "shared-cores" // the target runs on the generator's cores
	LimitGenerator = "generator"    // the load generator
	LimitHost      = "host"         // others on the host of the target or the generator
	LimitUnknown   = "UNKNOWN"      // nothing qualifies
	LimitNone      = "none"         // nothing stopped the run
)

// A Rank is the kind of evidence that an indicator gives, and its weight beside others.
type Rank int

// The ranks, lowest first: errors with loss before time spent waiting before use (survey of load
// generators, the attribution rule after 5.2; the USE method's utilization, saturation, errors).
const (
	Utilization Rank = iota
	Saturation
	Loss
)

// An Indicator is one thing to look at in the series of a run. One line of its query's answer is
// one role ("" when the series name none: then it is the host of the program).
type Indicator struct {
	Limiter string
	Rank    Rank
	What    string // in words, without the role
	Query   string // PromQL; $w is the rate window, $inflight the requests under way
	// Dose is PromQL for the signal that must rise with the load when that is not Query itself: the
	// count per second of a loss whose share stays.
	Dose  string
	Limit float64 // at or above it at capacity, the indicator is high
	Unit  string  // "ratio" is printed in percent
	// Supports is true if the indicator is evidence beside others only and names no limiter alone.
	Supports bool
}

// behind lists the limiters that explain another one: it is their symptom where they are high too.
// "same" holds for the same role only, "any" for every role.
var behind = map[string]struct{ same, any []string }{
	LimitCPU:      {same: []string{LimitGC, LimitQuota}},
	LimitAppLocks: {same: []string{LimitCPU, LimitQuota, LimitGC}},
	LimitPool: {
		same: []string{LimitCPU, LimitQuota, LimitGC, LimitAppLocks},
		any:  []string{LimitDBLocks, LimitDisk, LimitDBConns},
	},
	LimitWorkers: {
		same: []string{LimitCPU, LimitQuota, LimitGC, LimitAppLocks, LimitPool, LimitOutbound},
		any:  []string{LimitDBLocks, LimitDisk, LimitDBConns},
	},
	LimitOutbound: {same: []string{LimitCPU, LimitQuota, LimitGC, LimitAppLocks}},
	LimitDBLocks:  {same: []string{LimitCPU, LimitQuota, LimitDisk}},
	LimitLag:      {same: []string{LimitCPU, LimitQuota, LimitDisk}},
	LimitDisk:     {same: []string{LimitCPU, LimitQuota}},
	LimitBacklog:  {same: []string{LimitCPU, LimitQuota, LimitGC, LimitFiles}},
	LimitFanOut: {
		same: []string{LimitCPU, LimitQuota, LimitGC, LimitAppLocks, LimitFiles},
		any:  []string{LimitLoss},
	},
	LimitLoss: {
		any: []string{LimitRing, LimitAllowance, LimitPackets, LimitConntrack, LimitBacklog},
	},
	LimitGC:         {same: []string{LimitQuota}},
	LimitProxyConns: {same: []string{LimitCPU, LimitQuota, LimitFiles}},

	// A server that refuses does so by a limit of its own, even if other resources are busy; one
	// whose queues or files are full does it for them. Cut connections are the last link of many
	// chains.
	LimitRefusals: {
		any: []string{LimitBacklog, LimitFiles, LimitProxyConns, LimitDBConns, LimitMemory},
	},
	LimitCut: {
		any: []string{
			LimitRefusals,
			LimitBacklog,
			LimitFiles,
			LimitPorts,
			LimitProxyConns,
			LimitConntrack,
			LimitRing,
			LimitAllowance,
			LimitPackets,
			LimitLoss,
			LimitMemory,
			LimitQuota,
			LimitGC,
			LimitCPU,
			LimitAppLocks,
			LimitPool,
			LimitWorkers,
			LimitOutbound,
			LimitDBConns,
			LimitDBLocks,
			LimitDisk,
		},
	},
}

// Serves names the roles whose saturation is also felt as waiting on a role: a pool of the app
// waits for a slow database.
var serves = map[string][]string{"app": {"db"}, "proxy": {"app", "db"}}

// Indicators returns the catalog for standard exporters and this project's own probes; a dialect
// adds the indicators that only its server has. The limits are the starting points of the survey
// (5.2), except where a comment gives another reason; docs/limiter.md lists them, and the fault
// suite tries them.
func Indicators() []Indicator { return slices.Clone(catalog) }

func rate(metric string) string { return "sum by (role) (rate(" + metric + "[$w]))" }

// worst returns a share of the time of one host or group: those of several do not add up.
func worst(metric string) string { return "max by (role) (rate(" + metric + "[$w]))" }

func share(a, b string) string { return "(" + a + ") / (" + b + " > 0)" }

// ofRequests divides by the requests in flight, which are one number for every role.
func ofRequests(seconds string) string {
	return "(" + seconds + ") / on() group_left() ($inflight > 0)"
}

// ofTarget gives the role of the whole target to a refusal that users see, which names no role.
func ofTarget(q string) string {
	return `label_replace(` + q + `, "role", "` + wholeTarget + `", "", "")`
}

func ofOps(q string) string {
	return ofTarget(q + ` / (sum(rate(plimsoll_ops_total{op="op"}[$w])) > 0)`)
}

const (
	refused = `sum(rate(plimsoll_answers_total{status=~"429|503"}[$w]))`
	cutOff  = `(sum(rate(plimsoll_ops_total{op="op", class=~"dial|tls|write|header|body|ws"}[$w])) or vector(0))`
	// onDisk includes sessions in line behind the one that writes the log: they wait for the disk
	// as well.
	onDisk = `sum by (role) (avg_over_time(plimsoll_pg_active_sessions{wait_event_type=~"IO|LWLock:WALWrite"}[$w]))`
)

var (
	// gcTime includes collection in idle time: its cores are not idle for other processes.
	gcTime  = rate("go_cpu_classes_gc_total_cpu_seconds_total")
	cpuTime = "(" + rate("go_cpu_classes_total_cpu_seconds_total") +
		" - " + rate("go_cpu_classes_idle_cpu_seconds_total") + ")"
)

var catalog = append([]Indicator{
	{
		LimitCPU,
		Utilization,
		"its cores are busy",
		`max by (role) (avg_over_time(plimsoll_cpu_busy_ratio{role!~"generator|host"}[$w]))`,
		"",
		busyLimit,
		"ratio",
		false,
	},
	{
		LimitCPU,
		Utilization,
		"its host's cores are busy",
		`max by (role) (1 - avg by (role, instance) (sum by (role, instance, cpu) (rate(node_cpu_seconds_total{mode=~"idle|iowait", role=~".+"}[$w]))))`,
		"",
		busyLimit,
		"ratio",
		false,
	},
	{
		LimitCPU,
		Utilization,
		"one of its cores is busy",
		`max by (role) (avg_over_time(plimsoll_cpu_busy_hottest_ratio{role!~"generator|host"}[$w]))`,
		"",
		0.95,
		"ratio",
		false,
	},
	{
		LimitCPU,
		Saturation,
		"p99 of the Go scheduler's delay",
		`histogram_quantile(0.99, sum by (role, le) (rate(go_sched_latencies_seconds_bucket[$w])))`,
		"",
		0.010,
		"s",
		true,
	},
	{
		LimitQuota,
		Saturation,
		"periods of its control group that were throttled",
		share(
			rate(`container_cpu_cfs_throttled_periods_total{role!="self"}`),
			rate(`container_cpu_cfs_periods_total{role!="self"}`),
		),
		"",
		0.10,
		"ratio",
		false,
	},
	{
		LimitGC,
		Saturation,
		"CPU that went to garbage collection",
		share(gcTime, cpuTime),
		"",
		0.25,
		"ratio",
		false,
	},
	{
		LimitAppLocks,
		Saturation,
		"requests under way that wait for a mutex",
		ofRequests(rate("go_sync_mutex_wait_total_seconds_total")),
		rate("go_sync_mutex_wait_total_seconds_total"),
		0.20,
		"ratio",
		false,
	},
	{
		LimitPool,
		Saturation,
		"requests under way that wait for a connection of the pool",
		ofRequests(rate("go_sql_wait_duration_seconds_total")),
		rate("go_sql_wait_duration_seconds_total"),
		0.05,
		"ratio",
		false,
	},
	{
		LimitPool,
		Utilization,
		"connections of the pool in use",
		`max by (role) (avg_over_time(go_sql_in_use_connections[$w]) / (go_sql_max_open_connections > 0))`,
		"",
		0.90,
		"ratio",
		true,
	},
	{
		LimitDBConns,
		Utilization,
		"connections of the server in use",
		`max by (role) (plimsoll_pg_connections_used_ratio or plimsoll_mysql_connections_used_ratio)`,
		"",
		0.95,
		"ratio",
		false,
	},
	{
		LimitDBLocks,
		Saturation,
		"active sessions that wait for a lock",
		`sum by (role) (avg_over_time(plimsoll_pg_active_sessions{wait_event_type="Lock"}[$w])) / clamp_min(sum by (role) (avg_over_time(plimsoll_pg_active_sessions[$w])), 1)`,
		`sum by (role) (avg_over_time(plimsoll_pg_active_sessions{wait_event_type="Lock"}[$w]))`,
		0.30,
		"ratio",
		false,
	},
	{
		LimitDBLocks,
		Saturation,
		"running threads that wait for a row lock",
		`sum by (role) (avg_over_time(mysql_global_status_innodb_row_lock_current_waits[$w])) / clamp_min(sum by (role) (avg_over_time(mysql_global_status_threads_running[$w])), 1)`,
		"",
		0.30,
		"ratio",
		false,
	},
	{
		LimitLag,
		Saturation,
		"time that it is behind the server that it follows",
		`max by (role) (max_over_time(plimsoll_replication_lag_seconds[$w]))`,
		"",
		lagLimit,
		"s",
		false,
	},
	{
		LimitDisk,
		Saturation,
		"requests under way whose session waits for the disk",
		ofRequests(onDisk),
		onDisk,
		0.30,
		"ratio",
		false,
	},
	{
		LimitDisk,
		Utilization,
		"the busiest disk is busy",
		`max by (role) (avg_over_time(plimsoll_disk_busy_ratio[$w]))`,
		"",
		0.90,
		"ratio",
		true,
	},
	{
		LimitDisk,
		Saturation,
		"a request's time at the slowest disk",
		`max by (role) (avg_over_time(plimsoll_disk_await_seconds[$w]))`,
		"",
		0.020,
		"s",
		true,
	},
	{
		LimitMemory,
		Loss,
		"processes killed for memory per second",
		rate("node_vmstat_oom_kill") + " or " + rate("container_oom_events_total"),
		"",
		0.001,
		"/s",
		false,
	},
	{
		LimitMemory,
		Saturation,
		"time in which all work waited for memory",
		worst("node_pressure_memory_stalled_seconds_total") + " or " + worst(
			"container_pressure_memory_stalled_seconds_total",
		),
		"",
		0.05,
		"ratio",
		false,
	},
	{
		LimitMemory,
		Saturation,
		"pages swapped in and out per second",
		"(" + rate("node_vmstat_pswpin") + " + " + rate("node_vmstat_pswpout") + ")",
		"",
		100,
		"/s",
		false,
	},
	{
		LimitMemory,
		Utilization,
		"memory of its control group's limit",
		`max by (role) (container_memory_usage_bytes / (container_spec_memory_limit_bytes > 0))`,
		"",
		0.98,
		"ratio",
		true,
	},
	{
		LimitRefusals,
		Loss,
		"operations answered with 429 or 503",
		ofOps(refused),
		ofTarget(refused),
		failureLimit,
		"ratio",
		false,
	},
	{
		LimitCut,
		Loss,
		"operations whose connection was refused or cut",
		ofOps(cutOff),
		ofTarget(cutOff),
		failureLimit,
		"ratio",
		false,
	},
	{
		LimitLoss,
		Loss,
		"segments that ended in a timeout, of those sent",
		share(rate("node_netstat_TcpExt_TCPTimeouts"), rate("node_netstat_Tcp_OutSegs")),
		rate("node_netstat_TcpExt_TCPTimeouts"),
		0.0002,
		"ratio",
		false,
	},
	{
		LimitLoss,
		Loss,
		"segments sent again, of those sent",
		share(rate("node_netstat_Tcp_RetransSegs"), rate("node_netstat_Tcp_OutSegs")),
		rate("node_netstat_Tcp_RetransSegs"),
		0.005,
		"ratio",
		true,
	},
	{
		LimitRing,
		Loss,
		"packets lost for want of room in the ring, per second",
		rate(`plimsoll_nic_rx_missed_total`) +
			" or " + rate("plimsoll_nic_rx_no_buffer_total") +
			" or " + rate(`node_network_receive_missed_errors_total{device!="lo"}`),
		"",
		0.1,
		"/s",
		false,
	},
	{
		LimitAllowance,
		Loss,
		"packets beyond the instance's allowance per second",
		rate(`plimsoll_nic_allowance_exceeded_total{limit!="linklocal"}`),
		"",
		0.1,
		"/s",
		false,
	},
	{
		LimitPackets,
		Loss,
		"packets dropped before any core took them, per second",
		rate("node_softnet_dropped_total"),
		"",
		0.1,
		"/s",
		false,
	},
	{
		LimitConntrack,
		Loss,
		"connections that could not be tracked per second",
		"(" + rate("node_nf_conntrack_stat_insert_failed") +
			" + " + rate("node_nf_conntrack_stat_drop") + ")",
		"",
		0.1,
		"/s",
		false,
	},
	{
		LimitConntrack,
		Utilization,
		"entries of the table in use",
		`max by (role) (node_nf_conntrack_entries / (node_nf_conntrack_entries_limit > 0))`,
		"",
		0.95,
		"ratio",
		false,
	},
	{
		LimitBacklog,
		Loss,
		"connections dropped at a full accept queue per second",
		rate("node_netstat_TcpExt_ListenOverflows"),
		"",
		0.1,
		"/s",
		false,
	},
	{
		LimitFiles,
		Loss,
		"open files of its limit",
		`max by (role) (max_over_time(plimsoll_process_fds_used_ratio[$w]) or max_over_time(process_open_fds[$w]) / (process_max_fds > 0))`,
		"",
		0.97,
		"ratio",
		false,
	},
	{
		LimitPorts,
		Utilization,
		"sockets in TIME_WAIT of the default range of ports",
		`max by (role) (node_sockstat_TCP_tw / 28232)`,
		"",
		0.90,
		"ratio",
		false,
	},
	{
		LimitProxyConns,
		Loss,
		"connections that the proxy accepted and did not handle, per second",
		"(" + rate("nginx_connections_accepted") + " - " + rate("nginx_connections_handled") + ")",
		"",
		0.1,
		"/s",
		false,
	},
}, ofExporters()...)

// lagLimit is the time that a replica may be behind, in seconds: the samples that tell it come once
// a second, and below two of them it is as good as none.
const lagLimit = 2

// failureLimit is the share of operations from which on failures of one kind may be why a run
// stopped: the default rule's.
const failureLimit = 0.001

// wholeTarget is the role of signals that users see and that belong to no single process.
const wholeTarget = "target"

// busyLimit is the use at which cores limit. The survey's starting point is 0.85; but a search
// holds the load around its capacity, half of the time below it, and on one or two cores mean
// response times multiply before that (the fault suite's controls broke their rules at 0.82 to 0.91
// of a core).
const busyLimit = 0.80

// adviceOf holds the remedy for each limiter.
var adviceOf = map[string]string{
	LimitCPU:        "More or faster cores, or another node of this role; before that, a CPU profile at this load says what they do.",
	LimitQuota:      "Raise the CPU limit of its container or control group: the host has time that the group may not use.",
	LimitGC:         "Give the process more memory (GOMEMLIMIT, the container's limit) or raise GOGC; a heap profile says what is allocated.",
	LimitAppLocks:   "A mutex profile at this load names the lock; cores or nodes added to one process will not help, another process may.",
	LimitPool:       "Raise the app's limit of open connections as long as the database has sessions and CPU to spare: it has here.",
	LimitWorkers:    "Raise the number of workers or threads as long as cores and database have room, or find what holds them: they are taken while they wait as well.",
	LimitOutbound:   "Raise the pool's limit of connections to that service, call it less or in the background, or make it faster: whoever waits for it does so in the app.",
	LimitDBConns:    "Raise the server's max_connections, or put a pooler before it, or lower the pools of the app's nodes.",
	LimitDBLocks:    "The sessions wait for each other, not for the machine: find the statement that holds the lock (pg_locks, pg_blocking_pids; performance_schema.data_lock_waits) and the row that all write.",
	LimitLag:        "Look at what the replica waits for (its CPU, its disk, a reader that holds up the replay), give it what it lacks, or send it fewer reads; a single stream of changes has one core at most.",
	LimitDisk:       "A faster disk, more provisioned IOPS, or less to write: checkpoints, WAL, missing indexes that make reads.",
	LimitMemory:     "More memory, or smaller caches and pools within it.",
	LimitLoss:       "Look along the path for who drops: ring and driver counters (ethtool -S), queues, firewall and security-group counters, bandwidth allowances. More CPU will not help.",
	LimitRing:       "Set the card's receive ring to its maximum: ethtool -G DEVICE rx MAX (plimsoll doctor prints both), then spread its interrupts over more cores.",
	LimitAllowance:  "A larger instance type, or fewer and larger packets: the cloud's own limit is reached.",
	LimitPackets:    "Spread receive processing over cores (RSS, RPS) and raise net.core.netdev_max_backlog and netdev_budget.",
	LimitConntrack:  "Raise net.netfilter.nf_conntrack_max, or do not track this traffic.",
	LimitBacklog:    "Raise net.core.somaxconn and the listener's backlog (nginx: listen ... backlog=), and keep connections alive between tiers.",
	LimitFiles:      "Raise the limit of open files (LimitNOFILE of the unit, worker_rlimit_nofile of nginx).",
	LimitPorts:      "Keep connections to the next tier alive, widen net.ipv4.ip_local_port_range, or give the proxy more addresses.",
	LimitProxyConns: "Raise worker_connections, and worker_rlimit_nofile with it.",
	LimitRefusals:   "A limit answers instead of the service: find it (limit_req of nginx, a plan or quota of the provider, the application's own rate limits), and whether it is meant to protect what is behind it. If the generator's one address is what it counts, exempt that.",
	LimitCut:        "Something on the way closes connections: look at connection limits and keep-alive times of proxy and server, and at what they log at this load.",
	LimitFanOut:     "Events leave slower than they come: fewer members per channel event, more nodes, or larger send queues if the bursts are short.",
	LimitFailures:   "Mend the cause first. A proxy in front must let this host through, and pass on WebSockets (in nginx: proxy_http_version 1.1, and the headers Upgrade and Connection).",
	LimitShared:     "Keep the target off the generator's cores (taskset -acp CORES PID, or run as the target's user or root, and it is done for the run), or put one of the two on another host.",
	LimitHost:       "Find who else uses the cores (top, pidstat), end it or move it, and run again.",
	LimitUnknown:    "No resource that was watched is saturated. Likely are serialization inside the program, a system outside, or something without a probe; watch more of it (docs/probes.md), take a profile at this load.",
}
