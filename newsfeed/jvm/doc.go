// Package jvm supervises private servers of Cassandra, OpenSearch and Kafka, one node each, for
// tests and measurements.
//
// [StartCassandra], [StartOpenSearch] and [StartKafka] start the real programs on Java 17, on
// private ports of 127.0.0.1, or of another address and in a network namespace, with all their
// files in a directory of their own, and return when the server answers its clients. The programs
// are Maven artifacts: the first start lets mvn fetch them, by the small pom files in the directory
// artifacts, into the cache of [lab.CacheDir]; versions are pinned there. A missing program is
// reported with its remedy: Java 17 as a development kit, and mvn.
//
// # Settings
//
// Settings that decide the cost of a write stay at the server's own defaults: Cassandra forces its
// commit log to disk every ten seconds, OpenSearch its log of operations before each answer, Kafka
// leaves that to the kernel. [Config].Settings changes settings. Set otherwise are the heap, which
// is small (see [Config].HeapMiB), the collector (serial: the hosts are small), and settings that
// only matter to clusters: no waiting for peers, one partition or shard, one copy.
//
// # Out of scope
//
// Tables, indexes and topics, and who uses them. The servers have no passwords: any client that can
// reach their address can use them. They run as this program's own user; none of them refuses root
// when it is started without its scripts.
//
// # Ending
//
// Stop sends a signal first, and kills after three seconds: the logs of all three survive the kill
// of the process. A killed program takes its servers along (package lab), and the journal records
// them.
package jvm
