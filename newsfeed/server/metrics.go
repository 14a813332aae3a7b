package server

import (
	"database/sql"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// buckets are Prometheus' defaults and three finer ones: most of this server's work ends below 5
// ms.
var buckets = append([]float64{0.0005, 0.001, 0.0025}, prometheus.DefBuckets...)

// metrics holds the content of /metrics, in a registry of the server's own.
type metrics struct {
	reg       *prometheus.Registry
	requests  *prometheus.HistogramVec
	stores    *prometheus.HistogramVec
	cacheGets *prometheus.CounterVec
	sent      prometheus.Counter
	lost      prometheus.Counter
	waiting   prometheus.Gauge
}

func newMetrics(db *sql.DB) *metrics {
	m := &metrics{
		reg: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "newsfeed_request_seconds",
			Buckets: buckets,
			Help:    "Time to answer a request, from its routing to its answer.",
		}, []string{"entity", "operation", "status"}),
		stores: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "newsfeed_store_seconds",
			Buckets: buckets,
			Help:    "Time of one call to a store, waiting for a connection included.",
		}, []string{"store", "operation", "success"}),
		cacheGets: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "newsfeed_cache_reads_total",
			Help: "Reads of the cache, by kind and result.",
		}, []string{"entity", "hit"}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "newsfeed_telemetry_sent_total",
			Help: "Telemetry records that the bus has.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "newsfeed_telemetry_lost_total",
			Help: "Telemetry records that the bus will not get.",
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "newsfeed_telemetry_waiting",
			Help: "Telemetry records that wait for the bus.",
		}),
	}
	m.reg.MustRegister(
		m.requests,
		m.stores,
		m.cacheGets,
		m.sent,
		m.lost,
		m.waiting,
		// go_sql_*: in use, max open, waits, wait time
		collectors.NewDBStatsCollector(db, "master"),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *metrics) request(entity, operation string, status int, d time.Duration) {
	m.requests.WithLabelValues(entity, operation, strconv.Itoa(status)).Observe(d.Seconds())
}

func (m *metrics) store(role, operation string, ok bool, d time.Duration) {
	m.stores.WithLabelValues(role, operation, strconv.FormatBool(ok)).Observe(d.Seconds())
}

func (m *metrics) cacheRead(entity string, hit bool) {
	m.cacheGets.WithLabelValues(entity, strconv.FormatBool(hit)).Inc()
}
