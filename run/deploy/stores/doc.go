// Package stores starts the servers around a server under test: its database, with or without a
// dump, the replicas of it, and a proxy.
//
// The packages below target/lab have the supervisors. This package chooses among them by the engine
// that a plan names. It knows no plan beyond its topology, and provisions nothing.
package stores
