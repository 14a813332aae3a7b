package refchat

import (
	"database/sql"
	"regexp"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// buckets are Prometheus' defaults and three finer ones: most of this server's work ends below 5
// ms.
var buckets = append([]float64{0.0005, 0.001, 0.0025}, prometheus.DefBuckets...)

// metrics holds the content of /metrics, in a registry of the server's own. The names mattermost_*
// are those that existing dashboards and queries read; refchat_* are those that the real server
// does not count.
type metrics struct {
	reg        *prometheus.Registry
	apiTime    *prometheus.HistogramVec
	storeTime  *prometheus.HistogramVec
	requests   prometheus.Counter
	httpErrors prometheus.Counter
	websockets prometheus.Gauge
	posts      prometheus.Counter
	logins     prometheus.Counter
	published  *prometheus.CounterVec
	broadcasts *prometheus.CounterVec
	wsDropped  *prometheus.CounterVec
	wsResumed  *prometheus.CounterVec
	notifyAcks prometheus.Counter
	busSent    prometheus.Counter
	busGot     prometheus.Counter
	busLost    prometheus.Counter
	statements prometheus.Counter
	burnt      prometheus.Counter

	replicaReads prometheus.Counter

	faultTime *prometheus.CounterVec
	refused   prometheus.Counter
	evicted   prometheus.Counter
	client    map[string]*prometheus.HistogramVec // by the client's name of the measurement

	api    sync.Map // apiKey → prometheus.Observer
	stores sync.Map // storeKey → prometheus.Observer
}

type apiKey struct {
	handler, method string
	status          int
}

type storeKey struct {
	method string
	ok     bool
}

// runtimeMetrics select the waits of a Go program: for mutexes, a core, garbage collection.
var runtimeMetrics = []collectors.GoRuntimeMetricsRule{
	{Matcher: regexp.MustCompile(`^/sync/mutex/wait/total:seconds$`)},
	{Matcher: regexp.MustCompile(`^/sched/latencies:seconds$`)},
	{
		Matcher: regexp.MustCompile(
			`^/cpu/classes/(gc/total|gc/mark/idle|gc/mark/assist|idle|total):cpu-seconds$`,
		),
	},
}

func newMetrics(db *sql.DB) *metrics {
	reg := prometheus.NewRegistry()
	auto := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, label, help string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	times := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    name,
			Help:    help,
			Buckets: buckets,
		}, labels)
	}
	m := &metrics{
		reg:        reg,
		requests:   counter("mattermost_http_requests_total", "API requests."),
		httpErrors: counter("mattermost_http_errors_total", "API requests answered with an error."),
		posts:      counter("mattermost_post_total", "Posts created."),
		logins:     counter("mattermost_login_logins_total", "Successful logins."),
		notifyAcks: counter("mattermost_notifications_total_ack",
			"Posted events that a client said it got."),
		busSent: counter("refchat_bus_sent_total", "Messages handed to a peer's connection."),
		busGot:  counter("refchat_bus_received_total", "Messages received from peers."),
		busLost: counter("refchat_bus_lost_total", "Messages a peer will not get."),
		statements: counter("refchat_db_statements_total",
			"SQL statements, BEGIN and COMMIT included."),
		replicaReads: counter("refchat_replica_statements_total",
			"Statements that read from a replica; they are in refchat_statements_total too."),
		burnt: counter("refchat_fault_cpu_seconds_total",
			"CPU time burnt by the faults cpu and work."),
		refused: counter("refchat_requests_refused_total", "API requests answered with 429."),
		evicted: counter("refchat_cache_evicted_total",
			"Entries that left a full cache for others."),
		published: counters("mattermost_websocket_event_total", "type",
			"Events published here; peers bring them to their connections too."),
		broadcasts: counters("mattermost_websocket_broadcasts_total", "name",
			"Events written to connections."),
		wsDropped: counters("refchat_websocket_dropped_total", "reason",
			"Events not sent to a connection: skipped (half-full queue, unimportant event), overflow (full queue, connection closed), away (full queue of a client that has not come back)."),
		wsResumed: counters("mattermost_websocket_reconnects_total", "type",
			"Clients that came back to a connection: success (what they missed was sent again), lossless (nothing was missed), failure (too much was)."),
		faultTime: counters("refchat_fault_wait_seconds_total", "fault",
			"Time that requests and hubs waited for the faults slow-post, stall, lock, hub and hot-row."),
		apiTime: times("mattermost_api_time", "Time to execute the API handler, in seconds.",
			"handler", "method", "status_code"),
		storeTime: times("mattermost_db_store_time",
			"Time to execute the store method, in seconds.", "method", "success"),
		websockets: auto.NewGauge(prometheus.GaugeOpts{
			Name: "mattermost_http_websockets_total",
			Help: "WebSocket connections now.",
		}),
		client: map[string]*prometheus.HistogramVec{},
	}
	for kind, name := range clientTimes {
		m.client[kind] = times("mattermost_webapp_"+name,
			"Times that clients have reported, in seconds.", "platform", "agent")
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mattermost_db_master_connections_total",
		Help: "Open database connections.",
	}, func() float64 { return float64(db.Stats().OpenConnections) })
	reg.MustRegister(
		// go_sql_*: in use, max open, waits, wait time
		collectors.NewDBStatsCollector(db, "master"),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(runtimeMetrics...)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{Namespace: "mattermost"}))
	return m
}

func (m *metrics) apiObserver(handler, method string, status int) prometheus.Observer {
	k := apiKey{handler, method, status}
	if o, ok := m.api.Load(k); ok {
		return o.(prometheus.Observer)
	}
	o := m.apiTime.WithLabelValues(handler, method, strconv.Itoa(status))
	m.api.Store(k, o)
	return o
}

func (m *metrics) storeObserver(method string, ok bool) prometheus.Observer {
	k := storeKey{method, ok}
	if o, found := m.stores.Load(k); found {
		return o.(prometheus.Observer)
	}
	o := m.storeTime.WithLabelValues(method, strconv.FormatBool(ok))
	m.stores.Store(k, o)
	return o
}
