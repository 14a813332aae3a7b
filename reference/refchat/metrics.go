package refchat

import (
	"database/sql"
	"regexp"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// buckets are Prometheus' defaults and three finer ones: most of this server's work ends below 5 ms.
var buckets = append([]float64{0.0005, 0.001, 0.0025}, prometheus.DefBuckets...)

// metrics holds the content of /metrics, in a registry of the server's own. The names mattermost_* are those that
// existing dashboards and queries read; refchat_* are those that the real server does not count.
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

// runtimeMetrics are those about the waits of a Go program: mutexes, a core, garbage collection.
var runtimeMetrics = []collectors.GoRuntimeMetricsRule{
	{Matcher: regexp.MustCompile(`^/sync/mutex/wait/total:seconds$`)},
	{Matcher: regexp.MustCompile(`^/sched/latencies:seconds$`)},
	{Matcher: regexp.MustCompile(`^/cpu/classes/(gc/total|gc/mark/idle|gc/mark/assist|idle|total):cpu-seconds$`)},
}

func newMetrics(db *sql.DB) *metrics {
	m := &metrics{
		reg: prometheus.NewRegistry(),
		apiTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mattermost_api_time", Buckets: buckets,
			Help: "Time to execute the API handler, in seconds."}, []string{"handler", "method", "status_code"}),
		storeTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mattermost_db_store_time", Buckets: buckets,
			Help: "Time to execute the store method, in seconds."}, []string{"method", "success"}),
		requests:   prometheus.NewCounter(prometheus.CounterOpts{Name: "mattermost_http_requests_total", Help: "API requests."}),
		httpErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: "mattermost_http_errors_total", Help: "API requests answered with an error."}),
		websockets: prometheus.NewGauge(prometheus.GaugeOpts{Name: "mattermost_http_websockets_total", Help: "WebSocket connections now."}),
		posts:      prometheus.NewCounter(prometheus.CounterOpts{Name: "mattermost_post_total", Help: "Posts created."}),
		logins:     prometheus.NewCounter(prometheus.CounterOpts{Name: "mattermost_login_logins_total", Help: "Successful logins."}),
		published:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mattermost_websocket_event_total", Help: "Events published here; peers bring them to their connections too."}, []string{"type"}),
		broadcasts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mattermost_websocket_broadcasts_total", Help: "Events written to connections."}, []string{"name"}),
		wsDropped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refchat_websocket_dropped_total",
			Help: "Events not sent to a connection: skipped (half-full queue, unimportant event), overflow (full queue, connection closed), away (full queue of a client that has not come back), fault."}, []string{"reason"}),
		wsResumed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mattermost_websocket_reconnects_total",
			Help: "Clients that came back to a connection: success (what they missed was sent again), lossless (nothing was missed), failure (too much was)."}, []string{"type"}),
		notifyAcks:   prometheus.NewCounter(prometheus.CounterOpts{Name: "mattermost_notifications_total_ack", Help: "Posted events that a client said it got."}),
		busSent:      prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_bus_sent_total", Help: "Messages handed to a peer's connection."}),
		busGot:       prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_bus_received_total", Help: "Messages received from peers."}),
		busLost:      prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_bus_lost_total", Help: "Messages a peer will not get."}),
		statements:   prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_db_statements_total", Help: "SQL statements, BEGIN and COMMIT included."}),
		replicaReads: prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_replica_statements_total", Help: "Statements that read from a replica; they are in refchat_statements_total too."}),
		burnt:        prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_fault_cpu_seconds_total", Help: "CPU time burnt by the faults cpu and work."}),
		faultTime: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refchat_fault_wait_seconds_total",
			Help: "Time that requests and hubs waited for the faults slow-post, stall, lock, hub and hot-row."}, []string{"fault"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_requests_refused_total", Help: "API requests answered with 429."}),
		evicted: prometheus.NewCounter(prometheus.CounterOpts{Name: "refchat_cache_evicted_total", Help: "Entries that left a full cache for others."}),
		client:  newClientTimes(),
	}
	for _, vec := range m.client {
		m.reg.MustRegister(vec)
	}
	m.reg.MustRegister(m.apiTime, m.storeTime, m.requests, m.httpErrors, m.websockets, m.posts, m.logins, m.published, m.broadcasts, m.wsDropped, m.wsResumed, m.notifyAcks,
		m.busSent, m.busGot, m.busLost, m.statements, m.burnt, m.faultTime, m.refused, m.evicted, m.replicaReads,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mattermost_db_master_connections_total", Help: "Open database connections."},
			func() float64 { return float64(db.Stats().OpenConnections) }),
		collectors.NewDBStatsCollector(db, "master"), // go_sql_*: in use, max open, waits, wait time
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
