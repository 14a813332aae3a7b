package dialect

import "fmt"

// The statistics that a graph may show of a histogram.
const (
	Mean = "mean"
	P99  = "p99"
)

// A GraphQuery is a graph in reports on a run.
type GraphQuery struct {
	Name, Title, Unit string
	// Scale converts a query's values to Unit.
	Scale float64
	// Sources are queried in turn until one has data.
	Sources []GraphSource
	// Stat is the statistic of a histogram that the graph shows; "" if its sources are not
	// histograms.
	Stat string
	// Gauge reports that the queries read values at an instant, so that every sample is used.
	// Others are rates.
	Gauge bool
	// Needs names the metrics that the graph is made of, for the reader of one without data.
	Needs string
	// Own means that only reports on the dialect's own drivers have the graph.
	Own bool
}

// A GraphSource is one origin of a graph's values.
type GraphSource struct {
	// Query is PromQL; $w is the rate window.
	Query string
	// Histogram is the metric whose Stat Query returns; "" for another query.
	Histogram string
}

// MeanOf is the source of the mean of a histogram, for a graph with the Stat [Mean].
func MeanOf(metric string) GraphSource {
	return GraphSource{fmt.Sprintf("sum(rate(%[1]s_sum[$w])) / sum(rate(%[1]s_count[$w]))", metric),
		metric}
}

// P99Of is the source of the 99th percentile of a histogram, for a graph with the Stat [P99].
func P99Of(metric string) GraphSource {
	return GraphSource{fmt.Sprintf("histogram_quantile(0.99, sum(rate(%s_bucket[$w])) by (le))",
		metric), metric}
}
