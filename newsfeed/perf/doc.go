// Package perf turns the telemetry of news feeds into figures per minute: for each entity and
// operation the number of acknowledged requests, their mean, median and 95th percentile. It is a
// server's part and nothing else: it does not know plans, runs and clients.
//
// # Time
//
// A record belongs to the minute in which its request was answered (its time is in the record),
// however late it arrives. The watermark is the time up to which everything is taken to have come:
// the latest answer that was seen, less [Config].Lateness; a reader that has come to the end of the
// bus may move it further ([Aggregator.Advance]). A window is closed when the watermark has passed
// its end, and never opened again. A minute without any request has no window: it is a gap and no
// row of zeros.
//
// # Counts
//
// Every record ends in exactly one of [Counts]: taken, late, a duplicate, garbled, ahead of time,
// or untracked. Servers number their records, so that one that is sent twice is recognized and one
// that never comes is missed by its number. Only answers with status 200 have a part in throughput
// and latencies; the others are counted by status. Latencies are kept as they are, in microseconds,
// each value with its number: figures are exact and windows merge without loss.
//
// # The studied program
//
// [Perf3] does it as the study's own program (perf3, 2016), for figures that can be compared with
// the published ones. It differs in seven ways, all on purpose:
//
//   - a minute is one of the program's own clock, at which records arrive, not the minute of the record;
//   - it has four keys and drops all others;
//   - it does not see that a record came twice;
//   - latencies are whole milliseconds, cut off;
//   - the mean is an integer division;
//   - the median is element n/2 of the sorted ones, the 95th percentile element 95n/100, counted from 0: of an even
//     number the upper median, of twenty the largest;
//   - a minute without requests is a row of zeros.
//
// # Documents
//
// A [Document] has the fields that the study's program wrote into Elasticsearch: ts, entity,
// operation, throughput, mean, median, upper5 (the 95th percentile), latencies in milliseconds.
// [Bulk] writes them into Elasticsearch or OpenSearch; a document that is written twice replaces
// itself.
//
// # Concurrency
//
// An [Aggregator] and a [Perf3] are for one goroutine. [Follow] reads a bus, and its metrics may be
// read meanwhile.
package perf
