// Package jvm supervises private servers of Cassandra, OpenSearch and Kafka, one node each, for tests and measurements.
//
// [StartCassandra], [StartOpenSearch] and [StartKafka] start the real programs on Java 17, on private ports of 127.0.0.1, or of another
// address and in a network namespace, with all their files in a directory of their own, and return when the server answers its clients. The programs are Maven artifacts: the first
// start lets mvn fetch them, by the small pom files in the directory artifacts, into the cache of [lab.CacheDir]; versions are
// pinned there. What is missing on the host is told with its remedy: Java 17 as a development kit, and mvn.
//
// # Settings
//
// What decides what a write costs stays at the server's own default: Cassandra forces its commit log to disk every ten seconds,
// OpenSearch its log of operations before each answer, Kafka leaves that to the kernel. [Config].Settings changes settings. Set
// otherwise are the heap, which is small (see [Config].HeapMiB), the collector (serial: the hosts are small), and what only matters
// to clusters: no waiting for peers, one partition or shard, one copy.
//
// # What it refuses to know
//
// Tables, indexes and topics, and who uses them. The servers know no passwords: whoever can reach their address can use them. They run
// as this program's own user; none of them refuses root when it is started without its scripts.
//
// # Ending
//
// Stop asks first, and kills after three seconds: the logs of all three survive the kill of the process. A killed program takes its
// servers along, as package lab says, and the journal remembers them.
package jvm
