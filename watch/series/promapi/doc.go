// Package promapi answers the HTTP API of Prometheus from the series of a run, so that Grafana and
// other clients of Prometheus can query it.
//
// # Endpoints
//
// GET and POST (form) of query, query_range, labels, label/NAME/values, series and metadata below
// /api/v1, and GET of status/buildinfo, query_exemplars, rules and alerts (which are empty),
// /-/healthy and /-/ready, with the encodings and error types that Prometheus documents for its API
// version 1. Everything else is an error of type not_found.
//
// # Now
//
// A run that is over has no present: a query without a time is evaluated at the time of the last
// sample.
//
// # Limits
//
// A query ends with its client, after [series.QueryTimeout], or after its own timeout if that is
// shorter. It may hold [series.MaxQuerySamples] samples, a range may have [series.MaxPoints] steps,
// and the values of an answer 64 MiB. [Concurrent] requests are answered at a time; others wait for
// a place as long as a query may take. Requests of pages of other servers are refused.
//
// # Out of scope
//
// It does not listen, has no users and no passwords: the caller that listens controls access. It
// writes nothing. The package is safe for concurrent use.
package promapi
