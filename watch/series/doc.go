// Package series keeps the time series of one run and evaluates PromQL over them.
//
// # Overview
//
// A [DB] is one directory that holds one run's series: host and process signals, and those that the
// target exposes on its metrics endpoint, once a second. It is written by exactly one process
// ([Create]) and read by any number afterwards ([Open]). Storage and query language are those of
// Prometheus (its tsdb and promql packages, in process), so every query that works in Grafana or in
// a Prometheus console works here, and the block can be copied into a Prometheus data directory.
//
// # On disk
//
// While a run lasts, the directory holds a write-ahead log: every batch reaches the operating
// system before Append returns, so a killed process loses nothing that was appended (a power
// failure may lose the last seconds; nothing calls fsync per batch). Every ten minutes of sample
// time a new span with a log of its own begins, and the one before is moved from memory and log
// into a block below spilled/, while appends and queries go on; where that fails, nothing is lost
// but memory. [DB.Close] turns all of it into ONE block (a directory named by a ULID) and removes
// the rest. A directory whose writer was killed keeps its logs and blocks and is still readable:
// Open replays a copy of the logs, and never changes the original. So is one whose writer is at
// work.
//
// # Batches
//
// A batch is all samples of one probe at one instant. It is stored whole or not at all: a broken
// exposition, a series that occurs twice, or a time that does not move forward is an error that
// counts the offending samples ([RejectedError]), and leaves the directory as it was. Timestamps
// inside an exposition are ignored; all its samples stand at the time of the scrape, because
// runs are laid over one another by time.
//
// # Absence
//
// An instant query sees a sample for at most [Lookback] after it was taken. Prometheus looks back
// five minutes; here a signal that stopped must not go on looking healthy. There are no staleness
// markers and no invented values.
//
// # Out of scope
//
// It does not know the meaning of a metric, its host or role, when to sample, or good values. It
// opens no connection and reads no clock of its own.
package series
